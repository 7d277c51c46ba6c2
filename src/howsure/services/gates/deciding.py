"""From an estimate to a ruling: on which side of its limit the whole interval lies, whether what could not be judged
might change that, and how many cases more would settle it."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

from msgspec import Struct

from howsure.model.gate import GateRuling, Outcome
from howsure.policies.gates import Bound
from howsure.reports.figures import counted
from howsure.services.gates.observed import Observed
from howsure.services.gates.wording import BAD, GOOD, Unit, more, span, standing, without
from howsure.stats.estimates import Estimate
from howsure.stats.intervals import Interval

Estimated = Callable[[Observed], Estimate | None]
NOT_SURE = "That is not sure, though:"


class Question(Struct, frozen=True, kw_only=True):
    """How one quantity is estimated and what it may be at best and at worst; `needed`: the cases in all that would
    settle it. `what` says what the value is ({} stands for it), and `lacking` what a missing one lacks."""

    bound: Bound
    unit: Unit
    what: str
    estimate: Estimated
    extremes: Interval
    needed: Callable[[Observed, Estimate], int | None]
    lacking: str = "a verdict"


def side(bound: Bound, interval: Interval | None) -> Outcome:
    """The whole interval decides, not the value."""
    if interval is None:
        return Outcome.INCONCLUSIVE
    good = {bound.good(end) for end in interval}
    if good == {True}:
        return Outcome.HELD
    return Outcome.FAILED if good == {False} else Outcome.INCONCLUSIVE


def decide(question: Question, observed: Observed) -> GateRuling:
    """The ruling; its expression and candidate are the caller's to set."""
    found = question.estimate(observed)
    if found is None:
        return nothing(f"No {observed.noun} has {question.lacking}.", len(observed.missing))
    outcome = side(question.bound, found.interval)
    told = _told(question, observed, found, outcome)
    flipped = outcome if not observed.missing else _at_worst(question, observed, outcome)
    more_cases: int | None = None
    if flipped is not outcome:
        told += (
            f" {NOT_SURE} with the {counted(len(observed.missing), observed.noun)} without {question.lacking} counted"
        )
        told += f" as {'bad' if outcome is Outcome.HELD else 'good'}, it would be {flipped.value}."
        outcome = Outcome.INCONCLUSIVE
    elif outcome is Outcome.INCONCLUSIVE:
        needed = question.needed(observed, found)
        more_cases = None if needed is None else max(1, needed - found.clusters)
        told += f" {more(more_cases)}"
    return GateRuling(
        expression="",
        outcome=outcome,
        reason=told,
        value=found.value,
        interval=found.interval,
        n=found.n,
        unjudged=len(observed.missing),
        needed_cases=more_cases,
    )


def _told(question: Question, observed: Observed, found: Estimate, outcome: Outcome) -> str:
    n = _basis(observed, found)
    said = question.what.format(question.unit.say(found.value))
    value = f"{said[:1].upper()}{said[1:]}, over {n}"
    left = without(len(observed.missing), observed.noun, question.lacking)
    if found.interval is None:
        return f"{value}: too few to say how sure that is.{left}"
    where = standing(question.unit, question.bound, outcome)
    return f"{value}; likely {span(question.unit, found.interval)}, {where}.{left}"


def _basis(observed: Observed, found: Estimate) -> str:
    """`80 cases`, `80 attempts of 8 cases`, `80 cases in 8 scenarios`."""
    if found.clusters >= found.n:
        return counted(found.n, observed.noun)
    if observed.groups:
        return f"{counted(found.n, observed.noun)} in {counted(found.clusters, 'scenario')}"
    noun = "attempt" if observed.noun == "case" else observed.noun
    return f"{counted(found.n, noun)} of {counted(found.clusters, 'case')}"


def _at_worst(question: Question, observed: Observed, outcome: Outcome) -> Outcome:
    """What it would be were every missing one against it."""
    if outcome is Outcome.INCONCLUSIVE:
        return outcome
    low, high = question.extremes
    against = (
        (low if question.bound.sign.upward else high)
        if outcome is Outcome.HELD
        else (high if question.bound.sign.upward else low)
    )
    found = question.estimate(observed.filled(against))
    return side(question.bound, found.interval if found else None)


def nothing(reason: str, unjudged: int = 0) -> GateRuling:
    """There is nothing to decide by."""
    return GateRuling(expression="", outcome=Outcome.INCONCLUSIVE, reason=reason, unjudged=unjudged)


def exactly(bound: Bound, unit: Unit, value: float, told: str, *, n: int, reachable: Interval) -> GateRuling:
    """A total: counted, not estimated. `reachable`: from what to what it may come, once all that is unknown is known;
    `told` says what the value is."""
    outcome = side(bound, reachable)
    limit = unit.say(bound.limit)
    if outcome is Outcome.INCONCLUSIVE:
        top = unit.say(reachable[1]) if isfinite(reachable[1]) else "any amount"
        reason = f"{told}; with what is not known it may come to {top}, and the limit is {limit}."
    else:
        word = GOOD[bound.sign] if outcome is Outcome.HELD else BAD[bound.sign]
        reason = f"{told}: {word} {limit}."
    return GateRuling(expression="", outcome=outcome, reason=reason, value=value, n=n)
