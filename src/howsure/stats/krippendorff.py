"""Krippendorff's alpha: agreement of any number of raters, some of whom may be silent, on categories, ranks or
numbers. None where it is undefined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import Enum
from typing import Any

Coincidences = Mapping[tuple[Any, Any], float]
Distance = Callable[[Any, Any], float]


class Level(Enum):
    """What the values are: names, ranks, or numbers whose differences mean something."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"


def krippendorff_alpha(units: Sequence[Sequence[Hashable | None]], level: Level = Level.NOMINAL) -> float | None:
    """`units` has, for each thing that was judged, what each rater said (None: nothing). Things with fewer than two
    values tell nothing about agreement and are left out. None: no pair of values, or all values the same."""
    pairable = [said for unit in units if len(said := [value for value in unit if value is not None]) > 1]
    together = _coincidences(pairable)
    totals: Counter[Any] = Counter(value for said in pairable for value in said)
    if len(totals) < 2:
        return None
    distance = _distance(level, totals)
    n = sum(totals.values())
    observed = sum(count * distance(one, other) for (one, other), count in together.items())
    expected = sum(totals[one] * totals[other] * distance(one, other) for one in totals for other in totals)
    return 1 - (n - 1) * observed / expected if expected else None


def _coincidences(units: Sequence[Sequence[Any]]) -> Coincidences:
    """How often two values stand for the same thing; a thing with m values counts m times in all."""
    together: dict[tuple[Any, Any], float] = {}
    for said in units:
        tally = Counter(said)
        for one, count in tally.items():
            for other, others in tally.items():
                pairs = count * (others - (one == other))
                if pairs:
                    together[one, other] = together.get((one, other), 0.0) + pairs / (len(said) - 1)
    return together


def _distance(level: Level, totals: Mapping[Any, int]) -> Distance:
    """The squared distance of two values."""
    match level:
        case Level.NOMINAL:
            return lambda one, other: float(one != other)
        case Level.INTERVAL:
            return lambda one, other: float((one - other) ** 2)
        case Level.ORDINAL:
            return _ordinal(totals)


def _ordinal(totals: Mapping[Any, int]) -> Distance:
    """Two ranks are as far apart as the number of values between them, the ends counted half."""
    below: dict[Any, float] = {}
    running = 0
    for value in sorted(totals):
        below[value] = running + totals[value] / 2
        running += totals[value]
    return lambda one, other: (below[one] - below[other]) ** 2
