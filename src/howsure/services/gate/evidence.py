"""What a run shows about each quantity that a gate may ask about: the values, and the cases that ought to have a value
and do not. The columns of a run are read once, and only those that its gates need."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from math import isnan

from msgspec import Struct

from howsure.errors import NotFound
from howsure.model.expectation import text_id
from howsure.model.result import DECIDED_EARLY
from howsure.model.run import Run
from howsure.model.score import Scale
from howsure.model.summary import Summary
from howsure.model.verdict import Verdict
from howsure.policies.gates import AllChecksPass, GateCondition, GateScope, Latency, SpendingLimit
from howsure.services.run.preflight import matches
from howsure.store.results import CostTotals, PartGrade
from howsure.store.run_columns import OUTCOMES, VERDICTS, AttemptColumns, GradeColumn
from howsure.store.store import Store

TAGS = ("tag", "tags")


class GateColumns(Struct, frozen=True, kw_only=True):
    """The columns that were read of one run. `chosen` has, for each filter of labels, the cases that it selects;
    `scenarios` the cluster of each case that belongs to one; `unasked` are attempts that a run which was sure did not
    make."""

    attempts: AttemptColumns
    measured: Sequence[GradeColumn]
    tolls: Sequence[CostTotals] = ()
    part_ids: Sequence[str] = ()
    part_grades: Sequence[PartGrade] = ()
    chosen: Mapping[str, frozenset[str]] = {}
    scenarios: Mapping[str, str] = {}
    unasked: frozenset[int] = frozenset()


async def read_gate_columns(store: Store, run: Run, conditions: Sequence[GateCondition]) -> GateColumns:
    """Read the columns that these gates need."""
    attempts, measured = await store.columns(run.id)
    with_costs = any(isinstance(each, Latency | SpendingLimit) for each in conditions)
    parts = [part for each in conditions if (part := part_of(each))]
    known = await store.part_ids(run.id) if parts else []
    part_ids = sorted({found for part in parts for found in parts_named(part, run, known)})
    return GateColumns(
        attempts=attempts,
        measured=measured,
        tolls=await store.costs(run.id) if with_costs else (),
        part_ids=known,
        part_grades=await store.part_grades(run.id, part_ids) if part_ids else (),
        chosen=await _chosen(store, run, [gate_scope(each).labels for each in conditions]),
        scenarios=await store.scenario_clusters(run),
        unasked=frozenset(await store.flagged_positions(run.id, DECIDED_EARLY)) if run.pins.sure else frozenset(),
    )


def gate_scope(condition: GateCondition) -> GateScope:
    """The part of the run that a gate is about."""
    found = getattr(condition, "scope", None)
    return found if isinstance(found, GateScope) else GateScope()


def part_of(condition: GateCondition) -> str:
    return condition.part if isinstance(condition, AllChecksPass) else gate_scope(condition).part


def parts_named(name: str, run: Run, known: Sequence[str]) -> set[str]:
    """The rules or criteria that a name means: an id, the name or category of a rule, or the text of a criterion."""
    rules, folded = run.pins.rubric.rules if run.pins.rubric else (), name.casefold()
    meanings = (
        {name},
        {rule.id for rule in rules if rule.name.casefold() == folded},
        {rule.id for rule in rules if rule.category.casefold() == folded},
        {text_id(name)},
    )
    return next((found for meaning in meanings if (found := meaning & set(known))), set())


async def _chosen(
    store: Store, run: Run, filters_of_gates: Sequence[dict[str, tuple[str, ...]]]
) -> dict[str, frozenset[str]]:
    filters = {labels_key(labels): labels for labels in filters_of_gates if labels}
    found: dict[str, set[str]] = {key: set() for key in filters}
    if filters and all(key in TAGS for labels in filters.values() for key in labels):
        # Tags can be read without decoding whole cases.
        for face in await store.case_previews(run.id):
            for key, labels in filters.items():
                if all(set(values) & set(face.tags) for values in labels.values()):
                    found[key].add(face.id)
    elif filters:
        async for case in store.cases(run.id):
            for key, labels in filters.items():
                if matches(case, labels):
                    found[key].add(case.id)
    return {key: frozenset(cases) for key, cases in found.items()}


def labels_key(labels: Mapping[str, Sequence[str]]) -> str:
    return ", ".join(f"{key}:{value}" for key, values in labels.items() for value in values)


class Observations:
    """The values of one quantity with the cases they belong to; `missing` are the cases without a value. `groups` says
    which cases belong together; repeats of one case always do."""

    def __init__(self, noun: str = "case", groups: Mapping[str, str] | None = None) -> None:
        self.noun = noun
        self.groups = groups or {}
        self.values: list[float] = []
        self.cases: list[str] = []
        self.missing: list[str] = []

    def add(self, case: str, value: float) -> None:
        self.cases.append(case)
        self.values.append(value)

    def miss(self, case: str) -> None:
        self.missing.append(case)

    def filled(self, value: float) -> Observations:
        """The observations as if every missing one had this value."""
        made = Observations(self.noun, self.groups)
        made.values = [*self.values, *([value] * len(self.missing))]
        made.cases = [*self.cases, *self.missing]
        return made

    def tries(self) -> dict[str, list[float]]:
        """The values of each case."""
        found: dict[str, list[float]] = {}
        for case, value in zip(self.cases, self.values, strict=True):
            found.setdefault(case, []).append(value)
        return found

    @property
    def clusters(self) -> list[Hashable] | None:
        """The cluster of each value; None where every value stands for itself."""
        named: list[Hashable] = [self.groups.get(case, case) for case in self.cases]
        return named if len(set(named)) < len(named) else None


class UnknownInRun(NotFound):
    """A gate asks about something that the run does not have: it cannot be decided."""

    def __init__(self, kind: str, name: str, known: Sequence[str]) -> None:
        named = [each for each in known if each]
        near = get_close_matches(name, named, n=2, cutoff=0.5)
        listed = f"; it has {', '.join(named[:5])}{', …' if len(named) > 5 else ''}." if named else "."
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else listed
        super().__init__(f"the run has no {kind} {name!r}{hint}")


LATENCY = "latency_metrics"
COST = "token_usage"
PASSED, FAILED = "passed", "failed"
PENDING = "\x00pending "
"""Prefix of the made-up ids of cases that have no result yet."""
NO_VALUE = ("error", "no_judge")
"""Outcomes of a grade that ought to have a value and has none; a grade that is `not_applicable` ought not to have one.
"""


class Evidence:
    """One run, ready to be asked. Every answer is about one candidate."""

    def __init__(self, summary: Summary, columns: GateColumns) -> None:
        self.summary = summary
        self.run = summary.run
        self.columns = columns
        attempts = columns.attempts
        self.case_of = {
            position: attempts.case_ids[case] for position, case in zip(attempts.positions, attempts.cases, strict=True)
        }

    def candidates(self, which: GateScope) -> list[str]:
        """The candidate that the gate names, or all."""
        names = list(self.summary.candidates) or self.columns.attempts.candidate_names
        if which.candidate is None:
            return names
        if which.candidate not in names:
            raise UnknownInRun("candidate", which.candidate, names)
        return [which.candidate]

    def verdicts(self, candidate: str, which: GateScope) -> Observations:
        """1 for each attempt that passed, 0 for each that failed."""
        made = self._observed()
        for position, verdict in self._attempts(candidate, which):
            if verdict in (Verdict.PASSED, Verdict.FAILED):
                made.add(self.case_of[position], float(verdict is Verdict.PASSED))
            else:
                made.miss(self.case_of[position])
        return self._with_pending(made, candidate)

    def passes(self, candidate: str, which: GateScope) -> Observations:
        """As `verdicts`, but of one grader; where it marks only its rules or criteria, one value for each of these."""
        whole = self._graded(candidate, which)
        if not any(OUTCOMES[code] in (PASSED, FAILED) for each in whole for code in each.outcomes):
            parts = [each for each in self._named(candidate, which.grader) if each.part_id is not None]
            whole = parts or whole
        made = self._observed("check" if whole[0].part_id is not None else "case")
        for position, outcome, _ in self._grades(whole, candidate, which):
            self._add_outcome(made, position, outcome)
        return self._with_ungraded(made, candidate, which)

    def values(self, candidate: str, which: GateScope) -> tuple[Observations, Scale]:
        """Every value of one grader, and its scale."""
        whole, made = self._graded(candidate, which), self._observed()
        for position, outcome, value in self._grades(whole, candidate, which):
            if not isnan(value):
                made.add(self.case_of[position], value)
            elif outcome in NO_VALUE:
                made.miss(self.case_of[position])
        return self._with_ungraded(made, candidate, which), whole[0].scale

    def checks(self, candidate: str, which: GateScope) -> Observations:
        """1 for each check of a rule or criterion that passed, 0 for each that failed."""
        meant = parts_named(which.part, self.run, self.columns.part_ids)
        if not meant:
            rules = self.run.pins.rubric.rules if self.run.pins.rubric else ()
            raise UnknownInRun("rule or criterion", which.part, [*self.columns.part_ids, *(one.name for one in rules)])
        made = self._observed("check")
        attempts = dict(self._attempts(candidate, which))
        for grade in self.columns.part_grades:
            if grade.candidate == candidate and grade.part_id in meant and grade.position in attempts:
                self._add_outcome(made, grade.position, grade.outcome)
        return self._with_ungraded(made, candidate, which)

    def seconds(self, candidate: str, which: GateScope) -> Observations:
        """How long each answer took. Answers that were not timed are missing, such as replies from the cache."""
        timed = {toll.position: toll.seconds for toll in self.columns.tolls if toll.seconds is not None}
        return self._amounts(candidate, which, {**timed, **self._values_of(LATENCY)})

    def spent(self, candidate: str, which: GateScope, *, money: bool) -> Observations:
        """Dollars or tokens of each answer; answers without a count are missing."""
        if not money:
            counted = {toll.position: float(toll.tokens) for toll in self.columns.tolls if toll.tokens is not None}
            return self._amounts(candidate, which, counted)
        priced = {toll.position: toll.usd for toll in self.columns.tolls if toll.usd is not None}
        return self._amounts(candidate, which, {**self._values_of(COST), **priced})

    def _add_outcome(self, observed: Observations, position: int, outcome: str) -> None:
        if outcome in (PASSED, FAILED):
            observed.add(self.case_of[position], float(outcome == PASSED))
        elif outcome in NO_VALUE:
            observed.miss(self.case_of[position])

    def _observed(self, noun: str = "case") -> Observations:
        return Observations(noun, self.columns.scenarios)

    def _attempts(self, candidate: str, which: GateScope) -> Iterator[tuple[int, Verdict]]:
        attempts = self.columns.attempts
        chosen = self.columns.chosen.get(labels_key(which.labels)) if which.labels else None
        if which.labels and not chosen:
            raise UnknownInRun("label of cases", labels_key(which.labels), ())
        for place, position in enumerate(attempts.positions):
            if attempts.candidate_names[attempts.candidates[place]] != candidate or position in self.columns.unasked:
                continue
            if chosen is None or self.case_of[position] in chosen:
                yield position, VERDICTS[attempts.verdicts[place]]

    def _named(self, candidate: str, grader: str) -> list[GradeColumn]:
        return [each for each in self.columns.measured if each.candidate == candidate and each.name == grader]

    def _graded(self, candidate: str, which: GateScope) -> list[GradeColumn]:
        """The whole-case grades of a grader."""
        found = [each for each in self._named(candidate, which.grader) if each.part_id is None]
        if not found:
            known = dict.fromkeys(each.name for each in self.columns.measured if each.part_id is None)
            raise UnknownInRun("grader", which.grader, list(known))
        return found

    def _grades(
        self, measured: Sequence[GradeColumn], candidate: str, which: GateScope
    ) -> Iterator[tuple[int, str, float]]:
        attempts = dict(self._attempts(candidate, which))
        for each in measured:
            for position, code, value in zip(each.positions, each.outcomes, each.values, strict=True):
                if position in attempts:
                    yield position, OUTCOMES[code], value

    def _values_of(self, grader: str) -> dict[int, float]:
        return {
            position: value
            for each in self.columns.measured
            if each.name == grader and each.part_id is None
            for position, value in zip(each.positions, each.values, strict=True)
            if not isnan(value)
        }

    def _amounts(self, candidate: str, which: GateScope, known: Mapping[int, float]) -> Observations:
        made = self._observed("answer")
        for position, _ in self._attempts(candidate, which):
            if position in known:
                made.add(self.case_of[position], known[position])
            else:
                made.miss(self.case_of[position])
        return self._with_pending(made, candidate)

    def _with_ungraded(self, made: Observations, candidate: str, which: GateScope) -> Observations:
        """Add attempts that broke before they were graded: this grader may have had to grade them."""
        for position, verdict in self._attempts(candidate, which):
            if verdict in (Verdict.ERRORED, Verdict.SKIPPED) and position not in self._any_grade:
                made.miss(self.case_of[position])
        return self._with_pending(made, candidate)

    def _with_pending(self, made: Observations, candidate: str) -> Observations:
        counts = self.summary.candidates.get(candidate)
        for number in range(counts.pending if counts else 0):
            made.miss(f"{PENDING}{number}")
        return made

    @cached_property
    def _any_grade(self) -> set[int]:
        return {position for each in self.columns.measured for position in each.positions}
