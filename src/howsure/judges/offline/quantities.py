"""Numbers with what they count: `7 ml`, `about 3.99 degrees`, `20 %`, `more than 80`. Units are converted."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import pairwise
from math import isclose

from msgspec import Struct, structs

from howsure.judges.offline.dates import dates_at
from howsure.judges.offline.folding import is_number, singular
from howsure.judges.offline.vocabulary import word_set

_KINDS: dict[str, dict[str, float]] = {
    "length": {
        "mm": 0.001, "millimetre": 0.001, "millimeter": 0.001, "cm": 0.01, "centimetre": 0.01, "centimeter": 0.01,
        "m": 1, "metre": 1, "meter": 1, "km": 1000, "kilometre": 1000, "kilometer": 1000, "inch": 0.0254, "in": 0.0254,
        "ft": 0.3048, "foot": 0.3048, "feet": 0.3048, "yd": 0.9144, "yard": 0.9144, "mi": 1609.344, "mile": 1609.344,
    },
    "mass": {
        "mg": 1e-6, "milligram": 1e-6, "g": 0.001, "gram": 0.001, "kg": 1, "kilogram": 1, "kilo": 1, "tonne": 1000,
        "lb": 0.45359237, "pound": 0.45359237, "oz": 0.028349523, "ounce": 0.028349523,
    },
    "volume": {
        "ml": 0.001, "millilitre": 0.001, "milliliter": 0.001, "l": 1, "litre": 1, "liter": 1, "gallon": 3.785412,
    },
    "time": {
        "ms": 0.001, "millisecond": 0.001, "sec": 1, "min": 60, "minute": 60, "hour": 3600, "hr": 3600, "h": 3600,
        "day": 86400, "week": 604800, "month": 2629746, "year": 31556952,
    },
    "speed": {"mph": 0.44704, "kmh": 0.277778, "knot": 0.514444},
    "share": {"%": 1, "percent": 1, "per cent": 1, "percentage": 1},
    "money": {"$": 1, "dollar": 1, "usd": 1},
    "euro": {"€": 1, "euro": 1, "eur": 1},
    "angle": {"degree": 1, "°": 1},
    "celsius": {"celsius": 1},
    "fahrenheit": {"fahrenheit": 1},
}  # fmt: skip
UNITS = {unit: (kind, factor) for kind, units in _KINDS.items() for unit, factor in units.items()}
_DEGREES = ({"angle", "celsius"}, {"angle", "fahrenheit"})
_LEADING = frozenset("$€£")
AROUND_NUMBERS = word_set(
    "about around approximately approx roughly nearly almost some ca circa over under more less than up to at "
    "least most exactly only just total of between and from in per old age aged square cubic or"
)
_NEAR = frozenset({"about", "around", "approximately", "approx", "roughly", "nearly", "almost", "ca", "circa"})
ROUNDING, ROUGHLY, ABOVE = 0.005, 0.05, 1.25


class Bound(Enum):
    """How exact a number is meant to be."""

    EXACT = "exact"
    NEAR = "near"
    MORE = "more"
    LESS = "less"


class Quantity(Struct, frozen=True, kw_only=True):
    """A number, its unit where it has a known one, and how exact it is meant."""

    value: float
    unit: str = ""
    bound: Bound = Bound.EXACT


def quantities_in(words: Sequence[str]) -> list[Quantity]:
    """Every number among folded words."""
    return [quantity for quantity, _ in quantities_at(words)]


def quantities_at(words: Sequence[str]) -> list[tuple[Quantity, int]]:
    """Every number with its place; the 3 of `3 March` counts nothing."""
    dated = {place for day, start, end in dates_at(words) if day.month for place in range(start, end)}
    places = [place for place, word in enumerate(words) if is_number(word) and place not in dated]
    return _joined([(_quantity(words, place), place) for place in places])


def _joined(found: list[tuple[Quantity, int]]) -> list[tuple[Quantity, int]]:
    """`6 ft 2 in` is one number: a smaller unit of the same kind adds to what stands right before it."""
    joined: list[tuple[Quantity, int]] = []
    for quantity, place in found:
        kind, factor = UNITS.get(quantity.unit, ("", 1.0))
        before, at = joined[-1] if joined else (quantity, place)
        other, larger = UNITS.get(before.unit, ("", 1.0))
        if kind and kind == other and place - at == 2 and larger > factor:
            joined[-1] = (structs.replace(before, value=before.value + quantity.value * factor / larger), at)
        else:
            joined.append((quantity, place))
    return joined


def is_quantities(words: Sequence[str], counted: frozenset[str] = frozenset()) -> bool:
    """The words are numbers with units, or with words of `counted` (what the question asks to count), and no more."""
    numbers = any(map(is_number, words))
    return numbers and all(
        is_number(word) or _unit(word) or word in AROUND_NUMBERS or word in counted for word in words
    )


def ranges_in(words: Sequence[str]) -> list[tuple[float, float]]:
    """`5 to 10`, `between 5 and 10`, `5-10`: the numbers between which any other is meant as well."""
    found = quantities_at(words)
    return [
        (low.value, high.value)
        for (low, first), (high, second) in pairwise(found)
        if low.value < high.value and _is_range(words[:first], words[first + 1 : second])
    ]


def _is_range(before: Sequence[str], between: Sequence[str]) -> bool:
    joined = [word for word in between if not _unit(word)]
    return joined in ([], ["to"]) or (joined == ["and"] and "between" in before)


def agrees(expected: Quantity, stated: Quantity) -> bool:
    """The same number, units converted; one meant roughly may be met roughly, `more than 80` by a little more."""
    (kind, factor), (other_kind, other_factor) = (UNITS.get(each.unit, ("", 1.0)) for each in (expected, stated))
    if kind and other_kind and kind != other_kind and {kind, other_kind} not in _DEGREES:
        return False
    convert = kind and other_kind and factor != other_factor
    wanted, given = (
        (expected.value * factor, stated.value * other_factor) if convert else (expected.value, stated.value)
    )
    if wanted == given:
        return True
    match expected.bound:
        case Bound.EXACT:
            near = convert and isclose(wanted, given, rel_tol=ROUNDING)
            return bool(near) or (stated.bound is Bound.NEAR and _rounds_to(wanted, given))
        case Bound.NEAR:
            return isclose(wanted, given, rel_tol=ROUGHLY)
        case Bound.MORE:
            return wanted <= given <= wanted * ABOVE
        case Bound.LESS:
            return wanted / ABOVE <= given <= wanted


def _rounds_to(exact: float, rough: float) -> bool:
    """`about 1,250` is said of 1,253, and `about 4` of 3.99; `about 19` is not said of 20."""
    if not rough or (exact == int(exact) and abs(exact) < 100):
        return False
    return any(round(exact, -places) == rough for places in range(-2, len(str(int(abs(exact)))) - 1 or 1))


def _quantity(words: Sequence[str], place: int) -> Quantity:
    after = words[place + 1] if place + 1 < len(words) else ""
    before = words[place - 1] if place else ""
    unit = _unit(after) or (before if before in _LEADING else "")
    return Quantity(value=float(words[place]), unit=unit, bound=_bound(words[max(0, place - 3) : place]))


def _unit(word: str) -> str:
    return next((form for form in (word, singular(word)) if form in UNITS), "") if word else ""


def _bound(before: Sequence[str]) -> Bound:
    if "than" in before or "over" in before or "least" in before or "under" in before:
        return Bound.LESS if {"less", "under", "fewer"} & set(before) else Bound.MORE
    return Bound.NEAR if _NEAR & set(before) else Bound.EXACT
