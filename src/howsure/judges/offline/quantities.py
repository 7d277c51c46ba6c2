"""Numbers with what they count: `7 ml`, `about 3.99 degrees`, `20 %`, `more than 80`. Units are converted."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import pairwise
from math import isclose

from msgspec import Struct, structs

from howsure.judges.offline.dates import locate_dates
from howsure.judges.offline.lexicon import units, word_list
from howsure.judges.offline.words import is_number, singular

_DEGREES = ({"angle", "celsius"}, {"angle", "fahrenheit"})
_LEADING = frozenset("$€£")
_NEAR = frozenset({"about", "around", "approximately", "approx", "roughly", "nearly", "almost", "ca", "circa"})
ROUNDING, ROUGHLY, ABOVE = 0.005, 0.05, 1.25


class Exactness(Enum):
    """How exactly a number is meant."""

    EXACT = "exact"
    NEAR = "near"
    MORE = "more"
    LESS = "less"


class Quantity(Struct, frozen=True, kw_only=True):
    """A number, its unit where it has a known one, and how exactly it is meant."""

    value: float
    unit: str = ""
    exactness: Exactness = Exactness.EXACT


def find_quantities(words: Sequence[str]) -> list[Quantity]:
    """Every number among the words."""
    return [quantity for quantity, _ in locate_quantities(words)]


def locate_quantities(words: Sequence[str]) -> list[tuple[Quantity, int]]:
    """Every number with its place, without the numbers of dates (the 3 of `3 March`)."""
    dated = {place for day, start, end in locate_dates(words) if day.month for place in range(start, end)}
    places = [place for place, word in enumerate(words) if is_number(word) and place not in dated]
    return _join_units([(_quantity(words, place), place) for place in places])


def _join_units(found: list[tuple[Quantity, int]]) -> list[tuple[Quantity, int]]:
    """`6 ft 2 in` is one number: a smaller unit of the same kind adds to the number right before it."""
    joined: list[tuple[Quantity, int]] = []
    for quantity, place in found:
        kind, factor = units().get(quantity.unit, ("", 1.0))
        before, at = joined[-1] if joined else (quantity, place)
        other, larger = units().get(before.unit, ("", 1.0))
        if kind and kind == other and place - at == 2 and larger > factor:
            joined[-1] = (structs.replace(before, value=before.value + quantity.value * factor / larger), at)
        else:
            joined.append((quantity, place))
    return joined


def is_quantities(words: Sequence[str], counted: frozenset[str] = frozenset()) -> bool:
    """Whether the words are only numbers with units or with words of `counted` (what the question asks to count)."""
    numbers = any(map(is_number, words))
    return numbers and all(
        is_number(word) or _unit(word) or word in word_list("around_numbers") or word in counted for word in words
    )


def find_ranges(words: Sequence[str]) -> list[tuple[float, float]]:
    """`5 to 10`, `between 5 and 10`, `5-10`: the limits of ranges."""
    found = locate_quantities(words)
    return [
        (low.value, high.value)
        for (low, first), (high, second) in pairwise(found)
        if low.value < high.value and _is_range(words[:first], words[first + 1 : second])
    ]


def _is_range(before: Sequence[str], between: Sequence[str]) -> bool:
    joined = [word for word in between if not _unit(word)]
    return joined in ([], ["to"]) or (joined == ["and"] and "between" in before)


def agrees(expected: Quantity, stated: Quantity) -> bool:
    """The same number after units are converted. A rough number may be met roughly, `more than 80` by a little more."""
    (kind, factor), (other_kind, other_factor) = (units().get(each.unit, ("", 1.0)) for each in (expected, stated))
    if kind and other_kind and kind != other_kind and {kind, other_kind} not in _DEGREES:
        return False
    convert = kind and other_kind and factor != other_factor
    expected_value, stated_value = (
        (expected.value * factor, stated.value * other_factor) if convert else (expected.value, stated.value)
    )
    if expected_value == stated_value:
        return True
    match expected.exactness:
        case Exactness.EXACT:
            near = convert and isclose(expected_value, stated_value, rel_tol=ROUNDING)
            return bool(near) or (stated.exactness is Exactness.NEAR and _rounds_to(expected_value, stated_value))
        case Exactness.NEAR:
            return isclose(expected_value, stated_value, rel_tol=ROUGHLY)
        case Exactness.MORE:
            return expected_value <= stated_value <= expected_value * ABOVE
        case Exactness.LESS:
            return expected_value / ABOVE <= stated_value <= expected_value


def _rounds_to(exact: float, rough: float) -> bool:
    """1,253 is `about 1,250`, and 3.99 is `about 4`; 20 is not `about 19`."""
    if not rough or (exact == int(exact) and abs(exact) < 100):
        return False
    return any(round(exact, -places) == rough for places in range(-2, len(str(int(abs(exact)))) - 1 or 1))


def _quantity(words: Sequence[str], place: int) -> Quantity:
    after = words[place + 1] if place + 1 < len(words) else ""
    before = words[place - 1] if place else ""
    unit = _unit(after) or (before if before in _LEADING else "")
    return Quantity(value=float(words[place]), unit=unit, exactness=_exactness(words[max(0, place - 3) : place]))


def _unit(word: str) -> str:
    return next((form for form in (word, singular(word)) if form in units()), "") if word else ""


def _exactness(before: Sequence[str]) -> Exactness:
    if "than" in before or "over" in before or "least" in before or "under" in before:
        return Exactness.LESS if {"less", "under", "fewer"} & set(before) else Exactness.MORE
    return Exactness.NEAR if _NEAR & set(before) else Exactness.EXACT
