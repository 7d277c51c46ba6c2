"""What several providers share: tool results as text, the schema, messages that ask for a schema, log-probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import Struct

from howsure.llm.base import ModelRequest
from howsure.llm.messages import CallSettings, ChatMessage, TokenAlternative, TokenLogprob, ToolTurn
from howsure.model.transcript import Role, ToolCall, ToolResult

#: What a model is told about a call that nobody answered: providers refuse a conversation with an open call.
NOT_RUN = ToolResult(content="this call was noted, and not carried out", failed=True)


class ReplyToken(Struct):
    """A token with its log-probability, as OpenAI and Ollama write it."""

    token: str
    logprob: float
    top_logprobs: list[ReplyToken] | None = None

    def read(self) -> TokenLogprob:
        alternatives = tuple(TokenAlternative(other.token, other.logprob) for other in self.top_logprobs or ())
        return TokenLogprob(self.token, self.logprob, alternatives)


def write_messages(
    messages: Iterable[ChatMessage],
    write: Callable[[ChatMessage], dict[str, Any]],
    write_turn: Callable[[ToolTurn], Iterable[dict[str, Any]]],
) -> list[dict[str, Any]]:
    """The messages as a provider takes them: an object for each, several for a turn with tool calls."""
    written: list[dict[str, Any]] = []
    for message in messages:
        written += write_turn(message) if isinstance(message, ToolTurn) else [write(message)]
    return written


def function_tools(request: ModelRequest, no_parameters: dict[str, Any]) -> list[dict[str, Any]]:
    """The tools as OpenAI and Ollama take them."""
    functions = (
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters or no_parameters}
        for tool in request.tools
    )
    return [{"type": "function", "function": function} for function in functions]


def result_of(call: ToolCall) -> ToolResult:
    return NOT_RUN if call.result is None else call.result


def result_text(result: ToolResult, *, mark_failure: bool = True) -> str:
    """A tool's result, for providers that take text. A failure is marked in the text unless the API has a field."""
    content = {"error": result.content} if result.failed and mark_failure else result.content
    return content if isinstance(content, str) else msgspec.json.encode(content).decode()


def without_none(**fields: Any) -> dict[str, Any]:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def enforced_schema(request: ModelRequest, settings: CallSettings) -> dict[str, Any] | None:
    """The schema that the provider enforces; None: there is none, or the prompt asks for it."""
    return None if settings.schema_by_prompt else request.schema


def prompt_messages(request: ModelRequest, settings: CallSettings) -> tuple[ChatMessage, ...]:
    """The messages; where no provider enforces the schema, the user's last message asks for it."""
    messages = request.messages
    if request.schema is None or not settings.schema_by_prompt:
        return messages
    words = (
        "\n\nReply with one JSON object and nothing else, no fences and no prose. It must be valid against this"
        f" JSON Schema:\n{msgspec.json.encode(request.schema).decode()}"
    )
    users = [index for index, message in enumerate(messages) if message.role is Role.USER]
    if not users:
        return (*messages, ChatMessage(Role.USER, words.strip()))
    last = messages[users[-1]]
    extended = ChatMessage(last.role, last.content + words, last.images)
    return (*messages[: users[-1]], extended, *messages[users[-1] + 1 :])
