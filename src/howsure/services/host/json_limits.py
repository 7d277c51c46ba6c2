"""Limits of JSON from outside: how many values it holds and how deeply they are nested, counted while it arrives and
before it is parsed."""

from __future__ import annotations

import re
from itertools import accumulate, count
from operator import sub

from howsure.errors import NUL, InputError

MAX_DEPTH = 100
MAX_VALUES = 200_000
"""Uploaded files may hold more."""
PIECE = 1 << 18
FLAT_LEVELS = 4

_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = bytes.maketrans(b"[{]}", b"\2\2\0\0")


class JsonMeter:
    """Counts JSON that comes in pieces; brackets and commas inside strings do not count."""

    def __init__(self) -> None:
        self._values = self._depth = self._inside = 0
        self._cut = b""

    def add(self, piece: bytes) -> None:
        """Count a piece; InputError once there is too much."""
        text = _ESCAPED.sub(b"", self._cut + piece)
        self._cut = b"\\" if text.endswith(b"\\") else b""
        parts = text.removesuffix(b"\\").split(b'"')
        outside = b"".join(parts[self._inside :: 2])
        self._inside ^= (len(parts) - 1) % 2
        steps = outside.translate(_STEPS, _OTHERS)
        opened = steps.count(2)
        if self._deepest(steps) >= MAX_DEPTH:
            raise InputError(f"the JSON is nested too deeply: at most {MAX_DEPTH} levels")
        self._depth += 2 * opened - len(steps)
        self._values += opened + outside.count(b",")
        if self._values > MAX_VALUES:
            raise InputError(
                f"the JSON holds more than {MAX_VALUES:,} values: send it in parts, or upload it as a dataset"
            )

    def _deepest(self, steps: bytes) -> int:
        """The greatest depth in a piece; a greater number, where that is enough to know that it is not too deep."""
        flat = steps
        for _ in range(FLAT_LEVELS):
            flat = flat.replace(b"\2\0", b"")
        enough = self._depth + flat.count(2) + FLAT_LEVELS
        # A bracket that opens adds 2 and one that closes 0; less 1 for each, that is the depth after it.
        return enough if enough < MAX_DEPTH else max(map(sub, accumulate(steps, initial=self._depth), count()))


def check_json(text: bytes) -> None:
    """InputError if the JSON holds too much, or a character that not every database can store."""
    meter = JsonMeter()
    for start in range(0, len(text), PIECE):
        meter.add(text[start : start + PIECE])
    check_nul(text)


def check_nul(text: bytes) -> None:
    if b"\\u0000" in text and _NUL.search(text):
        raise InputError(f"{NUL} stands in a text of the JSON: take it out")
