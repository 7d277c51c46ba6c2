"""Google's generateContent: parts instead of text, `model` instead of `assistant`, settings in their own config."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct, field

from howsure.llm.base import Request
from howsure.llm.parts import Alternative, CallSettings, Finish, Message, Token, ToolTurn
from howsure.llm.specs import ModelSpec
from howsure.llm.wire import Answer, Unreadable, enforced, messages_of, present, result_of
from howsure.model.transcript import Role, ToolCall, Usage

FINISH = {
    "STOP": Finish.STOP,
    "MAX_TOKENS": Finish.LENGTH,
    "SAFETY": Finish.REFUSED,
    "RECITATION": Finish.REFUSED,
    "BLOCKLIST": Finish.REFUSED,
    "PROHIBITED_CONTENT": Finish.REFUSED,
    "SPII": Finish.REFUSED,
}


class FunctionCall(Struct):
    name: str
    args: dict[str, Any] = field(default_factory=dict)
    id: str = ""


class Part(Struct, rename="camel"):
    text: str = ""
    thought: bool = False
    function_call: FunctionCall | None = None


class Content(Struct):
    parts: list[Part] = field(default_factory=list)


class Likely(Struct, rename="camel"):
    token: str = ""
    log_probability: float = 0.0


class Likeliest(Struct):
    candidates: list[Likely] = field(default_factory=list)


class Logprobs(Struct, rename="camel"):
    chosen_candidates: list[Likely] = field(default_factory=list)
    top_candidates: list[Likeliest] = field(default_factory=list)


class Candidate(Struct, rename="camel"):
    content: Content = field(default_factory=Content)
    finish_reason: str = "STOP"
    logprobs_result: Logprobs | None = None


class Counted(Struct, rename="camel"):
    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    cached_content_token_count: int | None = None
    thoughts_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None


class Feedback(Struct, rename="camel"):
    block_reason: str = ""


class Reply(Struct, rename="camel"):
    candidates: list[Candidate] = field(default_factory=list)
    prompt_feedback: Feedback | None = None
    usage_metadata: Counted | None = None
    model_version: str = ""


_REPLY = msgspec.json.Decoder(Reply)


def url(spec: ModelSpec) -> str:
    name = quote(spec.model.removeprefix("models/"), safe="")
    return f"{spec.base_url}/v1beta/models/{name}:generateContent"


def headers(spec: ModelSpec, key: str) -> dict[str, str]:
    # The API also takes the key in the address; there it would end up in logs.
    return {"x-goog-api-key": key} if key else {}


def body(spec: ModelSpec, request: Request, settings: CallSettings) -> bytes:
    messages = messages_of(request, settings)
    asked: dict[str, Any] = {"contents": _contents(messages)}
    rules = [{"text": message.content} for message in messages if message.role is Role.SYSTEM]
    if rules:
        asked["systemInstruction"] = {"parts": rules}
    config = _config(request, settings)
    if config:
        asked["generationConfig"] = config
    if request.tools:
        described = [
            {"name": tool.name, "description": tool.description}
            | ({"parametersJsonSchema": tool.parameters} if tool.parameters else {})
            for tool in request.tools
        ]
        asked["tools"] = [{"functionDeclarations": described}]
    return msgspec.json.encode(asked | settings.extra)


def _config(request: Request, settings: CallSettings) -> dict[str, Any]:
    schema = enforced(request, settings)
    return present(
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


def _contents(messages: Iterable[Message]) -> list[dict[str, Any]]:
    contents: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, ToolTurn):
            contents += _worked(message)
        elif message.role is not Role.SYSTEM:
            contents.append(_content(message))
    return contents


def _worked(turn: ToolTurn) -> tuple[dict[str, Any], dict[str, Any]]:
    """What they sent goes back as it came: calls are signed, and may not come back without that."""
    spoken = [{"text": turn.content}] if turn.content else []
    called = [{"functionCall": _named(call) | {"args": call.arguments}} for call in turn.tool_calls]
    given = [{"functionResponse": _named(call) | {"response": _response(call)}} for call in turn.tool_calls]
    return {"role": "model", "parts": turn.echo or [*spoken, *called]}, {"role": "user", "parts": given}


def _named(call: ToolCall) -> dict[str, Any]:
    return {"name": call.name} | ({"id": call.id} if call.id else {})


def _response(call: ToolCall) -> dict[str, Any]:
    result = result_of(call)
    return {"error" if result.failed else "output": result.content}


def _content(message: Message) -> dict[str, Any]:
    shown = [{"inlineData": {"mimeType": image.media_type, "data": image.base64}} for image in message.images]
    role = "model" if message.role is Role.ASSISTANT else "user"
    return {"role": role, "parts": [*shown, {"text": message.content}]}


def answer(body: bytes) -> Answer:
    reply = _REPLY.decode(body)
    usage = _usage(reply.usage_metadata) if reply.usage_metadata else Usage()
    if not reply.candidates:
        if reply.prompt_feedback and reply.prompt_feedback.block_reason:
            return Answer(text="", model=reply.model_version, usage=usage, finish=Finish.REFUSED)
        raise Unreadable("no candidates")
    candidate = reply.candidates[0]
    parts = candidate.content.parts
    called = tuple(
        ToolCall(name=part.function_call.name, arguments=part.function_call.args, id=part.function_call.id)
        for part in parts
        if part.function_call
    )
    finish = FINISH.get(candidate.finish_reason, Finish.OTHER)
    return Answer(
        text="".join(part.text for part in parts if not part.thought),
        model=reply.model_version,
        usage=usage,
        finish=Finish.TOOL_CALLS if called and finish is Finish.STOP else finish,
        tool_calls=called,
        echo=msgspec.json.decode(body)["candidates"][0]["content"]["parts"] if called else None,
        logprobs=_tokens(candidate.logprobs_result) if candidate.logprobs_result else None,
    )


def _usage(counted: Counted) -> Usage:
    """Their candidates leave out the thinking, as our completion does; what tools add to the prompt is apart."""
    prompt = counted.prompt_token_count
    if prompt is not None:
        prompt += counted.tool_use_prompt_token_count or 0
    written = counted.candidates_token_count
    if written is None and prompt is not None:
        # Zeros are left out of their JSON: nothing was written, or all of it was thinking.
        written = 0
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=written,
        cached_tokens=counted.cached_content_token_count,
        thinking_tokens=counted.thoughts_token_count,
    )


def _tokens(found: Logprobs) -> tuple[Token, ...]:
    likeliest = [
        [Alternative(one.token, one.log_probability) for one in step.candidates] for step in found.top_candidates
    ]
    return tuple(
        Token(chosen.token, chosen.log_probability, tuple(likeliest[place]) if place < len(likeliest) else ())
        for place, chosen in enumerate(found.chosen_candidates)
    )
