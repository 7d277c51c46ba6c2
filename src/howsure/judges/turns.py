"""A conversation as judges and people count it: turns with numbers. The numbers are the same in every view of one
conversation, so evidence can name them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from howsure.judges.quoting import cut, prefixed
from howsure.model.case import Case, SingleTurn, user_turns
from howsure.model.transcript import Message, Role, ToolCall, Transcript

OUTPUT_CAP = 4_000
"""Characters of one tool's output."""

_SPEAKERS = {Role.USER: "User", Role.ASSISTANT: "Agent", Role.SYSTEM: "System"}


class Turn(Struct, frozen=True, kw_only=True):
    """One message and its number. What an agent says beside a tool call is thinking: the user does not see it."""

    number: int
    role: Role
    text: str
    agent: str = ""
    calls: tuple[ToolCall, ...] = ()

    @property
    def is_thinking(self) -> bool:
        return bool(self.calls)

    @property
    def speaker(self) -> str:
        return f"{_SPEAKERS[self.role]} ({name_of(self.agent)})" if self.agent else _SPEAKERS[self.role]


def turns(case: Case, transcript: Transcript) -> tuple[Turn, ...]:
    """Everything said, in order. A recording without the user's side is given the case's."""
    said = list(transcript.messages)
    if not any(message.role is Role.USER for message in said):
        said = [*user_side(case), *said]
    if transcript.answer.strip() and not _says(said, transcript.answer):
        said.append(Message(role=Role.ASSISTANT, content=transcript.answer))
    return tuple(
        Turn(number=number, role=each.role, text=each.content, agent=each.agent, calls=each.tool_calls)
        for number, each in enumerate(said, start=1)
    )


def user_side(case: Case) -> list[Message]:
    """What the case says before the agent does: the earlier conversation and the question, unless that repeats it."""
    given = case.input
    history = list(given.history) if isinstance(given, SingleTurn) else []
    asked = [Message(role=Role.USER, content=text) for text in user_turns(given)]
    if history and history[-1].role is Role.USER and history[-1].content.strip() == asked[0].content.strip():
        asked = []
    return [*history, *asked]


def spoken(conversation: Iterable[Turn]) -> str:
    """What the user saw: no tools, no thinking."""
    return "\n".join(
        f"[turn {turn.number}] {turn.speaker}:\n{prefixed(turn.text)}"
        for turn in conversation
        if turn.text.strip() and not turn.is_thinking
    )


def traced(conversation: Iterable[Turn]) -> str:
    """What was said and done: tool calls with what they gave, too."""
    return "\n".join(line for turn in conversation for line in _traced(turn))


def called(calls: Sequence[ToolCall]) -> str:
    """Tool calls alone, numbered."""
    return "\n".join(f"{number}. {_call(call)}" for number, call in enumerate(calls, start=1))


def compact(value: Any) -> str:
    """JSON on one line, or the text itself."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)


def name_of(name: str) -> str:
    """A name in quotes, on one line whatever it holds."""
    return json.dumps(name, ensure_ascii=False)


def _traced(turn: Turn) -> Iterable[str]:
    if turn.text.strip():
        beside = " (beside tool calls, not shown to the user)" if turn.is_thinking else ""
        yield f"[turn {turn.number}] {turn.speaker}{beside}:\n{prefixed(turn.text)}"
    for call in turn.calls:
        yield f"[turn {turn.number}] tool call: {_call(call)}"


def _call(call: ToolCall) -> str:
    arguments = " ".join(cut(compact(call.arguments), OUTPUT_CAP).split("\n"))
    line = f"{name_of(call.name)} with {arguments}"
    if call.result is None:
        return f"{line}\n| (no result was seen)"
    outcome = "failed with" if call.result.failed else "gave"
    return f"{line} {outcome}:\n{prefixed(cut(compact(call.result.content), OUTPUT_CAP))}"


def _says(said: Sequence[Message], answer: str) -> bool:
    """Whether the answer is among the last things said to the user (an answer may be followed by nothing else)."""
    last = next((each for each in reversed(said) if each.role is Role.ASSISTANT and each.content.strip()), None)
    return last is not None and last.content.strip() == answer.strip() and not last.tool_calls
