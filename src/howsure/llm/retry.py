"""When to try again: what a failed attempt means (by status, never by words), how long to wait, when to give up; and
the provider's own message about it. `calls` runs the attempts of a model's call."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum
from math import isfinite
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from howsure.llm.transport import HttpResponse, TransportError, TransportFault

#: The rest of 4xx, and redirects, say that the request is wrong, and would be wrong again.
TRANSIENT = frozenset({408, 409, 425, 429})
#: The provider has too much to do: what limits must give way to.
OVERLOADED = frozenset({429, 503, 529})
QUOTED = 300
"""Characters of a reply that a message quotes."""
DELAY = re.compile(r"(\d+(?:\.\d+)?)s")

Outcome = TypeVar("Outcome")


class RetryPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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

    def pause(self, failed: int, wait_seconds: float | None, alone: bool, chance: Callable[[], float]) -> float:
        """Seconds to wait after this many failed attempts: anything up to the bound (full jitter), or what the server
        asked for and a little more, so that not all come back at once."""
        if wait_seconds is not None:
            return wait_seconds + chance() * self.base
        longest = self.longest_alone if alone else self.longest
        return chance() * min(longest, self.base * 2.0 ** min(failed - 1, 32))


def retry_after(headers: Mapping[str, str], now: Callable[[], datetime]) -> float | None:
    """Seconds the server asks us to wait: `retry-after-ms`, or `retry-after` in seconds or as a date."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    header = headers.get("retry-after", "")
    seconds = _number(header)
    if seconds is not None or not header:
        return seconds
    until = _date(header)
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


class FailureKind(Enum):
    """Whether another attempt may help."""

    FINAL = "asking again would not help"
    PASSING = "may be gone next time"
    OVERLOADED = "the provider is overloaded"
    TIMED_OUT = "took too long"
    UNREADABLE = "a reply without an answer in it"


class FailedAttempt(Struct, frozen=True, kw_only=True):
    """One attempt without an answer. `wait_seconds`: how long the server asks us to wait."""

    kind: FailureKind
    message: str
    status: int | None = None
    wait_seconds: float | None = None

    @property
    def has_reply(self) -> bool:
        return self.status is not None


def response_failure(response: HttpResponse, now: Callable[[], datetime]) -> FailedAttempt:
    """A response whose status is not 200."""
    status = response.status
    details = _details(response.body)
    location = response.headers.get("location", "")
    redirect = f"redirected to {location}: set that as the address" if 300 <= status < 400 and location else ""
    kind = FailureKind.PASSING if status in TRANSIENT or status >= 500 else FailureKind.FINAL
    seconds = retry_after(response.headers, now)
    return FailedAttempt(
        kind=FailureKind.OVERLOADED if status in OVERLOADED else kind,
        message=f"HTTP {status}: {quote_body(redirect or _provider_message(details) or response.body)}",
        status=status,
        wait_seconds=_delay(details) if seconds is None else seconds,
    )


def transport_failure(error: TransportError) -> FailedAttempt:
    kinds = {TransportFault.TIMEOUT: FailureKind.TIMED_OUT, TransportFault.CONNECTION: FailureKind.PASSING}
    return FailedAttempt(kind=kinds.get(error.fault, FailureKind.FINAL), message=str(error))


def unreadable_failure(response: HttpResponse, error: Exception) -> FailedAttempt:
    shown = quote_body(response.body) if response.body else "an empty body"
    message = f"HTTP {response.status} without an answer ({error}): {shown}"
    return FailedAttempt(kind=FailureKind.UNREADABLE, message=message, status=response.status)


def quote_body(content: str | bytes, most: int = QUOTED) -> str:
    """The beginning of a body, on one line."""
    text = content if isinstance(content, str) else content[: 4 * most].decode("utf-8", "replace")
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[:most]}…"


def _details(body: bytes) -> Any:
    """The value under `error`, or the whole body: providers differ."""
    try:
        reply = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if isinstance(reply, list) and reply:
        reply = reply[0]
    return reply.get("error", reply) if isinstance(reply, dict) else reply


def _provider_message(details: Any) -> str:
    if isinstance(details, str):
        return details
    if not isinstance(details, dict):
        return ""
    message = next((details[name] for name in ("message", "detail", "error_description") if details.get(name)), "")
    return message if isinstance(message, str) else msgspec.json.encode(message).decode()


def _delay(details: Any) -> float | None:
    """Google writes the pause into the body: `{"details": [{"retryDelay": "34s"}]}`."""
    entries = details.get("details") if isinstance(details, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        delay = entry.get("retryDelay") if isinstance(entry, dict) else None
        if isinstance(delay, str) and (seconds := DELAY.fullmatch(delay)):
            return float(seconds[1])
    return None


async def retry(
    attempt: Callable[[], Awaitable[Outcome]],
    pauses: Iterable[float],
    errors: type[Exception],
    is_failure: Callable[[Outcome], bool] = lambda _: False,
) -> Outcome:
    """The first outcome that is no failure; the last attempt's, whatever it is. `errors` count as failures."""
    for pause in pauses:
        try:
            outcome = await attempt()
        except errors:
            pass
        else:
            if not is_failure(outcome):
                return outcome
        await asyncio.sleep(pause)
    return await attempt()
