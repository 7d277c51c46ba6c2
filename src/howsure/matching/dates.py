"""ISO-8601 dates and times, compared as the moments they name rather than as text."""

from __future__ import annotations

import re
from datetime import date, datetime, time
from typing import Any

Moment = date | datetime

# Only the extended spelling: 20240101 may as well be a number or an id.
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?( ?(Z|[+-]\d{2}(:?\d{2})?))?)?", re.IGNORECASE)


def moment(value: Any) -> Moment | None:
    """The day or the time that a value names; None: it names none."""
    if isinstance(value, date):
        return value
    if not isinstance(value, str) or len(value) < 10 or not _ISO.fullmatch(value):
        return None
    try:
        return date.fromisoformat(value) if len(value) == 10 else datetime.fromisoformat(_spelled(value))
    except ValueError:
        return None


def same_moment(one: Moment, other: Moment) -> bool:
    """The same instant; a bare day is its midnight. Where only one has an offset nobody knows: not the same."""
    if isinstance(one, datetime) and isinstance(other, datetime):
        return (one.tzinfo is None) == (other.tzinfo is None) and one == other
    if isinstance(one, datetime):
        return _is_midnight_of(one, other)
    if isinstance(other, datetime):
        return _is_midnight_of(other, one)
    return one == other


def not_after(one: Moment, other: Moment) -> bool | None:
    """Whether `one` is at or before `other`; None: they cannot be compared (only one has an offset)."""
    first, second = _at_midnight(one, other), _at_midnight(other, one)
    if (first.tzinfo is None) != (second.tzinfo is None):
        return None
    return first <= second


def _at_midnight(one: Moment, beside: Moment) -> datetime:
    if isinstance(one, datetime):
        return one
    return datetime.combine(one, time(), tzinfo=beside.tzinfo if isinstance(beside, datetime) else None)


def _is_midnight_of(instant: datetime, day: date) -> bool:
    return instant.date() == day and instant.time() == time()


def _spelled(text: str) -> str:
    return text.upper().replace(" ", "T", 1).replace(" ", "").replace(",", ".")
