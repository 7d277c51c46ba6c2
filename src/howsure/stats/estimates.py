"""Rates, means and percentiles, each with the interval that fits the data: `estimate_rate` (Clopper–Pearson or Wilson),
`estimate_mean` (between the ends of a scale; skewness-corrected for amounts such as cost and latency; else Student's t)
and `estimate_percentile` (from the order of the values, whatever their distribution). All three take clusters. And
`reliability`, where the same case is tried several times: pass@k (at least one of k tries passes) and pass^k (all k
pass); every choice of k counts once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import ceil, comb, exp, floor, hypot, inf, log, sqrt
from statistics import fmean

import numpy as np
from msgspec.structs import replace
from numpy.typing import ArrayLike
from scipy.special import betaincinv, gammaincinv
from scipy.stats import binom
from scipy.stats import t as student

from howsure.stats.clusters import ClusterSums, Floats, RobustMean, cluster_sums, clustered_rate, robust_mean
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


FEW_AMOUNTS = 12
"""So few amounts (costs, latencies) hardly show their tail: the upper end is the highest one of all methods, and from
here on less and less."""
UNUSUAL_LOGS = 3.0
"""Logarithms that are this far from a normal curve (squared standard errors of skewness, times 4, and of kurtosis)
count half."""
FEWEST_AMOUNTS = 10
"""Below this many amounts their skewness is raised no further than for so many."""
LEAST_SHARE = 1e-3
"""Amounts below this share of the mean are raised to it before logarithms are taken."""


def estimate_mean(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    *,
    bounds: Interval | None = None,
) -> Estimate | None:
    """The mean with the interval that fits. `bounds` are the ends of the scale: up to half an unseen value is assumed
    at each, so that an end that most values have reached is not taken for certain. Without them, amounts (nothing below
    zero) have Student's t corrected for their skewness, or the interval of a lognormal distribution if they look like
    one; other values Student's t. Values that belong together count by their clusters. None if there is no value."""
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
    return replace(plain, interval=_amount_interval(grouped, found, confidence), form=IntervalMethod.SKEWED)


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


LEAST_UNSEEN, MOST_UNSEEN = 0.4, 0.5
"""How much of a value may hide at an end of the scale: half of one in 20 values or fewer, less from there to 30."""


def bounded_interval(found: RobustMean, bounds: Interval, confidence: float = 0.95) -> Interval:
    """The interval of a mean between two bounds. For each end of it, half a value (or a little less) at the bound on
    its side is added to the values seen; the mean of values that are weighed at random then has a distribution with
    known mean and variance, and the beta distribution with these gives the end."""
    low, high = bounds
    span, units, tail = high - low, found.freedom + 1, (1 - confidence) / 2
    mean, spread = (found.mean - low) / span, found.error**2 * found.freedom / span**2
    bottom, top = _lower_bounded(mean, spread, units, tail), 1 - _lower_bounded(1 - mean, spread, units, tail)
    return min(low + span * bottom, found.mean), max(low + span * top, found.mean)


def _lower_bounded(mean: float, spread: float, units: float, tail: float) -> float:
    """The lower end for a mean between 0 and 1 of this many values, where more zeros may hide."""
    total = units + min(MOST_UNSEEN, max(LEAST_UNSEEN, 0.2 + 6 / units))
    centre = units * mean / total
    variance = (units * (spread + mean**2) / total - centre**2) / (total + 1)
    strength = centre * (1 - centre) / variance - 1
    return float(betaincinv(centre * strength, (1 - centre) * strength, tail))


