"""One short entry for each result: what the list of cases shows, sorts and filters by; and what went wrong in it."""

from __future__ import annotations

from msgspec import Struct

from howsure.model.case import opening
from howsure.model.result import Result
from howsure.model.score import Grade
from howsure.reports.inert import inert, one_line
from howsure.reports.marks import mark_of

ID = 200
ASKED = 160
WHY = 220
TAGS = 12


class Wrong(Struct, frozen=True):
    """Who failed a result (a grader, or the kind of failure), over what, how severe, and whether it failed or broke."""

    grader: str
    text: str
    severity: str
    mark: str


class Entry(Struct, frozen=True, kw_only=True, array_like=True):
    """A line of the list. The page's program knows the fields by their order. `wrong` are numbers that stand for what
    went wrong, `change` what became of it against the baseline: `worse`, `better` or nothing."""

    place: int
    id: str
    candidate: str
    repeat: int
    verdict: str
    asked: str
    why: str
    failing: tuple[str, ...]
    tags: tuple[str, ...]
    seconds: float
    wrong: tuple[int, ...] = ()
    change: str = ""


def entry(result: Result, place: int = 0, wrong_numbers: tuple[int, ...] = (), change: str = "") -> Entry:
    return Entry(
        place=place,
        id=inert(result.case.id)[:ID],
        candidate=inert(result.candidate)[:ID],
        repeat=result.repeat,
        verdict=result.verdict.value,
        asked=one_line(result.case.name or opening(result.case.input), ASKED),
        why=one_line("; ".join(result.reasons), WHY),
        failing=tuple(dict.fromkeys(found.grader for found in wrong(result))),
        tags=tags(result),
        seconds=round(result.duration_ms / 1000, 3),
        wrong=wrong_numbers,
        change=change,
    )


def tags(result: Result) -> tuple[str, ...]:
    """Tags, and labels as `name: value`."""
    said = (*result.case.tags, *(f"{name}: {value}" for name, value in result.case.labels.items()))
    return tuple(one_line(tag, ID) for tag in said[:TAGS])


def wrong(result: Result) -> list[Wrong]:
    """Parts speak for their grader, a failure for itself."""
    broke = [Wrong(one_line(each.kind, ID), one_line(each.message, WHY), "", "errored") for each in result.failures]
    bad = [grade for grade in result.grades if mark_of(grade).word in ("failed", "errored")]
    told = {grade.name for grade in bad if grade.part}
    return [*(_wrong(grade) for grade in bad if grade.part or grade.name not in told), *broke]


def _wrong(grade: Grade) -> Wrong:
    part = grade.part
    severity = part.severity.value if part and part.severity else ""
    return Wrong(one_line(grade.name, ID), one_line(part.text, WHY) if part else "", severity, mark_of(grade).word)
