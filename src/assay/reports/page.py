"""What the HTML page knows: one short entry for each result, to list and filter; one block for each, read when it is
opened; and what goes wrong most often. Text past `LONGEST` characters is cut, and says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

from markupsafe import Markup
from msgspec import json

from assay.model.case import Scenario, SingleTurn, opening
from assay.model.result import Result
from assay.model.score import Direction, Grade, Score
from assay.model.transcript import Message, ToolCall
from assay.reports.checks import parts, status, wholes
from assay.reports.conversation import conversation
from assay.reports.expected import expected
from assay.reports.figures import number, on_scale
from assay.reports.inert import inert, one_line
from assay.reports.marks import mark_of, needed
from assay.reports.simulated import played

LONGEST = 20_000
ASKED = 160
WHY = 220
COMMON = 8
SEVERITIES = ("high", "medium", "low", "")
ENCODER = json.Encoder(decimal_format="number")


class Page:
    """Reads the results once, in order, and remembers only what the list needs."""

    def __init__(self, results: AsyncIterable[Result]) -> None:
        self._results = results
        self._entries: list[dict[str, Any]] = []
        self._wrong: Counter[tuple[str, str, str, str]] = Counter()

    async def blocks(self) -> AsyncIterator[Markup]:
        """Each result as JSON that can stand inside a script element."""
        async for result in self._results:
            self._entries.append(entry(result))
            self._wrong.update(set(wrong(result)))
            yield embedded(block(result))

    def index(self) -> Markup:
        """After the last block: every entry."""
        return embedded(self._entries)

    def common(self) -> Markup:
        """After the last block: the checks that failed or broke in most results."""
        ranked = sorted(self._wrong.items(), key=lambda pair: (-pair[1], SEVERITIES.index(pair[0][2])))
        found = [
            {"grader": grader, "text": text, "severity": severity, "mark": mark, "count": count}
            for (grader, text, severity, mark), count in ranked[:COMMON]
        ]
        return embedded(found)


def embedded(value: Any) -> Markup:
    """JSON in which no `<`, `>` or `&` is left, so that nothing inside can end the element it stands in."""
    text = ENCODER.encode(value).decode()
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def entry(result: Result) -> dict[str, Any]:
    """What the list shows and filters by."""
    failing = [grader for grader, *_ in wrong(result)]
    return {
        "id": inert(result.case.id),
        "candidate": inert(result.candidate),
        "repeat": result.repeat,
        "verdict": result.verdict.value,
        "asked": one_line(result.case.name or opening(result.case.input), ASKED),
        "why": one_line("; ".join(result.reasons), WHY),
        "failing": list(dict.fromkeys(failing)),
    }


def wrong(result: Result) -> list[tuple[str, str, str, str]]:
    """Who failed it (a grader, or the kind of failure), over what, severity and mark. Parts speak for their grader."""
    broke = [(failure.kind, one_line(failure.message, WHY), "", "errored") for failure in result.failures]
    bad = [grade for grade in result.grades if mark_of(grade).word in ("failed", "errored")]
    told = {grade.name for grade in bad if grade.part}
    return [*(_wrong(grade) for grade in bad if grade.part or grade.name not in told), *broke]


def _wrong(grade: Grade) -> tuple[str, str, str, str]:
    part = grade.part
    severity = part.severity.value if part and part.severity else ""
    return grade.name, one_line(part.text, WHY) if part else "", severity, mark_of(grade).word


def block(result: Result) -> dict[str, Any]:
    """What an opened case shows."""
    return {
        "reasons": [_cut(reason) for reason in result.reasons],
        "failures": [{"kind": failure.kind, "message": _cut(failure.message)} for failure in result.failures],
        "tags": [*result.case.tags, *(f"{name}: {value}" for name, value in result.case.labels.items())],
        "given": _given(result),
        "talk": [_message(message) for message in conversation(result)],
        "silent": result.transcript is None,
        "state": _json(result.transcript.state) if result.transcript and result.transcript.state is not None else "",
        "expected": [{"title": title, "text": _cut(text)} for title, text in expected(result.case)],
        "grades": [_whole(grade, result) for grade in wholes(result.grades)] + _orphans(result),
        "seconds": number(result.duration_ms / 1000),
    }


def _given(result: Result) -> list[dict[str, str]]:
    """What the user's side was told, beyond what it says."""
    given = result.case.input
    if isinstance(given, Scenario):
        told = [(f"persona, up to {given.max_turns} turns", given.persona), *played(result)]
        return [{"title": title, "text": _cut(text)} for title, text in told]
    if isinstance(given, SingleTurn):
        documents = [{"title": "attachment", "text": _cut(file.title or file.path)} for file in given.attachments]
        return ([{"title": "context", "text": _cut(given.context)}] if given.context else []) + documents
    return []


