"""Many questions asked of the same data: among twenty, one looks significant by luck. Adjusted p-values allow for it.
Plain Python; the order of the answers is that of the questions."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's: the chance of even one false alarm stays below the level. For gates and claims."""
    order = _ascending(p_values)
    count, highest = len(order), 0.0
    adjusted = [0.0] * count
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (count - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's: of what is reported, the share of false alarms stays below the level. For looking
    around among many slices."""
    order = _ascending(p_values)
    count, lowest = len(order), 1.0
    adjusted = [0.0] * count
    for rank in range(count, 0, -1):
        place = order[rank - 1]
        lowest = min(lowest, count * p_values[place] / rank)
        adjusted[place] = lowest
    return adjusted


def _ascending(p_values: Sequence[float]) -> list[int]:
    if strange := [value for value in p_values if not 0 <= value <= 1]:
        raise ValueError(f"a p-value lies between 0 and 1, not at {strange[0]}")
    return sorted(range(len(p_values)), key=p_values.__getitem__)
