"""When to ask again: what is transient, by status and never by words; how long to wait; when to give up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite

from msgspec import Struct

#: The rest of 4xx, and redirects, say that the request is wrong, and would be wrong again.
TRANSIENT = frozenset({408, 409, 425, 429})
#: The provider has too much to do: what limits must give way to.
OVERLOADED = frozenset({429, 503, 529})


class Retry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How stubborn to be with one call. `seconds` counts attempts and the pauses between them, not the wait for a turn.

    `attempts` bounds those that failed, of which `unreadable` had a reply without an answer in it; `refusals` those
    that met an overloaded provider, no fault of the call. `first_contact` bounds the seconds spent on a server that
    has never answered anything: it is more likely misspelled than busy. Pauses begin at `base` seconds and double up to
    `longest`, but only to `longest_alone` while others are answered: then the trouble is bad luck and not the server.
    """

    attempts: int = 12
    seconds: float = 300.0
    unreadable: int = 3
    refusals: int = 60
    first_contact: float = 20.0
    base: float = 0.25
    longest: float = 30.0
    longest_alone: float = 2.0

    def pause(self, failed: int, asked: float | None, alone: bool, chance: Callable[[], float]) -> float:
        """Seconds to wait after so many failed attempts: anything up to the bound (full jitter), or what the server
        asked for and a little more, so that not all come back at once."""
        if asked is not None:
            return asked + chance() * self.base
        longest = self.longest_alone if alone else self.longest
        return chance() * min(longest, self.base * 2.0 ** min(failed - 1, 32))


def is_transient(status: int) -> bool:
    return status in TRANSIENT or status >= 500


def asked_pause(headers: Mapping[str, str], now: Callable[[], datetime]) -> float | None:
    """Seconds the server asks us to wait: `retry-after-ms`, or `retry-after` in seconds or as a date."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    given = headers.get("retry-after", "")
    seconds = _number(given)
    if seconds is not None or not given:
        return seconds
    until = _date(given)
    # By the server's own clock where it shows it: ours may be wrong.
    return None if until is None else max(0.0, (until - (_date(headers.get("date", "")) or now())).total_seconds())


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) and number >= 0 else None


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
