"""The JSON inside a judge's reply: the whole of it, or what stands in fences or between sentences. Only what models do
to JSON is forgiven: commas before a closing bracket, and line breaks inside strings. replies.py knows what the values
mean."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

from msgspec import Struct

from howsure.judges.rulings import UnparsableReply
from howsure.model.flag import UnreadableKind

FALSE_STARTS = 500
"""How many brackets that open nothing are tried before a reply is given up; real replies have far fewer."""

_THINKING = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_UNFINISHED = re.compile(r"\A\s*<(think|thinking|reasoning)>", re.IGNORECASE)
_STRING_OR_COMMA = re.compile(r'(?<!\\)"(?:\\.|[^"\\])*"|,(?=\s*[}\]])', re.DOTALL)
_OPENING = re.compile(r"[{\[]")
_STRING_OR_BRACKET = re.compile(r'(?<!\\)"(?:\\.|[^"\\])*"|[{}\[\]]', re.DOTALL)
_LIKE_JSON = re.compile(r"""\{\s*(?:["']|\w+\s*:)|\[\s*["'{\[]""")
_HALF_ESCAPED = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
_HALF = re.compile("[\ud800-\udfff]")


class RepeatedKey(Exception):
    """An object with two values under one key."""


class EmbeddedJson(Struct, frozen=True):
    """The JSON values of a text, and the text without them."""

    values: tuple[Any, ...]
    prose: str


def strip_thinking(text: str) -> str:
    """The reply after the thinking that some models print first, some without its opening tag. Thinking that never ends
    leaves no reply."""
    if thought := _THINKING.match(text):
        return text[thought.end() :]
    if _UNFINISHED.match(text):
        raise UnparsableReply("the reply ends while the judge is still thinking", UnreadableKind.CUT_OFF)
    before, closed, rest = text.partition("</think>")
    return rest if closed and "<think>" not in before and not before.lstrip().startswith(("{", "[", "```")) else text


def replace_lone_surrogates(text: str) -> str:
    """The text without lone surrogates, which no file or store can hold."""
    if "\\u" in text:
        text = _HALF_ESCAPED.sub(r"\\ufffd", text)
    return text if text.isascii() else _HALF.sub("\ufffd", text)


def find_json(text: str) -> EmbeddedJson:
    """Every outermost JSON object and list of the text; a scalar only when it is the whole text."""
    text = replace_lone_surrogates(text)
    try:
        with suppress(ValueError):
            return EmbeddedJson((_DECODER.decode(text.strip()),), "")
        return _scan(_STRING_OR_COMMA.sub(lambda found: "" if found[0] == "," else found[0], text))
    except RecursionError:
        raise UnparsableReply("the reply is nested too deeply", UnreadableKind.NOT_JSON) from None
    except RepeatedKey as error:
        raise UnparsableReply(str(error)) from None


def _scan(text: str) -> EmbeddedJson:
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
                problem = "the reply has more brackets than can be made sense of"
                raise UnparsableReply(problem, UnreadableKind.NOT_JSON) from None
            closings = _closings(text, start) if closings is None else closings
            position = _skip_broken(text, start, closings.get(start))
            if position > start + 1 and _LIKE_JSON.match(text, start):
                prose.append(text[rest:start])
                rest = position
            continue
        values.append(value)
        prose.append(text[rest:start])
        position = rest = end
    return EmbeddedJson(tuple(values), "\n".join((*prose, text[rest:])))


def _skip_broken(text: str, start: int, closing: int | None) -> int:
    """Where to continue after brackets that are not JSON. Nothing inside them is read: an object inside a broken one is
    not the judge's ruling."""
    if closing is not None:
        return closing
    if _LIKE_JSON.match(text, start):
        raise UnparsableReply("the reply breaks off inside its JSON", UnreadableKind.CUT_OFF)
    return start + 1


def _closings(text: str, start: int) -> dict[int, int]:
    """The end of each bracket that opens after `start`, by its position."""
    open_at: list[int] = []
    closings: dict[int, int] = {}
    for token in _STRING_OR_BRACKET.finditer(text, start):
        if token[0] in "{[":
            open_at.append(token.start())
        elif token[0] in "}]" and open_at:
            closings[open_at.pop()] = token.end()
    return closings


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made and made[key] != value:
            raise RepeatedKey(f"the reply says two things under the key {key!r}")
        made[key] = value
    return made


_DECODER = json.JSONDecoder(object_pairs_hook=_object, strict=False)
