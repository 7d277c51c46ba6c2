"""A run in columns, without its bodies, for comparisons: arrays of plain numbers, so that a hundred thousand results
cost a few megabytes. Also the tags and labels of cases, and the part of a large run that a smaller one shares."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

import msgspec
from msgspec import Raw, Struct, field
from sqlalchemy import ColumnElement, Connection, and_, func, or_, select

from howsure.model.case import Case, World
from howsure.model.run import Pins
from howsure.model.score import UNIT, Direction, Interval, Scale
from howsure.model.verdict import Verdict
from howsure.store.codecs import CaseTags, decode_case, decode_pins, decode_tags
from howsure.store.database import chunks, read_tuples
from howsure.store.results import read_faces
from howsure.store.schema import cases, results, runs, scores

RULES = "rubric"
SCENARIO = "scenario_id"
"""The label that names the scenario of an Explain case."""
VERDICTS = tuple(Verdict)
OUTCOMES = ("passed", "failed", "unmarked", "error", "not_applicable", "no_judge")
NO_VALUE = float("nan")

_verdict_codes = defaultdict(
    lambda: VERDICTS.index(Verdict.DAMAGED), {verdict.value: code for code, verdict in enumerate(VERDICTS)}
)
_outcome_codes = {outcome: code for code, outcome in enumerate(OUTCOMES)}


class AttemptColumns(Struct, frozen=True, kw_only=True):
    """The results of a run, in the order of their positions. `verdicts` are places in `VERDICTS`; `candidates` and
    `cases` are places in `candidate_names` and `case_ids`; a duration that is not known is no number."""

    case_ids: list[str]
    candidate_names: list[str]
    positions: array[int]
    cases: array[int]
    candidates: array[int]
    repeats: array[int]
    verdicts: array[int]


class GradeColumn(Struct, frozen=True, kw_only=True):
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


class CasePreview(Struct, frozen=True):
    """What a case can be sliced, paired and clustered by."""

    id: str
    tags: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)


class _CaseContent(Struct, frozen=True):
    """The part of a case that decides what its grades mean; recorded answers are not part of it."""

    input: Raw
    expectations: Raw = Raw(b"[]")
    world: str = ""
    profile: str = ""
    tools: Raw = Raw(b"null")
    state: Raw = Raw(b"{}")


_decode_content = msgspec.json.Decoder(_CaseContent).decode


def read_attempts(connection: Connection, run_id: str, *among: ColumnElement[bool]) -> AttemptColumns:
    """Every result of the run, or those that `among` chooses."""
    columns = results.c
    statement = select(columns.position, columns.case_id, columns.candidate, columns.repeat, columns.verdict)
    # Sorted here: in the order of positions the database would read whole results, bodies and all.
    found = sorted(read_tuples(connection, statement.where(columns.run_id == run_id, *among)))
    positions, cases, candidates, repeats, verdicts = zip(*found, strict=True) if found else [()] * 5
    case_places = {case: place for place, case in enumerate(dict.fromkeys(cases))}
    candidate_places = {name: place for place, name in enumerate(dict.fromkeys(candidates))}
    return AttemptColumns(
        case_ids=list(case_places),
        candidate_names=list(candidate_places),
        positions=array("q", positions),
        cases=array("q", map(case_places.__getitem__, cases)),
        candidates=array("q", map(candidate_places.__getitem__, candidates)),
        repeats=array("q", repeats),
        verdicts=array("b", map(_verdict_codes.__getitem__, verdicts)),
    )


class GradeColumnBuilder:
    """A `GradeColumn` that is being read."""

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
        # All grades with one outcome have a value, or none has: no need to check each.
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

    def done(self, candidate: str, name: str, part_id: str | None, scope: str | None) -> GradeColumn:
        return GradeColumn(
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


def read_grade_columns(connection: Connection, run_id: str) -> list[GradeColumn]:
    """Every grader's grades of whole cases, by candidate and name; then every rule's. Rules are the same for every
    case; the criteria of other graders belong to their cases and are not read here."""
    return [*_graders(connection, run_id), *_rules(connection, run_id)]


def _graders(connection: Connection, run_id: str) -> list[GradeColumn]:
    """A few statements for each grader and outcome: the index of the summary has them together, and neither outcome nor
    scale need be read for each grade."""
    columns = scores.c
    alike = (columns.candidate, columns.name, columns.outcome)
    whole = (columns.run_id == run_id, columns.scope.is_(None))
    scales = select(columns.scale_low, columns.scale_high, columns.direction).distinct()
    found: dict[tuple[str, str], GradeColumnBuilder] = {}
    # With the scope, though it is the same for all: so they come in the order of the index, and nothing is sorted.
    for candidate, name, outcome, _ in read_tuples(connection, select(*alike, columns.scope).distinct().where(*whole)):
        same = (columns.candidate == candidate, columns.name == name, columns.outcome == outcome)
        for low, high, direction in read_tuples(connection, scales.where(*whole, *same)):
            found.setdefault((candidate, name), GradeColumnBuilder(low, high)).widen(low, high, direction)
        grades = read_tuples(connection, select(columns.position, columns.value).where(*whole, *same))
        found[candidate, name].add(outcome, *zip(*grades, strict=True))
    return [column.done(*key, None, None) for key, column in sorted(found.items())]


def _rules(connection: Connection, run_id: str) -> list[GradeColumn]:
    own = scores.c
    statement = select(own.candidate, own.part_id, own.scope, own.position, own.outcome, own.value)
    statement = statement.where(own.run_id == run_id, own.name == RULES, own.part_id.is_not(None))
    found: dict[tuple[str, str, str | None], list[tuple[int, str, float | None]]] = {}
    ordered = read_tuples(connection, statement.order_by(own.position, own.ordinal))
    for candidate, part_id, scope, position, outcome, value in ordered:
        found.setdefault((candidate, part_id, scope), []).append((position, outcome, value))
    return [rule_column(*key, grades) for key, grades in found.items()]


def rule_column(
    candidate: str, part_id: str, scope: str | None, grades: Sequence[tuple[int, str, float | None]]
) -> GradeColumn:
    """The grades of one rule: position, outcome, value."""
    column = GradeColumnBuilder(UNIT.low, UNIT.high)
    column.add_each(grades)
    return column.done(candidate, RULES, part_id, scope)


def changed_cases(connection: Connection, first: str, second: str) -> list[tuple[Case, Case]]:
    """The cases of the same id that ask, or expect, something else in the second run."""
    one, other = cases.alias("one"), cases.alias("other")
    joined = one.join(other, and_(other.c.run_id == second, other.c.case_id == one.c.case_id))
    statement = select(one.c.format, one.c.body, other.c.format, other.c.body).select_from(joined)
    # The database compares bytes; only cases that differ are decoded.
    differing = statement.where(one.c.run_id == first, one.c.body != other.c.body).order_by(one.c.position)
    return [
        (decode_case(format, body), decode_case(other_format, other_body))
        for format, body, other_format, other_body in connection.execute(differing)
        if _decode_content(body) != _decode_content(other_body)
    ]


def read_case_previews(connection: Connection, run_id: str, *among: ColumnElement[bool]) -> list[CasePreview]:
    """The same, as what a case can be sliced by."""
    faces = read_faces(connection, run_id, *among)
    # Many cases have the same: each is read once.
    marks = {face: decode_tags(face) for face in set(faces.values())}
    return [CasePreview(case_id, marks[face].tags, marks[face].labels) for case_id, face in faces.items()]


def scenario_clusters(connection: Connection, run_id: str, pins: Pins) -> dict[str, str]:
    """The scenario of each case of an Explain run: cases of one scenario resemble one another, so they are one
    cluster."""
    if any(pin.dialect != World.EXPLAIN for pin in pins.datasets):
        return {}
    previews = read_case_previews(connection, run_id)
    return {each.id: f"scenario {each.labels[SCENARIO]}" for each in previews if SCENARIO in each.labels}


Clusters = dict[tuple[str | None, str | None], tuple[list[bool], list[str]]]
"""Of each rate, by candidate (None: all) and grader (None: the verdicts), whether each result passed, and its
cluster."""


def read_clusters(connection: Connection, run_id: str) -> Clusters:
    """A case belongs to its scenario, any other case is a cluster of its own repeats. Nothing where every result stands
    for itself, or where the run cannot be read."""
    stored = connection.execute(select(runs.c.format, runs.c.body).where(runs.c.id == run_id)).first()
    found: defaultdict[tuple[str | None, str | None], tuple[list[bool], list[str]]] = defaultdict(lambda: ([], []))
    with suppress(msgspec.DecodeError):
        pins = decode_pins(*stored) if stored else None
        grouped = scenario_clusters(connection, run_id, pins) if pins else {}
        if pins is None or (pins.request.repeat == 1 and not pins.imported and not grouped):
            return {}
        attempts = read_attempts(connection, run_id)
        clusters = [grouped.get(case, case) for case in map(attempts.case_ids.__getitem__, attempts.cases)]
        for place, code in enumerate(attempts.verdicts):
            if VERDICTS[code] in (Verdict.PASSED, Verdict.FAILED):
                for candidate in (None, attempts.candidate_names[attempts.candidates[place]]):
                    found[candidate, None][0].append(VERDICTS[code] is Verdict.PASSED)
                    found[candidate, None][1].append(clusters[place])
        cluster_at = dict(zip(attempts.positions, clusters, strict=True))
        for column in _graders(connection, run_id):
            for position, code in zip(column.positions, column.outcomes, strict=True):
                if OUTCOMES[code] in ("passed", "failed"):
                    found[column.candidate, column.name][0].append(OUTCOMES[code] == "passed")
                    found[column.candidate, column.name][1].append(cluster_at[position])
    return dict(found)


class ClusteredRate(Struct, frozen=True):
    """The interval of a rate that allows for clusters: that of the verdicts, or of a `grader` with a pass mark; of one
    `candidate`, or of all."""

    interval: Interval
    candidate: str | None = None
    grader: str | None = None


def clustered_rates(clusters: Clusters) -> list[ClusteredRate]:
    """Takes milliseconds for each rate, so it must not run inside a transaction."""
    # Imported by name: only runs with clusters wait for numpy and scipy.
    estimate_rate = import_module("howsure.stats.estimates").estimate_rate if clusters else None
    rates: list[ClusteredRate] = []
    for key, (passed, names) in clusters.items():
        if estimate_rate and len(set(names)) < len(names):
            # One cluster says nothing about others.
            rates.append(ClusteredRate(estimate_rate(passed, clusters=names).interval or (0.0, 1.0), *key))
    return rates


def count_case_tags(connection: Connection, run_id: str) -> list[tuple[CaseTags, int]]:
    """The tags and labels that cases have, and how many cases have just these, in the order of the plan."""
    found = Counter(read_faces(connection, run_id).values())
    return [(decode_tags(face), number) for face, number in found.items()]


class SharedCases(Struct, frozen=True, kw_only=True):
    """`others` is the number of cases of each candidate that the other run has not, and that were not read."""

    attempts: AttemptColumns
    measured: list[GradeColumn]
    faces: list[CasePreview]
    others: dict[str, int]


def read_shared_cases(connection: Connection, run_id: str, other_id: str) -> SharedCases:
    """Where no case is in both, only the first attempt, so that the report can name one."""
    theirs = select(cases.c.case_id).where(cases.c.run_id == other_id)
    found = read_attempts(connection, run_id, results.c.case_id.in_(theirs))
    if not found.positions:
        first = select(func.min(results.c.position)).where(results.c.run_id == run_id).scalar_subquery()
        found = read_attempts(connection, run_id, results.c.position == first)
    return SharedCases(
        attempts=found,
        measured=_measured(connection, run_id, list(found.positions)),
        faces=read_case_previews(connection, run_id, cases.c.case_id.in_(theirs)),
        others=_others(connection, run_id, found),
    )


def _others(connection: Connection, run_id: str, found: AttemptColumns) -> dict[str, int]:
    columns = results.c
    statement = select(columns.candidate, func.count(columns.case_id.distinct())).where(columns.run_id == run_id)
    known: dict[str, set[int]] = {}
    for candidate, case in zip(found.candidates, found.cases, strict=True):
        known.setdefault(found.candidate_names[candidate], set()).add(case)
    every = read_tuples(connection, statement.group_by(columns.candidate))
    return {candidate: number - len(known.get(candidate, ())) for candidate, number in every}


def _measured(connection: Connection, run_id: str, positions: Sequence[int]) -> list[GradeColumn]:
    """As `read_grade_columns` has them, of these positions."""
    own = scores.c
    columns = (own.candidate, own.name, own.part_id, own.scope, own.position, own.outcome, own.value)
    chosen: ColumnElement[bool] = or_(own.scope.is_(None), and_(own.name == RULES, own.part_id.is_not(None)))
    every = select(*columns, own.scale_low, own.scale_high, own.direction).where(own.run_id == run_id, chosen)
    graders: dict[tuple[str, str], GradeColumnBuilder] = {}
    rules: dict[tuple[str, str, str | None], list[tuple[int, str, float | None]]] = {}
    for some in chunks(positions):
        rows = read_tuples(connection, every.where(own.position.in_(some)).order_by(own.position, own.ordinal))
        for candidate, name, part_id, scope, position, outcome, value, low, high, direction in rows:
            if part_id is not None:
                rules.setdefault((candidate, part_id, scope), []).append((position, outcome, value))
                continue
            column = graders.setdefault((candidate, name), GradeColumnBuilder(low, high))
            column.widen(low, high, direction)
            column.add_each([(position, outcome, value)])
    whole = [column.done(*key, None, None) for key, column in sorted(graders.items())]
    return [*whole, *(rule_column(*key, grades) for key, grades in rules.items())]
