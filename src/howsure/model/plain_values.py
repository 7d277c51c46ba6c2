"""Foreign values (of agents, simulated users, graders of plug-ins) as they can be stored and printed: JSON that is
nested no deeper than MAX_DEPTH. What JSON cannot express is written out, so that nothing is lost and different values
stay different: half characters as `\\ud800` (`errors.printable` says how a backslash before them is told apart), and
numbers, bytes, sets, dates and other objects as `{"python": "float", "value": "nan"}`."""

from __future__ import annotations

import base64
import dataclasses
import re
from collections.abc import Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from itertools import accumulate
from math import isfinite
from typing import Any, TypeVar
from uuid import UUID

import msgspec
from msgspec import UNSET, Struct

from howsure.errors import CaseFailure, boundary, printable
from howsure.model.flag import Flag

MAX_DEPTH = 200
"""Deeper nesting is refused, because readers recurse over stored values."""
LONGEST_INTEGER = 2_000
"""Bits of the longest integer that stays a number; Python reads no number of more than 4,300 digits."""
TAG = "python"
"""The key of an object that stands for a value which JSON does not have."""

T = TypeVar("T")
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_STRING = re.compile(rb'(?<!\\)"[^"\\]*(?:\\.[^"\\]*)*"')
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = {**dict.fromkeys(b"[{", 1), **dict.fromkeys(b"]}", -1)}


def describe_object(value: Any) -> Any:
    """The nearest JSON value of an object that has none: for `enc_hook`."""
    match value:
        case str():
            return str.__str__(value)
        case int():
            return int(value)
        case float():
            return float(value)
        case Mapping():
            return dict(value)
        case _:
            return _safe_repr(value)


def _safe_repr(value: object) -> str:
    try:
        with boundary(CaseFailure, "repr"):
            return repr(value)
    except CaseFailure as failure:
        return f"<{type(value).__name__}: {failure}>"


def object_fields(value: Any) -> dict[str, Any] | None:
    """The named values of an object that has a plain form: a struct, a dataclass, an object of attrs or pydantic;
    None where it has none."""
    if isinstance(value, type):
        return None
    if isinstance(value, Struct):
        config, names = value.__struct_config__, value.__struct_fields__
        named = {name: getattr(value, own) for own, name in zip(names, value.__struct_encode_fields__, strict=True)}
        tag = {config.tag_field: config.tag} if config.tag_field else {}
        return {name: each for name, each in (tag | named).items() if each is not UNSET}
    attributes = (
        dataclasses.fields(value) if dataclasses.is_dataclass(value) else getattr(value, "__attrs_attrs__", None)
    )
    if attributes is not None:
        return {each.name: getattr(value, each.name) for each in attributes}
    dump = getattr(value, "model_dump", None)
    return dict(dump()) if callable(dump) else None


encode = msgspec.json.Encoder(enc_hook=describe_object).encode


def escaped_flag(where: str) -> Flag:
    """The flag for a part of a result whose texts are written as by `printable`."""
    return Flag(
        "escaped", f"{where}: what cannot be stored as it is (half a character, NaN, bytes, a set …) was written out"
    )


@lru_cache(16)
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def plain_copy(value: T, kind: Any) -> tuple[T, bool]:
    """The value as it is read back after it was stored, and whether anything in it had to be written out. ValueError:
    it is no `kind`, it is nested too deep, or it holds itself."""
    try:
        body = encode(value)
        copy = _decoder(kind).decode(body)
        if copy == value and not is_deep(body):
            return value, False
    except (ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        pass
    writer = PlainWriter()
    written = writer.write(value)
    if writer.escaped:
        written = PlainWriter(lookalikes=True).write(value)
    return msgspec.convert(written, kind), writer.escaped


def is_storable(value: Any) -> bool:
    """Whether a value can be stored as it is."""
    try:
        return not is_deep(encode(value))
    except (ValueError, OverflowError, RecursionError):
        return False


def is_deep(body: bytes) -> bool:
    """Whether JSON is nested deeper than MAX_DEPTH."""
    if body.count(b"[") + body.count(b"{") <= MAX_DEPTH:
        return False
    brackets = _STRING.sub(b"", body).translate(None, _NO_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, brackets))) > MAX_DEPTH


class PlainWriter:
    """Writes values as plain JSON values. `escaped`: something had to be written out; then values that look like that
    (`lookalikes`) must be, too."""

    def __init__(self, *, lookalikes: bool = False) -> None:
        self.escaped = False
        self._lookalikes = lookalikes

    def write(self, value: Any, depth: int = 0) -> Any:
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} deep, or holds itself")
        match value:
            case str():
                return self._text(str.__str__(value))
            case Mapping():
                return self._object(value, depth)
            case list() | tuple():
                return [self.write(each, depth + 1) for each in value]
            case set() | frozenset():
                return self._tagged(value, sorted((self.write(each, depth + 2) for each in value), key=encode))
            case Enum():
                return self.write(value.value, depth)
            case None | bool():
                return value
            case int() if value.bit_length() <= LONGEST_INTEGER:
                return int(value)
            case float() if isfinite(value):
                return float(value)
        fields = object_fields(value)
        return self._tagged(value, self._text(_text_form(value))) if fields is None else self._object(fields, depth)

    def _text(self, text: str) -> str:
        if not (self._lookalikes or _HALF_CHARACTER.search(text)):
            return text
        self.escaped = True
        return printable(text)

    def _tagged(self, value: Any, text: Any) -> dict[str, Any]:
        self.escaped = True
        return {TAG: type(value).__name__, "value": text}

    def _object(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        written = {self._text(_key(key)): self.write(each, depth + 1) for key, each in value.items()}
        if len(written) < len(value):
            raise ValueError("two keys of an object are the same text")
        return {TAG: "dict", "value": written} if self._lookalikes and TAG in value else written


def _key(key: Any) -> str:
    key = key.value if isinstance(key, Enum) else key
    return str.__str__(key) if isinstance(key, str) else str(key)


def _text_form(value: Any) -> str:
    match value:
        case bytes() | bytearray():
            return base64.b64encode(value).decode()
        case int():
            return hex(value)
        case date() | time():
            return value.isoformat()
        case float() | Decimal() | UUID() | timedelta():
            return str(value)
        case _:
            return _safe_repr(value)
