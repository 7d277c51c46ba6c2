"""OpenAI's chat completions, which vLLM, llama.cpp, gateways and many others understand too, some with other names for
a few fields; and Azure OpenAI, which differs in address and key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from howsure.llm.base import ModelReply, ModelRequest, ModelSpec, ProviderAddress, UnreadableReply
from howsure.llm.messages import UNREAD_ARGUMENTS, CallSettings, ChatMessage, FinishReason, ToolTurn, decode_arguments
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

AZURE_VERSION = "2024-10-21"
NO_SETTINGS = CallSettings()
FINISH = {
    "stop": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "content_filter": FinishReason.REFUSED,
}


class OpenAiContentPart(Struct):
    """A part of a content that came as a list; thinking has no `text`."""

    type: str = "text"
    text: str | None = None


class OpenAiFunction(Struct):
    name: str
    arguments: str | dict[str, Any] | None = None


class OpenAiToolCall(Struct):
    function: OpenAiFunction
    id: str | None = None


class OpenAiMessage(Struct):
    content: str | list[OpenAiContentPart] | None = None
    refusal: str | None = None
    tool_calls: list[OpenAiToolCall] | None = None


class OpenAiLogprobs(Struct):
    content: list[ReplyToken] | None = None


class OpenAiChoice(Struct):
    message: OpenAiMessage
    finish_reason: str | None = None
    logprobs: OpenAiLogprobs | None = None


class OpenAiTokenDetails(Struct):
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class OpenAiUsage(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: OpenAiTokenDetails | None = None
    completion_tokens_details: OpenAiTokenDetails | None = None


class OpenAiReply(Struct):
    choices: list[OpenAiChoice]
    model: str | None = None
    usage: OpenAiUsage | None = None


_REPLY = msgspec.json.Decoder(OpenAiReply)


class OpenAiProvider:
    """`openai:model`, or a server that resembles it. Only OpenAI itself calls the limit `max_completion_tokens`."""

    def __init__(
        self,
        name: str,
        address: ProviderAddress,
        *,
        limit_field: str = "max_tokens",
        seed_field: str = "seed",
        takes_logprobs: bool = True,
    ) -> None:
        self.name = name
        self.address = address
        self._limit_field = limit_field
        self._seed_field = seed_field
        self._takes_logprobs = takes_logprobs

    def url(self, spec: ModelSpec) -> str:
        return f"{spec.base_url}/chat/completions"

    def headers(self, spec: ModelSpec, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(self, spec: ModelSpec, request: ModelRequest, settings: CallSettings) -> bytes:
        body: dict[str, Any] = {"messages": write_messages(prompt_messages(request, settings), _message, _tool_turn)}
        if settings != NO_SETTINGS:
            body |= without_none(
                temperature=settings.temperature,
                top_p=settings.top_p,
                reasoning_effort=settings.effort,
                stop=settings.stop or None,
                **{self._limit_field: settings.max_tokens, self._seed_field: settings.seed},
            )
        if settings.logprobs is not None and self._takes_logprobs:
            body |= {"logprobs": True, "top_logprobs": settings.logprobs}
        if (schema := enforced_schema(request, settings)) is not None:
            body["response_format"] = _response_format(schema)
        if request.tools:
            body["tools"] = function_tools(request, {"type": "object", "properties": {}})
        body |= self._model_field(spec)
        return msgspec.json.encode(body | settings.extra if settings.extra else body)

    def _model_field(self, spec: ModelSpec) -> dict[str, str]:
        return {"model": spec.model}

    def read_reply(self, body: bytes) -> ModelReply:
        reply = _REPLY.decode(body)
        if not reply.choices:
            raise UnreadableReply("no choices")
        choice = reply.choices[0]
        message = choice.message
        finish = FINISH.get(choice.finish_reason or "stop", FinishReason.OTHER)
        calls = tuple(map(_tool_call, message.tool_calls)) if message.tool_calls else ()
        logprobs = choice.logprobs.content if choice.logprobs else None
        text = message.refusal or "" if message.content is None else message.content
        return ModelReply(
            text=text if isinstance(text, str) else "".join(part.text or "" for part in text),
            model=reply.model or "",
            usage=_usage(reply.usage) if reply.usage else Usage(),
            finish=FinishReason.REFUSED if message.refusal else finish,
            tool_calls=calls,
            echo=_echo(body, calls) if calls else None,
            logprobs=tuple(map(ReplyToken.read, logprobs)) if logprobs else None,
        )


class AzureProvider(OpenAiProvider):
    """`azure:deployment`: the address names the deployment, and a header of its own holds the key."""

    def __init__(self) -> None:
        address = ProviderAddress(
            url_variables=("AZURE_OPENAI_ENDPOINT",),
            key_variables=("AZURE_OPENAI_API_KEY",),
            version_variables=("AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION"),
            version=AZURE_VERSION,
        )
        super().__init__("azure", address, limit_field="max_completion_tokens")

    def url(self, spec: ModelSpec) -> str:
        deployment = quote(spec.model, safe="")
        return f"{spec.base_url}/openai/deployments/{deployment}/chat/completions?api-version={quote(spec.api_version)}"

    def headers(self, spec: ModelSpec, key: str) -> dict[str, str]:
        return {"api-key": key} if key else {}

    def _model_field(self, spec: ModelSpec) -> dict[str, str]:
        return {}


def _message(message: ChatMessage) -> dict[str, Any]:
    if not message.images:
        return {"role": message.role.value, "content": message.content}
    images = [
        {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{image.base64}"}}
        for image in message.images
    ]
    return {"role": message.role.value, "content": [{"type": "text", "text": message.content}, *images]}


def _tool_turn(turn: ToolTurn) -> list[dict[str, Any]]:
    """The calls, and a message for the result of each."""
    calls = [(call.id or f"call_{number}", call) for number, call in enumerate(turn.tool_calls, start=1)]
    written = [
        {
            "id": id,
            "type": "function",
            "function": {"name": call.name, "arguments": msgspec.json.encode(call.arguments).decode()},
        }
        for id, call in calls
    ]
    message = {"role": "assistant", "content": turn.content or None, "tool_calls": written}
    results = [{"role": "tool", "tool_call_id": id, "content": result_text(result_of(call))} for id, call in calls]
    return [message | (turn.echo or {}), *results]


_FORMATS: dict[int, tuple[Mapping[str, Any], dict[str, Any]]] = {}
_MOST_FORMATS = 256


def _response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Worked out once for each schema object, which is kept beside it: a run sends the same few with every call."""
    known = _FORMATS.get(id(schema))
    if known is not None and known[0] is schema:
        return known[1]
    if len(_FORMATS) >= _MOST_FORMATS:
        _FORMATS.clear()
    # The name may only hold these characters, and is shown to the model.
    title = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in schema.get("title", ""))
    json_schema = {"name": title[:64] or "reply", "schema": schema, "strict": is_strict(schema)}
    made = {"type": "json_schema", "json_schema": json_schema}
    _FORMATS[id(schema)] = (schema, made)
    return made


