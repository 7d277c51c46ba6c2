"""A whole run in columns, without its bodies: what comparisons are computed from. Values go into arrays of plain
numbers as they are read, so that a hundred thousand results cost a few megabytes. Of the cases only tags and labels are
decoded, and of two runs' cases only those that differ."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct, field
from sqlalchemy import Connection, Select, and_, or_, select

from assay.model.case import Case
from assay.model.score import Direction, Scale
from assay.model.verdict import Verdict
from assay.store.bodies import read_case
from assay.store.schema import cases, results, scores

VERDICTS = tuple(Verdict)
OUTCOMES = ("passed", "failed", "unmarked", "error", "not_applicable", "no_judge")
RULES = "rubric"
"""The grader whose parts are the same for every case; other graders' parts belong to their cases."""
NO_VALUE = float("nan")
CHUNK = 500
"""Positions asked for in one statement."""

_verdict_codes = {verdict.value: code for code, verdict in enumerate(VERDICTS)}
_outcome_codes = {outcome: code for code, outcome in enumerate(OUTCOMES)}


class Attempts(Struct, frozen=True, kw_only=True):
    """The results of a run, in the order of their positions. `verdicts` are places in `VERDICTS`; `candidates` and
    `cases` are places in `candidate_names` and `case_ids`; a duration that is not known is no number."""

    case_ids: list[str]
    candidate_names: list[str]
    positions: array[int]
    cases: array[int]
    candidates: array[int]
    repeats: array[int]
    verdicts: array[int]
    durations: array[float]


class Measured(Struct, frozen=True, kw_only=True):
    """One grader's whole-case grades of one candidate, or those of one rule. `outcomes` are places in `OUTCOMES`; a
    value that is not there is no number. `scale` is the widest of those used."""

    candidate: str
    name: str
    part_id: str | None
    scope: str | None
    scale: Scale
    direction: Direction
    positions: array[int]
    values: array[float]
    outcomes: array[int]


class Face(Struct, frozen=True):
    """What a case can be sliced, paired and clustered by."""

    id: str
    tags: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)


class PartOutcome(Struct, frozen=True):
    """How one criterion or rule of one result ended."""

    position: int
    name: str
    part_id: str
    outcome: str


class _Asked(Struct, frozen=True):
    """What of a case decides what its grades mean. Answers that a dataset brings are no part of the question."""

    input: Raw
    expectations: Raw = Raw(b"[]")
    world: str = ""
    profile: str = ""
    tools: Raw = Raw(b"null")
    state: Raw = Raw(b"{}")


_face = msgspec.json.Decoder(Face).decode
_asked = msgspec.json.Decoder(_Asked).decode


def attempts(connection: Connection, run_id: str) -> Attempts:
    """Every result of the run."""
    case_places: dict[str, int] = {}
    candidate_places: dict[str, int] = {}
    made = Attempts(
        case_ids=[],
        candidate_names=[],
        positions=array("q"),
        cases=array("q"),
        candidates=array("q"),
        repeats=array("q"),
        verdicts=array("b"),
        durations=array("d"),
    )
    columns = results.c
    wanted = select(
        columns.position, columns.case_id, columns.candidate, columns.repeat, columns.verdict, columns.duration_ms
    )
    for position, case, candidate, repeat, verdict, duration in connection.execute(
        wanted.where(columns.run_id == run_id).order_by(columns.position)
    ):
        made.positions.append(position)
        made.cases.append(case_places.setdefault(case, len(case_places)))
        made.candidates.append(candidate_places.setdefault(candidate, len(candidate_places)))
        made.repeats.append(repeat)
        made.verdicts.append(_verdict_codes[verdict])
        made.durations.append(NO_VALUE if duration is None else duration)
    made.case_ids.extend(case_places)
    made.candidate_names.extend(candidate_places)
    return made


