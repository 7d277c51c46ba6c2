"""Anthropic's messages: the system prompt apart, content in blocks, input counted without what came from a cache."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from howsure.llm.base import ModelReply, ModelRequest, ModelSpec, ProviderAddress
from howsure.llm.messages import CallSettings, ChatMessage, FinishReason, ToolTurn
from howsure.llm.providers.shared import (
    enforced_schema,
    prompt_messages,
    result_of,
    result_text,
    without_none,
    write_messages,
)
from howsure.model.transcript import Role, ToolCall, Usage

VERSION = "2023-06-01"
#: The API requires a limit; this is ours where the caller gives none.
DEFAULT_MAX_TOKENS = 4096
FINISH = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "tool_use": FinishReason.TOOL_CALLS,
    "refusal": FinishReason.REFUSED,
}


class AnthropicBlock(Struct):
    """Text, a tool call or thinking, by `type`."""

    type: str
    text: str = ""
    id: str = ""
    name: str = ""
    input: dict[str, Any] | None = None


class AnthropicOutputDetails(Struct):
    thinking_tokens: int | None = None


class AnthropicUsage(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens_details: AnthropicOutputDetails | None = None


class AnthropicReply(Struct):
    content: list[AnthropicBlock]
    model: str = ""
    stop_reason: str | None = None
    usage: AnthropicUsage | None = None


_REPLY = msgspec.json.Decoder(AnthropicReply)


class AnthropicProvider:
    """`anthropic:model`."""

    name = "anthropic"
    address = ProviderAddress(
        url="https://api.anthropic.com", url_variables=("ANTHROPIC_BASE_URL",), key_variables=("ANTHROPIC_API_KEY",)
    )

    def url(self, spec: ModelSpec) -> str:
        return f"{spec.base_url}/v1/messages"

    def headers(self, spec: ModelSpec, key: str) -> dict[str, str]:
        version = {"anthropic-version": VERSION}
        return version | {"x-api-key": key} if key else version

    def body(self, spec: ModelSpec, request: ModelRequest, settings: CallSettings) -> bytes:
        messages = prompt_messages(request, settings)
        spoken = (message for message in messages if message.role is not Role.SYSTEM)
        body: dict[str, Any] = {
            "model": spec.model,
            "max_tokens": DEFAULT_MAX_TOKENS if settings.max_tokens is None else settings.max_tokens,
            "messages": write_messages(spoken, _message, _tool_turn),
        }
        schema = enforced_schema(request, settings)
        output = without_none(
            format=None if schema is None else {"type": "json_schema", "schema": schema}, effort=settings.effort
        )
        body |= without_none(
            system="\n\n".join(message.content for message in messages if message.role is Role.SYSTEM) or None,
            temperature=settings.temperature,
            top_p=settings.top_p,
            stop_sequences=settings.stop or None,
            output_config=output or None,
        )
        if request.tools:
            body["tools"] = [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": tool.parameters or {"type": "object"},
                }
                for tool in request.tools
            ]
        return msgspec.json.encode(body | settings.extra)

    def read_reply(self, body: bytes) -> ModelReply:
        reply = _REPLY.decode(body)
        calls = tuple(
            ToolCall(name=block.name, arguments=block.input or {}, id=block.id)
            for block in reply.content
            if block.type == "tool_use"
        )
        return ModelReply(
            text="".join(block.text for block in reply.content if block.type == "text"),
            model=reply.model,
            usage=_usage(reply.usage) if reply.usage else Usage(),
            finish=FINISH.get(reply.stop_reason or "end_turn", FinishReason.OTHER),
            tool_calls=calls,
            echo=msgspec.json.decode(body)["content"] if calls else None,
        )


def _tool_turn(turn: ToolTurn) -> tuple[dict[str, Any], dict[str, Any]]:
    """What they sent goes back as it came: thinking beside a call is signed, and may be neither changed nor missing."""
    ids = [call.id or f"call_{number}" for number, call in enumerate(turn.tool_calls, start=1)]
    text = [{"type": "text", "text": turn.content}] if turn.content.strip() else []
    calls = [
        {"type": "tool_use", "id": id, "name": call.name, "input": call.arguments}
        for id, call in zip(ids, turn.tool_calls, strict=True)
    ]
    results = [
        {"type": "tool_result", "tool_use_id": id, "content": result_text(result, mark_failure=False)}
        | ({"is_error": True} if result.failed else {})
        for id, result in zip(ids, map(result_of, turn.tool_calls), strict=True)
    ]
    return {"role": "assistant", "content": turn.echo or [*text, *calls]}, {"role": "user", "content": results}


def _message(message: ChatMessage) -> dict[str, Any]:
    if not message.images:
        return {"role": message.role.value, "content": message.content}
    images = [
        {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.base64}}
        for image in message.images
    ]
    return {"role": message.role.value, "content": [*images, {"type": "text", "text": message.content}]}


def _usage(usage: AnthropicUsage) -> Usage:
    """Their input leaves out what was read from or written to the prompt cache; their output includes the thinking."""
    cached = usage.cache_read_input_tokens
    prompt = usage.input_tokens
    if prompt is not None:
        prompt += (cached or 0) + (usage.cache_creation_input_tokens or 0)
    thinking = usage.output_tokens_details.thinking_tokens if usage.output_tokens_details else None
    output = usage.output_tokens
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=output if output is None else max(output - (thinking or 0), 0),
        cached_tokens=cached,
        thinking_tokens=thinking,
    )
