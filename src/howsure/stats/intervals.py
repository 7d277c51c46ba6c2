"""Intervals: how sure a rate or a mean is. Pure Python; None where nothing can be said."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import exp, factorial, isfinite, lgamma, log, sqrt
from statistics import NormalDist, fmean, stdev

Interval = tuple[float, float]

#: A continued fraction that has not settled by then never does.
STEPS = 300
TINY = 1e-300
PRECISE = 1e-15
_FEW, _FEWER_TO = 2, 50
"""Up to so many cases away from none or all the interval is modified; with more than fifty cases, one more."""


def wilson(successes: int, n: int, confidence: float = 0.95) -> Interval | None:
    """Wilson's score interval of a rate: inside 0 to 1, and not empty at 0 of n or n of n. None when n is 0."""
    if n < 0 or not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is not a rate")
    z = NormalDist().inv_cdf(_upper(confidence))
    if n == 0:
        return None
    rate = successes / n
    spread = z * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    centre, weight = rate + z * z / (2 * n), 1 + z * z / n
    low = 0.0 if successes == 0 else (centre - spread) / weight
    high = 1.0 if successes == n else (centre + spread) / weight
    return low, high


def rate_interval(successes: int, n: int, confidence: float = 0.95) -> Interval | None:
    """Wilson's interval as Brown, Cai and DasGupta (2001) modify it: next to none and next to all, where Wilson's own
    holds the rate too seldom, its outer end is that of a rare event (Poisson)."""
    found = wilson(successes, n, confidence)
    if found is None:
        return None
    low, high = found
    few = min(_FEW if n <= _FEWER_TO else _FEW + 1, (n - 1) // 2)
    if 1 <= successes <= few:
        low = _rare(successes, confidence) / n
    if 1 <= n - successes <= few:
        high = 1 - _rare(n - successes, confidence) / n
    return low, high


@cache
def _rare(seen: int, confidence: float) -> float:
    """The largest expected number of events with which so many, or more, are seen no more often than is allowed."""
    low, high = 0.0, float(seen)
    for _ in range(60):
        middle = (low + high) / 2
        fewer = exp(-middle) * sum(middle**count / factorial(count) for count in range(seen))
        low, high = (middle, high) if fewer > confidence else (low, middle)
    return low


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """Student's t interval of a mean. None for fewer than two values: one value says nothing about its spread."""
    if not all(isfinite(value) for value in values):
        raise ValueError("a mean needs finite values")
    upper = _upper(confidence)
    if len(values) < 2:
        return None
    mean = fmean(values)
    half = t_quantile(upper, len(values) - 1) * stdev(values) / sqrt(len(values))
    return mean - half, mean + half


def t_quantile(probability: float, freedom: int) -> float:
    """The value below which Student's t, with so many degrees of freedom, lies with this probability (above a half)."""
    if not 0.5 < probability < 1 or freedom < 1:
        raise ValueError(f"no t quantile for probability {probability} and {freedom} degrees of freedom")
    tail = 2 * (1 - probability)
    low, high = 0.0, 1.0
    while _two_tails(high, freedom) > tail:
        low, high = high, high * 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if _two_tails(middle, freedom) > tail else (low, middle)
    return high


def _upper(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
    return (1 + confidence) / 2


def _two_tails(t: float, freedom: int) -> float:
    return _beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def _beta(a: float, b: float, x: float) -> float:
    """The regularized incomplete beta function; the side on which its continued fraction converges fast is taken."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(b, a, 1 - x)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x)) / a
    return front * _fraction(a, b, x)


def _fraction(a: float, b: float, x: float) -> float:
    """Lentz's way through the continued fraction of the incomplete beta function."""
    c, d = 1.0, _away(1 - (a + b) * x / (a + 1))
    value = 1 / d
    d = 1 / d
    for m in range(1, STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for step in (even, odd):
            d = 1 / _away(1 + step * d)
            c = _away(1 + step / c)
            value *= c * d
        if abs(c * d - 1) < PRECISE:
            break
    return value


def _away(value: float) -> float:
    return value if abs(value) > TINY else TINY
