"""Google's generateContent: parts instead of text, `model` instead of `assistant`, settings in their own config."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct, field

from howsure.llm.base import ModelReply, ModelRequest, ModelSpec, ProviderAddress, UnreadableReply
from howsure.llm.messages import CallSettings, ChatMessage, FinishReason, TokenAlternative, TokenLogprob, ToolTurn
from howsure.llm.providers.shared import enforced_schema, prompt_messages, result_of, without_none, write_messages
from howsure.model.transcript import Role, ToolCall, Usage

FINISH = {
    "STOP": FinishReason.STOP,
    "MAX_TOKENS": FinishReason.LENGTH,
    "SAFETY": FinishReason.REFUSED,
    "RECITATION": FinishReason.REFUSED,
    "BLOCKLIST": FinishReason.REFUSED,
    "PROHIBITED_CONTENT": FinishReason.REFUSED,
    "SPII": FinishReason.REFUSED,
}


class GoogleFunctionCall(Struct):
    name: str
    args: dict[str, Any] = field(default_factory=dict)
    id: str = ""


class GooglePart(Struct, rename="camel"):
    text: str = ""
    thought: bool = False
    function_call: GoogleFunctionCall | None = None


class GoogleContent(Struct):
    parts: list[GooglePart] = field(default_factory=list)


class GoogleToken(Struct, rename="camel"):
    token: str = ""
    log_probability: float = 0.0


class GoogleTopTokens(Struct):
    candidates: list[GoogleToken] = field(default_factory=list)


class GoogleLogprobs(Struct, rename="camel"):
    chosen_candidates: list[GoogleToken] = field(default_factory=list)
    top_candidates: list[GoogleTopTokens] = field(default_factory=list)


class GoogleCandidate(Struct, rename="camel"):
    content: GoogleContent = field(default_factory=GoogleContent)
    finish_reason: str = "STOP"
    logprobs_result: GoogleLogprobs | None = None


class GoogleUsage(Struct, rename="camel"):
    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    cached_content_token_count: int | None = None
    thoughts_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None


class GooglePromptFeedback(Struct, rename="camel"):
    block_reason: str = ""


class GoogleReply(Struct, rename="camel"):
    candidates: list[GoogleCandidate] = field(default_factory=list)
    prompt_feedback: GooglePromptFeedback | None = None
    usage_metadata: GoogleUsage | None = None
    model_version: str = ""


_REPLY = msgspec.json.Decoder(GoogleReply)


class GoogleProvider:
    """`google:model`."""

    name = "google"
    address = ProviderAddress(
        url="https://generativelanguage.googleapis.com",
        url_variables=("GOOGLE_GEMINI_BASE_URL",),
        key_variables=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    )

    def url(self, spec: ModelSpec) -> str:
        name = quote(spec.model.removeprefix("models/"), safe="")
        return f"{spec.base_url}/v1beta/models/{name}:generateContent"

    def headers(self, spec: ModelSpec, key: str) -> dict[str, str]:
        # The API also takes the key in the address; there it would end up in logs.
        return {"x-goog-api-key": key} if key else {}

    def body(self, spec: ModelSpec, request: ModelRequest, settings: CallSettings) -> bytes:
        messages = prompt_messages(request, settings)
        spoken = (message for message in messages if message.role is not Role.SYSTEM)
        body: dict[str, Any] = {"contents": write_messages(spoken, _message, _tool_turn)}
        system = [{"text": message.content} for message in messages if message.role is Role.SYSTEM]
        if system:
            body["systemInstruction"] = {"parts": system}
        schema = enforced_schema(request, settings)
        config = without_none(
            temperature=settings.temperature,
            maxOutputTokens=settings.max_tokens,
            topP=settings.top_p,
            seed=settings.seed,
            stopSequences=settings.stop or None,
            thinkingConfig=None if settings.effort is None else {"thinkingLevel": settings.effort},
            responseLogprobs=None if settings.logprobs is None else True,
            logprobs=settings.logprobs,
            responseMimeType=None if schema is None else "application/json",
            responseJsonSchema=schema,
        )
        if config:
            body["generationConfig"] = config
        if request.tools:
            declarations = [
                {"name": tool.name, "description": tool.description}
                | ({"parametersJsonSchema": tool.parameters} if tool.parameters else {})
                for tool in request.tools
            ]
            body["tools"] = [{"functionDeclarations": declarations}]
        return msgspec.json.encode(body | settings.extra)

    def read_reply(self, body: bytes) -> ModelReply:
        reply = _REPLY.decode(body)
        usage = _usage(reply.usage_metadata) if reply.usage_metadata else Usage()
        if not reply.candidates:
            if reply.prompt_feedback and reply.prompt_feedback.block_reason:
                return ModelReply(text="", model=reply.model_version, usage=usage, finish=FinishReason.REFUSED)
            raise UnreadableReply("no candidates")
        candidate = reply.candidates[0]
        parts = candidate.content.parts
        calls = tuple(
            ToolCall(name=part.function_call.name, arguments=part.function_call.args, id=part.function_call.id)
            for part in parts
            if part.function_call
        )
        finish = FINISH.get(candidate.finish_reason, FinishReason.OTHER)
        return ModelReply(
            text="".join(part.text for part in parts if not part.thought),
            model=reply.model_version,
            usage=usage,
            finish=FinishReason.TOOL_CALLS if calls and finish is FinishReason.STOP else finish,
            tool_calls=calls,
            echo=msgspec.json.decode(body)["candidates"][0]["content"]["parts"] if calls else None,
            logprobs=_logprobs(candidate.logprobs_result) if candidate.logprobs_result else None,
        )


def _message(message: ChatMessage) -> dict[str, Any]:
    images = [{"inlineData": {"mimeType": image.media_type, "data": image.base64}} for image in message.images]
    role = "model" if message.role is Role.ASSISTANT else "user"
    return {"role": role, "parts": [*images, {"text": message.content}]}


def _tool_turn(turn: ToolTurn) -> tuple[dict[str, Any], dict[str, Any]]:
    """What they sent goes back as it came: calls are signed, and may not come back without the signature."""
    text = [{"text": turn.content}] if turn.content else []
    calls, results = [], []
    for call in turn.tool_calls:
        identity = {"name": call.name} | ({"id": call.id} if call.id else {})
        result = result_of(call)
        response = {"error" if result.failed else "output": result.content}
        calls.append({"functionCall": identity | {"args": call.arguments}})
        results.append({"functionResponse": identity | {"response": response}})
    return {"role": "model", "parts": turn.echo or [*text, *calls]}, {"role": "user", "parts": results}


def _usage(usage: GoogleUsage) -> Usage:
    """Their candidates leave out the thinking, as our completion does; what tools add to the prompt is apart."""
    prompt = usage.prompt_token_count
    if prompt is not None:
        prompt += usage.tool_use_prompt_token_count or 0
    completion = usage.candidates_token_count
    if completion is None and prompt is not None:
        # Their JSON leaves out zeros: nothing was written, or all of it was thinking.
        completion = 0
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=usage.cached_content_token_count,
        thinking_tokens=usage.thoughts_token_count,
        tool_prompt_tokens=usage.tool_use_prompt_token_count,
    )


def _logprobs(logprobs: GoogleLogprobs) -> tuple[TokenLogprob, ...]:
    top = [
        [TokenAlternative(one.token, one.log_probability) for one in step.candidates]
        for step in logprobs.top_candidates
    ]
    return tuple(
        TokenLogprob(chosen.token, chosen.log_probability, tuple(top[index]) if index < len(top) else ())
        for index, chosen in enumerate(logprobs.chosen_candidates)
    )
