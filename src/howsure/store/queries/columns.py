"""A whole run in columns, without its bodies: what comparisons are computed from. Values go into arrays of plain
numbers as they are read, so that a hundred thousand results cost a few megabytes. Of the cases only tags and labels are
decoded, and of two runs' cases only those that differ."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct, field
from sqlalchemy import ColumnElement, Connection, Select, and_, select

from howsure.model.case import Case
from howsure.model.score import UNIT, Direction, Scale
from howsure.model.verdict import Verdict
from howsure.store.bodies import read_case
from howsure.store.counting import RULES
from howsure.store.schema import cases, results, scores

VERDICTS = tuple(Verdict)
OUTCOMES = ("passed", "failed", "unmarked", "error", "not_applicable", "no_judge")
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


_asked = msgspec.json.Decoder(_Asked).decode


def tuples(connection: Connection, statement: Select[Any]) -> list[tuple[Any, ...]]:
    """As the driver gives them: for hundreds of thousands, making SQLAlchemy's own of them costs more than reading."""
    with connection.execute(statement) as found:
        assert found.cursor is not None
        return list(found.cursor.fetchall())


def attempts(connection: Connection, run_id: str, *among: ColumnElement[bool]) -> Attempts:
    """Every result of the run, or those that `among` chooses."""
    columns = results.c
    wanted = select(columns.position, columns.case_id, columns.candidate, columns.repeat, columns.verdict)
    # Sorted here: in the order of positions the database would read whole results, bodies and all.
    found = sorted(tuples(connection, wanted.where(columns.run_id == run_id, *among)))
    positions, cases, candidates, repeats, verdicts = zip(*found, strict=True) if found else [()] * 5
    case_places = {case: place for place, case in enumerate(dict.fromkeys(cases))}
    candidate_places = {name: place for place, name in enumerate(dict.fromkeys(candidates))}
    return Attempts(
        case_ids=list(case_places),
        candidate_names=list(candidate_places),
        positions=array("q", positions),
        cases=array("q", map(case_places.__getitem__, cases)),
        candidates=array("q", map(candidate_places.__getitem__, candidates)),
        repeats=array("q", repeats),
        verdicts=array("b", map(_verdict_codes.__getitem__, verdicts)),
    )


class Column:
    """A `Measured` that is being read."""

    __slots__ = ("direction", "high", "low", "outcomes", "positions", "values")

    def __init__(self, low: float, high: float | None) -> None:
        self.positions = array("q")
        self.values = array("d")
        self.outcomes = array("b")
        self.low = low
        self.high = high
        self.direction: str | None = None

    def add(self, outcome: str, positions: Sequence[int], values: Sequence[float]) -> None:
        """Grades that ended alike."""
        self.positions.extend(positions)
        self.outcomes.extend([_outcome_codes[outcome]] * len(positions))
        # What was scored has a value, what was not has none: no need to look at each.
        self.values.extend([NO_VALUE] * len(positions) if None in values[:1] else values)

    def add_each(self, grades: Sequence[tuple[int, str, float | None]]) -> None:
        """Grades that may have ended in any way: position, outcome, value."""
        positions, outcomes, values = zip(*grades, strict=True)
        self.positions.extend(positions)
        self.outcomes.extend(map(_outcome_codes.__getitem__, outcomes))
        self.values.extend(NO_VALUE if value is None else value for value in values)

    def widen(self, low: float, high: float | None, direction: str | None) -> None:
        self.low = min(self.low, low)
        self.high = None if high is None or self.high is None else max(self.high, high)
        # A grade without a value has no direction.
        self.direction = self.direction or direction

    def done(self, candidate: str, name: str, part_id: str | None, scope: str | None) -> Measured:
        return Measured(
            candidate=candidate,
            name=name,
            part_id=part_id,
            scope=scope,
            scale=Scale(self.low, self.high),
            direction=Direction(self.direction) if self.direction else Direction.HIGHER,
            positions=self.positions,
            values=self.values,
            outcomes=self.outcomes,
        )


def measures(connection: Connection, run_id: str) -> list[Measured]:
    """Every grader's grades of whole cases, by candidate and name; then every rule's. Rules are the same for every
    case; the criteria of other graders belong to their cases and are not read here."""
    return [*_graders(connection, run_id), *_rules(connection, run_id)]


def _graders(connection: Connection, run_id: str) -> list[Measured]:
    """A few statements for each grader and outcome: the index of the summary has them together, and neither outcome nor
    scale need be read for each grade."""
    columns = scores.c
    alike = (columns.candidate, columns.name, columns.outcome)
    whole = (columns.run_id == run_id, columns.scope.is_(None))
    scales = select(columns.scale_low, columns.scale_high, columns.direction).distinct()
    found: dict[tuple[str, str], Column] = {}
    # With the scope, though it is the same for all: so they come in the order of the index, and nothing is sorted.
    for candidate, name, outcome, _ in tuples(connection, select(*alike, columns.scope).distinct().where(*whole)):
        same = (columns.candidate == candidate, columns.name == name, columns.outcome == outcome)
        for low, high, direction in tuples(connection, scales.where(*whole, *same)):
            found.setdefault((candidate, name), Column(low, high)).widen(low, high, direction)
        grades = tuples(connection, select(columns.position, columns.value).where(*whole, *same))
        found[candidate, name].add(outcome, *zip(*grades, strict=True))
    return [column.done(*key, None, None) for key, column in sorted(found.items())]


def _rules(connection: Connection, run_id: str) -> list[Measured]:
    columns = scores.c
    wanted = select(columns.candidate, columns.part_id, columns.scope, columns.position, columns.outcome, columns.value)
    wanted = wanted.where(columns.run_id == run_id, columns.name == RULES, columns.part_id.is_not(None))
    found: dict[tuple[str, str, str | None], list[tuple[int, str, float | None]]] = {}
    ordered = tuples(connection, wanted.order_by(columns.position, columns.ordinal))
    for candidate, part_id, scope, position, outcome, value in ordered:
        found.setdefault((candidate, part_id, scope), []).append((position, outcome, value))
    return [rule(*key, grades) for key, grades in found.items()]


def rule(candidate: str, part_id: str, scope: str | None, grades: Sequence[tuple[int, str, float | None]]) -> Measured:
    """The grades of one rule: position, outcome, value."""
    column = Column(UNIT.low, UNIT.high)
    column.add_each(grades)
    return column.done(candidate, RULES, part_id, scope)


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
