"""Anthropic's messages: the system prompt apart, content in blocks, input counted without what came from a cache."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from howsure.llm.base import Request
from howsure.llm.parts import CallSettings, Finish, Message, ToolTurn
from howsure.llm.specs import ModelSpec
from howsure.llm.wire import Answer, enforced, messages_of, present, result_of, result_text
from howsure.model.transcript import Role, ToolCall, ToolResult, Usage

VERSION = "2023-06-01"
#: The API wants a limit; ours where the caller gave none.
LONGEST = 4096
FINISH = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "tool_use": Finish.TOOL_CALLS,
    "refusal": Finish.REFUSED,
}


class Block(Struct):
    """Text, a tool call or thinking, by `type`."""

    type: str
    text: str = ""
    id: str = ""
    name: str = ""
    input: dict[str, Any] | None = None


class OutputDetails(Struct):
    thinking_tokens: int | None = None


class Counted(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens_details: OutputDetails | None = None


class Reply(Struct):
    content: list[Block]
    model: str = ""
    stop_reason: str | None = None
    usage: Counted | None = None


_REPLY = msgspec.json.Decoder(Reply)


def url(spec: ModelSpec) -> str:
    return f"{spec.base_url}/v1/messages"


def headers(spec: ModelSpec, key: str) -> dict[str, str]:
    version = {"anthropic-version": VERSION}
    return version | {"x-api-key": key} if key else version


def body(spec: ModelSpec, request: Request, settings: CallSettings) -> bytes:
    messages = messages_of(request, settings)
    asked: dict[str, Any] = {
        "model": spec.model,
        "max_tokens": LONGEST if settings.max_tokens is None else settings.max_tokens,
        "messages": _said(messages),
    }
    schema = enforced(request, settings)
    output = present(
        format=None if schema is None else {"type": "json_schema", "schema": schema}, effort=settings.effort
    )
    asked |= present(
        system="\n\n".join(message.content for message in messages if message.role is Role.SYSTEM) or None,
        temperature=settings.temperature,
        top_p=settings.top_p,
        stop_sequences=settings.stop or None,
        output_config=output or None,
    )
    if request.tools:
        asked["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters or {"type": "object"}}
            for tool in request.tools
        ]
    return msgspec.json.encode(asked | settings.extra)


def _said(messages: Iterable[Message]) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, ToolTurn):
            said += _worked(message)
        elif message.role is not Role.SYSTEM:
            said.append(_spoken(message))
    return said


def _worked(turn: ToolTurn) -> tuple[dict[str, Any], dict[str, Any]]:
    """What they sent goes back as it came: thinking beside a call is signed, and may be neither changed nor missing."""
    ids = [call.id or f"call_{place}" for place, call in enumerate(turn.tool_calls, start=1)]
    spoken = [{"type": "text", "text": turn.content}] if turn.content.strip() else []
    called = [
        {"type": "tool_use", "id": id, "name": call.name, "input": call.arguments}
        for id, call in zip(ids, turn.tool_calls, strict=True)
    ]
    given = [_result(id, result_of(call)) for id, call in zip(ids, turn.tool_calls, strict=True)]
    return (
        {"role": "assistant", "content": turn.echo or [*spoken, *called]},
        {"role": "user", "content": given},
    )


def _result(id: str, result: ToolResult) -> dict[str, Any]:
    said = {"type": "tool_result", "tool_use_id": id, "content": result_text(result, marked=False)}
    return said | {"is_error": True} if result.failed else said


def _spoken(message: Message) -> dict[str, Any]:
    if not message.images:
        return {"role": message.role.value, "content": message.content}
    shown = [
        {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.base64}}
        for image in message.images
    ]
    return {"role": message.role.value, "content": [*shown, {"type": "text", "text": message.content}]}


def answer(body: bytes) -> Answer:
    reply = _REPLY.decode(body)
    called = tuple(
        ToolCall(name=block.name, arguments=block.input or {}, id=block.id)
        for block in reply.content
        if block.type == "tool_use"
    )
    return Answer(
        text="".join(block.text for block in reply.content if block.type == "text"),
        model=reply.model,
        usage=_usage(reply.usage) if reply.usage else Usage(),
        finish=FINISH.get(reply.stop_reason or "end_turn", Finish.OTHER),
        tool_calls=called,
        echo=msgspec.json.decode(body)["content"] if called else None,
    )


def _usage(counted: Counted) -> Usage:
    """Their input leaves out what was read from or written to the prompt cache, and their output holds the thinking."""
    read = counted.cache_read_input_tokens
    prompt = counted.input_tokens
    if prompt is not None:
        prompt += (read or 0) + (counted.cache_creation_input_tokens or 0)
    thought = counted.output_tokens_details.thinking_tokens if counted.output_tokens_details else None
    written = counted.output_tokens
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=written if written is None else max(written - (thought or 0), 0),
        cached_tokens=read,
        thinking_tokens=thought,
    )
