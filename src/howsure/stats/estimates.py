"""Rates, means and percentiles, each with the interval that fits the data: `estimate_rate` (Clopper–Pearson or Wilson),
`estimate_mean` (between the ends of a scale; skewness-corrected for amounts such as cost and latency; else Student's t)
and `estimate_percentile` (from the order of the values, whatever their distribution). All three take clusters. And
`reliability`, where the same case is tried several times: pass@k (at least one of k tries passes) and pass^k (all k
pass); every choice of k counts once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import ceil, comb, exp, floor, inf, log, sqrt
from statistics import fmean

import numpy as np
from msgspec.structs import replace
from numpy.typing import ArrayLike
from scipy.special import betaincinv
from scipy.stats import binom, skew
from scipy.stats import t as student

from howsure.stats.clusters import ClusterSums, RobustMean, cluster_sums, clustered_rate, robust_mean
from howsure.stats.intervals import Estimate, Interval, IntervalMethod, rate_interval

EXACT_BELOW = 300
"""Below this many judged cases the exact interval is used; from here on Wilson's is as good, and narrower."""


def clopper_pearson(passed: int, judged: int, confidence: float = 0.95) -> Interval | None:
    """The exact interval of a rate: it covers at least as often as it says, and is a little wide. None if n is 0."""
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
    if judged < 0 or not 0 <= passed <= judged:
        raise ValueError(f"{passed} of {judged} is not a rate")
    tail = (1 - confidence) / 2
    if judged == 0:
        return None
    low = float(betaincinv(passed, judged - passed + 1, tail)) if passed else 0.0
    high = float(betaincinv(passed + 1, judged - passed, 1 - tail)) if passed < judged else 1.0
    return low, high


