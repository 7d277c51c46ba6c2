"""The shape of an answer: one reader for what a function returns, a program writes or an HTTP bot sends.

`{"answer", "messages"?, "tool_calls"?, "agent"?, "agents"?, "state"?, "usage"?, "error"?}`, in camelCase or snake_case.
Keys beyond these are the bot's own business and are left alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import TargetFailed
from howsure.model.transcript import Message, Role, Span, ToolCall
from howsure.targets.answer_parts import (
    AnswerFields,
    UnreadableAnswer,
    calls_in,
    describe_value,
    list_names,
    message_of,
    messages_in,
    plain_names,
    quote_value,
    usage_of,
)
from howsure.targets.base import Reply

ANSWER = ("answer", "response", "reply", "output", "response_text", "output_text", "text", "content", "message")
CALLS = ("tool_calls", "tools_called", "function_calls")
STATE = ("state", "session_state", "final_state")
AGENTS = ("agents", "agent_steps")
BESIDES = plain_names(
    "error", "errors", "messages", "usage", "usage_metadata", "agent", "agent_name", *CALLS, *STATE, *AGENTS
)
"""Fields that are read beside an answer."""


class BotError(TargetFailed):
    """The bot reported an error."""


class BotAnswer(Struct, frozen=True, kw_only=True):
    """A reply, with the state of the session and the spans where the bot reported them."""

    reply: Reply
    state: dict[str, Any] | None = None
    spans: tuple[Span, ...] | None = None


def read_answer(value: Any) -> BotAnswer:
    """The answer in `value`: text, or an object."""
    if isinstance(value, str):
        return BotAnswer(reply=Reply.saying(value))
    if not isinstance(value, Mapping):
        raise UnreadableAnswer(f"expected text or an object with `answer`, found {describe_value(value)}")
    fields = AnswerFields(value)
    if not fields.any_of(BESIDES) and isinstance(answer := fields.first(*ANSWER), str):
        return BotAnswer(reply=Reply.saying(answer))
    raise_bot_error(fields.first("error", "errors"))
    if not any(name in fields for name in (*ANSWER, "messages", *CALLS)):
        raise UnreadableAnswer(
            f"expected an object with `answer`, `messages` or `tool_calls`; found the keys {list_names(fields.keys)}"
        )
    return BotAnswer(
        reply=Reply(messages=_messages(fields), usage=usage_of(fields.first("usage", "usage_metadata"))),
        state=state_of(fields.first(*STATE)),
    )


def raise_bot_error(error: Any) -> None:
    """Raise `BotError` for an `error` field that is not empty, whatever is beside it."""
    if error is None or error is False or error in ("", [], {}):
        return
    if isinstance(error, Mapping):
        error = AnswerFields(error).first("message", "detail", "error") or error
    raise BotError(f"the bot answered with an error: {error if isinstance(error, str) else quote_value(error, 500)}")


def state_of(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise UnreadableAnswer(f"`state`: expected an object, found {describe_value(value)}")
    return dict(value)


def _messages(fields: AnswerFields) -> tuple[Message, ...]:
    """The messages: calls from `tool_calls` come before the last message, and the answer comes last."""
    messages_field = fields.first("messages")
    messages = list(messages_in(messages_field)) if messages_field is not None else []
    messages = _add_calls(messages, calls_in(fields.first(*CALLS), CALLS[0]))
    for answer in _answers(fields, apart=messages_field is None):
        last = messages[-1] if messages else Message(role=Role.USER)
        # An answer often repeats the last message.
        repeats = (last.role, last.content, last.tool_calls) == (answer.role, answer.content, ())
        if not repeats or answer.tool_calls:
            messages.append(answer)
    return tuple(_assign_agents(messages, fields))


def _answers(fields: AnswerFields, apart: bool) -> list[Message]:
    """The answer, or several where it is a list. An empty one counts too, where there are no messages."""
    value = fields.first(*ANSWER)
    if value is None:
        return [Message(role=Role.ASSISTANT)] if apart and any(name in fields for name in ANSWER) else []
    if isinstance(value, str):
        return [Message(role=Role.ASSISTANT, content=value)]
    if isinstance(value, list | tuple):
        return [message for place, one in enumerate(value) for message in message_of(one, f"answer[{place}]")]
    if isinstance(value, Mapping):
        return list(message_of(value, "answer"))
    raise UnreadableAnswer(f"`answer`: expected text, found {describe_value(value)}")


def _add_calls(messages: list[Message], calls: Sequence[ToolCall]) -> list[Message]:
    """Calls that are not in the messages come before the last message: an answer follows its calls."""
    known = [call for message in messages for call in message.tool_calls]
    new: list[ToolCall] = []
    for call in calls:
        for other in known:
            by_id = bool(other.id and call.id)
            if other.id == call.id if by_id else (other.name, other.arguments) == (call.name, call.arguments):
                known.remove(other)
                break
        else:
            new.append(call)
    if not new:
        return messages
    ends = bool(messages) and not messages[-1].tool_calls
    place = len(messages) - 1 if ends else len(messages)
    return [*messages[:place], Message(role=Role.ASSISTANT, tool_calls=tuple(new)), *messages[place:]]


def _assign_agents(messages: list[Message], fields: AnswerFields) -> list[Message]:
    """`agent` is the speaker; of several `agents`, the last one. The others took part before it."""
    names = _agents(fields)
    if not names:
        return messages
    before = [Message(role=Role.ASSISTANT, agent=name) for name in names[:-1]]
    spoken = [
        replace(one, agent=names[-1]) if one.role is Role.ASSISTANT and not one.agent else one for one in messages
    ]
    return before + spoken


def _agents(fields: AnswerFields) -> list[str]:
    several = fields.first(*AGENTS)
    if several is None:
        single = fields.text("agent", "agent_name")
        return [single] if single else []
    if not isinstance(several, list | tuple):
        raise UnreadableAnswer(f"`agents`: expected a list of names, found {describe_value(several)}")
    named = [AnswerFields(one).text("name", "agent") if isinstance(one, Mapping) else str(one) for one in several]
    last = fields.text("agent", "agent_name")
    return [*named, last] if last and named[-1:] != [last] else named
