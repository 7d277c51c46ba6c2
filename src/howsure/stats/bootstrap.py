"""The bootstrap: how sure any statistic is, by drawing again from what was observed. The randomness is passed in."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from random import Random
from typing import TypeVar

from howsure.stats.intervals import Interval

T = TypeVar("T")

DRAWS = 2000
MOSTLY = 0.9
"""The share of draws in which the statistic must be defined for the interval to mean anything."""


def bootstrap_interval(
    observed: Sequence[T],
    statistic: Callable[[Sequence[T]], float | None],
    random: Random,
    *,
    draws: int = DRAWS,
    confidence: float = 0.95,
    cluster: Callable[[T], Hashable] | None = None,
) -> Interval | None:
    """The percentile interval of `statistic`. With `cluster`, whole clusters are drawn (answers to one question are no
    independent observations). None: fewer than two observations or clusters, or a statistic that most draws leave
    undefined."""
    if not 0 < confidence < 1 or draws < 1:
        raise ValueError(f"no interval for a confidence of {confidence} from {draws} draws")
    groups = _clusters(observed, cluster)
    if len(groups) < 2:
        return None
    drawn = (statistic(_draw(groups, random)) for _ in range(draws))
    known = sorted(value for value in drawn if value is not None)
    if len(known) < MOSTLY * draws:
        return None
    return quantile(known, (1 - confidence) / 2), quantile(known, (1 + confidence) / 2)


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which this share of the sorted values lies, interpolated."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _clusters(observed: Sequence[T], cluster: Callable[[T], Hashable] | None) -> list[list[T]]:
    if cluster is None:
        return [[value] for value in observed]
    groups: dict[Hashable, list[T]] = {}
    for value in observed:
        groups.setdefault(cluster(value), []).append(value)
    return list(groups.values())


def _draw(groups: Sequence[Sequence[T]], random: Random) -> list[T]:
    return [value for group in random.choices(groups, k=len(groups)) for value in group]
