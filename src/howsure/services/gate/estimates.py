"""The gates that are decided on an interval: pass rates, means, repeats, latencies and spending per case."""

from __future__ import annotations

from functools import partial
from math import inf

from msgspec.structs import replace

from howsure.model.summary import GateOutcome, GateRuling
from howsure.policies.gates import (
    BoundSign,
    GateBound,
    GateScope,
    Latency,
    MeanGrade,
    PassRate,
    RepeatedPass,
    SpendingLimit,
    SpendingUnit,
)
from howsure.reports.figures import pluralize
from howsure.services.gate.decisions import GateQuestion, GateUnit, decide_estimate, nothing_to_decide
from howsure.services.gate.evidence import Evidence, Observations
from howsure.stats.estimates import estimate_mean, estimate_percentile, estimate_rate, values_needed
from howsure.stats.intervals import Estimate, Interval
from howsure.stats.power import cases_for_rate, cases_for_value
from howsure.stats.repeats import reliability

WHOLE = (0.0, 1.0)


def rule_pass_rate(condition: PassRate, evidence: Evidence, candidate: str) -> GateRuling:
    observed, bound = observe_passes(condition.scope, evidence, candidate), condition.bound
    if (bound.sign, bound.limit) in ((BoundSign.AT_LEAST, 1), (BoundSign.AT_MOST, 0)):
        # No number of cases can show that about other cases; it can only be counted for these.
        wrong = sum(not bound.good(value) for value in observed.values)
        n, missing = len(observed.values), len(observed.missing)
        if not n:
            return nothing_to_decide(f"No {observed.noun} has a verdict.", missing)
        value = sum(observed.values) / n
        text = f"{n - wrong:,} of {pluralize(n, observed.noun)} {'passed' if bound.sign.upward else 'failed'}"
        if wrong:
            outcome = GateOutcome.FAILED
        elif missing:
            outcome, text = GateOutcome.INCONCLUSIVE, f"{text}, but {missing:,} more have no verdict"
        else:
            outcome = GateOutcome.HELD
        reason = f"{text} (counted: an interval never reaches the end of the scale)."
        return GateRuling(expression="", outcome=outcome, reason=reason, value=value, n=n, unjudged=missing)
    question = GateQuestion(
        bound=condition.bound,
        unit=GateUnit.SHARE,
        what="{} passed",
        estimate=_rate,
        extremes=WHOLE,
        needed=lambda seen, found: _rate_needed(seen, found, condition.bound.limit),
    )
    return decide_estimate(question, observed)


def observe_passes(which: GateScope, evidence: Evidence, candidate: str) -> Observations:
    """Whether each attempt, or each check of a grader, rule or criterion, passed."""
    if which.part:
        return evidence.checks(candidate, which)
    return evidence.passes(candidate, which) if which.grader else evidence.verdicts(candidate, which)


def _rate(observed: Observations) -> Estimate | None:
    verdicts = [value == 1 for value in observed.values]
    return estimate_rate(verdicts, clusters=observed.clusters) if verdicts else None


def _rate_needed(observed: Observations, found: Estimate, limit: float) -> int | None:
    if found.interval is None:
        return None
    if observed.clusters is None or found.value in WHOLE:
        n = found.clusters
        return cases_for_rate(round(found.value * n), n, limit)
    return cases_for_value(found.value, found.interval, found.clusters, limit)


def rule_mean_grade(condition: MeanGrade, evidence: Evidence, candidate: str) -> GateRuling:
    observed, scale = evidence.values(candidate, condition.scope)
    bounds = None if scale.high is None else (scale.low, scale.high)
    question = _mean_question(condition.bound, GateUnit.POINTS, observed, bounds, "a value", lowest=scale.low)
    return decide_estimate(question, observed)


