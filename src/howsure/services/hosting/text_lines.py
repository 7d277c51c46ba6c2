"""Where the fields of a JSON text stand: on which line each begins, so that what is wrong can be shown beside it."""

from __future__ import annotations

import json
import re

from howsure.dialects.strict_json import field_path


def field_lines(text: str) -> dict[str, int]:
    """The line on which each field of a JSON text stands, by its path. The text is valid JSON."""
    found: dict[str, int] = {}
    _Places(text, found).value(0, "")
    return found


class _Places:
    """Walks over a JSON text once, noting where each field begins."""

    def __init__(self, text: str, found: dict[str, int]) -> None:
        self._text = text
        self._found = found
        self._decoder = json.JSONDecoder()
        self._line, self._counted = 1, 0

    def value(self, at: int, path: str) -> int:
        at = self._skip(at)
        if self._text[at] == "{":
            return self._members(at + 1, path)
        if self._text[at] == "[":
            return self._elements(at + 1, path)
        return self._decoder.raw_decode(self._text, at)[1]

    def _members(self, at: int, path: str) -> int:
        while self._text[at := self._skip(at)] != "}":
            start = at
            name, at = self._decoder.raw_decode(self._text, at)
            inner = field_path((name,), path)
            self._found[inner] = self._line_at(start)
            at = self._skip(self.value(self._skip(at) + 1, inner))
            at += self._text[at] == ","
        return at + 1

    def _elements(self, at: int, path: str) -> int:
        place = 0
        while self._text[at := self._skip(at)] != "]":
            inner = f"{path}[{place}]"
            self._found[inner] = self._line_at(at)
            at = self._skip(self.value(at, inner))
            at += self._text[at] == ","
            place += 1
        return at + 1

    def _skip(self, at: int) -> int:
        while at < len(self._text) and self._text[at] in " \t\r\n\ufeff":
            at += 1
        return at

    def _line_at(self, at: int) -> int:
        self._line += self._text.count("\n", self._counted, at)
        self._counted = at
        return self._line


_LAST = re.compile(r"(\.[^.\[\]]+|\[[^\]]*\])$")


def line_of(lines: dict[str, int], field: str) -> int:
    """The line of a field; of what it should stand in, where it is missing."""
    while field and field not in lines:
        shorter = _LAST.sub("", field)
        field = shorter if shorter != field else ""
    return lines.get(field, 1)
