"""Rates, means and percentiles, each with the interval that fits the data: `estimate_rate` (Clopper–Pearson or Wilson),
`estimate_mean` (Student's t, or BCa for skewed values such as cost and latency) and `estimate_percentile` (from the
order of the values, whatever their distribution). All three take clusters."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import ceil, floor, inf, log
from statistics import fmean

import numpy as np
from msgspec.structs import replace
from numpy.typing import ArrayLike
from scipy.special import betaincinv
from scipy.stats import binom, norm, skew

from howsure.stats.clusters import (
    ClusterSums,
    Floats,
    bootstrap_means,
    cluster_sums,
    clustered_mean,
    clustered_rate,
    robust_mean,
)
from howsure.stats.intervals import Estimate, Interval, IntervalMethod, clip_interval, mean_interval, rate_interval

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


BCA_FROM = 30
"""With this many values a bootstrap shows the shape of their distribution; with fewer, Student's t is safer."""
BCA_BELOW = 5000
"""With this many values the mean is as good as normal, and a bootstrap only costs time."""
SKEWED = 1.0
"""With this skewness or more, the two sides of the interval should differ."""
BCA_DRAWS = 5000


def bca_interval(
    values: ArrayLike, *, draws: int = BCA_DRAWS, seed: int = 0, confidence: float = 0.95
) -> Interval | None:
    """The bias-corrected and accelerated bootstrap interval of a mean. None for fewer than two different values."""
    numbers = np.asarray(values, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("a mean needs finite values")
    if len(numbers) < 2 or np.ptp(numbers) == 0:
        return None
    grouped = ClusterSums(sums=numbers, sizes=np.ones(len(numbers)))
    means = bootstrap_means(grouped, draws, np.random.default_rng(seed))
    low, high = np.quantile(means, _bca_shares(numbers, means, confidence))
    return float(low), float(high)


def estimate_mean(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    *,
    bounds: Interval | None = None,
    seed: int = 0,
) -> Estimate | None:
    """The mean with the interval that fits: Student's t, BCa for thirty or more skewed values, cluster-robust t if
    values belong together. `bounds` are the ends of the scale: the interval stays between them, and equal values then
    have one too. None if there is no value."""
    if not len(values):
        return None
    if clusters is not None and len(set(clusters)) < len(clusters):
        found = clustered_mean(values, clusters, confidence, bounds)
        return found if found is None or found.interval else _without_spread(found, bounds)
    plain = _independent_mean(values, confidence, bounds, seed)
    return plain if plain.interval else _without_spread(plain, bounds)


def _independent_mean(values: Sequence[float], confidence: float, bounds: Interval | None, seed: int) -> Estimate:
    n, form = len(values), IntervalMethod.STUDENT
    interval = mean_interval(values, confidence)
    if interval is not None and interval[0] == interval[1]:
        interval = None
    if interval is not None and BCA_FROM <= n < BCA_BELOW and abs(float(skew(np.asarray(values)))) >= SKEWED:
        form, interval = IntervalMethod.BCA, bca_interval(values, seed=seed, confidence=confidence)
    return Estimate(
        value=fmean(values),
        interval=clip_interval(interval, bounds) if interval else None,
        n=n,
        clusters=n,
        form=form if interval else None,
        confidence=confidence,
    )


def _without_spread(found: Estimate, bounds: Interval | None) -> Estimate:
    """For n equal values: another value may occur as often as a fault that was seen 0 times in n."""
    limits = clopper_pearson(0, found.clusters, found.confidence)
    if bounds is None or limits is None or found.clusters < 2:
        return found
    unseen = limits[1]
    low = found.value - unseen * (found.value - bounds[0])
    high = found.value + unseen * (bounds[1] - found.value)
    return replace(found, interval=(low, high), form=IntervalMethod.NO_SPREAD)


def _bca_shares(numbers: Floats, means: Floats, confidence: float) -> Floats:
    """The shares of the drawn means that bound the interval, corrected for bias and acceleration."""
    mean = numbers.mean()
    below = (np.count_nonzero(means < mean) + np.count_nonzero(means == mean) / 2) / len(means)
    bias = norm.ppf(min(max(below, 1 / len(means)), 1 - 1 / len(means)))
    apart = numbers - mean
    acceleration = (apart**3).sum() / (6 * (apart**2).sum() ** 1.5)
    z = norm.ppf([(1 - confidence) / 2, (1 + confidence) / 2])
    shares: Floats = norm.cdf(bias + (bias + z) / (1 - acceleration * (bias + z)))
    return shares


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