def _amount_interval(grouped: ClusterSums, found: RobustMean, confidence: float) -> Interval:
    """Between Hall's interval and that of a lognormal distribution: the more the logarithms look like a normal curve,
    the nearer to the latter. Its lower end only widens."""
    low, high = _skewed_interval(grouped, found, confidence)
    amounts = grouped.sums / grouped.sizes
    few = min(1.0, (FEW_AMOUNTS / len(amounts)) ** 2)
    high += few * max(0.0, found.interval(confidence)[1] - high)
    if amounts.min() <= 0:
        return max(0.0, low), high
    logs = np.log(np.maximum(amounts, LEAST_SHARE * found.mean))
    skewness, kurtosis = _shape(logs)
    unusual = len(logs) * (4 * skewness**2 / 6 + kurtosis**2 / 24)
    share = 1 / (1 + (unusual / UNUSUAL_LOGS) ** 2)
    # Where clusters differ in size, the mean of their means is not that of the values.
    least, most = (end * found.mean / float(amounts.mean()) for end in _lognormal_interval(logs, found, confidence))
    between = high ** (1 - share) * most**share
    lower = min(low, (1 - share) * low + share * least, found.mean)
    return max(0.0, lower), max(found.mean, between + few * max(0.0, high - between))


def _lognormal_interval(logs: Floats, found: RobustMean, confidence: float) -> Interval:
    """For the mean of a lognormal distribution: that of Zou, Huo and Taleban (2009), which allows for how uncertain the
    variance of few logarithms is, and with more of them towards Cox's, which is narrower."""
    freedom, variance = found.freedom, float(logs.var(ddof=1))
    middle, of_mean = float(logs.mean()) + variance / 2, variance / (freedom + 1)
    quantile = float(student.ppf((1 + confidence) / 2, freedom))
    cox = quantile * sqrt(of_mean + variance**2 / (2 * freedom))
    quantiles = 2 * gammaincinv(freedom / 2, [(1 + confidence) / 2, (1 - confidence) / 2])
    apart = (variance / 2 * abs(1 - freedom / float(each)) for each in quantiles)
    few = min(1.0, FEW_AMOUNTS / len(logs))
    down, up = (min(MOST_LOG, (1 - few) * cox + few * hypot(quantile * sqrt(of_mean), each)) for each in apart)
    return exp(middle - down), exp(middle + up)


MOST_LOG = log(1000)
"""An end that is a thousand times the estimate says that nothing is known, as well as a higher one."""


def _shape(values: Floats) -> tuple[float, float]:
    """The skewness, corrected for few values, and the excess kurtosis."""
    count, apart = len(values), values - values.mean()
    square = float((apart**2).mean())
    if count < 3 or square <= 0:
        return 0.0, 0.0
    skewness = float((apart**3).mean()) / square**1.5 * sqrt(count * (count - 1)) / (count - 2)
    return skewness, float((apart**4).mean()) / square**2 - 3


def _skewed_interval(grouped: ClusterSums, found: RobustMean, confidence: float) -> Interval:
    """Hall's cubic transformation of Student's t (1992): the interval reaches further on the side of the tail. Small
    samples show too little of their skewness: it is raised by a factor that falls to 1."""
    count = len(grouped.sums)
    skewness = _shape(grouped.sums - found.mean * grouped.sizes)[0] * (1 + 5 / max(count, FEWEST_AMOUNTS))
    bend, root = skewness / (3 * sqrt(count)), float(student.ppf((1 + confidence) / 2, found.freedom))
    if abs(bend) < SAME:
        return found.interval(confidence)
    low, high = (
        found.mean - found.error * (float(np.cbrt(1 + 3 * bend * (quantile - bend / 2))) - 1) / bend
        for quantile in (root, -root)
    )
    return low, high


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
    # Few cases have few possible means: the interval would hold the true one only 92 to 93 times of 100.
    found = estimate_mean(values, usable_clusters, 0.95 if len(usable) >= FEW_CASES else SURER, bounds=(0.0, 1.0))
    return replace(found, confidence=0.95) if found else None


FEW_CASES, SURER = 20, 0.96


def _too_few(passed: int, judged: int, k: int) -> bool:
    if not 0 <= passed <= judged:
        raise ValueError(f"{passed} of {judged} is not a rate")
    if k < 1:
        raise ValueError(f"k counts tries, from 1, not {k}")
    return judged < k
