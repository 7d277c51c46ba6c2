"""Dates as people write them, in part or whole: a year, a month of a year, a day, a decade, a century, BC or AD."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import pairwise

from msgspec import Struct, structs

from howsure.judges.offline.vocabulary import word_set

_MONTHS = "january february march april may june july august september october november december"
MONTHS = {name: place for place, name in enumerate(_MONTHS.split(), start=1)}
MONTHS |= {name[:3]: place for name, place in MONTHS.items()} | {"sept": 9}
_JOINS = word_set("to and until till through")
_BEFORE = frozenset({"bc", "bce"})
_ERAS = _BEFORE | {"ad", "ce"}
AROUND_DATES = word_set(
    "in on at of from to between and until since by around about circa ca c early late mid middle during before "
    "after year years spring summer autumn fall winter monday tuesday wednesday thursday friday saturday sunday"
)
#: `2000 grams` is no year.
_COUNTED = word_set(
    "gram grams kg km mile miles meter meters metre metres feet foot dollar dollars euro euros percent % ml litre "
    "litres liter liters kilometre kilometres kilometer kilometers pound pounds hour hours minute minutes day days "
    "week weeks month months people words points"
)
FIRST_YEAR, LAST_YEAR, LAST_CENTURY = 1000, 2100, 2000


class Part(Enum):
    """A part of a century or decade, as the share of it that has passed; drawn wide, for people mean it loosely."""

    EARLY = (0.0, 0.45)
    MID = (0.25, 0.75)
    LATE = (0.55, 1.0)


_PARTS = {"early": Part.EARLY, "mid": Part.MID, "middle": Part.MID, "late": Part.LATE}


class Day(Struct, frozen=True, kw_only=True):
    """What is known of a date; years before Christ are negative. `century` and `decade` stand alone, and may have a
    part: early, mid or late."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    decade: int | None = None
    century: int | None = None
    part: Part | None = None

    @property
    def lies_in(self) -> int | None:
        """The century; the second before Christ is −2."""
        if self.century is not None:
            return self.century
        year = self.decade if self.year is None else self.year
        if year is None:
            return None
        return (year + 99) // 100 if year > 0 else -((-year + 99) // 100)


class Fit(Enum):
    """How a stated date agrees with the expected one."""

    SAME = "same"
    FINER = "finer"
    COARSER = "coarser"
    CONFLICT = "conflict"


def fit(expected: Day, stated: Day) -> Fit:
    """The expected date against a stated one. A year says less than a day of that year; a century less than a year."""
    if expected == stated:
        return Fit.SAME
    if expected.century is not None or stated.century is not None or expected.decade or stated.decade:
        return _wide(expected, stated)
    pairs = [(expected.year, stated.year), (expected.month, stated.month), (expected.day, stated.day)]
    known = [one == other for one, other in pairs if one is not None and other is not None]
    if not known or not all(known):
        return Fit.CONFLICT
    return Fit.COARSER if any(one is not None and other is None for one, other in pairs) else Fit.FINER


def _wide(expected: Day, stated: Day) -> Fit:
    if _apart(expected, stated) or _apart(stated, expected):
        return Fit.CONFLICT
    if expected.decade and stated.decade:
        return Fit.SAME if expected.decade == stated.decade else Fit.CONFLICT
    if stated.decade and expected.year is not None:
        return Fit.COARSER if expected.year // 10 * 10 == stated.decade else Fit.CONFLICT
    if expected.decade and stated.year is not None:
        return Fit.FINER if stated.year // 10 * 10 == expected.decade else Fit.CONFLICT
    if expected.lies_in is None or expected.lies_in != stated.lies_in:
        return Fit.CONFLICT
    return Fit.FINER if expected.century is not None and stated.century is None else Fit.COARSER


def _apart(one: Day, other: Day) -> bool:
    """The one is a part of its time, and the other lies in that time but not in that part: 1524 is not late in it."""
    if one.part is None:
        return False
    if other.part is not None:
        return one.part.value[0] >= other.part.value[1]
    if other.year is None:
        return False
    passed = other.year % 10 / 10 if one.decade else (other.year - 1) % 100 / 100
    first, last = one.part.value
    return not first <= passed <= last


def spans_in(words: Sequence[str]) -> list[tuple[int, int]]:
    """Years from one to another: `from 1914 to 1918`, `1914-18` is not read."""
    found = [(day.year, start, end) for day, start, end in dates_at(words) if day.year and not day.month]
    return [
        (first, last)
        for (first, _, end), (last, start, _) in pairwise(found)
        if first < last and set(words[end:start]) <= _JOINS
    ]


