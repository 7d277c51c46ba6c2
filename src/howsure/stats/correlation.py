"""Correlation of two lists of numbers (Pearson, Spearman, Kendall) and their mean absolute error. None if a number is
undefined: fewer than two pairs, or no variation."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from math import frexp, fsum, isfinite, ldexp, sqrt


def pearson(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The product-moment correlation."""
    n = _check_pairs(first, second)
    if n < 2:
        return None
    # Equal values have no variation at all, whatever the rounding of their mean leaves over.
    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    ones, others = _deviations(first), _deviations(second)
    spread = sqrt(fsum(value * value for value in ones)) * sqrt(fsum(value * value for value in others))
    if spread == 0:
        return None
    return _clip(fsum(one * other for one, other in zip(ones, others, strict=True)) / spread)


def _deviations(values: Sequence[float]) -> list[float]:
    """Deviations from the mean, scaled by a power of two (which rounds nothing), so that their squares do not
    overflow."""
    _, power = frexp(max(map(abs, values)))
    scaled = [ldexp(value, -power) for value in values]
    mean = fsum(scaled) / len(scaled)
    return [value - mean for value in scaled]


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The rank correlation; equal values share the mean of their ranks."""
    _check_pairs(first, second)
    return pearson(ranks(first), ranks(second))


def kendall(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Kendall's tau-b: pairs in the same order minus pairs in the opposite order, corrected for ties."""
    n = _check_pairs(first, second)
    pairs = n * (n - 1) // 2
    ordered = sorted(zip(first, second, strict=True))
    ties_one, ties_other = _tied_pairs(first), _tied_pairs(second)
    if pairs in (ties_one, ties_other):
        return None
    against = _inversions(other for _, other in ordered)
    balance = pairs - ties_one - ties_other + _tied_pairs(ordered) - 2 * against
    return _clip(balance / sqrt(pairs - ties_one) / sqrt(pairs - ties_other))


def mean_absolute_error(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The mean distance of the pairs."""
    n = _check_pairs(first, second)
    return fsum(abs(one - other) for one, other in zip(first, second, strict=True)) / n if n else None


def ranks(values: Sequence[float]) -> list[float]:
    """The ranks from 1; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    shared = [0.0] * len(values)
    start = 0
    for place in range(1, len(order) + 1):
        if place == len(order) or values[order[place]] != values[order[start]]:
            for tied in order[start:place]:
                shared[tied] = (start + place + 1) / 2
            start = place
    return shared


def _check_pairs(first: Sequence[float], second: Sequence[float]) -> int:
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values cannot be paired with {len(second)}")
    if not all(map(isfinite, first)) or not all(map(isfinite, second)):
        raise ValueError("a correlation needs finite values")
    return len(first)


def _tied_pairs(values: Iterable[Hashable]) -> int:
    """How many pairs are equal."""
    return sum(count * (count - 1) // 2 for count in Counter(values).values())


def _inversions(values: Iterable[float]) -> int:
    """How many pairs are in the wrong order."""
    seen: list[float] = []
    wrong = 0
    for value in values:
        wrong += len(seen) - bisect_right(seen, value)
        insort(seen, value)
    return wrong


def _clip(value: float) -> float:
    """Rounding may move a perfect correlation past 1."""
    return max(-1.0, min(1.0, value))
