"""Ollama's own chat API: settings in `options`, a JSON Schema in `format`, tool arguments as objects."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field

from howsure.llm.base import ModelReply, ModelRequest, ModelSpec, ProviderAddress, UnreadableReply
from howsure.llm.messages import CallSettings, ChatMessage, FinishReason, ToolTurn
from howsure.llm.providers.shared import (
    ReplyToken,
    enforced_schema,
    function_tools,
    prompt_messages,
    result_of,
    result_text,
    without_none,
    write_messages,
)
from howsure.model.transcript import ToolCall, Usage

FINISH = {"stop": FinishReason.STOP, "length": FinishReason.LENGTH}
EFFORT: dict[str, bool | str] = {"none": False}


class OllamaFunction(Struct):
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


class OllamaToolCall(Struct):
    function: OllamaFunction
    id: str = ""


class OllamaMessage(Struct):
    content: str = ""
    thinking: str | None = None
    tool_calls: list[OllamaToolCall] | None = None


class OllamaReply(Struct):
    message: OllamaMessage
    model: str = ""
    done: bool = True
    done_reason: str = "stop"
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    logprobs: list[ReplyToken] | None = None


_REPLY = msgspec.json.Decoder(OllamaReply)


class OllamaProvider:
    """`ollama:model`."""

    name = "ollama"
    address = ProviderAddress(
        url="http://127.0.0.1:11434",
        url_variables=("OLLAMA_HOST",),
        key_variables=("OLLAMA_API_KEY",),
        key_needed=False,
        plain_http=True,
    )

    def url(self, spec: ModelSpec) -> str:
        return f"{spec.base_url}/api/chat"

    def headers(self, spec: ModelSpec, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(self, spec: ModelSpec, request: ModelRequest, settings: CallSettings) -> bytes:
        options = without_none(
            temperature=settings.temperature,
            num_predict=settings.max_tokens,
            top_p=settings.top_p,
            seed=settings.seed,
            stop=settings.stop or None,
        )
        body: dict[str, Any] = {
            "model": spec.model,
            "stream": False,
            "messages": write_messages(prompt_messages(request, settings), _message, _tool_turn),
        }
        body |= without_none(
            options=options or None,
            format=enforced_schema(request, settings),
            think=None if settings.effort is None else EFFORT.get(settings.effort, settings.effort),
            logprobs=None if settings.logprobs is None else True,
            top_logprobs=settings.logprobs,
        )
        if request.tools:
            body["tools"] = function_tools(request, {})
        return msgspec.json.encode(body | settings.extra)

    def read_reply(self, body: bytes) -> ModelReply:
        reply = _REPLY.decode(body)
        if not reply.done:
            raise UnreadableReply("the answer is not finished")
        calls = tuple(
            ToolCall(name=call.function.name, arguments=call.function.arguments, id=call.id)
            for call in reply.message.tool_calls or ()
        )
        finish = FINISH.get(reply.done_reason, FinishReason.OTHER)
        return ModelReply(
            text=reply.message.content,
            model=reply.model,
            # Thinking is part of their count, and cannot be told apart.
            usage=Usage(prompt_tokens=reply.prompt_eval_count, completion_tokens=reply.eval_count),
            finish=FinishReason.TOOL_CALLS if calls and finish is FinishReason.STOP else finish,
            tool_calls=calls,
            echo={"thinking": reply.message.thinking} if calls and reply.message.thinking else None,
            logprobs=tuple(map(ReplyToken.read, reply.logprobs)) if reply.logprobs else None,
        )


def _message(message: ChatMessage) -> dict[str, Any]:
    images = {"images": [image.base64 for image in message.images]} if message.images else {}
    return {"role": message.role.value, "content": message.content} | images


def _tool_turn(turn: ToolTurn) -> list[dict[str, Any]]:
    """Models that think before they call want to see their thinking again."""
    calls = [
        {"function": {"name": call.name, "arguments": call.arguments}} | ({"id": call.id} if call.id else {})
        for call in turn.tool_calls
    ]
    results = [
        {"role": "tool", "tool_name": call.name, "content": result_text(result_of(call))}
        | ({"tool_call_id": call.id} if call.id else {})
        for call in turn.tool_calls
    ]
    return [{"role": "assistant", "content": turn.content, "tool_calls": calls} | (turn.echo or {}), *results]