def dates_in(words: Sequence[str]) -> list[Day]:
    """Every date among folded words, in order."""
    return [day for day, _, _ in dates_at(words)]


def is_dates(words: Sequence[str]) -> bool:
    """The words are dates and nothing else that matters."""
    found = list(dates_at(words))
    within = {place for _, start, end in found for place in range(start, end)}
    return bool(found) and all(place in within or word in AROUND_DATES for place, word in enumerate(words))


def dates_at(words: Sequence[str]) -> Iterator[tuple[Day, int, int]]:
    """Every date with the place where it begins and the one where it ends."""
    place = 0
    while place < len(words):
        day, length = _at(words, place)
        if day is not None:
            part = _PARTS.get(words[place - 1]) if place and (day.century or day.decade) else None
            yield (structs.replace(day, part=part) if part else day), place, place + length
        place += length


def _at(words: Sequence[str], place: int) -> tuple[Day | None, int]:
    """The longest date that begins here, and its length; without one, None and 1."""
    for reading in (_iso, _day_first, _month_first, _century, _decade, _year):
        found, length = reading(words[place : place + 4])
        if found is not None:
            return found, length
    return None, 1


Read = tuple[Day | None, int]
_NOTHING: Read = (None, 1)


def _iso(words: Sequence[str]) -> Read:
    if len(words) > 2 and len(words[0]) == 4 and all(map(str.isdigit, words[:3])):
        year, month, day = map(int, words[:3])
        if FIRST_YEAR <= year <= LAST_YEAR and 1 <= month <= 12 and 1 <= day <= 31:
            return Day(year=year, month=month, day=day), 3
    return _NOTHING


def _day_first(words: Sequence[str]) -> Read:
    """`18 March 1995`, `18 March`, `18 of March`."""
    if not words or not _is_day(words[0]):
        return _NOTHING
    gap = 1 if len(words) > 2 and words[1] == "of" else 0
    if len(words) <= 1 + gap or words[1 + gap] not in MONTHS:
        return _NOTHING
    month, after = MONTHS[words[1 + gap]], words[2 + gap : 3 + gap]
    year = _as_year(after)
    return Day(year=year, month=month, day=int(words[0])), 2 + gap + (year is not None)


def _month_first(words: Sequence[str]) -> Read:
    """`March 18, 1995`, `March 1995`, `March 18`; a month alone may be a name or a verb."""
    if not words or words[0] not in MONTHS:
        return _NOTHING
    month = MONTHS[words[0]]
    if len(words) > 1 and _is_day(words[1]):
        year = _as_year(words[2:3])
        return Day(year=year, month=month, day=int(words[1])), 2 + (year is not None)
    year = _as_year(words[1:2])
    return (Day(year=year, month=month), 2) if year is not None else _NOTHING


def _century(words: Sequence[str]) -> Read:
    if len(words) > 1 and words[0].isdigit() and words[1] in ("century", "centuries"):
        era = len(words) > 2 and words[2] in _ERAS
        sign = -1 if era and words[2] in _BEFORE else 1
        return Day(century=sign * int(words[0])), 2 + era
    return _NOTHING


def _decade(words: Sequence[str]) -> Read:
    year = _as_year(words[:1])
    if year is not None and year % 10 == 0 and len(words) > 1 and words[1] == "s":
        # `the 1700s` are a century; `the 2000s` are not over.
        return (Day(century=year // 100 + 1) if year % 100 == 0 and year < LAST_CENTURY else Day(decade=year)), 2
    return _NOTHING


def _year(words: Sequence[str]) -> Read:
    if len(words) > 1 and words[0].isdigit() and words[1] in _ERAS:
        return Day(year=-int(words[0]) if words[1] in _BEFORE else int(words[0])), 2
    year = _as_year(words[:1])
    counts = len(words) > 1 and words[1] in _COUNTED
    return (Day(year=year), 1) if year is not None and not counts else _NOTHING


def _as_year(words: Sequence[str]) -> int | None:
    if words and len(words[0]) == 4 and words[0].isdigit() and FIRST_YEAR <= int(words[0]) <= LAST_YEAR:
        return int(words[0])
    return None


def _is_day(word: str) -> bool:
    return word.isdigit() and len(word) <= 2 and 1 <= int(word) <= 31
