"""What a user's function may return: text, an object with an answer, a Reply, or a whole Transcript."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, Struct

from howsure.errors import TargetFailed
from howsure.model.transcript import AgentStep, Message, Role, Span, Step, ToolCall, Transcript
from howsure.targets.answers.fields import Unreadable, found
from howsure.targets.answers.messages import since_the_user
from howsure.targets.answers.reading import Answered, BotError, answered, state_of
from howsure.targets.base import Closing, Finished, Reply

EXPECTED = "text, an object with `answer`, a Reply or a Transcript"


class Outcome(Struct, frozen=True, kw_only=True):
    """One turn, with the spans that came with it."""

    answered: Answered
    spans: tuple[Span, ...] | None = None


def outcome_of(value: Any, who: str) -> Outcome:
    """What the function did; `TargetFailed` when it returned anything else."""
    match value:
        case Reply():
            return Outcome(answered=Answered(reply=value))
        case Transcript():
            return _transcribed(value)
        case Finished(transcript=transcript):
            return _transcribed(transcript)
        case Message():
            return Outcome(answered=Answered(reply=Reply(messages=(value,))))
        case str() | Mapping():
            return Outcome(answered=_read(value, who))
        case _:
            raise TargetFailed(f"{who}: expected {EXPECTED}; it returned {found(value)}")


def closing_of(value: Any, known: Closing, who: str) -> Closing:
    """What is left at the end: as `close` tells it, else as the turns did."""
    match value:
        case None:
            return known
        case Closing(state=state, spans=spans):
            return Closing(state=known.state if state is None else state, spans=known.spans if spans is None else spans)
        case Mapping():
            return Closing(state=_state(value, who), spans=known.spans)
        case _:
            raise TargetFailed(f"{who}: expected a Closing, an object with `state`, or nothing; found {found(value)}")


def _state(value: Mapping[str, Any], who: str) -> dict[str, Any] | None:
    if set(value) != {"state"}:
        raise TargetFailed(f"{who}: expected an object with `state` alone, found the keys {', '.join(map(str, value))}")
    try:
        return state_of(value["state"])
    except Unreadable as error:
        raise TargetFailed(f"{who}: {error}") from error


def _read(value: str | Mapping[str, Any], who: str) -> Answered:
    try:
        return answered(value)
    except (Unreadable, BotError) as error:
        raise TargetFailed(f"{who}: {error}") from error


def _transcribed(transcript: Transcript) -> Outcome:
    """A Transcript as one turn: its messages since the user spoke, its state, spans and usage."""
    messages = list(since_the_user(transcript.messages) or _stepped(transcript.steps))
    last = messages[-1] if messages else None
    if last is None or (transcript.answer and (last.content != transcript.answer or last.tool_calls)):
        messages.append(Message(role=Role.ASSISTANT, content=transcript.answer))
    told = UNSET if transcript.duration_ms is None else transcript.duration_ms
    reply = Reply(messages=tuple(messages), usage=transcript.usage, duration_ms=told)
    return Outcome(answered=Answered(reply=reply, state=transcript.state), spans=transcript.spans)


def _stepped(steps: tuple[Step, ...]) -> list[Message]:
    """Steps alone, as messages that pass through the same agents and tools."""
    messages: list[Message] = []
    agent = ""
    for step in steps:
        if isinstance(step, AgentStep):
            agent = step.name
            messages.append(Message(role=Role.ASSISTANT, agent=agent))
        else:
            messages.append(Message(role=Role.ASSISTANT, agent=agent, tool_calls=(ToolCall(name=step.name),)))
    return messages
