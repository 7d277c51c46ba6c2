"""Where a list goes on: the time and the id of the last thing already seen."""

from __future__ import annotations

from datetime import datetime

import msgspec

from howsure.errors import InputError


def read_place(text: str) -> tuple[datetime, str]:
    """The time and the id in a cursor."""
    at, _, key = text.partition("~")
    try:
        moment = msgspec.convert(at, datetime)
    except msgspec.ValidationError:
        raise InputError(f"{text!r} is not a place in a list: use the cursor of the page before") from None
    if moment.tzinfo is None or not 1 < moment.year < 9999 or not key.isprintable():
        raise InputError(f"{text!r} is not a place in a list: use the cursor of the page before")
    return moment, key


def is_number(text: str) -> bool:
    """Whether it says a position or a version; no list is longer than a billion."""
    return text.isascii() and text.isdecimal() and len(text) < 10
