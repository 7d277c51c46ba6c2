"""Dates as people write them, whole or in part: a year, a month of a year, a day, a decade, a century, BC or AD."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import pairwise

from msgspec import Struct, structs

from howsure.judges.offline.lexicon import word_list, word_set

_MONTHS = "january february march april may june july august september october november december"
MONTHS = {name: place for place, name in enumerate(_MONTHS.split(), start=1)}
MONTHS |= {name[:3]: place for name, place in MONTHS.items()} | {"sept": 9}
_JOINS = word_set("to and until till through")
_BEFORE = frozenset({"bc", "bce"})
_ERAS = _BEFORE | {"ad", "ce"}
FIRST_YEAR, LAST_YEAR, LAST_CENTURY = 1000, 2100, 2000


class CenturyPart(Enum):
    """A part of a century or decade, as the share of it that has passed; wide, because people mean it loosely."""

    EARLY = (0.0, 0.45)
    MID = (0.25, 0.75)
    LATE = (0.55, 1.0)


_PARTS = {"early": CenturyPart.EARLY, "mid": CenturyPart.MID, "middle": CenturyPart.MID, "late": CenturyPart.LATE}


class PartialDate(Struct, frozen=True, kw_only=True):
    """The known fields of a date; years before Christ are negative. `century` and `decade` stand alone and may have a
    part: early, mid or late."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    decade: int | None = None
    century: int | None = None
    part: CenturyPart | None = None

    @property
    def in_century(self) -> int | None:
        """The century; the second before Christ is −2."""
        if self.century is not None:
            return self.century
        year = self.decade if self.year is None else self.year
        if year is None:
            return None
        return (year + 99) // 100 if year > 0 else -((-year + 99) // 100)


class DateFit(Enum):
    """How a stated date relates to the expected one."""

    SAME = "same"
    FINER = "finer"
    COARSER = "coarser"
    CONFLICT = "conflict"


def compare_dates(expected: PartialDate, stated: PartialDate) -> DateFit:
    """How a stated date relates to the expected one. A year says less than a day of that year, a century less than a
    year."""
    if expected == stated:
        return DateFit.SAME
    if expected.century is not None or stated.century is not None or expected.decade or stated.decade:
        return _compare_periods(expected, stated)
    pairs = [(expected.year, stated.year), (expected.month, stated.month), (expected.day, stated.day)]
    known = [one == other for one, other in pairs if one is not None and other is not None]
    if not known or not all(known):
        return DateFit.CONFLICT
    return DateFit.COARSER if any(one is not None and other is None for one, other in pairs) else DateFit.FINER


def _compare_periods(expected: PartialDate, stated: PartialDate) -> DateFit:
    if _outside_part(expected, stated) or _outside_part(stated, expected):
        return DateFit.CONFLICT
    if expected.decade and stated.decade:
        return DateFit.SAME if expected.decade == stated.decade else DateFit.CONFLICT
    if stated.decade and expected.year is not None:
        return DateFit.COARSER if expected.year // 10 * 10 == stated.decade else DateFit.CONFLICT
    if expected.decade and stated.year is not None:
        return DateFit.FINER if stated.year // 10 * 10 == expected.decade else DateFit.CONFLICT
    if expected.in_century is None or expected.in_century != stated.in_century:
        return DateFit.CONFLICT
    return DateFit.FINER if expected.century is not None and stated.century is None else DateFit.COARSER


def _outside_part(one: PartialDate, other: PartialDate) -> bool:
    """One is a part of a century or decade and the other lies outside that part: 1524 is not in the late 16th
    century."""
    if one.part is None:
        return False
    if other.part is not None:
        return one.part.value[0] >= other.part.value[1]
    if other.year is None:
        return False
    passed = other.year % 10 / 10 if one.decade else (other.year - 1) % 100 / 100
    first, last = one.part.value
    return not first <= passed <= last


def find_year_spans(words: Sequence[str]) -> list[tuple[int, int]]:
    """Spans of years: `from 1914 to 1918`. `1914-18` is not read."""
    found = [(day.year, start, end) for day, start, end in locate_dates(words) if day.year and not day.month]
    return [
        (first, last)
        for (first, _, end), (last, start, _) in pairwise(found)
        if first < last and set(words[end:start]) <= _JOINS
    ]


def find_dates(words: Sequence[str]) -> list[PartialDate]:
    """Every date among the words, in order."""
    return [day for day, _, _ in locate_dates(words)]


