"""Gates that may be decided after every case: the value of each attempt, and what all values so far rule out. Cases
come in a random order, and only its finished beginning counts, so that fast cases do not decide. A case that should
have a value and has none counts as the worst for either side. Loads numpy: imported only for such gates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import comb
from random import Random
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import PlanRefused
from howsure.model.result import DECIDED_EARLY, Result
from howsure.model.run import GateOutcome, GateRuling
from howsure.model.score import Scale, Score, UnscoredReason
from howsure.model.verdict import Verdict
from howsure.policies.gates import (
    BoundSign,
    Gate,
    GateBound,
    GateCondition,
    MeanGrade,
    NoRegression,
    PassRate,
    RepeatedPass,
)
from howsure.reports.figures import pluralize
from howsure.services.gate.decisions import GateUnit, interval_text, limit_text, missing_text, nothing_to_decide
from howsure.services.gate.evidence import gate_scope
from howsure.services.run.execute import is_out_of_budget
from howsure.services.run.preflight import matches
from howsure.stats.confidence_sequences import anytime_interval, capital_after, is_ruled_out, opening_capital

ValueRange = tuple[float, float]
"""The bounds of a value, where 0 is the low end of its scale and 1 the high end."""
UNKNOWN: ValueRange = (0.0, 1.0)
UNGRADED_CASES = 50
"""After this many results without a grade by the gate's grader, the run is refused rather than paid for."""
LACKING = (UnscoredReason.ERROR, UnscoredReason.NO_JUDGE)


class CaseOrder(Struct, frozen=True):
    """The units that are looked at, one after the other: each is a case, or the cases of one scenario, by the place of
    a case in the plan."""

    units: tuple[tuple[int, ...], ...]

    @property
    def cases(self) -> int:
        return sum(map(len, self.units))

    @property
    def largest(self) -> int:
        return max(map(len, self.units), default=1)


def case_order(cases: int, seed: int | None, groups: Mapping[int, str]) -> CaseOrder:
    """A random order of so many cases; without a seed, that of the files. Cases of one group stay together."""
    units: dict[str | int, list[int]] = {}
    for place in range(cases):
        units.setdefault(groups.get(place, place), []).append(place)
    ordered = [tuple(unit) for unit in units.values()]
    if seed is not None:
        Random(seed).shuffle(ordered)
    return CaseOrder(tuple(ordered))


