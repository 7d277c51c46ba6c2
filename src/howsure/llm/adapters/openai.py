"""OpenAI's chat completions, which vLLM, llama.cpp, gateways and many others understand, too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from howsure.llm.adapters.openai_tools import Called, call_of, described, echo_of, worked
from howsure.llm.base import Request
from howsure.llm.parts import Alternative, CallSettings, Finish, Message, Token, ToolTurn
from howsure.llm.specs import ModelSpec, Provider
from howsure.llm.wire import Answer, Unreadable, enforced, messages_of, present
from howsure.model.transcript import Usage

NO_SETTINGS = CallSettings()
FINISH = {
    "stop": Finish.STOP,
    "length": Finish.LENGTH,
    "tool_calls": Finish.TOOL_CALLS,
    "function_call": Finish.TOOL_CALLS,
    "content_filter": Finish.REFUSED,
}


class Piece(Struct):
    """A part of a content that came as a list; thinking has no `text`."""

    type: str = "text"
    text: str | None = None


class Said(Struct):
    content: str | list[Piece] | None = None
    refusal: str | None = None
    tool_calls: list[Called] | None = None


class Likely(Struct):
    token: str
    logprob: float
    top_logprobs: list[Likely] | None = None


class Logprobs(Struct):
    content: list[Likely] | None = None


class Choice(Struct):
    message: Said
    finish_reason: str | None = None
    logprobs: Logprobs | None = None


class PromptDetails(Struct):
    cached_tokens: int | None = None


class CompletionDetails(Struct):
    reasoning_tokens: int | None = None


class Counted(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: PromptDetails | None = None
    completion_tokens_details: CompletionDetails | None = None


class Reply(Struct):
    choices: list[Choice]
    model: str | None = None
    usage: Counted | None = None


_REPLY = msgspec.json.Decoder(Reply)


def url(spec: ModelSpec) -> str:
    return f"{spec.base_url}/chat/completions"


def headers(spec: ModelSpec, key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def body(spec: ModelSpec, request: Request, settings: CallSettings) -> bytes:
    # Servers that only resemble OpenAI's know the older name.
    longest = "max_completion_tokens" if spec.provider is Provider.OPENAI else "max_tokens"
    asked = fields(request, settings, longest=longest)
    asked["model"] = spec.model
    return msgspec.json.encode(asked | settings.extra if settings.extra else asked)


def fields(request: Request, settings: CallSettings, *, longest: str, seed: str = "seed") -> dict[str, Any]:
    """The body but for the model; `longest` and `seed` are what this provider calls these settings."""
    asked: dict[str, Any] = {"messages": _said(messages_of(request, settings))}
    if settings != NO_SETTINGS:
        asked |= present(
            temperature=settings.temperature,
            top_p=settings.top_p,
            reasoning_effort=settings.effort,
            stop=settings.stop or None,
            **{longest: settings.max_tokens, seed: settings.seed},
        )
    if settings.logprobs is not None:
        asked |= {"logprobs": True, "top_logprobs": settings.logprobs}
    if (schema := enforced(request, settings)) is not None:
        asked["response_format"] = response_format(schema)
    if request.tools:
        asked["tools"] = [described(tool) for tool in request.tools]
    return asked


def _said(messages: Iterable[Message]) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, ToolTurn):
            said += worked(message)
        else:
            said.append(spoken(message))
    return said


def spoken(message: Message) -> dict[str, Any]:
    if not message.images:
        return {"role": message.role.value, "content": message.content}
    shown = [
        {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{image.base64}"}}
        for image in message.images
    ]
    return {"role": message.role.value, "content": [{"type": "text", "text": message.content}, *shown]}


_FORMATS: dict[int, tuple[Mapping[str, Any], dict[str, Any]]] = {}
_MOST_FORMATS = 256


def response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Worked out once for each schema object: the same few are sent with every call of a run."""
    known = _FORMATS.get(id(schema))
    if known is not None and known[0] is schema:
        return known[1]
    if len(_FORMATS) >= _MOST_FORMATS:
        _FORMATS.clear()
    made = _response_format(schema)
    _FORMATS[id(schema)] = (schema, made)
    return made


def _response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    # The name may only hold these characters, and is shown to the model.
    title = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in schema.get("title", ""))
    named = {"name": title[:64] or "reply", "schema": schema, "strict": is_strict(schema)}
    return {"type": "json_schema", "json_schema": named}


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


def answer(body: bytes) -> Answer:
    reply = _REPLY.decode(body)
    if not reply.choices:
        raise Unreadable("no choices")
    choice = reply.choices[0]
    said = choice.message
    finish = FINISH.get(choice.finish_reason or "stop", Finish.OTHER)
    called = tuple(call_of(call) for call in said.tool_calls) if said.tool_calls else ()
    return Answer(
        text=said.refusal or "" if said.content is None else text_of(said.content),
        model=reply.model or "",
        usage=usage_of(reply.usage) if reply.usage else Usage(),
        finish=Finish.REFUSED if said.refusal else finish,
        tool_calls=called,
        echo=echo_of(body, called) if called else None,
        logprobs=_tokens(choice.logprobs.content) if choice.logprobs and choice.logprobs.content else None,
    )


def text_of(content: str | list[Piece]) -> str:
    return content if isinstance(content, str) else "".join(piece.text or "" for piece in content)


def usage_of(counted: Counted) -> Usage:
    """Their completion holds the thinking; ours does not. Where it is larger than the whole, it was counted apart."""
    written, details = counted.completion_tokens, counted.completion_tokens_details
    thought = details.reasoning_tokens if details else None
    if written is not None and thought and thought <= written:
        written -= thought
    prompt = counted.prompt_tokens_details
    return Usage(
        prompt_tokens=counted.prompt_tokens,
        completion_tokens=written,
        cached_tokens=prompt.cached_tokens if prompt else None,
        thinking_tokens=thought,
    )


def _tokens(likely: list[Likely]) -> tuple[Token, ...]:
    return tuple(
        Token(
            one.token, one.logprob, tuple(Alternative(other.token, other.logprob) for other in one.top_logprobs or ())
        )
        for one in likely
    )
