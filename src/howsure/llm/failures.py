"""What a failed attempt says, in words for a person: the provider's own message, found in whatever shape it has."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from enum import Enum
from typing import Any

import msgspec
from msgspec import Struct

from howsure.llm.retry import OVERLOADED, asked_pause, is_transient
from howsure.llm.wire import NoResponse, Response, Trouble

QUOTED = 300
"""Characters of a reply that a message quotes."""
DELAY = re.compile(r"(\d+(?:\.\d+)?)s")


class Kind(Enum):
    """What is to be done about it."""

    FINAL = "asking again would not help"
    PASSING = "may be gone next time"
    OVERLOADED = "too much was asked"
    TIMED_OUT = "took too long"
    UNREADABLE = "answered, and said nothing"


class Failed(Struct, frozen=True, kw_only=True):
    """One attempt without an answer. `asked`: the seconds that the server wants us to wait."""

    kind: Kind
    message: str
    status: int | None = None
    asked: float | None = None
    reply: bytes = b""

    @property
    def replied(self) -> bool:
        return self.status is not None


def of_response(response: Response, now: Callable[[], datetime]) -> Failed:
    """A response whose status is not 200."""
    status = response.status
    details = _details(response.body)
    where = response.headers.get("location", "")
    words = f"redirected to {where}: set that as the address" if 300 <= status < 400 and where else _words(details)
    kind = Kind.PASSING if is_transient(status) else Kind.FINAL
    asked = asked_pause(response.headers, now)
    return Failed(
        kind=Kind.OVERLOADED if status in OVERLOADED else kind,
        message=f"HTTP {status}: {quoted(words or response.body)}",
        status=status,
        asked=_delay(details) if asked is None else asked,
        reply=response.body,
    )


def of_no_response(error: NoResponse) -> Failed:
    if error.trouble is Trouble.TIMEOUT:
        return Failed(kind=Kind.TIMED_OUT, message=str(error))
    return Failed(kind=Kind.PASSING if error.trouble.passing else Kind.FINAL, message=str(error))


def of_unreadable(response: Response, error: Exception) -> Failed:
    shown = quoted(response.body) if response.body else "an empty body"
    message = f"HTTP {response.status} without an answer ({error}): {shown}"
    return Failed(kind=Kind.UNREADABLE, message=message, status=response.status, reply=response.body)


def quoted(content: str | bytes) -> str:
    """On one line, and short."""
    text = content if isinstance(content, str) else content[: 4 * QUOTED].decode("utf-8", "replace")
    text = " ".join(text.split())
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}…"


def _details(body: bytes) -> Any:
    """What stands under `error`, or the whole: providers differ."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if isinstance(found, list) and found:
        found = found[0]
    return found.get("error", found) if isinstance(found, dict) else found


def _words(details: Any) -> str:
    if isinstance(details, str):
        return details
    if not isinstance(details, dict):
        return ""
    found = next((details[name] for name in ("message", "detail", "error_description") if details.get(name)), "")
    return found if isinstance(found, str) else msgspec.json.encode(found).decode()


def _delay(details: Any) -> float | None:
    """Google writes the pause into the body: `{"details": [{"retryDelay": "34s"}]}`."""
    listed = details.get("details") if isinstance(details, dict) else None
    for detail in listed if isinstance(listed, list) else ():
        given = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(given, str) and (seconds := DELAY.fullmatch(given)):
            return float(seconds[1])
    return None