def _mean_question(
    bound: GateBound,
    unit: GateUnit,
    observed: Observations,
    bounds: Interval | None,
    lacking: str,
    *,
    lowest: float = 0.0,
) -> GateQuestion:
    """The question about a mean. On an open scale, from `lowest` up, a missing value counts as the best or the worst of
    those seen."""
    seen = (min(observed.values, default=0.0), max(observed.values, default=0.0))
    return GateQuestion(
        bound=bound,
        unit=unit,
        what="{} on average",
        estimate=lambda observations: _mean(observations, bounds, lowest),
        extremes=bounds or seen,
        needed=partial(value_needed, bound.limit),
        lacking=lacking,
    )


def _mean(observed: Observations, bounds: Interval | None, lowest: float) -> Estimate | None:
    found = estimate_mean(observed.values, observed.clusters, bounds=bounds)
    if found is None or (found.interval is None and found.clusters < 2):
        return found
    # On an open scale, values that are all equal show no spread, so there is no interval.
    low, high = found.interval or (found.value, found.value)
    return replace(found, interval=(max(low, lowest), high))


def rule_spending_per_case(condition: SpendingLimit, evidence: Evidence, candidate: str) -> GateRuling:
    money = condition.of is SpendingUnit.COST
    observed = evidence.spent(candidate, GateScope(), money=money)
    unit, lacking = (GateUnit.DOLLARS, "a known cost") if money else (GateUnit.TOKENS, "a count of tokens")
    return decide_estimate(_mean_question(condition.bound, unit, observed, None, lacking), observed)


def rule_repeats(condition: RepeatedPass, evidence: Evidence, candidate: str) -> GateRuling:
    """pass@k or pass^k over the cases that were judged at least k times; missing tries count against the outcome."""
    observed = observe_passes(condition.scope, evidence, candidate)
    if evidence.run.pins.request.repeat < condition.k:
        name, made = f"pass{'^' if condition.every else '@'}{condition.k}", evidence.run.pins.request.repeat
        return nothing_to_decide(
            f"{name} needs {condition.k} tries of each case and this run made {made}: --repeat {condition.k}."
        )
    question = GateQuestion(
        bound=condition.bound,
        unit=GateUnit.SHARE,
        what=f"{{}} of cases would pass in {'every one' if condition.every else 'at least one'} of {condition.k} tries",
        estimate=lambda seen: _reliability(seen, condition),
        extremes=WHOLE,
        needed=partial(value_needed, condition.bound.limit),
    )
    return decide_estimate(question, observed)


def _reliability(observed: Observations, condition: RepeatedPass) -> Estimate | None:
    tries = observed.tries()
    groups = [observed.groups.get(case, case) for case in tries]
    counted_tries = [(round(sum(values)), len(values)) for values in tries.values()]
    found = reliability(counted_tries, condition.k, groups if len(set(groups)) < len(groups) else None)
    return found.hat if condition.every else found.at


def value_needed(limit: float, _: Observations, found: Estimate) -> int | None:
    return None if found.interval is None else cases_for_value(found.value, found.interval, found.clusters, limit)


def rule_latency(condition: Latency, evidence: Evidence, candidate: str) -> GateRuling:
    observed, share, lacking = evidence.seconds(candidate, condition.scope), condition.share, "a known duration"
    if share is None:
        question = _mean_question(condition.bound, GateUnit.SECONDS, observed, None, lacking)
        return decide_estimate(question, observed)
    question = GateQuestion(
        bound=condition.bound,
        unit=GateUnit.SECONDS,
        what=f"{100 * share:g} % take no longer than {{}}",
        estimate=lambda seen: estimate_percentile(seen.values, share, seen.clusters),
        extremes=(0.0, inf),
        needed=lambda seen, _: _percentile_needed(seen, share, condition.bound),
        lacking=lacking,
    )
    return decide_estimate(question, observed)


def _percentile_needed(observed: Observations, share: float, bound: GateBound) -> int | None:
    """The values needed to settle it: a percentile is below a limit if that share of the values is."""
    below = sum(value <= bound.limit for value in observed.values)
    least = values_needed(share, above=not bound.sign.upward)
    settled = cases_for_rate(below, len(observed.values), share)
    return None if settled is None else max(least, settled)
