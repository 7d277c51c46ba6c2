"""The gates that are decided on an interval: pass rates, means, repeats, latencies."""

from __future__ import annotations

from functools import partial
from math import inf

from msgspec.structs import replace

from howsure.model.gate import GateRuling, Outcome
from howsure.policies.gates import Amount, Bound, Latency, MeanGrade, PassRate, Repeated, Sign, Spending, Which
from howsure.reports.figures import counted
from howsure.services.gates.deciding import Question, decide, nothing
from howsure.services.gates.evidence import Evidence
from howsure.services.gates.observed import Observed
from howsure.services.gates.wording import Unit
from howsure.stats.estimates import Estimate
from howsure.stats.intervals import Interval
from howsure.stats.means import for_mean
from howsure.stats.percentiles import for_percentile, values_needed
from howsure.stats.rates import for_rate
from howsure.stats.repeats import reliability
from howsure.stats.settling_limits import cases_for_rate, cases_for_value

WHOLE = (0.0, 1.0)


def pass_rate(asked: PassRate, evidence: Evidence, candidate: str) -> GateRuling:
    observed = passes(asked.which, evidence, candidate)
    if _at_the_end(asked.bound):
        return _every_one(asked.bound, observed)
    question = Question(
        bound=asked.bound,
        unit=Unit.SHARE,
        what="{} passed",
        estimate=_rate,
        extremes=WHOLE,
        needed=lambda seen, found: _rate_needed(seen, found, asked.bound.limit),
    )
    return decide(question, observed)


def passes(which: Which, evidence: Evidence, candidate: str) -> Observed:
    if which.part:
        return evidence.checks(candidate, which)
    return evidence.passes(candidate, which) if which.grader else evidence.verdicts(candidate, which)


def _rate(observed: Observed) -> Estimate | None:
    verdicts = [value == 1 for value in observed.values]
    return for_rate(verdicts, clusters=observed.clusters) if verdicts else None


def _rate_needed(observed: Observed, found: Estimate, limit: float) -> int | None:
    if found.interval is None:
        return None
    if observed.clusters is None or found.value in WHOLE:
        n = found.clusters
        return cases_for_rate(round(found.value * n), n, limit)
    return cases_for_value(found.value, found.interval, found.clusters, limit)


def _at_the_end(bound: Bound) -> bool:
    """`>= 100%` and `<= 0%`: no number of cases can show that of all others; of these it can be counted."""
    return (bound.sign is Sign.AT_LEAST and bound.limit == 1) or (bound.sign is Sign.AT_MOST and bound.limit == 0)


def _every_one(bound: Bound, observed: Observed) -> GateRuling:
    wrong = sum(not bound.good(value) for value in observed.values)
    n, missing = len(observed.values), len(observed.missing)
    if not n:
        return nothing(f"No {observed.noun} has a verdict.", missing)
    value = sum(observed.values) / n
    told = f"{n - wrong:,} of {counted(n, observed.noun)} {'passed' if bound.sign.upward else 'failed'}"
    if wrong:
        outcome = Outcome.FAILED
    elif missing:
        outcome, told = Outcome.INCONCLUSIVE, f"{told}, but {missing:,} more have no verdict"
    else:
        outcome = Outcome.HELD
    reason = f"{told} (counted: an interval never reaches the end of the scale)."
    return GateRuling(expression="", outcome=outcome, reason=reason, value=value, n=n, unjudged=missing)


def mean_grade(asked: MeanGrade, evidence: Evidence, candidate: str) -> GateRuling:
    observed, scale = evidence.values(candidate, asked.which)
    bounds = None if scale.high is None else (scale.low, scale.high)
    question = _mean_question(asked.bound, Unit.POINTS, observed, bounds, "a value", lowest=scale.low)
    return decide(question, observed)


