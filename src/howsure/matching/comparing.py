"""The operators of conditions: what each takes, and when it holds. A comparison that makes no sense is `CannotTell`."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from howsure.matching.dates import moment, not_after
from howsure.matching.matchers import compiled, is_number, shown
from howsure.matching.values import LENIENT, check_matcher

Test = Callable[[Any, Any, datetime | None], bool]

_AGE = re.compile(r"(?P<count>\d+(?:\.\d+)?)\s*(?P<unit>[smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LONGEST = timedelta(days=365_000)


class CannotTell(ValueError):
    """Neither yes nor no: the values cannot be compared."""


class Operator(Struct, frozen=True, kw_only=True):
    """`fits` tells whether a condition's value is one that it takes. `negative`: holds where `test` does not, and where
    the field is not there. `timed`: needs a clock. `presence`: asks only whether the field is there."""

    words: str
    takes: str
    fits: Callable[[Any], bool]
    test: Test
    negative: bool = False
    timed: bool = False
    presence: bool = False
    default: Any = None


def age(text: Any) -> timedelta | None:
    """`30s`, `15m`, `24h`, `7d`, `2w`; None: it is no such text."""
    found = _AGE.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        return None
    try:
        length = timedelta(**{_UNITS[found["unit"]]: float(found["count"])})
    except OverflowError:
        return None
    return length if length <= _LONGEST else None


def _equals(found: Any, wanted: Any, now: datetime | None) -> bool:
    return LENIENT.match(wanted, found)


def _contains(found: Any, wanted: Any, now: datetime | None) -> bool:
    if isinstance(found, str):
        return _text(wanted) in found
    if isinstance(found, dict):
        return _text(wanted) in found
    if isinstance(found, list | tuple):
        return any(LENIENT.match(wanted, each) for each in found)
    raise CannotTell(f"{shown(found)} is neither a text nor a list nor an object, and can contain nothing")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise CannotTell(f"{shown(value)} is not a text")
    return value


def _one_of(found: Any, wanted: Any, now: datetime | None) -> bool:
    return any(LENIENT.match(each, found) for each in wanted)


def _order(found: Any, wanted: Any) -> int:
    """-1, 0 or 1: numbers, or moments in time. A number written as text is not a number."""
    if is_number(found) and is_number(wanted):
        if not (found <= wanted or found >= wanted):
            raise CannotTell(f"{shown(found)} is neither above nor below {shown(wanted)}")
        return (found > wanted) - (found < wanted)
    first, second = moment(found), moment(wanted)
    if first is None or second is None:
        raise CannotTell(f"{shown(found)} cannot be compared with {shown(wanted)}")
    before, after = not_after(first, second), not_after(second, first)
    if before is None or after is None:
        raise CannotTell(f"only one of {shown(found)} and {shown(wanted)} has an offset")
    return after - before


def _passed_since(found: Any, now: datetime | None) -> timedelta:
    then = moment(found)
    if then is None:
        raise CannotTell(f"{shown(found)} is not a date or time")
    if now is None:
        raise CannotTell("its age cannot be told without a clock")
    at = then if isinstance(then, datetime) else datetime(then.year, then.month, then.day, tzinfo=now.tzinfo)
    if (at.tzinfo is None) != (now.tzinfo is None):
        raise CannotTell(f"only one of {shown(found)} and the clock has an offset")
    return now - at


def _length(wanted: Any) -> timedelta:
    length = age(wanted)
    if length is None:
        raise CannotTell(f"{shown(wanted)} is not a length of time")
    return length


def _older(found: Any, wanted: Any, now: datetime | None) -> bool:
    return _passed_since(found, now) > _length(wanted)


def _within(found: Any, wanted: Any, now: datetime | None) -> bool:
    """In the time before now; what lies in the future is not."""
    return timedelta(0) <= _passed_since(found, now) <= _length(wanted)


def _pattern(value: Any) -> bool:
    try:
        return isinstance(value, str) and compiled(value) is not None
    except re.error:
        return False


def _well_formed(value: Any) -> bool:
    """A literal value, or one with matchers that are written as they should be."""
    return not check_matcher(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and _well_formed(value)


def _orderable(value: Any) -> bool:
    return is_number(value) or moment(value) is not None


def _is_age(value: Any) -> bool:
    return age(value) is not None


_ANY, _LIST, _WORDS = "any value (a matcher in it must be well formed)", "a list with at least one value", "a text"
_NUMBER, _LENGTH = "a number, or a date or time in ISO 8601", "a length of time such as 30s, 15m, 24h, 7d or 2w"


def _plain(words: str, test: Test, takes: str, fits: Callable[[Any], bool], *, negative: bool = False) -> Operator:
    return Operator(words=words, takes=takes, fits=fits, test=test, negative=negative)


def _ordered(words: str, test: Callable[[int], bool]) -> Operator:
    return _plain(words, lambda found, wanted, now: test(_order(found, wanted)), _NUMBER, _orderable)


OPERATORS: dict[str, Operator] = {
    "equals": _plain("equal to", _equals, _ANY, _well_formed),
    "not_equals": _plain("not equal to", _equals, _ANY, _well_formed, negative=True),
    "contains": _plain("containing", _contains, _ANY, _well_formed),
    "not_contains": _plain("not containing", _contains, _ANY, _well_formed, negative=True),
    "starts_with": _plain(
        "starting with", lambda found, wanted, now: _text(found).startswith(wanted), _WORDS, _is_text
    ),
    "ends_with": _plain("ending with", lambda found, wanted, now: _text(found).endswith(wanted), _WORDS, _is_text),
    "gt": _ordered("more than", lambda order: order > 0),
    "gte": _ordered("at least", lambda order: order >= 0),
    "lt": _ordered("less than", lambda order: order < 0),
    "lte": _ordered("at most", lambda order: order <= 0),
    "in": _plain("one of", _one_of, _LIST, _is_list),
    "not_in": _plain("none of", _one_of, _LIST, _is_list, negative=True),
    "matches": _plain(
        "a text like",
        lambda found, wanted, now: compiled(wanted).search(_text(found)) is not None,
        "a regular expression",
        _pattern,
    ),
    "exists": Operator(
        words="there",
        takes="true or false",
        fits=lambda value: isinstance(value, bool),
        test=lambda found, wanted, now: bool(wanted),
        presence=True,
        default=True,
    ),
    "older_than": Operator(words="older than", takes=_LENGTH, fits=_is_age, test=_older, timed=True),
    "within": Operator(words="within the last", takes=_LENGTH, fits=_is_age, test=_within, timed=True),
}