class AnytimeGate:
    """One gate for one candidate. `hear` takes results in any order; `look` takes the next unit of the order, and from
    then on the gate may be decided. `baseline` has what an earlier run says of each case, for `no_regression`. `lows`,
    `highs` and `weights` are what was looked at; `to_the_end`: also after it was decided."""

    def __init__(
        self, gate: Gate, candidate: str, order: CaseOrder, repeat: int, baseline: Mapping[str, float] | None = None
    ) -> None:
        self.gate = gate
        self.candidate = candidate
        self.to_the_end = False
        self.looked_at = 0
        self.outcome = GateOutcome.INCONCLUSIVE
        self.cases = order.cases
        self._baseline = baseline or {}
        self._units = order.units
        self._given = False
        self._by_case = isinstance(gate.condition, RepeatedPass | NoRegression)
        self._noun = "case" if self._by_case else "attempt"
        self._most = order.largest * (1 if self._by_case else repeat)
        self._bound, self._unit, self._what, self._scale = _terms(gate.condition)
        self._heard: dict[int, list[ValueRange]] = defaultdict(list)
        self._ids: dict[int, str] = {}
        self.lows: list[float] = []
        self.highs: list[float] = []
        self.weights: list[float] = []
        self._known: list[float] = []
        self._waiting: list[list[ValueRange]] = []
        self._missing = 0
        self._ungraded = 0
        self._capital = [opening_capital(), opening_capital()]

    def know(self, checks: Mapping[int, list[ValueRange]]) -> None:
        """Set all values of the cases at these places, for cases with several values, in place of those from `hear`."""
        self._heard.update(checks)
        self._given = True
        self._noun = "check"
        self._most = max((sum(len(checks.get(each, ())) for each in unit) for unit in self._units), default=1)

    def hear(self, place: int, result: Result) -> None:
        scope = gate_scope(self.gate.condition)
        if self._given:
            return
        if result.candidate == self.candidate and (not scope.labels or matches(result.case, scope.labels)):
            found = self._graded(result) if scope.grader else _verdict_range(result)
            if found is not None:
                self._heard[place].append(found)
                self._ids[place] = result.case.id

    def look(self, unit: Iterable[int]) -> None:
        """Count the next unit, unless the gate is decided."""
        if self.outcome is not GateOutcome.INCONCLUSIVE and not self.to_the_end:
            return
        places = list(unit)
        self.looked_at += len(places)
        if values := [each for place in places for each in self._values(place)]:
            self._waiting.append(values)
        while self._waiting and self._scale is not None:
            self._count(self._waiting.pop(0))

    def _count(self, values: Sequence[ValueRange]) -> None:
        known = [low for low, high in values if low == high]
        self._known += known
        self._missing += len(values) - len(known)
        low, high = (sum(ends) / len(values) for ends in zip(*values, strict=True))
        weight, limit = len(values) / self._most, self._limit
        self.lows.append(low)
        self.highs.append(high)
        self.weights.append(weight)
        for side, (value, mean) in enumerate(((low, limit), (1 - high, 1 - limit))):
            self._capital[side] = capital_after(self._capital[side], [value], mean, [weight])[-1]
            if is_ruled_out(self._capital[side]):
                good = self._bound.sign.upward == (side == 0)
                self.outcome = GateOutcome.HELD if good else GateOutcome.FAILED

    def ruling(self) -> GateRuling:
        """The ruling at the last look, with the interval that holds at every look."""
        looks = (self.looked_at, self.cases)
        named: dict[str, Any] = {"expression": self.gate.expression, "candidate": self.candidate, "looks": looks}
        basis = f"the first {self.looked_at:,} of {pluralize(self.cases, 'case')} in a random order"
        if not self.lows:
            text = f"No value yet in {basis}." if self.looked_at else "No case was looked at yet."
            return replace(nothing_to_decide(text, self._missing), **named)
        low, high = anytime_interval(self.lows, self.highs, np.array(self.weights))
        interval = (self._on_scale(low), self._on_scale(high))
        value = self._on_scale(sum(self._known) / len(self._known)) if self._known else None
        where = limit_text(self._unit, self._bound, self.outcome)
        left = missing_text(self._missing, self._noun, "a value")
        left = left.replace("not counted", "counted as the worst for either side")
        text = "No value is known" if value is None else self._what.format(self._unit.say(value))
        text = f"{text}, over {basis}; {interval_text(self._unit, interval)} at every look, {where}.{left}"
        return GateRuling(
            outcome=self.outcome,
            reason=text,
            value=value,
            interval=interval,
            n=len(self._known),
            unjudged=self._missing,
            **named,
        )

    @property
    def _limit(self) -> float:
        """The limit where the scale goes from 0 to 1."""
        low, high = self._ends
        return (self._bound.limit - low) / (high - low)

    @property
    def _ends(self) -> ValueRange:
        scale = self._scale or Scale(0, 1)
        return scale.low, scale.low + 1 if scale.high is None else scale.high

    def _on_scale(self, share: float) -> float:
        low, high = self._ends
        return low + share * (high - low)

    def _values(self, place: int) -> list[ValueRange]:
        """The values of a case's attempts: one each, or one for all together."""
        heard, case = self._heard.pop(place, []), self._ids.pop(place, "")
        condition = self.gate.condition
        if not heard or not self._by_case:
            return heard
        ends = [[low for low, _ in heard], [high for _, high in heard]]
        if isinstance(condition, RepeatedPass):
            low, high = (_share_of_choices(round(sum(end)), len(end), condition) for end in ends)
            return [(low, high)]
        before = self._baseline.get(case)
        low, high = (sum(end) / len(end) for end in ends)
        return [] if before is None else [((1 + low - before) / 2, (1 + high - before) / 2)]

    def _graded(self, result: Result) -> ValueRange | None:
        """The grader's value for the whole case; None if it has none."""
        name, own = gate_scope(self.gate.condition).grader, [g for g in result.grades if g.part is None]
        found = next((grade for grade in own if grade.name == name), None)
        self._ungraded = 0 if found else self._ungraded + bool(own)
        if self._ungraded >= UNGRADED_CASES and not self._ids and not self.lows:
            known = sorted({grade.name for grade in own})
            raise PlanRefused(
                f"until sure {self.gate.expression!r}: expected a grader of this run, found none of that name in"
                f" {self._ungraded} results; they have {', '.join(known)}"
            )
        if isinstance(found, Score) and isinstance(self.gate.condition, MeanGrade):
            return self._scaled(found)
        if isinstance(found, Score) and found.passed is not None:
            return (float(found.passed),) * 2
        if any(isinstance(grade, Score) and grade.part and grade.name == name for grade in result.grades):
            raise PlanRefused(
                f"until sure {self.gate.expression!r}: {name} marks its criteria or rules one by one, of which a case"
                " may have several; ask for pass_rate, or decide it with `howsure gate RUN --anytime` afterwards"
            )
        broke = not result.grades and result.verdict in (Verdict.ERRORED, Verdict.SKIPPED)
        return UNKNOWN if broke or (not isinstance(found, Score | None) and found.why in LACKING) else None

    def _scaled(self, score: Score) -> ValueRange:
        scale, high = score.scale, score.scale.high
        if high is None:
            raise PlanRefused(
                f"until sure {self.gate.expression!r}: the scale of {score.name} has no upper end, so that one more"
                " case could change everything"
            )
        self._scale = self._scale or scale
        if (scale.low, high) != (self._scale.low, self._scale.high) or not 0 < self._limit < 1:
            raise PlanRefused(
                f"until sure {self.gate.expression!r}: expected a limit inside the one scale of {score.name}, found the"
                f" scale {scale.low:g} to {high:g}"
            )
        return ((score.value - scale.low) / (high - scale.low),) * 2