def _mean_question(
    bound: Bound, unit: Unit, observed: Observed, bounds: Interval | None, lacking: str, *, lowest: float = 0.0
) -> Question:
    """On an open scale, from `lowest` up, a missing value counts as the best or the worst of those seen."""
    seen = (min(observed.values, default=0.0), max(observed.values, default=0.0))
    return Question(
        bound=bound,
        unit=unit,
        what="{} on average",
        estimate=lambda given: _mean(given, bounds, lowest),
        extremes=bounds or seen,
        needed=partial(value_needed, bound.limit),
        lacking=lacking,
    )


def _mean(observed: Observed, bounds: Interval | None, lowest: float) -> Estimate | None:
    found = for_mean(observed.values, observed.clusters, bounds=bounds)
    if found is None or (found.interval is None and found.clusters < 2):
        return found
    # On an open scale, values that are all the same show no spread to allow for.
    low, high = found.interval or (found.value, found.value)
    return replace(found, interval=(max(low, lowest), high))


def per_case(asked: Spending, evidence: Evidence, candidate: str) -> GateRuling:
    money = asked.of is Amount.COST
    observed = evidence.spent(candidate, Which(), money=money)
    unit, lacking = (Unit.DOLLARS, "a known cost") if money else (Unit.TOKENS, "a count of tokens")
    return decide(_mean_question(asked.bound, unit, observed, None, lacking), observed)


def repeated(asked: Repeated, evidence: Evidence, candidate: str) -> GateRuling:
    """Over the cases that were judged at least k times; of the others, what is missing is filled in at worst."""
    observed = passes(asked.which, evidence, candidate)
    if evidence.run.pins.repeat < asked.k:
        name, made = f"pass{'^' if asked.every else '@'}{asked.k}", evidence.run.pins.repeat
        return nothing(f"{name} needs {asked.k} tries of each case and this run made {made}: --repeat {asked.k}.")
    question = Question(
        bound=asked.bound,
        unit=Unit.SHARE,
        what=f"{{}} of cases would pass in {'every one' if asked.every else 'at least one'} of {asked.k} tries",
        estimate=lambda given: _reliability(given, asked),
        extremes=WHOLE,
        needed=partial(value_needed, asked.bound.limit),
    )
    return decide(question, observed)


def _reliability(observed: Observed, asked: Repeated) -> Estimate | None:
    tries = observed.tries()
    groups = [observed.groups.get(case, case) for case in tries]
    counted_tries = [(round(sum(values)), len(values)) for values in tries.values()]
    found = reliability(counted_tries, asked.k, groups if len(set(groups)) < len(groups) else None)
    return found.hat if asked.every else found.at


def value_needed(limit: float, _: Observed, found: Estimate) -> int | None:
    return None if found.interval is None else cases_for_value(found.value, found.interval, found.clusters, limit)


def latency(asked: Latency, evidence: Evidence, candidate: str) -> GateRuling:
    observed = evidence.seconds(candidate, asked.which)
    return decide(_latency_question(asked, observed), observed)


def _latency_question(asked: Latency, observed: Observed) -> Question:
    share, lacking = asked.share, "a known duration"
    if share is None:
        return _mean_question(asked.bound, Unit.SECONDS, observed, None, lacking)
    return Question(
        bound=asked.bound,
        unit=Unit.SECONDS,
        what=f"{100 * share:g} % take no longer than {{}}",
        estimate=lambda given: _percentile(given, share),
        extremes=(0.0, inf),
        needed=lambda seen, _: _percentile_needed(seen, share, asked.bound),
        lacking=lacking,
    )


def _percentile(observed: Observed, share: float) -> Estimate | None:
    return for_percentile(observed.values, share, observed.clusters)


def _percentile_needed(observed: Observed, share: float, bound: Bound) -> int | None:
    """That a percentile is below a limit means that this share of the values is."""
    below = sum(value <= bound.limit for value in observed.values)
    least = values_needed(share, above=not bound.sign.upward)
    settled = cases_for_rate(below, len(observed.values), share)
    return None if settled is None else max(least, settled)
