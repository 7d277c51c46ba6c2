"""Two runs with a verdict each on the same cases: only the cases on which they differ tell the runs apart. McNemar's
exact test, and the intervals of Tango and Newcombe for the difference of two paired rates."""

from __future__ import annotations

from math import comb, sqrt
from statistics import NormalDist

from scipy.stats import binom

from howsure.stats.intervals import Interval, wilson

EXACT_SUM = 1000
"""Up to so many discordant cases the tail is summed in whole numbers."""


def mcnemar(gained: int, lost: int, *, mid: bool = False) -> float:
    """The exact two-sided p-value: were both runs equally good, would so lopsided a split of the cases on which they
    differ be rare? `mid` counts the split that was seen only by half, which is closer to what it promises."""
    if gained < 0 or lost < 0:
        raise ValueError(f"{gained} gained and {lost} lost are no counts")
    n, fewer = gained + lost, min(gained, lost)
    if n <= EXACT_SUM:
        below = sum(comb(n, place) for place in range(fewer)) / (1 << n)
        here = comb(n, fewer) / (1 << n)
    else:
        below, here = float(binom.cdf(fewer - 1, n, 0.5)), float(binom.pmf(fewer, n, 0.5))
    if gained == lost:
        return 1 - here if mid and n else 1.0
    return min(1.0, 2 * below + (1 if mid else 2) * here)


def tango(gained: int, lost: int, n: int, confidence: float = 0.95) -> Interval | None:
    """Tango's score interval of the difference (gained − lost) / n. It has width even where no case differs."""
    z = _checked(gained, lost, n, confidence)
    if n == 0:
        return None
    seen = (gained - lost) / n
    low = -1.0 if lost == n else _crossing(gained, lost, n, z, (-1.0, seen))
    high = 1.0 if gained == n else _crossing(gained, lost, n, z, (seen, 1.0))
    return low, high


def newcombe(both: int, gained: int, lost: int, neither: int, confidence: float = 0.95) -> Interval | None:
    """Newcombe's interval of the same difference from the two Wilson intervals and how the two runs hang together."""
    n = both + gained + lost + neither
    after, before = wilson(both + gained, n, confidence), wilson(both + lost, n, confidence)
    if after is None or before is None:
        return None
    rate_after, rate_before = (both + gained) / n, (both + lost) / n
    phi = _together(both, gained, lost, neither)
    down, up = rate_after - after[0], before[1] - rate_before
    low = sqrt(max(0.0, down**2 - 2 * phi * down * up + up**2))
    up, down = after[1] - rate_after, rate_before - before[0]
    high = sqrt(max(0.0, up**2 - 2 * phi * up * down + down**2))
    return rate_after - rate_before - low, rate_after - rate_before + high


def _crossing(gained: int, lost: int, n: int, z: float, span: Interval) -> float:
    """Where the score statistic, which falls with the difference, reaches ±z between the two ends."""
    low, high = span
    upper = low >= (gained - lost) / n
    for _ in range(80):
        middle = (low + high) / 2
        inside = abs(_score(gained, lost, n, middle)) <= z
        low, high = (middle, high) if inside is upper else (low, middle)
    return (low + high) / 2


def _score(gained: int, lost: int, n: int, difference: float) -> float:
    """How many standard errors the counts lie from this difference, the error taken where it is true."""
    b = -gained - lost + (2 * n - gained + lost) * difference
    c = -lost * difference * (1 - difference)
    falling = (sqrt(max(0.0, b * b - 8 * n * c)) - b) / (4 * n)
    variance = n * (2 * falling + difference * (1 - difference))
    distance = gained - lost - n * difference
    if variance <= 0:
        return 0.0 if distance == 0 else float("inf") * distance
    return distance / sqrt(variance)


def _together(both: int, gained: int, lost: int, neither: int) -> float:
    margins = (both + gained) * (lost + neither) * (both + lost) * (gained + neither)
    if margins == 0:
        return 0.0
    excess = both * neither - gained * lost
    n = both + gained + lost + neither
    continuous = max(excess - n / 2, 0.0) if excess > 0 else float(excess)
    return continuous / sqrt(margins)


def _checked(gained: int, lost: int, n: int, confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
    if gained < 0 or lost < 0 or gained + lost > n:
        raise ValueError(f"{gained} gained and {lost} lost are not among {n} cases")
    return NormalDist().inv_cdf((1 + confidence) / 2)
