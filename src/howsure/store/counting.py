"""What a summary is made of, counted by the database over indexed columns alone: no body is read, however many results
there are. Of a run that has ended it is counted once, and kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, Select, func, select, update

from howsure.model.score import Why
from howsure.model.verdict import Verdict
from howsure.store.schema import results, runs, scores

RULES = "rubric"
SCORED = ("passed", "failed", "unmarked")


class Group(Struct, frozen=True):
    """Scores that are alike: same candidate, grader, scope and outcome. The fields are the columns of `grouped`."""

    candidate: str
    name: str
    scope: str | None
    outcome: str
    number: int
    value_sum: float | None
    scale_low: float
    scale_high: float | None
    bounded: int
    lowest_mark: float | None
    highest_mark: float | None
    marked: int
    direction: str | None

    @property
    def scored(self) -> bool:
        return self.outcome in SCORED


def grouped(run_id: str) -> Select[Any]:
    """The scores of a run in groups, in the order of their index."""
    alike = (scores.c.candidate, scores.c.name, scores.c.scope, scores.c.outcome)
    return (
        select(
            *alike,
            func.count(),
            func.sum(scores.c.value),
            func.min(scores.c.scale_low),
            func.max(scores.c.scale_high),
            func.count(scores.c.scale_high),
            func.min(scores.c.pass_mark),
            func.max(scores.c.pass_mark),
            func.count(scores.c.pass_mark),
            func.min(scores.c.direction),
        )
        .where(scores.c.run_id == run_id)
        .group_by(*alike)
    )


def verdicts(run_id: str) -> Select[Any]:
    """In the order of an index, with the first and the last of the candidates."""
    candidate, verdict = results.c.candidate, results.c.verdict
    wanted = select(verdict, func.count(), func.min(candidate), func.max(candidate))
    return wanted.where(results.c.run_id == run_id).group_by(verdict)


def verdicts_by_candidate(run_id: str) -> Select[Any]:
    """In no index's order: SQLite holds a line for every result meanwhile."""
    alike = (results.c.candidate, results.c.verdict)
    return select(*alike, func.count()).where(results.c.run_id == run_id).group_by(*alike)


def faults(run_id: str) -> Select[Any]:
    blamed = (results.c.run_id == run_id, results.c.fault.is_not(None))
    return select(results.c.fault, func.count()).where(*blamed).group_by(results.c.fault).order_by(results.c.fault)


class Failing(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A grader (`part_id` None), or one of its criteria or rules, that failed or broke in `number` results; `first` and
    `last` are the positions of two of them."""

    name: str
    outcome: str
    number: int
    first: int
    last: int
    part_id: str | None = None


MOST_FAILING = 60
"""So many are kept of what failed: pages show the commonest."""


def failing(run_id: str) -> Select[Any]:
    alike = (scores.c.name, scores.c.part_id, scores.c.outcome)
    number, place = func.count(), scores.c.position
    bad = scores.c.outcome.in_(("failed", Why.ERROR.value))
    wanted = select(*alike, number, func.min(place), func.max(place)).where(scores.c.run_id == run_id, bad)
    return wanted.group_by(*alike).order_by(number.desc(), *alike).limit(MOST_FAILING)


def failing_now(connection: Connection, run_id: str) -> list[Failing]:
    return [
        Failing(name=name, part_id=part, outcome=outcome, number=number, first=first, last=last)
        for name, part, outcome, number, first, last in connection.execute(failing(run_id))
    ]


class Counted(Struct, frozen=True):
    """What a summary is made of: verdicts by candidate, scores in groups, and who was answerable; what failed most; and
    how each rule ended, by its id (None: counted before that was looked at)."""

    numbers: dict[str, dict[Verdict, int]]
    groups: list[Group]
    faults: dict[str, int]
    failing: list[Failing] | None = None
    rules: dict[str, dict[str, int]] | None = None


def counted(connection: Connection, run_id: str) -> Counted:
    """Counted now, over every result."""
    groups = [Group(*found) for found in connection.execute(grouped(run_id))]
    blamed = {str(party): int(number) for party, number in connection.execute(faults(run_id))}
    ruled = any(group.name == RULES and group.scope is not None for group in groups)
    failed, rated = failing_now(connection, run_id), rules(connection, run_id) if ruled else {}
    return Counted(_numbers_of(connection, run_id), groups, blamed, failed, rated)


def _numbers_of(connection: Connection, run_id: str) -> dict[str, dict[Verdict, int]]:
    found = connection.execute(verdicts(run_id)).all()
    if any(first != last for _, _, first, last in found):
        told = [tuple(each) for each in connection.execute(verdicts_by_candidate(run_id))]
    else:
        told = [(candidate, verdict, number) for verdict, number, candidate, _ in found]
    numbers: dict[str, dict[Verdict, int]] = {}
    for candidate, verdict, number in told:
        numbers.setdefault(candidate, {})[Verdict(verdict)] = number
    return numbers


def rules(connection: Connection, run_id: str) -> dict[str, dict[str, int]]:
    """How often each rule ended how."""
    alike = (scores.c.part_id, scores.c.outcome)
    own = (scores.c.run_id == run_id, scores.c.name == RULES, scores.c.part_id.is_not(None))
    found: dict[str, dict[str, int]] = {}
    for part_id, outcome, number in connection.execute(select(*alike, func.count()).where(*own).group_by(*alike)):
        found.setdefault(part_id, {})[outcome] = number
    return found


def settle(connection: Connection, run_id: str) -> None:
    """Count once and keep it: the run has ended, and is looked at more often than it changes."""
    kept = msgspec.json.encode(counted(connection, run_id))
    connection.execute(update(runs).where(runs.c.id == run_id).values(groups=kept))


def kept_counts(connection: Connection, run_ids: Sequence[str]) -> dict[str, Counted]:
    kept = select(runs.c.id, runs.c.groups).where(runs.c.id.in_(run_ids), runs.c.groups.is_not(None))
    return {run_id: _counted(groups) for run_id, groups in connection.execute(kept)}


def kept_count(connection: Connection, run_id: str) -> Counted | None:
    """None: the run has not ended."""
    return kept_counts(connection, [run_id]).get(run_id)


_counted = msgspec.json.Decoder(Counted).decode
