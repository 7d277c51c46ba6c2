"""From an estimate to a ruling, with its sentence: on which side of the limit the whole interval lies, whether the
attempts that could not be judged might change that, and how many more cases would settle it."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from math import inf, isfinite

from msgspec import Struct

from howsure.model.summary import GateOutcome, GateRuling
from howsure.policies.gates import BoundSign, GateBound
from howsure.reports.figures import format_number, pluralize
from howsure.services.gate.evidence import Observations
from howsure.stats.intervals import Estimate, Interval, IntervalMethod, rate_interval
from howsure.stats.sample_sizes import cases_for_value

GOOD = {
    BoundSign.AT_LEAST: "at or above",
    BoundSign.AT_MOST: "at or below",
    BoundSign.MORE: "above",
    BoundSign.LESS: "below",
}
BAD = {
    BoundSign.AT_LEAST: "below",
    BoundSign.AT_MOST: "above",
    BoundSign.MORE: "at or below",
    BoundSign.LESS: "at or above",
}


class GateUnit(Enum):
    """The unit of a value."""

    SHARE = "share"
    POINTS = "points"
    SECONDS = "seconds"
    DOLLARS = "USD"
    TOKENS = "tokens"
    CASES = "cases"
    CHANGE = "percentage points"

    def say(self, value: float) -> str:
        match self:
            case GateUnit.SHARE:
                return f"{_percent(value)} %"
            case GateUnit.SECONDS:
                return f"{1000 * value:.0f} ms" if abs(value) < 1 else f"{format_number(round(value, 2))} s"
            case GateUnit.DOLLARS:
                return f"{value:.4f}".rstrip("0").rstrip(".") + " USD" if abs(value) < 1 else f"{value:,.2f} USD"
            case GateUnit.TOKENS:
                return f"{value:,.0f} tokens"
            case GateUnit.CHANGE:
                points = 100 * value
                if 0 < abs(points) < 0.05:
                    return f"{points:+.2g} points"
                return f"{points:+.1f} points" if points else "0.0 points"
            case GateUnit.CASES:
                return f"{value:,.0f}"
            case GateUnit.POINTS:
                return format_number(value)


def _percent(share: float) -> str:
    """One decimal; more where the share would round to none or all."""
    text = f"{100 * share:.1f}"
    if text in ("0.0", "100.0") and share not in (0, 1):
        text = f"{100 * share:.3f}"
    return text.rstrip("0").rstrip(".")


def interval_text(unit: GateUnit, interval: Interval) -> str:
    """`86.1 % to 95.2 %`; an end that the values cannot give is called unknown."""
    low, high = interval
    below = "an unknown low" if low == -inf else unit.say(low)
    above = "an unknown high" if high == inf else unit.say(high)
    return f"{below} to {above}"


def limit_text(unit: GateUnit, bound: GateBound, outcome: GateOutcome) -> str:
    """Where the interval lies relative to the limit; follows a comma."""
    limit = unit.say(bound.limit)
    match outcome:
        case GateOutcome.HELD:
            return f"all of it {GOOD[bound.sign]} {limit}"
        case GateOutcome.FAILED:
            return f"all of it {BAD[bound.sign]} {limit}"
        case GateOutcome.INCONCLUSIVE:
            return f"and {limit} lies within it"


def more_cases_text(cases: int | None) -> str:
    """How many more cases would settle it."""
    if cases is None:
        return "No number of cases can be named that would settle it: the value lies too near the limit."
    return f"About {pluralize(cases, 'more case')} like these would settle it."


def missing_text(missing: int, noun: str, lacking: str = "a verdict") -> str:
    """How many were not counted."""
    return f" {pluralize(missing, noun)} without {lacking}: not counted." if missing else ""


Estimator = Callable[[Observations], Estimate | None]
NOT_SURE = "That is not sure, though:"


def value_needed(_: Observations, found: Estimate, limit: float) -> int | None:
    return None if found.interval is None else cases_for_value(found.value, found.interval, found.clusters, limit)


class GateQuestion(Struct, frozen=True, kw_only=True):
    """How one quantity is estimated (`estimate`), the best and the worst that a value can be (`extremes`), and how many
    cases in all would settle it, given the limit (`needed`). `what` describes the value ({} stands for it); `lacking`
    says what a missing observation lacks."""

    bound: GateBound
    unit: GateUnit
    what: str
    estimate: Estimator
    extremes: Interval
    needed: Callable[[Observations, Estimate, float], int | None] = value_needed
    lacking: str = "a verdict"


def interval_outcome(bound: GateBound, interval: Interval | None) -> GateOutcome:
    """Held or failed if the whole interval lies on one side of the limit: the value alone decides nothing."""
    if interval is None:
        return GateOutcome.INCONCLUSIVE
    good = {bound.good(end) for end in interval}
    if good == {True}:
        return GateOutcome.HELD
    return GateOutcome.FAILED if good == {False} else GateOutcome.INCONCLUSIVE


def decide_estimate(question: GateQuestion, observed: Observations) -> GateRuling:
    """The ruling; its expression and candidate are set by the caller."""
    found = question.estimate(observed)
    if found is None:
        return nothing_to_decide(f"No {observed.noun} has {question.lacking}.", len(observed.missing))
    outcome = interval_outcome(question.bound, found.interval)
    text = _told(question, observed, found, outcome)
    flipped = outcome if not observed.missing else _at_worst(question, observed, outcome)
    more_cases: int | None = None
    if flipped is not outcome:
        text += (
            f" {NOT_SURE} with the {pluralize(len(observed.missing), observed.noun)} without {question.lacking} counted"
        )
        text += f" as {'bad' if outcome is GateOutcome.HELD else 'good'}, it would be {flipped.value}."
        outcome = GateOutcome.INCONCLUSIVE
    elif outcome is GateOutcome.INCONCLUSIVE:
        needed = question.needed(observed, found, question.bound.limit)
        more_cases = None if needed is None else max(1, needed - found.clusters)
        text += f" {more_cases_text(more_cases)}"
    return GateRuling(
        expression="",
        outcome=outcome,
        reason=text,
        value=found.value,
        interval=found.interval,
        n=found.n,
        unjudged=len(observed.missing),
        needed_cases=more_cases,
    )


def _told(question: GateQuestion, observed: Observations, found: Estimate, outcome: GateOutcome) -> str:
    """The sentence about value, interval and limit."""
    n = _basis(observed, found)
    text = question.what.format(question.unit.say(found.value))
    value = f"{text[:1].upper()}{text[1:]}, over {n}"
    left = missing_text(len(observed.missing), observed.noun, question.lacking)
    if found.interval is None:
        return f"{value}: too few to say how sure that is.{left}"
    # A rate is shown with the same interval everywhere; the exact one, which is never too narrow, decides.
    shown = shown_interval(found)
    where = limit_text(question.unit, question.bound, outcome)
    if interval_outcome(question.bound, shown) is not outcome:
        where = f"and {where.removeprefix('and ')} by the exact interval, which decides: "
        where += interval_text(question.unit, found.interval)
    return f"{value}; likely {interval_text(question.unit, shown)}, {where}.{left}"


def shown_interval(found: Estimate) -> Interval:
    """The interval of an estimate as runs, reports and trends show it."""
    known = rate_interval(round(found.value * found.n), found.n) if found.form is IntervalMethod.EXACT else None
    return known or found.interval or (-inf, inf)


def _basis(observed: Observations, found: Estimate) -> str:
    """`80 cases`, `80 attempts of 8 cases`, `80 cases in 8 scenarios`."""
    if found.clusters >= found.n:
        return pluralize(found.n, observed.noun)
    if observed.groups:
        return f"{pluralize(found.n, observed.noun)} in {pluralize(found.clusters, 'scenario')}"
    noun = "attempt" if observed.noun == "case" else observed.noun
    return f"{pluralize(found.n, noun)} of {pluralize(found.clusters, 'case')}"


def _at_worst(question: GateQuestion, observed: Observations, outcome: GateOutcome) -> GateOutcome:
    """The outcome if every missing observation spoke against it."""
    if outcome is GateOutcome.INCONCLUSIVE:
        return outcome
    low, high = question.extremes
    against = (
        (low if question.bound.sign.upward else high)
        if outcome is GateOutcome.HELD
        else (high if question.bound.sign.upward else low)
    )
    found = question.estimate(observed.filled(against))
    return interval_outcome(question.bound, found.interval if found else None)


def nothing_to_decide(reason: str, unjudged: int = 0) -> GateRuling:
    """An inconclusive ruling: there is nothing to decide by."""
    return GateRuling(expression="", outcome=GateOutcome.INCONCLUSIVE, reason=reason, unjudged=unjudged)


def decide_total(
    bound: GateBound, unit: GateUnit, value: float, text: str, *, n: int, reachable: Interval
) -> GateRuling:
    """The ruling on a total that was counted, not estimated. `reachable` is the range that it may reach once everything
    unknown is known; `text` describes the value."""
    outcome = interval_outcome(bound, reachable)
    limit = unit.say(bound.limit)
    if outcome is GateOutcome.INCONCLUSIVE:
        top = unit.say(reachable[1]) if isfinite(reachable[1]) else "any amount"
        reason = f"{text}; with what is not known it may come to {top}, and the limit is {limit}."
    else:
        word = GOOD[bound.sign] if outcome is GateOutcome.HELD else BAD[bound.sign]
        reason = f"{text}: {word} {limit}."
    return GateRuling(expression="", outcome=outcome, reason=reason, value=value, n=n)