def _terms(condition: GateCondition) -> tuple[GateBound, GateUnit, str, Scale | None]:
    """The bound, the unit, what is said of the value, and its scale; None: that of the first grade."""
    match condition:
        case MeanGrade(bound=bound):
            return bound, GateUnit.POINTS, "{} on average", None
        case NoRegression(versus=earlier, by=by):
            what = "The pass rate changed by {} since " + earlier.replace("{", "{{").replace("}", "}}")
            return GateBound(BoundSign.AT_LEAST, -by), GateUnit.CHANGE, what, Scale(-1, 1)
        case RepeatedPass(bound=bound, k=k, every=every):
            what = f"{{}} of cases would pass in {'every one' if every else 'at least one'} of {k} tries"
            return bound, GateUnit.SHARE, what, Scale(0, 1)
        case PassRate(bound=bound):
            return bound, GateUnit.SHARE, "{} passed", Scale(0, 1)
        case _:
            raise TypeError(f"{type(condition).__name__} cannot be decided by looks")


def _verdict_range(result: Result) -> ValueRange:
    known = {Verdict.PASSED: (1.0, 1.0), Verdict.FAILED: (0.0, 0.0)}
    return known.get(result.verdict, UNKNOWN)


def _share_of_choices(passed: int, tries: int, condition: RepeatedPass) -> float:
    """The share of all choices of k tries in which every one passed, or at least one."""
    k, all_ways = condition.k, comb(tries, condition.k)
    if not all_ways:
        return float(passed > 0) if not condition.every else 0.0
    return comb(passed, k) / all_ways if condition.every else 1 - comb(tries - passed, k) / all_ways


class PrefixWatch:
    """Takes the results of a run in any order, and looks at the finished beginning of the case order, one unit after
    the other. `per_case`: attempts of each case. Cases at `blocked` places count as not finished."""

    def __init__(
        self, order: CaseOrder, gates: Sequence[AnytimeGate], per_case: int, blocked: Collection[int] = ()
    ) -> None:
        self.gates = gates
        self.finished: set[int] = set()
        self._order = order
        self._per_case = per_case
        self._next = 0
        self._left = {place: per_case + (place in blocked) for unit in order.units for place in unit}

    @property
    def decided(self) -> bool:
        return all(gate.outcome is not GateOutcome.INCONCLUSIVE for gate in self.gates)

    def hear(self, result: Result) -> None:
        """Attempts that the budget did not reach, or that were not asked, are not finished."""
        if is_out_of_budget(result) or any(flag.kind == DECIDED_EARLY for flag in result.flags):
            return
        self.finished.add(result.position)
        place = result.position // self._per_case
        self._left[place] -= 1
        for gate in self.gates:
            gate.hear(place, result)
        units = self._order.units
        while self._next < len(units) and not any(self._left[each] for each in units[self._next]):
            for gate in self.gates:
                gate.look(units[self._next])
            self._next += 1

    def rulings(self, *, several: bool) -> tuple[GateRuling, ...]:
        found = [gate.ruling() for gate in self.gates]
        return tuple(found if several else [replace(each, candidate="") for each in found])
