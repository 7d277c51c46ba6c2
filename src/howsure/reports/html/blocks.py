"""What an opened case shows: the conversation with its tool calls, what was expected, every grade with its reason and
evidence. Text past `LONGEST` characters is cut, and says so; a block past `BLOCK` bytes is cut shorter."""

from __future__ import annotations

from typing import Any

from msgspec import json

from howsure.model.case import Scenario, SingleTurn
from howsure.model.result import Result
from howsure.model.score import Direction, Grade, Score
from howsure.model.transcript import Message, ToolCall
from howsure.reports.checks import parts, status, wholes
from howsure.reports.conversation import conversation
from howsure.reports.expected import expected
from howsure.reports.figures import number, on_scale
from howsure.reports.html.entries import ASKED, WHY, tags
from howsure.reports.html.packing import ENCODER
from howsure.reports.inert import inert, one_line
from howsure.reports.marks import mark_of, needed
from howsure.reports.simulated import played

LONGEST = 20_000
SHORT = 1_000
BLOCK = 1_000_000
ENDS = 30
NOTHING_KEPT: dict[str, Any] = {"left_out": True}
"""Stands for a case whose grades alone are too large to carry."""


def block_bytes(result: Result) -> bytes:
    """The block as JSON, cut until it fits."""
    whole = ENCODER.encode(block(result))
    if len(whole) <= BLOCK:
        return whole
    shorter = ENCODER.encode(block(result, SHORT, ENDS))
    return shorter if len(shorter) <= BLOCK else ENCODER.encode(NOTHING_KEPT)


def block(result: Result, longest: int = LONGEST, ends: int = 0) -> dict[str, Any]:
    """`longest`: of any one text; `ends`: so many messages of the beginning and of the end (0: all)."""
    cut = Cut(longest)
    state = result.transcript.state if result.transcript else None
    return {
        "reasons": [cut(reason) for reason in result.reasons],
        "failures": [{"kind": inert(each.kind), "message": cut(each.message)} for each in result.failures],
        "tags": list(tags(result)),
        "given": _given(result, cut),
        "talk": _talk(conversation(result), cut, ends),
        "silent": result.transcript is None,
        "state": cut.json(state) if state is not None else "",
        "expected": [{"title": inert(title), "text": cut(text)} for title, text in expected(result.case)],
        "grades": [_whole(grade, result, cut) for grade in wholes(result.grades)] + _orphans(result, cut),
        "seconds": number(result.duration_ms / 1000),
    }


class Cut:
    """Foreign text made inert, and cut after so many characters."""

    def __init__(self, longest: int) -> None:
        self._longest = longest

    def __call__(self, text: str) -> str:
        shown = inert(text)
        if len(shown) <= self._longest:
            return shown
        left = len(shown) - self._longest
        return f"{shown[: self._longest]}\n… cut here: {left:,} more characters are in the run itself"

    def json(self, value: Any) -> str:
        """Indented, to be read; a text is shown as it is."""
        return self(value if isinstance(value, str) else json.format(ENCODER.encode(value), indent=2).decode())


def _given(result: Result, cut: Cut) -> list[dict[str, str]]:
    """What the user's side was told, beyond what it says."""
    given = result.case.input
    if isinstance(given, Scenario):
        told = [(f"persona, up to {given.max_turns} turns", given.persona), *played(result)]
        return [{"title": title, "text": cut(text)} for title, text in told]
    if isinstance(given, SingleTurn):
        documents = [{"title": "attachment", "text": cut(file.title or file.path)} for file in given.attachments]
        return ([{"title": "context", "text": cut(given.context)}] if given.context else []) + documents
    return []


def _talk(said: tuple[Message, ...], cut: Cut, ends: int) -> list[dict[str, Any]]:
    left = len(said) - 2 * ends
    if not ends or left <= 0:
        return [_message(message, cut) for message in said]
    gap = f"… {left:,} messages left out here: the conversation is too long for this page"
    between: dict[str, Any] = {"role": "left out", "agent": "", "text": gap, "calls": []}
    first, last = said[:ends], said[-ends:]
    return [*(_message(each, cut) for each in first), between, *(_message(each, cut) for each in last)]


def _message(message: Message, cut: Cut) -> dict[str, Any]:
    calls = [_call(call, cut) for call in message.tool_calls]
    return {"role": message.role.value, "agent": inert(message.agent), "text": cut(message.content), "calls": calls}


def _call(call: ToolCall, cut: Cut) -> dict[str, Any]:
    brief = ", ".join(f"{name} {_brief(value)}" for name, value in call.arguments.items())
    shown = {"name": inert(call.name), "brief": one_line(brief, WHY), "arguments": cut.json(call.arguments)}
    if call.result is None:
        return {**shown, "result": "", "said": "no response", "failed": False}
    said = one_line(_brief(call.result.content), ASKED)
    return {**shown, "result": cut.json(call.result.content), "said": said, "failed": call.result.failed}


def _brief(value: Any) -> str:
    return value if isinstance(value, str) else ENCODER.encode(value).decode()


def _whole(grade: Grade, result: Result, cut: Cut) -> dict[str, Any]:
    shown = _graded(grade, cut) | {"value": on_scale(grade.value, grade.scale) if isinstance(grade, Score) else ""}
    details = {name: value for name, value in grade.details.items() if name != "criteria"}
    return {
        **shown,
        "name": inert(grade.name),
        "details": cut.json(details) if details else "",
        "parts": [_part(part, cut) for part in parts(result.grades, grade.name)],
    }


def _orphans(result: Result, cut: Cut) -> list[dict[str, Any]]:
    """Parts whose grader gave no grade of the whole stand under its bare name."""
    known = {grade.name for grade in wholes(result.grades)}
    names = dict.fromkeys(grade.name for grade in result.grades if grade.part and grade.name not in known)
    blank = {"mark": "", "status": "", "reason": "", "judge": "", "needed": "", "evidence": [], "value": ""}
    return [
        {
            **blank,
            "name": inert(name),
            "details": "",
            "parts": [_part(part, cut) for part in parts(result.grades, name)],
        }
        for name in names
    ]


def _part(grade: Grade, cut: Cut) -> dict[str, Any]:
    part = grade.part
    return _graded(grade, cut) | {
        "text": cut(part.text) if part else "",
        "severity": part.severity.value if part and part.severity else "",
        "scope": inert(part.scope) if part else "",
        "weight": number(part.weight) if part and part.weight is not None else "",
    }


def _graded(grade: Grade, cut: Cut) -> dict[str, Any]:
    direction = grade.direction if isinstance(grade, Score) else Direction.HIGHER
    return {
        "mark": mark_of(grade).word,
        "status": status(grade),
        "reason": cut(grade.reason),
        "judge": inert(grade.judge),
        "needed": needed(grade.pass_mark, direction),
        "evidence": [cut(quote) for quote in grade.evidence] if isinstance(grade, Score) else [],
    }
