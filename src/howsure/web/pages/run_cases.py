"""The cases of a run, as many as a page holds: what was asked, how it ended and why, repeats folded into one line; and
which check failed in which of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from howsure.model.result import Result
from howsure.model.run import Run
from howsure.model.verdict import Verdict
from howsure.reports.html.entries import Entry, entry
from howsure.reports.html.matrix import UUID, Line, Matrix, labels
from howsure.reports.inert import one_line
from howsure.store.browsing import Try
from howsure.web.filtering import Filter

WORST_FIRST = (Verdict.FAILED, Verdict.ERRORED, Verdict.SKIPPED, Verdict.PASSED)
Tries = Mapping[tuple[str, str], Sequence[Try]]


class CaseLine(Struct, frozen=True, kw_only=True):
    """One case by one candidate. `tries` are the verdicts of all its repeats, where it has several."""

    entry: Entry
    called: str
    address: str
    tries: tuple[str, ...] = ()
    passed: int = 0
    is_flaky: bool = False


class Column(Struct, frozen=True):
    """A case in the matrix."""

    label: str
    said: str
    address: str


class Grid(Struct, frozen=True, kw_only=True):
    """Checks × the cases that are shown: for each check a word, or nothing, for each case."""

    columns: tuple[Column, ...]
    lines: tuple[Line, ...]


def address_of(run_id: str, position: int, chosen: Filter) -> str:
    query = chosen.query()
    return f"/runs/{run_id}/cases/{position}{f'?{query}' if query else ''}"


def case_lines(run: Run, results: Sequence[Result], chosen: Filter, tries: Tries) -> tuple[CaseLine, ...]:
    """Repeats of one case by one candidate are one line, which leads to the first of them that is shown."""
    lines: dict[tuple[str, str], CaseLine] = {}
    for result in results:
        key = (result.case.id, result.candidate)
        if key not in lines:
            own = tuple(each.verdict for each in tries.get(key, ()))
            lines[key] = CaseLine(
                entry=entry(result),
                called=called(result.case.id),
                address=address_of(run.id, result.position, chosen),
                tries=own if len(own) > 1 else (),
                passed=own.count(Verdict.PASSED.value),
                is_flaky=len(set(own)) > 1,
            )
    return tuple(lines.values())


def called(case_id: str) -> str:
    """Its id; the beginning of one that only machines read."""
    return case_id[:8] if UUID.fullmatch(case_id) else one_line(case_id, 80)


def grid_of(run: Run, results: Sequence[Result], chosen: Filter) -> Grid | None:
    """None where a matrix would say no more than the list does."""
    matrix = Matrix()
    places: dict[tuple[str, str, int], int] = {}
    for result in results:
        listed = entry(result)
        places[listed.id, listed.candidate, listed.repeat] = result.position
        matrix.see(result, listed, WORST_FIRST.index(result.verdict))
    columns = matrix.columns()
    lines = tuple(matrix.lines())
    if len(columns) < 2 or not lines:
        return None
    entries = [column.entry for column in columns]
    return Grid(
        columns=tuple(
            Column(
                label,
                f"{each.id} {each.candidate}".strip(),
                address_of(run.id, places[each.id, each.candidate, each.repeat], chosen),
            )
            for label, each in zip(labels(entries), entries, strict=True)
        ),
        lines=lines,
    )
