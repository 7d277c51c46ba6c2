"""Numbers, codes and dates in what people write: which ones there are, and whether they are known, restated in another
form or derived from known ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from itertools import combinations_with_replacement

from msgspec import Struct

from howsure.judges.offline.dates import MONTHS, PartialDate, find_dates
from howsure.judges.offline.words import is_number, tokens
from howsure.users.phrases import word_groups
from howsure.users.words import by_line

_RUN = re.compile(r"(?:[^\W\d_]+[-_/])*[^\W_]*\d[^\W_]*(?:[-_./:,'’][^\W_]*[^\W_](?=\W|\Z|_))*(?:[-_][^\W_]+)*")
_GROUPING = r"[.,'’]"
EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
URL = re.compile(r"(?:https?://|www\.)\S+")
# `9.30` is a time or a price and `3-5` a range: without a year only a slash makes a date.
_SLASHED = re.compile(r"\b(\d{1,4})(?:/(\d{1,2})\b(?![./-]\d)|[./-](\d{1,2})[./-](\d{2,4})\b)")
_RANGE = re.compile(
    r"\b(\d{1,2})\.? ?(?:to|-|–|until|till|through|and|bis|und|au|et|al|a|hasta|y|tot|en|e) ?(?:the )?(?=\d{1,2})"
)
_ENGLISH = [name for name in MONTHS if len(name) > 4 or name in ("may", "june", "july")][:12]
_BY_MONTH = {place: name for name, place in MONTHS.items() if name in _ENGLISH}
_SUBTLE = frozenset({"sei", "six", "dix", "once", "sept", "elf", "tre", "null", "due", "un", "een", "ein", "eine"})
_ORDINAL = re.compile(
    r"(?i)\b(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|\w+teenth|\w+tieth|\w+ty-\w+th)\b"
)
SMALL = 12
"""Whole numbers up to this are often said in passing: `one more thing`, `give me 5 minutes`."""
LONGEST_SUM = 9999
MANY = 60
_FACTORS = (2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 12.0, 30.0, 52.0, 100.0, 0.5)


@cache
def foreign_months() -> Mapping[str, int]:
    """The number of a month by its name in other languages than English."""
    return {name: place for names in word_groups("months") for place, name in enumerate(names, start=1)}


@cache
def foreign_numbers() -> Mapping[str, int]:
    """The value of a small number by its word in other languages than English."""
    forms = ((value, form) for words in word_groups("numbers") for value, form in enumerate(words))
    return {word: value for value, form in forms for word in form.split("|")}


class WrittenFigure(Struct, frozen=True):
    """A run of letters and digits as it is written; `key` has no separators; `values` are the numbers it may mean."""

    text: str
    key: str
    values: tuple[float, ...]
    start: int

    @property
    def is_code(self) -> bool:
        return not self.key.isdigit()


@lru_cache(maxsize=2048)
def find_figures(text: str) -> tuple[WrittenFigure, ...]:
    """Every run with a digit, except in e-mail and web addresses."""
    rest = URL.sub(_blank, EMAIL.sub(_blank, text))
    return tuple(_figures(rest))


def _figures(text: str) -> Iterator[WrittenFigure]:
    for found in _RUN.finditer(text):
        run = found[0].rstrip(".,:-/'’")
        key = re.sub(r"[\W_]", "", run).casefold()
        ordinal = re.sub(r"(?<=\d)(?:st|nd|rd|th|er|e|o|a|\.|%|€|k)\Z", "", key)
        key = ordinal if ordinal.isdigit() else key
        yield WrittenFigure(run, key, figure_values(run), found.start())


def figure_values(run: str) -> tuple[float, ...]:
    """The numbers that a run of digits may mean: `1.150` is 1150 or 1.15; none for a code."""
    bare = re.sub(r"(?<=\d)(?:st|nd|rd|th|am|pm|h|%|k|kg|km|gb|mb|€|eur)\Z", "", run.casefold().strip("$€£# "))
    if not re.fullmatch(r"[\d.,'’]+", bare) or not any(map(str.isdigit, bare)):
        return ()
    made = {re.sub(_GROUPING, "", bare)}
    if match := re.fullmatch(r"([\d.,'’]*?)[.,](\d{1,2}|\d{3})", bare):
        made.add(f"{re.sub(_GROUPING, '', match[1]) or '0'}.{match[2]}")
        if len(match[2]) < 3:
            made.discard(re.sub(_GROUPING, "", bare))
    return tuple(sorted(float(one) for one in made))


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


@by_line
def numbers_in(text: str) -> frozenset[float]:
    """Every number in a text, in figures or in words, with the parts of longer ones (`11:20` has 11 and 20)."""
    values = {value for figure in find_figures(text) for value in figure.values}
    values |= {
        float(part) for figure in find_figures(text) for part in re.findall(r"\d+", figure.text) if len(part) < 10
    }
    words, numbers = tokens(text), foreign_numbers()
    values |= {float(word) for word in words if is_number(word) and len(word) < 12}
    return frozenset(values | {float(numbers[word]) for word in words if word in numbers})


@lru_cache(maxsize=4096)
def letters_and_digits(text: str) -> str:
    """The letters and digits of a text with nothing between them, so that numbers in groups are found."""
    return re.sub(r"[\W_]", "", text).casefold()


@by_line
def codes_in(text: str) -> frozenset[str]:
    """The codes and numbers of a text, whole and in parts."""
    whole = {figure.key for figure in find_figures(text)}
    parts = {part.casefold() for figure in find_figures(text) for part in re.findall(r"[^\W_]+", figure.text)}
    return frozenset(whole | parts)


def is_known(figure: WrittenFigure, text: str) -> bool:
    """Whether a figure occurs in the text in some form."""
    if figure.key in codes_in(text) or any(value in numbers_in(text) for value in figure.values):
        return True
    return len(figure.key) >= 4 and figure.key in letters_and_digits(text)


def is_derivable(values: tuple[float, ...], text: str, cue: bool) -> bool:
    """Whether a number can be made of two known ones: a sum, difference, product or share; after a word such as `so` or
    `in total`, also divided or multiplied once more."""
    known = sorted(value for value in numbers_in(text) if 0 < value <= LONGEST_SUM)[:MANY]
    targets = [value for value in values if value <= LONGEST_SUM]
    if not targets:
        return False
    made = _made_of(tuple(known))
    if any(_near(value, one) for value in targets for one in made):
        return True
    if not cue:
        return False
    more = [one * factor for one in made for factor in _FACTORS] + [one / factor for one in made for factor in _FACTORS]
    return any(_near(value, one) for value in targets for one in more)


@lru_cache(maxsize=256)
def _made_of(known: tuple[float, ...]) -> frozenset[float]:
    made: set[float] = set()
    for one, other in combinations_with_replacement(known, 2):
        made |= {one + other, abs(one - other), one * other, one * other / 100}
        made |= {one / other, other / one, other * (1 - one / 100), other * (1 + one / 100), one * (1 - other / 100)}
    return frozenset(made)


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= 0.005 * max(1.0, abs(one))


def find_days(text: str) -> tuple[PartialDate, ...]:
    """The dates with a day and a month, in words or in figures; both ends of a range (`12 to 14 June`)."""
    return tuple(day for line in text.split("\n") for day in _days(line))


@lru_cache(maxsize=4096)
def _days(text: str) -> tuple[PartialDate, ...]:
    if not any(map(str.isdigit, text)) and not _ORDINAL.search(text):
        return ()
    months = foreign_months()
    words = [_BY_MONTH[months[word]] if word in months else word for word in tokens(text)]
    words = ["of" if word in ("de", "di") else word for word in words]
    found = [day for day in find_dates(words) if day.month and day.day]
    for first in _RANGE.finditer(text):
        rest = find_days(text[first.end() : first.end() + 30])
        found += [PartialDate(month=rest[0].month, day=int(first[1]), year=rest[0].year)] if rest else []
    return tuple(found + list(_in_figures(text)))


def _in_figures(text: str) -> Iterator[PartialDate]:
    for match in _SLASHED.finditer(text):
        one, two = int(match[1]), int(match[2] or match[3])
        year = int(match[4]) if match[4] and len(match[4]) == 4 else None
        if one > 31:
            one, two, year = two, int(match[4] or 0), one
            yield from [PartialDate(month=one, day=two, year=year)] if 1 <= one <= 12 and 1 <= two <= 31 else []
            continue
        yield from (
            PartialDate(month=m, day=d, year=year) for d, m in ((one, two), (two, one)) if 1 <= m <= 12 and 1 <= d <= 31
        )


def same_day(one: PartialDate, other: PartialDate) -> bool:
    years_fit = one.year is None or other.year is None or one.year % 100 == other.year % 100
    return one.month == other.month and one.day == other.day and years_fit


def counted_nouns(text: str) -> list[tuple[float, str]]:
    """Every number with the word after it: `(2, night)`."""
    return [said for line in text.split("\n") for said in _counted_nouns(line)]


@lru_cache(maxsize=4096)
def _counted_nouns(text: str) -> list[tuple[float, str]]:
    words, numbers = tokens(text), foreign_numbers()
    made: list[tuple[float, str]] = []
    for place, word in enumerate(words):
        after = words[place + 1] if place + 1 < len(words) else ""
        if is_number(word) and len(word) < 12:
            made.append((float(word), after))
        elif word in numbers and word not in _SUBTLE:
            made.append((float(numbers[word]), after))
    return made