def _message(message: Message) -> dict[str, Any]:
    calls = [_call(call) for call in message.tool_calls]
    return {"role": message.role.value, "agent": inert(message.agent), "text": _cut(message.content), "calls": calls}


def _call(call: ToolCall) -> dict[str, Any]:
    brief = ", ".join(f"{name} {_brief(value)}" for name, value in call.arguments.items())
    shown = {"name": inert(call.name), "brief": one_line(brief, WHY), "arguments": _json(call.arguments)}
    if call.result is None:
        return {**shown, "result": "", "said": "no response", "failed": False}
    said = one_line(_brief(call.result.content), ASKED)
    return {**shown, "result": _json(call.result.content), "said": said, "failed": call.result.failed}


def _brief(value: Any) -> str:
    return value if isinstance(value, str) else ENCODER.encode(value).decode()


def _whole(grade: Grade, result: Result) -> dict[str, Any]:
    shown = _graded(grade) | {"value": on_scale(grade.value, grade.scale) if isinstance(grade, Score) else ""}
    details = {name: value for name, value in grade.details.items() if name != "criteria"}
    return {
        **shown,
        "name": inert(grade.name),
        "details": _json(details) if details else "",
        "parts": [_part(part) for part in parts(result.grades, grade.name)],
    }


def _orphans(result: Result) -> list[dict[str, Any]]:
    """Parts whose grader gave no grade of the whole stand under its bare name."""
    known = {grade.name for grade in wholes(result.grades)}
    names = dict.fromkeys(grade.name for grade in result.grades if grade.part and grade.name not in known)
    blank = {"mark": "", "status": "", "reason": "", "judge": "", "needed": "", "evidence": [], "value": ""}
    return [
        {**blank, "name": inert(name), "details": "", "parts": [_part(part) for part in parts(result.grades, name)]}
        for name in names
    ]


def _part(grade: Grade) -> dict[str, Any]:
    part = grade.part
    return _graded(grade) | {
        "text": _cut(part.text) if part else "",
        "severity": part.severity.value if part and part.severity else "",
        "scope": part.scope if part else "",
        "weight": number(part.weight) if part and part.weight is not None else "",
    }


def _graded(grade: Grade) -> dict[str, Any]:
    direction = grade.direction if isinstance(grade, Score) else Direction.HIGHER
    return {
        "mark": mark_of(grade).word,
        "status": status(grade),
        "reason": _cut(grade.reason),
        "judge": grade.judge,
        "needed": needed(grade.pass_mark, direction),
        "evidence": [_cut(quote) for quote in grade.evidence] if isinstance(grade, Score) else [],
    }


def _json(value: Any) -> str:
    """Indented, to be read; a text is shown as it is."""
    return _cut(value if isinstance(value, str) else json.format(ENCODER.encode(value), indent=2).decode())


def _cut(text: str) -> str:
    shown = inert(text)
    if len(shown) <= LONGEST:
        return shown
    return f"{shown[:LONGEST]}\n… cut here: {len(shown) - LONGEST:,} more characters are in the run itself"
