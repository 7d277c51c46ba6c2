"""Agreement of two or more raters on categories: how often they agree, and how much of that chance alone would give.
None where a number is undefined; never NaN. Krippendorff's alpha lives in krippendorff.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from enum import Enum
from typing import Any, TypeVar

from msgspec import Struct

from howsure.stats.intervals import Interval, rate_interval

K = TypeVar("K", bound=Hashable)


class Agreed(Struct, frozen=True, kw_only=True):
    """So many of n agree. Without any pair there is no rate."""

    agreed: int
    n: int
    confidence: float = 0.95

    @property
    def rate(self) -> float | None:
        return self.agreed / self.n if self.n else None

    @property
    def interval(self) -> Interval | None:
        """Wilson's, for independent pairs; clusters need `bootstrap_interval`."""
        return rate_interval(self.agreed, self.n, self.confidence)


class Weights(Enum):
    """How much a disagreement counts: all the same, by its distance, or by the square of its distance."""

    NONE = "none"
    LINEAR = "linear"
    QUADRATIC = "quadratic"


_DISTANCE: dict[Weights, Callable[[int], int]] = {
    Weights.NONE: lambda steps: int(steps != 0),
    Weights.LINEAR: abs,
    Weights.QUADRATIC: lambda steps: steps * steps,
}


def agreement(first: Sequence[Any], second: Sequence[Any], confidence: float = 0.95) -> Agreed:
    """How many pairs are equal."""
    same = sum(one == other for one, other in zip(first, second, strict=True))
    return Agreed(agreed=same, n=len(first), confidence=confidence)


def cohen_kappa(
    first: Sequence[K],
    second: Sequence[K],
    weights: Weights = Weights.NONE,
    categories: Sequence[K] | None = None,
) -> float | None:
    """Cohen's kappa. Weighted ones need an order: `categories` lists all of them, also those that nobody used (without
    it: the observed ones, sorted). None when there is no pair, or when chance alone leaves no room to disagree."""
    pairs = Counter(zip(first, second, strict=True))
    if not pairs:
        return None
    places = _places(pairs, weights, categories)
    distance = _DISTANCE[weights]
    ones, others = Counter(first), Counter(second)
    n = len(first)
    observed = sum(count * distance(places[a] - places[b]) for (a, b), count in pairs.items())
    expected = sum(ones[a] * others[b] * distance(places[a] - places[b]) for a in ones for b in others)
    # Whole numbers up to here: the only rounding is that of one division.
    return 1 - n * observed / expected if expected else None


def fleiss_kappa(counts: Sequence[Sequence[int]]) -> float | None:
    """Fleiss' kappa of a table that says, for each subject, how many raters chose each category. Every subject needs
    the same number of raters, at least two. None when there is no subject or when only one category was used."""
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


def _places(pairs: Iterable[tuple[K, K]], weights: Weights, categories: Sequence[K] | None) -> dict[K, int]:
    seen = dict.fromkeys(value for pair in pairs for value in pair)
    if categories is None:
        # Without weights no order is needed, and values of unlike kinds (or None for "cannot tell") are welcome.
        ordered: Sequence[K] = list(seen) if weights is Weights.NONE else sorted(seen)  # type: ignore[type-var]
    else:
        ordered = categories
    places = {value: place for place, value in enumerate(ordered)}
    if strange := [value for value in seen if value not in places]:
        raise ValueError(f"{strange[0]!r} is none of the categories {list(ordered)}")
    return places