class _Column:
    """A `Measured` that is being read."""

    __slots__ = ("bounded", "direction", "high", "low", "outcomes", "positions", "values")

    def __init__(self) -> None:
        self.positions = array("q")
        self.values = array("d")
        self.outcomes = array("b")
        self.low = float("inf")
        self.high = float("-inf")
        self.bounded = True
        self.direction: str | None = None

    def add(self, position: int, outcome: str, value: float | None, direction: str | None) -> None:
        self.positions.append(position)
        self.outcomes.append(_outcome_codes[outcome])
        self.values.append(NO_VALUE if value is None else value)
        # A grade without a value has no direction either.
        self.direction = self.direction or direction

    def widen(self, low: float, high: float | None) -> None:
        self.low = min(self.low, low)
        if high is None:
            self.bounded = False
        else:
            self.high = max(self.high, high)

    def done(self, candidate: str, name: str, part_id: str | None, scope: str | None) -> Measured:
        return Measured(
            candidate=candidate,
            name=name,
            part_id=part_id,
            scope=scope,
            scale=Scale(self.low, self.high if self.bounded else None),
            direction=Direction(self.direction) if self.direction else Direction.HIGHER,
            positions=self.positions,
            values=self.values,
            outcomes=self.outcomes,
        )


def measures(connection: Connection, run_id: str) -> list[Measured]:
    """Every grader's grades of whole cases, and every rule's; in the order of their first grade."""
    found: dict[tuple[str, str, str | None, str | None], _Column] = {}
    seen: tuple[Any, ...] = ()
    for candidate, name, part_id, scope, position, outcome, value, direction, low, high in connection.execute(
        _scores(run_id)
    ):
        key = (candidate, name, part_id, scope)
        column = found.get(key)
        if column is None:
            column = found[key] = _Column()
            seen = ()
        column.add(position, outcome, value, direction)
        # Scales are mostly the same from grade to grade of a grader: looked at when they change.
        if (key, low, high) != seen:
            column.widen(low, high)
            seen = (key, low, high)
    return [column.done(*key) for key, column in found.items()]


def _scores(run_id: str) -> Select[Any]:
    columns = scores.c
    whole_or_rule = or_(columns.part_id.is_(None), columns.name == RULES)
    return (
        select(
            *(columns.candidate, columns.name, columns.part_id, columns.scope, columns.position),
            *(columns.outcome, columns.value, columns.direction, columns.scale_low, columns.scale_high),
        )
        .where(columns.run_id == run_id, whole_or_rule)
        .order_by(columns.position, columns.ordinal)
    )


def part_outcomes(connection: Connection, run_id: str, positions: Sequence[int]) -> list[PartOutcome]:
    """How the criteria and rules of some results ended."""
    columns = scores.c
    wanted = select(columns.position, columns.name, columns.part_id, columns.outcome)
    wanted = wanted.where(columns.run_id == run_id, columns.part_id.is_not(None))
    found: list[PartOutcome] = []
    for start in range(0, len(positions), CHUNK):
        some = wanted.where(columns.position.in_(positions[start : start + CHUNK]))
        found += [PartOutcome(*each) for each in connection.execute(some.order_by(columns.position, columns.ordinal))]
    return found


def faces(connection: Connection, run_id: str) -> list[Face]:
    """The tags and labels of every case, in the order of the plan."""
    wanted = select(cases.c.body).where(cases.c.run_id == run_id).order_by(cases.c.position)
    return [_face(body) for body in connection.scalars(wanted)]


def changed_cases(connection: Connection, first: str, second: str) -> list[tuple[Case, Case]]:
    """The cases of the same id that ask, or expect, something else in the second run."""
    one, other = cases.alias("one"), cases.alias("other")
    joined = one.join(other, and_(other.c.run_id == second, other.c.case_id == one.c.case_id))
    wanted = select(one.c.format, one.c.body, other.c.format, other.c.body).select_from(joined)
    # The database compares bytes; only cases that differ at all are looked into.
    differing = wanted.where(one.c.run_id == first, one.c.body != other.c.body).order_by(one.c.position)
    return [
        (read_case(format, body), read_case(other_format, other_body))
        for format, body, other_format, other_body in connection.execute(differing)
        if _asked(body) != _asked(other_body)
    ]
