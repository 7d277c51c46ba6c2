"""Calibration without labels: cases that say how good their answers are (`quality_band`) against what the judge makes
of them. A judge that is worth something gives the better band the higher value."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Sequence
from itertools import combinations
from math import isfinite
from random import Random
from statistics import fmean

from msgspec import Struct

from howsure.errors import PlanRefused
from howsure.model.result import Result
from howsure.model.score import UNIT, Direction, Scale, Score
from howsure.model.trust import Band, Bands, Figure
from howsure.services.survey import values_of
from howsure.services.trust.figures import FEWEST, SEED
from howsure.stats.bootstrap import bootstrap_interval
from howsure.stats.correlation import spearman
from howsure.stats.intervals import Interval, mean_interval

QUALITY = ("poor", "mixed", "good", "excellent")
"""The bands of Explain datasets, worst first."""
MANY = 200
FEW = 3
"""Values below which a mean has no interval worth printing."""


class Placed(Struct, frozen=True):
    """One judged grade, and the band of its case. `value` None: the judge could not say. `lower`: low is good."""

    case_id: str
    grader: str
    band: str
    value: float | None
    scale: Scale = UNIT
    lower: bool = False


async def placed(results: AsyncIterable[Result], key: str) -> list[Placed]:
    """Every judged whole-case grade of cases that have the key; `PlanRefused` when none has."""
    found: list[Placed] = []
    seen = 0
    async for result in results:
        seen += 1
        bands = sorted(values_of(result.case, key))
        for grade in result.grades if bands else ():
            if grade.part is None and grade.judge:
                value = grade.value if isinstance(grade, Score) else None
                lower = isinstance(grade, Score) and grade.direction is Direction.LOWER
                found.append(Placed(result.case.id, grade.name, ", ".join(bands), value, grade.scale, lower))
    if not found:
        raise PlanRefused(f"none of {seen} results has both `{key}` and a judged grade; --by needs them")
    return found


def banded(things: Sequence[Placed], key: str) -> tuple[Bands, ...]:
    """The bands of each grader."""
    order = _order({thing.band for thing in things})
    graders = dict.fromkeys(thing.grader for thing in things)
    return tuple(_bands([thing for thing in things if thing.grader == grader], key, order) for grader in graders)


def _order(bands: set[str]) -> dict[str, float] | None:
    """The places of the bands, worst first: the known words, or numbers. None: they have no order that we know."""
    if bands <= set(QUALITY):
        return {band: float(QUALITY.index(band)) for band in bands}
    try:
        places = {band: float(band) for band in bands}
    except ValueError:
        return None
    return places if all(map(isfinite, places.values())) else None


def _bands(things: Sequence[Placed], key: str, order: dict[str, float] | None) -> Bands:
    names = sorted({thing.band for thing in things}, key=lambda band: (order[band] if order else 0.0, band))
    bands = tuple(_band(name, [thing for thing in things if thing.band == name]) for name in names)
    grader = things[0].grader
    if order is None:
        return Bands(grader=grader, key=key, bands=bands)
    # Where low is good, the sign is turned: the better band is to have the higher value.
    known = [(order[each.band], -each.value if each.lower else each.value) for each in things if each.value is not None]
    return Bands(
        grader=grader,
        key=key,
        bands=bands,
        spearman=_figure(known, lambda some: spearman([place for place, _ in some], [value for _, value in some])),
        ordered=_figure(known, ordered, n=len(_unlike(known))),
    )


def _band(name: str, things: Sequence[Placed]) -> Band:
    values = [thing.value for thing in things if thing.value is not None]
    interval = _inside(mean_interval(values), things[0].scale) if len(values) >= FEW else None
    mean = Figure(value=fmean(values) if values else None, interval=interval, n=len(values))
    return Band(value=name, mean=mean, unscored=len(things) - len(values))


def _inside(interval: Interval | None, scale: Scale) -> Interval | None:
    """No mean lies off the scale, however few its values are."""
    if interval is None:
        return None
    high = interval[1] if scale.high is None else min(interval[1], scale.high)
    return max(interval[0], scale.low), high


Pairs = Sequence[tuple[float, float]]


def ordered(known: Pairs) -> float | None:
    """The share of pairs from different bands in the right order; equal values count a half."""
    pairs = _unlike(known)
    return fmean(map(_rightly, pairs)) if pairs else None


def _unlike(known: Pairs) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    return [(one, other) for one, other in combinations(known, 2) if one[0] != other[0]]


def _rightly(pair: tuple[tuple[float, float], tuple[float, float]]) -> float:
    (place, value), (other_place, other_value) = pair
    if value == other_value:
        return 0.5
    return float((value > other_value) == (place > other_place))


def _figure(known: Pairs, statistic: Callable[[Pairs], float | None], n: int | None = None) -> Figure:
    interval = None
    if len(known) >= FEWEST:
        draws = 1000 if len(known) <= MANY else 100
        interval = bootstrap_interval(known, statistic, Random(SEED), draws=draws)
    return Figure(value=statistic(known), interval=interval, n=len(known) if n is None else n)
