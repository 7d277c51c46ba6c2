"""Confidence intervals in pure Python: Wilson's for a rate; and `Estimate`, a number with its interval. None means that
nothing can be said. Which interval fits which data is chosen in estimates.py, which needs scipy."""

from __future__ import annotations

from enum import Enum
from functools import cache
from math import exp, factorial, sqrt
from statistics import NormalDist

from msgspec import Struct

Interval = tuple[float, float]

_FEW, _FEWER_TO = 2, 50
"""The interval is modified up to this many cases away from none or all; with more than fifty cases, one more."""


def wilson(successes: int, n: int, confidence: float = 0.95) -> Interval | None:
    """Wilson's score interval of a rate: inside 0 to 1, and not empty at 0 of n or n of n. None if n is 0."""
    if n < 0 or not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is not a rate")
    z = NormalDist().inv_cdf(_upper_share(confidence))
    if n == 0:
        return None
    low, high = score_interval(successes / n, n, z)
    return 0.0 if successes == 0 else low, 1.0 if successes == n else high


def score_interval(rate: float, n: float, quantile: float) -> Interval:
    """Wilson's interval for any effective number of cases and any quantile."""
    square = quantile * quantile
    spread = quantile * sqrt(rate * (1 - rate) / n + square / (4 * n * n))
    centre, weight = rate + square / (2 * n), 1 + square / n
    return clip_interval(((centre - spread) / weight, (centre + spread) / weight), (0.0, 1.0))


def rate_interval(successes: int, n: int, confidence: float = 0.95) -> Interval | None:
    """Wilson's interval as modified by Brown, Cai and DasGupta (2001). Near 0 and near n, where Wilson's interval
    covers the rate too rarely, the outer end is that of a rare event (Poisson)."""
    interval = wilson(successes, n, confidence)
    if interval is None:
        return None
    low, high = interval
    few = min(_FEW if n <= _FEWER_TO else _FEW + 1, (n - 1) // 2)
    if 1 <= successes <= few:
        low = _poisson_limit(successes, confidence) / n
    if 1 <= n - successes <= few:
        high = 1 - _poisson_limit(n - successes, confidence) / n
    return low, high


@cache
def _poisson_limit(seen: int, confidence: float) -> float:
    """The largest Poisson mean with which `seen` or more events have a probability of at most 1 − confidence."""
    low, high = 0.0, float(seen)
    for _ in range(60):
        middle = (low + high) / 2
        fewer = exp(-middle) * sum(middle**count / factorial(count) for count in range(seen))
        low, high = (middle, high) if fewer > confidence else (low, middle)
    return low


def _upper_share(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
    return (1 + confidence) / 2


class IntervalMethod(Enum):
    """How an interval was computed."""

    WILSON = "wilson"
    EXACT = "exact"
    STUDENT = "student_t"
    BOUNDED = "bounded_mean"
    SKEWED = "skewness_corrected_t"
    CLUSTER_SCORE = "cluster_robust_score"
    CLUSTER_MIXTURE = "cluster_mixture"
    CLUSTER_ROBUST = "cluster_robust_t"
    CLUSTER_BOOTSTRAP = "cluster_bootstrap"
    ORDER = "order_statistics"
    NO_SPREAD = "no_spread"
    """All values are the same: the interval says how often another value could occur and not be seen."""


class Estimate(Struct, frozen=True, kw_only=True):
    """A number with its interval, from `n` observations in `clusters` independent groups (without clusters: n)."""

    value: float
    interval: Interval | None
    n: int
    clusters: int
    form: IntervalMethod | None
    confidence: float = 0.95


def clip_interval(interval: Interval, bounds: Interval | None) -> Interval:
    """The interval without the part outside `bounds`."""
    if bounds is None:
        return interval
    low, high = bounds
    return max(low, min(high, interval[0])), max(low, min(high, interval[1]))
