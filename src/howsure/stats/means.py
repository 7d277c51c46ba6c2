"""Intervals of a mean: Student's t, the BCa bootstrap for lopsided values such as cost and latency, and the choice."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from statistics import fmean

import numpy as np
from msgspec.structs import replace
from numpy.typing import ArrayLike
from scipy.stats import norm, skew

from howsure.stats.clusters import ClusterSums, Floats, clustered_mean, drawn_means
from howsure.stats.estimates import Estimate, Form, within
from howsure.stats.intervals import Interval, mean_interval
from howsure.stats.rates import exact

ENOUGH = 30
"""From so many values on a bootstrap sees the shape of their distribution; below, Student's t is safer."""
MANY = 5000
"""From so many on the mean is as good as normal whatever the values are, and drawing again only costs time."""
LOPSIDED = 1.0
"""From this skewness on, the two sides of the interval should differ."""
DRAWS = 5000


def bca(values: ArrayLike, *, draws: int = DRAWS, seed: int = 0, confidence: float = 0.95) -> Interval | None:
    """The bias-corrected and accelerated bootstrap of a mean. None for fewer than two values or no spread."""
    numbers = np.asarray(values, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("a mean needs finite values")
    if len(numbers) < 2 or np.ptp(numbers) == 0:
        return None
    grouped = ClusterSums(sums=numbers, sizes=np.ones(len(numbers)))
    means = drawn_means(grouped, draws, np.random.default_rng(seed))
    low, high = np.quantile(means, _shares(numbers, means, confidence))
    return float(low), float(high)


def for_mean(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    *,
    bounds: Interval | None = None,
    seed: int = 0,
) -> Estimate | None:
    """The mean with the interval that fits: Student's t, BCa for thirty or more lopsided values, cluster-robust t where
    values belong together. `bounds` are the ends of the scale: the interval stays between them, and values that are
    all the same then have one too. None when there is no value."""
    if not len(values):
        return None
    if clusters is not None and len(set(clusters)) < len(clusters):
        found = clustered_mean(values, clusters, confidence, bounds)
        return found if found is None or found.interval else _without_spread(found, bounds)
    plain = _independent(values, confidence, bounds, seed)
    return plain if plain.interval else _without_spread(plain, bounds)


def _independent(values: Sequence[float], confidence: float, bounds: Interval | None, seed: int) -> Estimate:
    n, form = len(values), Form.STUDENT
    interval = mean_interval(values, confidence)
    if interval is not None and interval[0] == interval[1]:
        interval = None
    if interval is not None and ENOUGH <= n < MANY and abs(float(skew(np.asarray(values)))) >= LOPSIDED:
        form, interval = Form.BCA, bca(values, seed=seed, confidence=confidence)
    return Estimate(
        value=fmean(values),
        interval=within(interval, bounds) if interval else None,
        n=n,
        clusters=n,
        form=form if interval else None,
        confidence=confidence,
    )


def _without_spread(found: Estimate, bounds: Interval | None) -> Estimate:
    """n times the same value: another one may have escaped us as often as a fault does that was seen 0 times of n."""
    limits = exact(0, found.clusters, found.confidence)
    if bounds is None or limits is None or found.clusters < 2:
        return found
    unseen = limits[1]
    low = found.value - unseen * (found.value - bounds[0])
    high = found.value + unseen * (bounds[1] - found.value)
    return replace(found, interval=(low, high), form=Form.NO_SPREAD)


def _shares(numbers: Floats, means: Floats, confidence: float) -> Floats:
    """Which shares of the drawn means bound the interval: moved for bias and for a spread that grows with the mean."""
    mean = numbers.mean()
    below = (np.count_nonzero(means < mean) + np.count_nonzero(means == mean) / 2) / len(means)
    bias = norm.ppf(min(max(below, 1 / len(means)), 1 - 1 / len(means)))
    apart = numbers - mean
    acceleration = (apart**3).sum() / (6 * (apart**2).sum() ** 1.5)
    z = norm.ppf([(1 - confidence) / 2, (1 + confidence) / 2])
    shares: Floats = norm.cdf(bias + (bias + z) / (1 - acceleration * (bias + z)))
    return shares
