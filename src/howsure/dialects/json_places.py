"""Where things stand in a JSON file that is loaded whole: the lines on which the elements of a list start, the keys at
the top of a text that may be cut off, and the `Spot` from which problems are reported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress

from msgspec import Struct

from howsure.dialects.strict_json import field_path
from howsure.errors import Level, Problem

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class Spot(Struct, frozen=True):
    """A place in a file; `prefix` is the path of the field that is being looked at."""

    file: str
    line: int | None = None
    prefix: str = ""

    def below(self, *path: str | int) -> Spot:
        return Spot(self.file, self.line, field_path(path, self.prefix))

    def problem(self, code: str, message: str, *, expected: str = "", found: str = "", hint: str = "") -> Problem:
        return Problem(
            code=code,
            message=message,
            file=self.file,
            line=self.line,
            field=self.prefix,
            expected=expected,
            found=found,
            hint=hint,
        )

    def warning(self, code: str, message: str, *, found: str = "", hint: str = "") -> Problem:
        return Problem(
            code=code,
            message=message,
            file=self.file,
            line=self.line,
            field=self.prefix,
            found=found,
            hint=hint,
            level=Level.WARNING,
        )


def element_lines(text: str, key: str) -> list[int]:
    """The 1-based line on which each element of the list under the top-level `key` starts. `text` is valid JSON.

    Values are skipped by the decoder itself, so strings that look like structure do no harm and the cost is that of
    reading the file once more.
    """
    for name, at in _members(text):
        if name == key:
            return _lines(text, list(_elements(text, at)))
    return []


def top_level_keys(text: str) -> list[str]:
    """The keys of the object that `text` begins with, as far as the text goes: it may be cut off anywhere."""
    keys: list[str] = []
    with suppress(ValueError, RecursionError):
        for name, _ in _members(text):
            keys.append(name)
    return keys


def head_keys(head: bytes) -> list[str]:
    """`top_level_keys` of the first bytes of a file."""
    text = head.decode("utf-8-sig", "ignore")
    return top_level_keys(text)


def _members(text: str) -> Iterator[tuple[str, int]]:
    """Each key of the object, with the offset where its value starts. A key is told before its value is passed over."""
    at = _next(text, 0)
    if text[at : at + 1] != "{":
        return
    at = _next(text, at + 1)
    while text[at : at + 1] == '"':
        name, at = _DECODER.raw_decode(text, at)
        at = _next(text, at)
        if text[at : at + 1] != ":":
            return
        at = _next(text, at + 1)
        yield str(name), at
        at = _after(text, at)


def _elements(text: str, at: int) -> Iterator[int]:
    """The offset of each element of the list that starts at `at`."""
    if text[at : at + 1] != "[":
        return
    at = _next(text, at + 1)
    while text[at : at + 1] not in ("]", ""):
        yield at
        at = _after(text, at)


def _after(text: str, at: int) -> int:
    """The offset of what follows the value at `at` and its comma."""
    _, end = _DECODER.raw_decode(text, at)
    end = _next(text, end)
    return _next(text, end + 1) if text[end : end + 1] == "," else end


def _next(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _lines(text: str, offsets: list[int]) -> list[int]:
    lines: list[int] = []
    line, last = 1, 0
    for offset in offsets:
        line += text.count("\n", last, offset)
        last = offset
        lines.append(line)
    return lines
