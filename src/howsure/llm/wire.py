"""What adapters and the HTTP client hand to each other: responses, answers, and what can go wrong between them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from howsure.llm.base import Request
from howsure.llm.parts import CallSettings, Finish, Message, Token
from howsure.llm.specs import ModelSpec
from howsure.model.transcript import Role, ToolCall, ToolResult, Usage

#: The argument under which a tool call's arguments are kept that are no JSON object.
UNREAD_ARGUMENTS = "$unread"
NOTHING_KNOWN = Usage()
#: What a model is told of a call that nobody answered: providers refuse a conversation in which one is left open.
NOT_RUN = ToolResult(content="this call was noted, and not carried out", failed=True)


class Response(Struct, frozen=True):
    """An HTTP response, whatever it says. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Trouble(Enum):
    """Why there is no response."""

    TIMEOUT = "timed out"
    CONNECTION = "no connection"
    TLS = "no trusted connection"
    TOO_LARGE = "too large"

    @property
    def passing(self) -> bool:
        """Whether it may be gone at the next attempt."""
        return self in (Trouble.TIMEOUT, Trouble.CONNECTION)


class NoResponse(Exception):
    """The transport has none; its message names no header."""

    def __init__(self, trouble: Trouble, message: str) -> None:
        super().__init__(message)
        self.trouble = trouble


class Transport(Protocol):
    """Sends a request once. Raises `NoResponse` alone."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, seconds: float) -> Response: ...

    async def close(self) -> None: ...


class Answer(Struct, frozen=True, kw_only=True):
    """What an adapter read in a response. `echo`: see `ToolTurn`."""

    text: str
    model: str = ""
    usage: Usage = NOTHING_KNOWN
    finish: Finish = Finish.STOP
    tool_calls: tuple[ToolCall, ...] = ()
    echo: Any = None
    logprobs: tuple[Token, ...] | None = None


class Unreadable(Exception):
    """A response of status 200 in which there is no answer."""


class Adapter(Protocol):
    """How one provider is asked, and how it answers. Pure functions: a module of `adapters` is one."""

    def url(self, spec: ModelSpec) -> str: ...

    def headers(self, spec: ModelSpec, key: str) -> dict[str, str]: ...

    def body(self, spec: ModelSpec, request: Request, settings: CallSettings) -> bytes: ...

    def answer(self, body: bytes) -> Answer: ...


def arguments_of(text: str) -> dict[str, Any]:
    """A call's arguments, which some providers send as text. What is no JSON object is kept as it came."""
    try:
        value = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {UNREAD_ARGUMENTS: text}


def result_of(call: ToolCall) -> ToolResult:
    return NOT_RUN if call.result is None else call.result


def result_text(result: ToolResult, *, marked: bool = True) -> str:
    """What a tool gave, for providers that take text. One that failed says so (`marked`), unless there is a field for
    that."""
    content = {"error": result.content} if result.failed and marked else result.content
    return content if isinstance(content, str) else msgspec.json.encode(content).decode()


def present(**named: Any) -> dict[str, Any]:
    """Those that have a value."""
    return {name: value for name, value in named.items() if value is not None}


def enforced(request: Request, settings: CallSettings) -> dict[str, Any] | None:
    """The schema that the provider is to enforce; None: there is none, or it is asked for in words."""
    return None if settings.schema_by_prompt else request.schema


def messages_of(request: Request, settings: CallSettings) -> tuple[Message, ...]:
    """The messages; where no provider enforces the schema, the last one of the user asks for it."""
    messages = request.messages
    if request.schema is None or not settings.schema_by_prompt:
        return messages
    words = (
        "\n\nReply with one JSON object and nothing else, no fences and no prose. It must be valid against this"
        f" JSON Schema:\n{msgspec.json.encode(request.schema).decode()}"
    )
    places = [place for place, message in enumerate(messages) if message.role is Role.USER]
    if not places:
        return (*messages, Message(Role.USER, words.strip()))
    last = messages[places[-1]]
    asked = Message(last.role, last.content + words, last.images)
    return (*messages[: places[-1]], asked, *messages[places[-1] + 1 :])
