"""The JSON inside a judge's reply: the whole of it, or what stands in fences or between sentences. Only what models do
to JSON is forgiven: commas before a closing bracket, and line breaks inside strings. What the values mean is for
reading.py."""

from __future__ import annotations

import json
import re
from typing import Any

from msgspec import Struct

from howsure.judges.rulings import Unreadable

FALSE_STARTS = 500
"""Brackets that open nothing and are looked at before a reply is given up: a bound on work, far above any real one."""

_THINKING = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_UNFINISHED = re.compile(r"\A\s*<(think|thinking|reasoning)>", re.IGNORECASE)
_STRING_OR_COMMA = re.compile(r'"(?:\\.|[^"\\])*"|,(?=\s*[}\]])', re.DOTALL)
_OPENING = re.compile(r"[{\[]")
_STRING_OR_BRACKET = re.compile(r'"(?:\\.|[^"\\])*"|[{}\[\]]', re.DOTALL)
_LIKE_JSON = re.compile(r"""\{\s*(?:["']|\w+\s*:)|\[\s*["'{\[]""")
_HALF_ESCAPED = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
_HALF = re.compile("[\ud800-\udfff]")


class Repeated(Exception):
    """An object that says two things under one key."""


class Found(Struct, frozen=True):
    """The JSON values of a text, and the text that is left without them."""

    values: tuple[Any, ...]
    prose: str


def without_thinking(text: str) -> str:
    """The reply after the thinking that some models print first. Thinking that never ends has no reply after it."""
    if thought := _THINKING.match(text):
        return text[thought.end() :]
    if _UNFINISHED.match(text):
        raise Unreadable("the reply ends while the judge is still thinking")
    return text


def mended(text: str) -> str:
    """The text without halves of characters, which no file or store could keep."""
    if "\\u" in text:
        text = _HALF_ESCAPED.sub(r"\\ufffd", text)
    return text if text.isascii() else _HALF.sub("\ufffd", text)


def find(text: str) -> Found:
    """Every outermost JSON object and list of the text; a scalar only when it is the whole text."""
    text = mended(text)
    try:
        whole = _decode(text.strip())
        return Found((whole,), "") if whole is not _NOTHING else _scan(_without_trailing_commas(text))
    except RecursionError:
        raise Unreadable("the reply is nested too deeply") from None
    except Repeated as error:
        raise Unreadable(str(error)) from None


_NOTHING = object()


def _decode(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except ValueError:
        return _NOTHING


def _scan(text: str) -> Found:
    values: list[Any] = []
    prose: list[str] = []
    position = rest = false_starts = 0
    closings: dict[int, int] | None = None
    while opening := _OPENING.search(text, position):
        start = opening.start()
        try:
            value, end = _DECODER.raw_decode(text, start)
        except ValueError:
            false_starts += 1
            if false_starts > FALSE_STARTS:
                raise Unreadable("the reply has more brackets than can be made sense of") from None
            closings = _closings(text, start) if closings is None else closings
            position = _after_broken(text, start, closings.get(start))
            if position > start + 1 and _LIKE_JSON.match(text, start):
                prose.append(text[rest:start])
                rest = position
            continue
        values.append(value)
        prose.append(text[rest:start])
        position = rest = end
    return Found(tuple(values), "\n".join((*prose, text[rest:])))


def _after_broken(text: str, start: int, closing: int | None) -> int:
    """Where to look on after brackets that are not JSON. Nothing inside them is read: an object that stands in a
    broken one is not the judge's ruling."""
    if closing is not None:
        return closing
    if _LIKE_JSON.match(text, start):
        raise Unreadable("the reply breaks off inside its JSON")
    return start + 1


def _closings(text: str, start: int) -> dict[int, int]:
    """Where each bracket that opens after `start` is closed, by where it opens."""
    open_at: list[int] = []
    closings: dict[int, int] = {}
    for token in _STRING_OR_BRACKET.finditer(text, start):
        if token[0] in "{[":
            open_at.append(token.start())
        elif token[0] in "}]" and open_at:
            closings[open_at.pop()] = token.end()
    return closings


def _without_trailing_commas(text: str) -> str:
    return _STRING_OR_COMMA.sub(lambda found: "" if found[0] == "," else found[0], text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made and made[key] != value:
            raise Repeated(f"the reply says two things under the key {key!r}")
        made[key] = value
    return made


_DECODER = json.JSONDecoder(object_pairs_hook=_object, strict=False)
