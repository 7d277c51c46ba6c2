"""Choices in JSON: an answer that is JSON as a whole, fenced or not, and JSON objects inside a longer answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from howsure.graders.choice_options import Chosen, Options, Reading, Unclear
from howsure.graders.choice_words import JSON_KEYS

_MOST_OBJECTS = 100
_FENCE = re.compile(r"^\s*`{3,}[^\n]*\n(?P<body>.*?)\n?\s*`{3,}\s*$", re.DOTALL)


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as written: twice the same key is twice an answer."""


_DECODER = json.JSONDecoder(object_pairs_hook=_Pairs)


def json_objects(text: str, options: Options) -> Iterator[tuple[int, int, Reading]]:
    """Every JSON object in a text that has an answer in it, with its place."""
    at = text.find("{")
    for _ in range(_MOST_OBJECTS):
        if at < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        reading = read_value(value, options)
        if reading is not None:
            yield at, end, reading
        at = text.find("{", end)


def json_reading(text: str, options: Options) -> Reading | None:
    """What an answer says that is JSON as a whole, fenced or not; None: it is not JSON, or names no choice."""
    fenced = _FENCE.match(text)
    body = fenced["body"] if fenced else text
    if body.strip()[:1] not in ("{", "[", '"'):
        return options.read(body, strict=True) if fenced else None
    try:
        value = json.loads(body, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return None
    return read_value(value, options)


def is_object(text: str) -> bool:
    """Whether the whole answer is a JSON object: its first key is no choice because it comes first."""
    if not text.startswith("{"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def read_value(value: Any, options: Options) -> Reading | None:
    """A JSON value that should name choices."""
    if isinstance(value, _Pairs):
        return _read_object(value, options)
    if isinstance(value, list):
        return _read_list(value, options)
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str) and not value.strip():
        return None
    return _read_scalar(str(value), options)


def _read_scalar(text: str, options: Options) -> Reading | None:
    known = options.id_of(text.strip())
    if known is not None and options.named_by_text(text) in (None, options.chosen([known])):
        return options.chosen([known])
    return options.read(text)


def _read_list(values: list[Any], options: Options) -> Reading | None:
    ids: list[str] = []
    for value in values:
        reading = read_value(value, options)
        if not isinstance(reading, Chosen):
            return reading or Unclear(f"{value!r} names no choice")
        ids += reading.ids
    return options.chosen(ids)


def _read_object(pairs: _Pairs, options: Options) -> Reading | None:
    keyed = [("".join(filter(str.isalpha, key.casefold())), value) for key, value in pairs]
    named = [(key, value) for key, value in keyed if key in JSON_KEYS]
    if not named:
        return _read_flags(pairs, options)
    readings = [reading for _, value in named if (reading := read_value(value, options)) is not None]
    if len(set(readings)) > 1:
        return Unclear("the JSON gives two different answers")
    if not readings and any(isinstance(value, _Pairs) and value for _, value in named):
        return Unclear("the object under the answer in the JSON names no choice")
    return readings[0] if readings else None


def _read_flags(pairs: _Pairs, options: Options) -> Reading | None:
    """`{"A": true, "B": false}`, or an object that only names an id."""
    if pairs and all(isinstance(value, bool) and options.id_of(key) for key, value in pairs):
        return options.chosen(known for key, value in pairs if value and (known := options.id_of(key)))
    ids = [value for key, value in pairs if key == "id"]
    return read_value(ids[0], options) if len(ids) == 1 else None