def is_strict(schema: Any) -> bool:
    """Whether the strict mode takes it: every object closed, all of its properties required."""
    if isinstance(schema, list):
        return all(is_strict(part) for part in schema)
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    named: dict[str, Any] = properties if isinstance(properties, dict) else {}
    closed = schema.get("additionalProperties") is False and set(schema.get("required", ())) == set(named)
    if not closed and (named or schema.get("type") == "object"):
        return False
    rest = (part for name, part in schema.items() if name not in ("properties", "enum", "const", "default"))
    return all(map(is_strict, named.values())) and all(map(is_strict, rest))


def _tool_call(call: OpenAiToolCall) -> ToolCall:
    sent = call.function.arguments
    arguments = sent if isinstance(sent, dict) else decode_arguments(sent or "")
    return ToolCall(name=call.function.name, arguments=arguments, id=call.id or "")


def _echo(body: bytes, calls: tuple[ToolCall, ...]) -> dict[str, Any]:
    """What some servers want to see again beside their calls: thinking, and signatures inside the calls. Calls without
    an id, or with arguments that are no JSON, are not repeated as they came: servers stumble over them."""
    message = msgspec.json.decode(body)["choices"][0]["message"]
    sound = all(call.id and UNREAD_ARGUMENTS not in call.arguments for call in calls)
    names = ("reasoning_content", "tool_calls") if sound else ("reasoning_content",)
    return {name: message[name] for name in names if message.get(name)}


def _usage(usage: OpenAiUsage) -> Usage:
    """Their completion includes the thinking; ours does not. Where it exceeds the whole, it was counted apart."""
    completion, details = usage.completion_tokens, usage.completion_tokens_details
    thinking = details.reasoning_tokens if details else None
    if completion is not None and thinking and thinking <= completion:
        completion -= thinking
    prompt = usage.prompt_tokens_details
    return Usage(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=completion,
        cached_tokens=prompt.cached_tokens if prompt else None,
        thinking_tokens=thinking,
    )