def estimate_rate(
    passed: int | Sequence[bool],
    judged: int | None = None,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Estimate | None:
    """The rate with the interval that fits: exact below 300 cases, Wilson's from there on, cluster-robust if cases
    belong together. Clusters need the single verdicts: `estimate_rate(verdicts, clusters=names)`. None if nothing was
    judged."""
    verdicts = None if isinstance(passed, int) else list(passed)
    count = passed if isinstance(passed, int) else sum(bool(verdict) for verdict in passed)
    n = judged if judged is not None else len(verdicts or ())
    if verdicts is not None and len(verdicts) != n:
        raise ValueError(f"{len(verdicts)} verdicts are not {n} judged cases")
    if clusters is not None and len(set(clusters)) < len(clusters):
        if verdicts is None:
            raise ValueError("clusters need one verdict for each case, not a count")
        return clustered_rate(verdicts, clusters, confidence)
    form, interval = IntervalMethod.EXACT, clopper_pearson(count, n, confidence)
    if n >= EXACT_BELOW:
        form, interval = IntervalMethod.WILSON, rate_interval(count, n, confidence)
    if interval is None:
        return None
    value = count / n
    return Estimate(value=value, interval=interval, n=n, clusters=n, form=form, confidence=confidence)


FEW_AMOUNTS = 10
"""With fewer amounts (costs, latencies) the tail cannot be estimated: that of a lognormal is assumed."""
LEAST_SHARE = 1e-3
"""Amounts below this share of the mean, such as zero, are raised to it before logarithms are taken."""


def estimate_mean(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    *,
    bounds: Interval | None = None,
) -> Estimate | None:
    """The mean with the interval that fits. `bounds` are the ends of the scale: half an unseen value is assumed at
    each, so that an end that most values have reached is not taken for certain. Without them, amounts (nothing
    below zero) have Student's t corrected for their skewness, other values Student's t. Values that belong together
    count by their clusters. None if there is no value."""
    if not len(values):
        return None
    apart = clusters is None or len(set(clusters)) == len(clusters)
    grouped = cluster_sums(values, range(len(values)) if apart or clusters is None else clusters)
    count = len(grouped.sums)
    plain = Estimate(
        value=fmean(values), interval=None, n=len(values), clusters=count, form=None, confidence=confidence
    )
    found = robust_mean(grouped)
    if found is None:
        return plain
    if found.error <= SAME * max(1.0, abs(found.mean)):
        return _without_spread(plain, bounds)
    if bounds is not None and apart and set(values) <= set(bounds):
        return _between_the_ends(plain, [value == bounds[1] for value in values], bounds)
    if bounds is not None:
        interval = bounded_interval(found, bounds, confidence)
        return replace(plain, interval=interval, form=IntervalMethod.BOUNDED)
    if min(values) < 0:
        form = IntervalMethod.STUDENT if apart else IntervalMethod.CLUSTER_ROBUST
        return replace(plain, interval=found.interval(confidence), form=form)
    skewed = _few_amounts if count < FEW_AMOUNTS else _skewed_interval
    return replace(plain, interval=skewed(grouped, found, confidence), form=IntervalMethod.SKEWED)


def weighted_mean(
    values: Sequence[float], clusters: Sequence[Hashable], weights: ArrayLike, bounds: Interval | None
) -> Estimate:
    """The mean of values that stand for more or fewer others, with the interval of `estimate_mean` between bounds, else
    Student's t. What was not seen may hide where a value stands for most."""
    grouped = cluster_sums(values, clusters, weights)
    found, plain = robust_mean(grouped), estimate_mean(values, clusters, bounds=bounds)
    assert plain is not None
    if np.ptp(np.asarray(weights)) == 0 and bounds is not None:
        return plain
    plain = replace(plain, value=grouped.mean, interval=None, form=None)
    if found is None:
        return plain
    if bounds is None:
        return replace(plain, interval=found.interval(), form=IntervalMethod.CLUSTER_ROBUST)
    worth = float(grouped.sizes.sum() / grouped.sizes.max())
    if found.error <= SAME * max(1.0, abs(found.mean)):
        return _without_spread(replace(plain, clusters=int(worth)), bounds)
    cautious = replace(found, freedom=min(found.freedom, max(1.0, worth - 1)))
    return replace(plain, interval=bounded_interval(cautious, bounds), form=IntervalMethod.BOUNDED)


def _between_the_ends(plain: Estimate, at_the_top: Sequence[bool], bounds: Interval) -> Estimate:
    """The mean of values that are all at an end of their scale, with the interval of a rate."""
    low, high = bounds
    rate = estimate_rate(at_the_top, confidence=plain.confidence)
    if rate is None or rate.interval is None:
        return plain
    first, last = (low + end * (high - low) for end in rate.interval)
    return replace(plain, interval=(first, last), form=rate.form)


SAME = 1e-12
"""Errors below this share of the mean come from rounding."""


def bounded_interval(found: RobustMean, bounds: Interval, confidence: float = 0.95) -> Interval:
    """The interval of a mean between two bounds. To the values seen, half a value at each bound is added; the mean of
    values that are weighed at random then has a distribution with known mean and variance, and the beta distribution
    with these gives the ends. For zeros and ones this is Jeffreys's interval."""
    low, high = bounds
    span, units = high - low, found.freedom + 1
    mean, spread = (found.mean - low) / span, found.error**2 * found.freedom / span**2
    centre = (units * mean + 0.5) / (units + 1)
    variance = ((units * (spread + mean**2) + 0.5) / (units + 1) - centre**2) / (units + 2)
    strength = centre * (1 - centre) / variance - 1
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    ends = low + span * betaincinv(centre * strength, (1 - centre) * strength, tails)
    return min(float(ends[0]), found.mean), max(float(ends[1]), found.mean)


def _few_amounts(grouped: ClusterSums, found: RobustMean, confidence: float) -> Interval:
    """Student's t, widened to Cox's interval for the mean of a lognormal distribution."""
    logs = np.log(np.maximum(grouped.sums / grouped.sizes, LEAST_SHARE * found.mean))
    variance, count = float(logs.var(ddof=1)), len(logs)
    middle = float(logs.mean()) + variance / 2
    spread = sqrt(variance / count + variance**2 / (2 * (count - 1)))
    half = min(float(student.ppf((1 + confidence) / 2, count - 1)) * spread, MOST_LOG)
    low, high = found.interval(confidence)
    return max(0.0, min(low, exp(middle - half))), max(high, exp(middle + half))


MOST_LOG = 100.0
"""Beyond this the exponential is as good as infinite."""


def _skewed_interval(grouped: ClusterSums, found: RobustMean, confidence: float) -> Interval:
    """Hall's cubic transformation of Student's t (1992): the interval reaches further on the side of the tail. Small
    samples show too little of their skewness: it is raised by a factor that falls to 1."""
    count = len(grouped.sums)
    skewness = float(skew(grouped.sums - found.mean * grouped.sizes, bias=False)) * (1 + 6 / count)
    bend, root = skewness / (3 * sqrt(count)), float(student.ppf((1 + confidence) / 2, found.freedom))
    if abs(bend) < SAME:
        return found.interval(confidence)
    low, high = (
        found.mean - found.error * (float(np.cbrt(1 + 3 * bend * (quantile - bend / 2))) - 1) / bend
        for quantile in (root, -root)
    )
    return max(0.0, low), high


def _without_spread(found: Estimate, bounds: Interval | None) -> Estimate:
    """For n equal values: another value may occur as often as a fault that was seen 0 times in n."""
    limits = clopper_pearson(0, found.clusters, found.confidence)
    if bounds is None or limits is None:
        return found
    unseen = limits[1]
    low = found.value - unseen * (found.value - bounds[0])
    high = found.value + unseen * (bounds[1] - found.value)
    return replace(found, interval=(low, high), form=IntervalMethod.NO_SPREAD)


def estimate_percentile(
    values: Sequence[float], share: float, clusters: Sequence[Hashable] | None = None, confidence: float = 0.95
) -> Estimate | None:
    """The value that this share of all values does not exceed. Values may be infinite. An end of the interval is
    infinite if there are too few values to say anything on that side. None if there is no value."""
    if not 0 < share < 1:
        raise ValueError(f"a percentile lies between 0 and 1, not at {share}")
    if not len(values):
        return None
    ordered = sorted(values)
    n = len(ordered)
    value = ordered[max(1, ceil(share * n - 1e-9)) - 1]
    grouped = clusters is not None and len(set(clusters)) < n
    effective = _effective_size(values, clusters, value) if grouped and clusters is not None else n
    low, high = percentile_ranks(effective, share, confidence)
    return Estimate(
        value=value,
        interval=(
            -inf if low < 1 else ordered[max(1, floor(low * n / effective)) - 1],
            inf if high > effective else ordered[min(n, ceil(high * n / effective)) - 1],
        ),
        n=n,
        clusters=len(set(clusters)) if clusters is not None else n,
        form=IntervalMethod.ORDER,
        confidence=confidence,
    )


def percentile_ranks(n: int, share: float, confidence: float = 0.95) -> tuple[int, int]:
    """The ranks (from 1) of the values between which the percentile of n independent values lies. 0 and n + 1 mean that
    n values give no bound on that side."""
    tail = (1 - confidence) / 2
    low = int(binom.ppf(tail, n, share))
    # The largest rank with at most `tail` of the probability below it, and the smallest with at most `tail` above.
    while low > 0 and binom.cdf(low - 1, n, share) > tail:
        low -= 1
    high = int(binom.ppf(1 - tail, n, share)) + 1
    return low, min(high, n + 1)


def values_needed(share: float, confidence: float = 0.95, *, above: bool = True) -> int:
    """How many values the interval needs to have a finite upper (or lower) end."""
    return ceil(log((1 - confidence) / 2) / log(share if above else 1 - share) - 1e-9)


def _effective_size(values: Sequence[float], clusters: Sequence[Hashable], value: float) -> int:
    """The effective number of independent values near the percentile."""
    below = np.asarray(values, dtype=np.float64) <= value
    grouped = cluster_sums(below.astype(np.float64), clusters)
    found, rate = robust_mean(grouped), grouped.mean
    if found is None or found.error == 0:
        return len(grouped.sums)
    return max(1, min(len(values), floor(rate * (1 - rate) / found.error**2)))


Tries = tuple[int, int]
"""The tries of one case: (passed, judged)."""


def pass_at_k(passed: int, judged: int, k: int) -> float | None:
    """The probability that at least one of k tries passes. None if fewer than k were judged."""
    return None if _too_few(passed, judged, k) else 1 - comb(judged - passed, k) / comb(judged, k)


def pass_hat_k(passed: int, judged: int, k: int) -> float | None:
    """pass^k: the probability that all of k tries pass. None if fewer than k were judged."""
    return None if _too_few(passed, judged, k) else comb(passed, k) / comb(judged, k)


def reliability(
    cases: Sequence[Tries], k: int, clusters: Sequence[Hashable] | None = None, *, every: bool
) -> Estimate | None:
    """pass^k (`every`) or pass@k over the cases that were judged at least k times; None if there is no such case. Every
    case counts the same. The interval is over the cases (and their clusters): more tries of the same cases say nothing
    about other cases."""
    usable = [place for place, (_, judged) in enumerate(cases) if judged >= k]
    chance = pass_hat_k if every else pass_at_k
    values = [chance(*cases[place], k) or 0.0 for place in usable]
    usable_clusters = None if clusters is None else [clusters[place] for place in usable]
    if all(value in (0, 1) for value in values):
        return estimate_rate([value == 1 for value in values], clusters=usable_clusters)
    # Few cases have few possible means: the interval would hold the true one only 91 to 93 times of 100.
    found = estimate_mean(values, usable_clusters, 0.95 if len(usable) >= FEW_CASES else SURER, bounds=(0.0, 1.0))
    return replace(found, confidence=0.95) if found else None


FEW_CASES, SURER = 20, 0.97


def _too_few(passed: int, judged: int, k: int) -> bool:
    if not 0 <= passed <= judged:
        raise ValueError(f"{passed} of {judged} is not a rate")
    if k < 1:
        raise ValueError(f"k counts tries, from 1, not {k}")
    return judged < k
