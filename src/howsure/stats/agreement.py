"""Agreement of two or more raters: Cohen's and Fleiss' kappa on categories, and Krippendorff's alpha on categories,
ranks or numbers, for any number of raters of whom some may be silent. None if a number is undefined; never NaN."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from enum import Enum
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
        """For independent pairs; clusters need `bootstrap_interval`."""
        return rate_interval(self.agreed, self.n, self.confidence)


class KappaWeights(Enum):
    """How much a disagreement counts: always the same, by its distance, or by the square of its distance."""

    NONE = "none"
    LINEAR = "linear"
    QUADRATIC = "quadratic"


_DISTANCE: dict[KappaWeights, Callable[[int], int]] = {
    KappaWeights.NONE: lambda steps: int(steps != 0),
    KappaWeights.LINEAR: abs,
    KappaWeights.QUADRATIC: lambda steps: steps * steps,
}


def agreement(first: Sequence[Any], second: Sequence[Any], confidence: float = 0.95) -> AgreementCount:
    """How many pairs are equal."""
    same = sum(one == other for one, other in zip(first, second, strict=True))
    return AgreementCount(agreed=same, n=len(first), confidence=confidence)


def cohen_kappa(
    first: Sequence[K],
    second: Sequence[K],
    weights: KappaWeights = KappaWeights.NONE,
    categories: Sequence[K] | None = None,
) -> float | None:
    """Cohen's kappa. A weighted kappa needs an order: `categories` lists all categories, used or not (default: the
    observed ones, sorted). None if there is no pair or if no disagreement is expected by chance."""
    pairs = Counter(zip(first, second, strict=True))
    if not pairs:
        return None
    places = _category_positions(pairs, weights, categories)
    distance = _DISTANCE[weights]
    ones, others = Counter(first), Counter(second)
    n = len(first)
    observed = sum(count * distance(places[a] - places[b]) for (a, b), count in pairs.items())
    expected = sum(ones[a] * others[b] * distance(places[a] - places[b]) for a in ones for b in others)
    # All numbers are whole up to here: the only rounding is that of one division.
    return 1 - n * observed / expected if expected else None


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


def _category_positions(
    pairs: Iterable[tuple[K, K]], weights: KappaWeights, categories: Sequence[K] | None
) -> dict[K, int]:
    seen = dict.fromkeys(value for pair in pairs for value in pair)
    if categories is None:
        # Without weights no order is needed, so values of different types (or None for "cannot tell") are allowed.
        ordered: Sequence[K] = list(seen) if weights is KappaWeights.NONE else sorted(seen)  # type: ignore[type-var]
    else:
        ordered = categories
    places = {value: place for place, value in enumerate(ordered)}
    if strange := [value for value in seen if value not in places]:
        raise ValueError(f"{strange[0]!r} is none of the categories {list(ordered)}")
    return places


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
