"""Text and dates compared as people compare them. Text: without Unicode variants, case, spaces and punctuation (`words`
keeps word breaks, `squeeze_text` drops them too). ISO-8601 dates and times: as the moments they name."""

from __future__ import annotations

import re
from datetime import date, datetime, time
from functools import lru_cache
from typing import Any
from unicodedata import category, normalize

# Between two digits a separator has a meaning ("1.5" is not "15"), so one space stays there.
_MEANINGLESS_SPACE = re.compile(r"(?<!\d) | (?!\d)")
# Unicode calls these punctuation, but "5 %" is not "5".
_MEANING = "%‰§"


class _Spacing(dict[int, str]):
    """A translation table that is filled on demand: punctuation, separators and control characters become spaces."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kind = category(character)
        replacement = " " if (kind[0] in "PZC" or kind == "Sk") and character not in _MEANING else character
        if kind == "Cf":
            replacement = ""  # Soft hyphens and joiners are invisible.
        self[code] = replacement
        return replacement


_SPACING = _Spacing()


@lru_cache(maxsize=4096)
def words(text: str) -> str:
    """The words of a text with one space between them. Symbols with a meaning ($, +, §, %) stay."""
    folded = normalize("NFKC", normalize("NFKC", text).casefold())
    return " ".join(folded.translate(_SPACING).split())


def squeeze_text(text: str) -> str:
    """What is left when spaces and punctuation do not count: `U.S.A.` is `usa`, `New-York` is `newyork`."""
    return _MEANINGLESS_SPACE.sub("", words(text))


Moment = date | datetime

# Only the extended format: 20240101 may also be a number or an id.
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?( ?(Z|[+-]\d{2}(:?\d{2})?))?)?", re.IGNORECASE)


def parse_moment(value: Any) -> Moment | None:
    """The day or the time that a value names; None if it names none."""
    if isinstance(value, date):
        return value
    if not isinstance(value, str) or len(value) < 10 or not _ISO.fullmatch(value):
        return None
    try:
        return (
            date.fromisoformat(value)
            if len(value) == 10
            else datetime.fromisoformat(value.upper().replace(" ", "T", 1).replace(" ", "").replace(",", "."))
        )
    except ValueError:
        return None


def same_moment(one: Moment, other: Moment) -> bool:
    """Whether both are the same instant. A day is its midnight. If only one has an offset, they are not the same."""
    first, second = _at_midnight(one, other), _at_midnight(other, one)
    return (first.tzinfo is None) == (second.tzinfo is None) and first == second


def not_after(one: Moment, other: Moment) -> bool | None:
    """Whether `one` is at or before `other`; None if they cannot be compared (only one has an offset)."""
    first, second = _at_midnight(one, other), _at_midnight(other, one)
    if (first.tzinfo is None) != (second.tzinfo is None):
        return None
    return first <= second


def _at_midnight(one: Moment, beside: Moment) -> datetime:
    if isinstance(one, datetime):
        return one
    return datetime.combine(one, time(), tzinfo=beside.tzinfo if isinstance(beside, datetime) else None)