def is_dates(words: Sequence[str]) -> bool:
    """Whether the words are dates and nothing else that matters."""
    found = list(locate_dates(words))
    within = {place for _, start, end in found for place in range(start, end)}
    return bool(found) and all(place in within or word in word_list("around_dates") for place, word in enumerate(words))


def locate_dates(words: Sequence[str]) -> Iterator[tuple[PartialDate, int, int]]:
    """Every date with the places where it begins and ends."""
    place = 0
    while place < len(words):
        day, length = _date_at(words, place)
        if day is not None:
            part = _PARTS.get(words[place - 1]) if place and (day.century or day.decade) else None
            yield (structs.replace(day, part=part) if part else day), place, place + length
        place += length


def _date_at(words: Sequence[str], place: int) -> tuple[PartialDate | None, int]:
    """The longest date that begins here, and its length; without one, None and 1."""
    for reading in (_iso, _day_first, _month_first, _century, _decade, _year):
        found, length = reading(words[place : place + 4])
        if found is not None:
            return found, length
    return None, 1


DateAndLength = tuple[PartialDate | None, int]
_NOTHING: DateAndLength = (None, 1)


def _iso(words: Sequence[str]) -> DateAndLength:
    if len(words) > 2 and len(words[0]) == 4 and all(map(str.isdigit, words[:3])):
        year, month, day = map(int, words[:3])
        if FIRST_YEAR <= year <= LAST_YEAR and 1 <= month <= 12 and 1 <= day <= 31:
            return PartialDate(year=year, month=month, day=day), 3
    return _NOTHING


def _day_first(words: Sequence[str]) -> DateAndLength:
    """`18 March 1995`, `18 March`, `18 of March`."""
    if not words or not _is_day(words[0]):
        return _NOTHING
    gap = 1 if len(words) > 2 and words[1] == "of" else 0
    if len(words) <= 1 + gap or words[1 + gap] not in MONTHS:
        return _NOTHING
    month, after = MONTHS[words[1 + gap]], words[2 + gap : 3 + gap]
    year = _as_year(after)
    return PartialDate(year=year, month=month, day=int(words[0])), 2 + gap + (year is not None)


def _month_first(words: Sequence[str]) -> DateAndLength:
    """`March 18, 1995`, `March 1995`, `March 18`; a month alone may be a name or a verb."""
    if not words or words[0] not in MONTHS:
        return _NOTHING
    month = MONTHS[words[0]]
    if len(words) > 1 and _is_day(words[1]):
        year = _as_year(words[2:3])
        return PartialDate(year=year, month=month, day=int(words[1])), 2 + (year is not None)
    year = _as_year(words[1:2])
    return (PartialDate(year=year, month=month), 2) if year is not None else _NOTHING


def _century(words: Sequence[str]) -> DateAndLength:
    if len(words) > 1 and words[0].isdigit() and words[1] in ("century", "centuries"):
        era = len(words) > 2 and words[2] in _ERAS
        sign = -1 if era and words[2] in _BEFORE else 1
        return PartialDate(century=sign * int(words[0])), 2 + era
    return _NOTHING


def _decade(words: Sequence[str]) -> DateAndLength:
    year = _as_year(words[:1])
    if year is not None and year % 10 == 0 and len(words) > 1 and words[1] == "s":
        # `the 1700s` are a century; `the 2000s` are not over.
        is_century = year % 100 == 0 and year < LAST_CENTURY
        return (PartialDate(century=year // 100 + 1) if is_century else PartialDate(decade=year)), 2
    return _NOTHING


def _year(words: Sequence[str]) -> DateAndLength:
    if len(words) > 1 and words[0].isdigit() and words[1] in _ERAS:
        return PartialDate(year=-int(words[0]) if words[1] in _BEFORE else int(words[0])), 2
    year = _as_year(words[:1])
    counts = len(words) > 1 and words[1] in word_list("counted_by_four_digits")
    return (PartialDate(year=year), 1) if year is not None and not counts else _NOTHING


def _as_year(words: Sequence[str]) -> int | None:
    if words and len(words[0]) == 4 and words[0].isdigit() and FIRST_YEAR <= int(words[0]) <= LAST_YEAR:
        return int(words[0])
    return None


def _is_day(word: str) -> bool:
    return word.isdigit() and len(word) <= 2 and 1 <= int(word) <= 31
