"""Correlation of two lists of numbers, and how far they lie apart. None where a number is undefined: fewer than two
pairs, or no variation."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from math import frexp, fsum, isfinite, ldexp, sqrt


def pearson(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The product-moment correlation."""
    n = _paired(first, second)
    if n < 2:
        return None
    # A list that never changes has exactly no variation, whatever the rounding of its mean leaves over.
    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    ones, others = _deviations(first), _deviations(second)
    spread = sqrt(fsum(value * value for value in ones)) * sqrt(fsum(value * value for value in others))
    if spread == 0:
        return None
    return _inside(fsum(one * other for one, other in zip(ones, others, strict=True)) / spread)


def _deviations(values: Sequence[float]) -> list[float]:
    """From the mean, in a unit that leaves their squares room: a power of two, so that nothing is rounded by it."""
    _, power = frexp(max(map(abs, values)))
    scaled = [ldexp(value, -power) for value in values]
    mean = fsum(scaled) / len(scaled)
    return [value - mean for value in scaled]


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The rank correlation; equal values share the mean of their ranks."""
    _paired(first, second)
    return pearson(ranks(first), ranks(second))


def kendall(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Kendall's tau-b: pairs in the same order less pairs in opposite order, ties corrected for."""
    n = _paired(first, second)
    pairs = n * (n - 1) // 2
    ordered = sorted(zip(first, second, strict=True))
    ties_one, ties_other = _tied(first), _tied(second)
    if pairs in (ties_one, ties_other):
        return None
    against = _inversions(other for _, other in ordered)
    balance = pairs - ties_one - ties_other + _tied(ordered) - 2 * against
    return _inside(balance / sqrt(pairs - ties_one) / sqrt(pairs - ties_other))


def mean_absolute_error(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The mean distance of the pairs."""
    n = _paired(first, second)
    return fsum(abs(one - other) for one, other in zip(first, second, strict=True)) / n if n else None


def ranks(values: Sequence[float]) -> list[float]:
    """The ranks from 1; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    given = [0.0] * len(values)
    start = 0
    for place in range(1, len(order) + 1):
        if place == len(order) or values[order[place]] != values[order[start]]:
            for tied in order[start:place]:
                given[tied] = (start + place + 1) / 2
            start = place
    return given


def _paired(first: Sequence[float], second: Sequence[float]) -> int:
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values cannot be paired with {len(second)}")
    if not all(map(isfinite, first)) or not all(map(isfinite, second)):
        raise ValueError("a correlation needs finite values")
    return len(first)


def _tied(values: Iterable[Hashable]) -> int:
    """How many pairs are equal."""
    return sum(count * (count - 1) // 2 for count in Counter(values).values())


def _inversions(values: Iterable[float]) -> int:
    """How many pairs stand in the wrong order."""
    seen: list[float] = []
    wrong = 0
    for value in values:
        wrong += len(seen) - bisect_right(seen, value)
        insort(seen, value)
    return wrong


def _inside(value: float) -> float:
    """Rounding may carry a perfect correlation past 1."""
    return max(-1.0, min(1.0, value))
