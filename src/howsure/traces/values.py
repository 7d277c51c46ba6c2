"""Reads attribute values: numbers and JSON that were written as text, and the problems of what cannot be read."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final

import msgspec

from howsure.errors import Level, Problem
from howsure.model.plain_values import is_storable

#: Longer text is not parsed as a Python literal: the parser would need too much memory.
LONGEST_LITERAL = 200_000


class UnreadableValue(Enum):
    """A value that exists and cannot be read. It is not an empty value."""

    VALUE = "unreadable"


UNREADABLE: Final = UnreadableValue.VALUE


class TraceProblems:
    """The problems with the spans of one transcript."""

    def __init__(self) -> None:
        self.items: list[Problem] = []

    def add(self, code: str, message: str, span: str, attribute: str = "", value: Any = "") -> None:
        place = f"{span}.{attribute}" if attribute else span
        shown = value if isinstance(value, str) else repr(value)
        self.items.append(Problem(code=code, message=message, field=place, found=shown[:80], level=Level.WARNING))


def first_present(attributes: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """The first of these names that has a value."""
    return next((name for name in names if attributes.get(name) not in (None, "")), None)


def first_text(attributes: Mapping[str, Any], names: Iterable[str]) -> str:
    """The first value that is text; empty if there is none."""
    for name in names:
        value = attributes.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def read_count(value: Any) -> int | None:
    """A count: an integer, possibly written as text or as a float. None for anything else."""
    number = read_amount(value)
    if number is None or not number.is_integer():
        return None
    return value if isinstance(value, int) else int(number)


def read_amount(value: Any) -> float | None:
    """An amount of money or time: finite and not negative. None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if 0 <= number < float("inf") else None


def decode_value(value: Any) -> Any:
    """Text with JSON (or a printed Python value) as that value; plain text unchanged; broken JSON as UNREADABLE."""
    if not isinstance(value, str):
        return value
    stripped = value.strip()
    if stripped[:1] not in ("{", "[", '"'):
        return value
    inner = _parse_json(stripped)
    # Some exporters encode twice.
    return _parse_json(inner.strip()) if isinstance(inner, str) and inner.strip()[:1] in ("{", "[") else inner


def _parse_json(source: str) -> Any:
    try:
        return msgspec.json.decode(source)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return _parse_leniently(source)


def _parse_leniently(source: str) -> Any:
    """Python's encoder writes NaN, and a printed dict has single quotes."""
    try:
        value = json.loads(source)
    except (ValueError, RecursionError):
        if len(source) > LONGEST_LITERAL:
            return UNREADABLE
        try:
            value = ast.literal_eval(source)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return UNREADABLE
    return value if is_storable(value) else UNREADABLE


def pick_value(mapping: Any, *names: str) -> Any:
    """The value of the first of these keys that has one; None if this is not a mapping."""
    if not isinstance(mapping, Mapping):
        return None
    return next((mapping[name] for name in names if mapping.get(name) is not None), None)
