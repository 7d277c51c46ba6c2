"""Ollama's own chat API: settings in `options`, a JSON Schema in `format`, tool arguments as objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct, field

from howsure.llm.base import Request
from howsure.llm.parts import Alternative, CallSettings, Finish, Message, Token, ToolTurn
from howsure.llm.specs import ModelSpec
from howsure.llm.wire import Answer, Unreadable, enforced, messages_of, present, result_of, result_text
from howsure.model.transcript import ToolCall, Usage

FINISH = {"stop": Finish.STOP, "length": Finish.LENGTH}
EFFORT: dict[str, bool | str] = {"none": False}


class Function(Struct):
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


class Called(Struct):
    function: Function
    id: str = ""


class Said(Struct):
    content: str = ""
    thinking: str | None = None
    tool_calls: list[Called] | None = None


class Likely(Struct):
    token: str
    logprob: float
    top_logprobs: list[Likely] | None = None


class Reply(Struct):
    message: Said
    model: str = ""
    done: bool = True
    done_reason: str = "stop"
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    logprobs: list[Likely] | None = None


_REPLY = msgspec.json.Decoder(Reply)


def url(spec: ModelSpec) -> str:
    return f"{spec.base_url}/api/chat"


def headers(spec: ModelSpec, key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def body(spec: ModelSpec, request: Request, settings: CallSettings) -> bytes:
    asked: dict[str, Any] = {
        "model": spec.model,
        "stream": False,
        "messages": _said(messages_of(request, settings)),
    }
    asked |= present(
        options=_options(settings) or None,
        format=enforced(request, settings),
        think=None if settings.effort is None else EFFORT.get(settings.effort, settings.effort),
        logprobs=None if settings.logprobs is None else True,
        top_logprobs=settings.logprobs,
    )
    if request.tools:
        asked["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters or {}},
            }
            for tool in request.tools
        ]
    return msgspec.json.encode(asked | settings.extra)


def _options(settings: CallSettings) -> dict[str, Any]:
    return present(
        temperature=settings.temperature,
        num_predict=settings.max_tokens,
        top_p=settings.top_p,
        seed=settings.seed,
        stop=settings.stop or None,
    )


def _said(messages: Iterable[Message]) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, ToolTurn):
            said += _worked(message)
        else:
            said.append(_spoken(message))
    return said


def _worked(turn: ToolTurn) -> list[dict[str, Any]]:
    """Models that think before they call are to see their thinking again."""
    called = [
        {"function": {"name": call.name, "arguments": call.arguments}} | ({"id": call.id} if call.id else {})
        for call in turn.tool_calls
    ]
    given = [
        {"role": "tool", "tool_name": call.name, "content": result_text(result_of(call))}
        | ({"tool_call_id": call.id} if call.id else {})
        for call in turn.tool_calls
    ]
    return [{"role": "assistant", "content": turn.content, "tool_calls": called} | (turn.echo or {}), *given]


def _spoken(message: Message) -> dict[str, Any]:
    said: dict[str, Any] = {"role": message.role.value, "content": message.content}
    return said | {"images": [image.base64 for image in message.images]} if message.images else said


def answer(body: bytes) -> Answer:
    reply = _REPLY.decode(body)
    if not reply.done:
        raise Unreadable("the answer is not finished")
    called = tuple(
        ToolCall(name=call.function.name, arguments=call.function.arguments, id=call.id)
        for call in reply.message.tool_calls or ()
    )
    finish = FINISH.get(reply.done_reason, Finish.OTHER)
    return Answer(
        text=reply.message.content,
        model=reply.model,
        # Thinking is part of their count, and cannot be told apart.
        usage=Usage(prompt_tokens=reply.prompt_eval_count, completion_tokens=reply.eval_count),
        finish=Finish.TOOL_CALLS if called and finish is Finish.STOP else finish,
        tool_calls=called,
        echo={"thinking": reply.message.thinking} if called and reply.message.thinking else None,
        logprobs=_tokens(reply.logprobs) if reply.logprobs else None,
    )


def _tokens(likely: list[Likely]) -> tuple[Token, ...]:
    return tuple(
        Token(
            one.token, one.logprob, tuple(Alternative(other.token, other.logprob) for other in one.top_logprobs or ())
        )
        for one in likely
    )
