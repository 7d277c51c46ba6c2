"""What a terminal sends when keys are pressed, as keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

from msgspec import Struct


class Named(Enum):
    """Keys that are no text."""

    UP = "up"
    DOWN = "down"
    LEFT = "left"
    RIGHT = "right"
    PAGE_UP = "page up"
    PAGE_DOWN = "page down"
    HOME = "home"
    END = "end"
    ENTER = "enter"
    ESCAPE = "escape"
    BACKSPACE = "backspace"


class Typed(Struct, frozen=True):
    """A character."""

    text: str


Key = Named | Typed

_ARROWS = {"A": Named.UP, "B": Named.DOWN, "C": Named.RIGHT, "D": Named.LEFT, "H": Named.HOME, "F": Named.END}
_TILDES = {"1": Named.HOME, "4": Named.END, "5": Named.PAGE_UP, "6": Named.PAGE_DOWN, "7": Named.HOME, "8": Named.END}
_CONTROLS = {
    "\r": Named.ENTER,
    "\n": Named.ENTER,
    "\x7f": Named.BACKSPACE,
    "\x08": Named.BACKSPACE,
    "\x04": Named.PAGE_DOWN,
    "\x06": Named.PAGE_DOWN,
    "\x02": Named.PAGE_UP,
    "\x15": Named.PAGE_UP,
    "\x1b": Named.ESCAPE,
}
# `ESC [ 5 ~`, `ESC [ 1 ; 5 A` (with a modifier), `ESC O A` (application mode); else an escape, or one character.
_SEQUENCE = re.compile(
    r"\x1b\[(?P<number>\d*)(?:;\d+)?(?P<end>[A-Za-z~])|\x1bO(?P<letter>[A-Za-z])|(?P<one>.)", re.DOTALL
)


def keys(sent: bytes) -> Iterator[Key]:
    """The keys in what was read at once. A sequence that means nothing here gives nothing: it must not be typed."""
    for found in _SEQUENCE.finditer(sent.decode("utf-8", "replace")):
        key = _key(found)
        if key is not None:
            yield key


def _key(found: re.Match[str]) -> Key | None:
    if (letter := found["letter"]) is not None:
        return _ARROWS.get(letter)
    if (end := found["end"]) is not None:
        return _TILDES.get(found["number"]) if end == "~" else _ARROWS.get(end)
    one = found["one"]
    if one in _CONTROLS:
        return _CONTROLS[one]
    return Typed(one) if one.isprintable() else None
