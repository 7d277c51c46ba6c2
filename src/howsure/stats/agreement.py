"""Agreement of two or more raters: Cohen's and Fleiss' kappa on categories, and Krippendorff's alpha on categories,
ranks or numbers, for any number of raters of whom some may be silent. Correlation of two lists of numbers: Pearson,
Spearman, Kendall, and their mean absolute error. None if a number is undefined; never NaN."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from enum import Enum
from math import frexp, fsum, isfinite, ldexp, sqrt
from typing import Any, TypeVar

from msgspec import Struct

from howsure.stats.intervals import Interval, rate_interval

K = TypeVar("K", bound=Hashable)


class AgreementCount(Struct, frozen=True, kw_only=True):
    """How many of n pairs agree. Without pairs there is no rate."""

    agreed: int
    n: int
    confidence: float = 0.95

    @property
    def rate(self) -> float | None:
        return self.agreed / self.n if self.n else None

    @property
    def interval(self) -> Interval | None:
        """For independent pairs."""
        return rate_interval(self.agreed, self.n, self.confidence)


def agreement(first: Sequence[Any], second: Sequence[Any]) -> AgreementCount:
    """How many pairs are equal."""
    return AgreementCount(agreed=sum(one == other for one, other in zip(first, second, strict=True)), n=len(first))


def cohen_kappa(first: Sequence[K], second: Sequence[K], steps: Sequence[K] | None = None) -> float | None:
    """Cohen's kappa. With `steps`, all categories in their order, used or not, a disagreement counts by the square of
    its distance. None if there is no pair or if no disagreement is expected by chance."""
    pairs = Counter(zip(first, second, strict=True))
    ones, others = Counter(first), Counter(second)
    places = {step: place for place, step in enumerate(steps or ())}
    if strange := [value for value in (*ones, *others) if steps is not None and value not in places]:
        raise ValueError(f"{strange[0]!r} is none of the categories {list(places)}")

    def distance(one: K, other: K) -> int:
        return int(one != other) if steps is None else (places[one] - places[other]) ** 2

    observed = sum(count * distance(one, other) for (one, other), count in pairs.items())
    expected = sum(ones[one] * others[other] * distance(one, other) for one in ones for other in others)
    # All numbers are whole up to here: the only rounding is that of one division.
    return 1 - len(first) * observed / expected if expected else None


def fleiss_kappa(counts: Sequence[Sequence[int]]) -> float | None:
    """Fleiss' kappa of a table with, for each subject, the number of raters that chose each category. Every subject
    needs the same number of raters, at least two. None if there is no subject or if only one category was used."""
    if not counts:
        return None
    raters = sum(counts[0])
    if raters < 2 or any(sum(subject) != raters or len(subject) != len(counts[0]) for subject in counts):
        raise ValueError("every subject needs the same categories and the same number of raters, two or more")
    total = len(counts) * raters
    by_category = [sum(subject[place] for subject in counts) for place in range(len(counts[0]))]
    chance = sum(count * count for count in by_category) / (total * total)
    if max(by_category) == total:
        return None
    agreeing = sum(count * (count - 1) for subject in counts for count in subject)
    observed = agreeing / (len(counts) * raters * (raters - 1))
    return (observed - chance) / (1 - chance)


def fleiss_counts(ratings: Sequence[Sequence[K]]) -> list[list[int]]:
    """The table that `fleiss_kappa` needs, from one sequence of ratings for each subject."""
    categories = list(dict.fromkeys(value for subject in ratings for value in subject))
    tallies = (Counter(subject) for subject in ratings)
    return [[tally[category] for category in categories] for tally in tallies]


Coincidences = Mapping[tuple[Any, Any], float]
Distance = Callable[[Any, Any], float]


class MeasurementLevel(Enum):
    """What the values are: names, ranks, or numbers with meaningful differences."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"


def krippendorff_alpha(
    units: Sequence[Sequence[Hashable | None]], level: MeasurementLevel = MeasurementLevel.NOMINAL
) -> float | None:
    """Krippendorff's alpha. `units` has, for each rated thing, the value of each rater (None: no value). Things with
    fewer than two values are left out. None: there is no pair of values, or all values are the same."""
    pairable = [values for unit in units if len(values := [value for value in unit if value is not None]) > 1]
    coincidences = _coincidences(pairable)
    totals: Counter[Any] = Counter(value for values in pairable for value in values)
    if len(totals) < 2:
        return None
    distance = _distance(level, totals)
    n = sum(totals.values())
    observed = sum(count * distance(one, other) for (one, other), count in coincidences.items())
    expected = sum(totals[one] * totals[other] * distance(one, other) for one in totals for other in totals)
    return 1 - (n - 1) * observed / expected if expected else None


def _coincidences(units: Sequence[Sequence[Any]]) -> Coincidences:
    """How often two values are given to the same thing. A thing with m values counts m times in total."""
    coincidences: dict[tuple[Any, Any], float] = {}
    for values in units:
        tally = Counter(values)
        for one, count in tally.items():
            for other, others in tally.items():
                pairs = count * (others - (one == other))
                if pairs:
                    coincidences[one, other] = coincidences.get((one, other), 0.0) + pairs / (len(values) - 1)
    return coincidences


def _distance(level: MeasurementLevel, totals: Mapping[Any, int]) -> Distance:
    """The squared distance of two values."""
    match level:
        case MeasurementLevel.NOMINAL:
            return lambda one, other: float(one != other)
        case MeasurementLevel.INTERVAL:
            return lambda one, other: float((one - other) ** 2)
        case MeasurementLevel.ORDINAL:
            # The distance of two ranks is the number of values between them, with the ends counted half.
            below: dict[Any, float] = {}
            running = 0
            for value in sorted(totals):
                below[value] = running + totals[value] / 2
                running += totals[value]
            return lambda one, other: (below[one] - below[other]) ** 2


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
