"""What a run shows of each quantity that a gate may ask about: the values, and what ought to have one and does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import isnan

from howsure.model.score import Scale
from howsure.model.summary import Summary
from howsure.model.verdict import Verdict
from howsure.policies.gates import Which
from howsure.services.gates.observed import Observed, Unknown
from howsure.services.gates.reading import Columns, key_of, part_named
from howsure.store.queries.columns import OUTCOMES, VERDICTS, Measured

LATENCY = "latency_metrics"
COST = "token_usage"
PASSED, FAILED = "passed", "failed"
PENDING = "\x00pending "
"""Before a number: a case that has no result yet and could be any."""
NO_VALUE = ("error", "no_judge")
"""Outcomes of a grade that ought to have a value and has none; `not_applicable` ought not to."""


class Evidence:
    """One run, ready to be asked. Every answer is for one candidate."""

    def __init__(self, summary: Summary, columns: Columns) -> None:
        self.summary = summary
        self.run = summary.run
        self.columns = columns
        attempts = columns.attempts
        self.case_of = {
            position: attempts.case_ids[case] for position, case in zip(attempts.positions, attempts.cases, strict=True)
        }

    def candidates(self, which: Which) -> list[str]:
        """The candidate that is asked about, or all."""
        names = list(self.summary.candidates) or self.columns.attempts.candidate_names
        if which.candidate is None:
            return names
        if which.candidate not in names:
            raise Unknown("candidate", which.candidate, names)
        return [which.candidate]

    def verdicts(self, candidate: str, which: Which) -> Observed:
        """1 for each attempt that passed, 0 for each that failed."""
        made = self._observed()
        for position, verdict in self._attempts(candidate, which):
            if verdict in (Verdict.PASSED, Verdict.FAILED):
                made.add(self.case_of[position], float(verdict is Verdict.PASSED))
            else:
                made.miss(self.case_of[position])
        return self._with_pending(made, candidate)

    def passes(self, candidate: str, which: Which) -> Observed:
        """As `verdicts`, but of one grader; where it marks only its rules or criteria, of these one by one."""
        whole = self._graded(candidate, which)
        if not any(OUTCOMES[code] in (PASSED, FAILED) for each in whole for code in each.outcomes):
            parts = [each for each in self._named(candidate, which.grader) if each.part_id is not None]
            whole = parts or whole
        made = self._observed("check" if whole[0].part_id is not None else "case")
        for position, outcome, _ in self._grades(whole, candidate, which):
            if outcome in (PASSED, FAILED):
                made.add(self.case_of[position], float(outcome == PASSED))
            elif outcome in NO_VALUE:
                made.miss(self.case_of[position])
        return self._with_ungraded(made, candidate, which)

    def values(self, candidate: str, which: Which) -> tuple[Observed, Scale]:
        """Every value of one grader, and the scale it is on."""
        whole, made = self._graded(candidate, which), self._observed()
        for position, outcome, value in self._grades(whole, candidate, which):
            if not isnan(value):
                made.add(self.case_of[position], value)
            elif outcome in NO_VALUE:
                made.miss(self.case_of[position])
        return self._with_ungraded(made, candidate, which), whole[0].scale

    def checks(self, candidate: str, which: Which) -> Observed:
        """1 for each check of a rule or criterion that passed, 0 for each that failed."""
        meant = part_named(which.part, self.run, self.columns.part_ids)
        if not meant:
            raise Unknown("rule or criterion", which.part, self._part_names())
        made = self._observed("check")
        kept = dict(self._attempts(candidate, which))
        for grade in self.columns.part_grades:
            if grade.candidate != candidate or grade.part_id not in meant or grade.position not in kept:
                continue
            if grade.outcome in (PASSED, FAILED):
                made.add(self.case_of[grade.position], float(grade.outcome == PASSED))
            elif grade.outcome in NO_VALUE:
                made.miss(self.case_of[grade.position])
        return self._with_ungraded(made, candidate, which)

    def seconds(self, candidate: str, which: Which) -> Observed:
        """How long each answer took; those that nobody timed are missing, such as replies that came from the cache."""
        timed = {toll.position: toll.seconds for toll in self.columns.tolls if toll.seconds is not None}
        return self._amounts(candidate, which, {**timed, **self._values_of(LATENCY)})

    def spent(self, candidate: str, which: Which, *, money: bool) -> Observed:
        """Dollars or tokens of each answer; those that nobody counted are missing."""
        if not money:
            counted = {toll.position: float(toll.tokens) for toll in self.columns.tolls if toll.tokens is not None}
            return self._amounts(candidate, which, counted)
        said = {toll.position: toll.usd for toll in self.columns.tolls if toll.usd is not None}
        return self._amounts(candidate, which, {**self._values_of(COST), **said})

    def pending(self, candidate: str) -> int:
        known = self.summary.candidates.get(candidate)
        return known.pending if known else 0

    def _observed(self, noun: str = "case") -> Observed:
        return Observed(noun, self.columns.scenarios)

    def _attempts(self, candidate: str, which: Which) -> Iterator[tuple[int, Verdict]]:
        attempts = self.columns.attempts
        chosen = self.columns.chosen.get(key_of(which.labels)) if which.labels else None
        if which.labels and not chosen:
            raise Unknown("label of cases", key_of(which.labels), ())
        for place, position in enumerate(attempts.positions):
            if attempts.candidate_names[attempts.candidates[place]] != candidate:
                continue
            if chosen is None or self.case_of[position] in chosen:
                yield position, VERDICTS[attempts.verdicts[place]]

    def _named(self, candidate: str, grader: str) -> list[Measured]:
        return [each for each in self.columns.measured if each.candidate == candidate and each.name == grader]

    def _graded(self, candidate: str, which: Which) -> list[Measured]:
        """The whole-case grades of a grader."""
        found = [each for each in self._named(candidate, which.grader) if each.part_id is None]
        if not found:
            known = dict.fromkeys(each.name for each in self.columns.measured if each.part_id is None)
            raise Unknown("grader", which.grader, list(known))
        return found

    def _grades(self, measured: Sequence[Measured], candidate: str, which: Which) -> Iterator[tuple[int, str, float]]:
        kept = dict(self._attempts(candidate, which))
        for each in measured:
            for position, code, value in zip(each.positions, each.outcomes, each.values, strict=True):
                if position in kept:
                    yield position, OUTCOMES[code], value

    def _values_of(self, grader: str) -> dict[int, float]:
        return {
            position: value
            for each in self.columns.measured
            if each.name == grader and each.part_id is None
            for position, value in zip(each.positions, each.values, strict=True)
            if not isnan(value)
        }

    def _amounts(self, candidate: str, which: Which, known: Mapping[int, float]) -> Observed:
        made = self._observed("answer")
        for position, _ in self._attempts(candidate, which):
            if position in known:
                made.add(self.case_of[position], known[position])
            else:
                made.miss(self.case_of[position])
        return self._with_pending(made, candidate)

    def _with_ungraded(self, made: Observed, candidate: str, which: Which) -> Observed:
        """Attempts that broke before anybody graded them may have been for this grader, too."""
        for position, verdict in self._attempts(candidate, which):
            if verdict in (Verdict.ERRORED, Verdict.SKIPPED) and position not in self._any_grade:
                made.miss(self.case_of[position])
        return self._with_pending(made, candidate)

    def _with_pending(self, made: Observed, candidate: str) -> Observed:
        for number in range(self.pending(candidate)):
            made.miss(f"{PENDING}{number}")
        return made

    @cached_property
    def _any_grade(self) -> set[int]:
        return {position for each in self.columns.measured for position in each.positions}

    def _part_names(self) -> list[str]:
        rules = self.run.pins.rubric.rules if self.run.pins.rubric else ()
        return [*self.columns.part_ids, *(rule.name for rule in rules)]
