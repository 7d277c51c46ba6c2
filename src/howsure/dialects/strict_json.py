"""Strict JSON: no repeated keys, no NaN, no half characters, no guessing at the encoding.

`parse_json` gives the value and every problem with its place. `duplicate_free` is the check of a fast reader, whose
decoder silently keeps the last of two equal keys. `element_lines` finds the lines on which list elements start,
`head_keys` the first keys of a text that may be cut off. What the value should look like is for problems.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from math import isfinite
from typing import Any

import msgspec

from howsure.errors import MAX_PROBLEMS, Problem

Json = dict[str, Any]

BOM = b"\xef\xbb\xbf"
MAX_DEPTH = 200
"""Deeper nesting is refused: some later steps recurse over what was read."""

_NEVER = -(1 << 60)
CONTAINERS = frozenset({dict, list})
_encode = msgspec.json.Encoder().encode
_ESCAPED_COLON = re.compile(rb"\\u003[aA]")
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_TOKEN = re.compile(
    r'(?P<string>(?<!\\)"[^"\\]*(?:\\.[^"\\]*)*")(?P<colon>\s*:)?|(?P<open>[{\[])|(?P<close>[}\]])|(?P<comma>,)'
    r"|(?P<number>-?Infinity|NaN|-?[0-9][0-9.eE+-]*)",
    re.DOTALL,
)
_HINTS = {
    "Extra data": "one JSON value is expected here; a line format needs one object on each line",
    "Expecting property name enclosed in double quotes": "keys need double quotes, and no comma may stand before `}`",
    "Illegal trailing comma before end of object": "no comma may stand before `}`",
    "Illegal trailing comma before end of array": "no comma may stand before `]`",
    "Unterminated string starting at": "the closing double quote is missing, or a line break stands inside the string",
    "Invalid control character at": r"inside a string, write line breaks and tabs as \n and \t",
    "Invalid \\escape": r"write a backslash as \\",
    "Expecting value": "a string, number, object, list, true, false or null is expected here",
}


def duplicate_free(text: bytes, value: Any) -> bool:
    """Whether it is certain that no object in `text` repeats a key, when a fast decoder made `value` of it.

    A decoder keeps the last of two equal keys, so the value written anew has fewer colons than the text. A colon that
    is written as an escape could make up for that, so such a text is never certain.
    """
    if text.find(b"\\u003") >= 0 and _ESCAPED_COLON.search(text):
        return False
    try:
        return text.count(b":") == _encode(value).count(b":")
    except (OverflowError, RecursionError):
        return False  # an integer of more than 64 bits


def parse_json(text: bytes, *, file: str, line: int | None = 1) -> tuple[Any, list[Problem]]:
    """The value (None when it cannot be read) and every problem. `line` is where `text` starts in the file; None for a
    text without a line of its own (a cell of a table), whose problems then have none."""
    text = text.removeprefix(BOM)
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = msgspec.json.decode(text)
        if duplicate_free(text, value) and not (_may_be_deep(text) and count_keys(value) < 0):
            return value, []
    return _parse_slowly(text, _Place(file, line))


def count_keys(value: Any, depth: int = 1) -> int:
    """The keys in a decoded value at any depth; a number far below zero where it is nested too deep."""
    kind = type(value)
    if kind not in CONTAINERS:
        return 0
    if depth > MAX_DEPTH:
        return _NEVER
    count, inner = (len(value), value.values()) if kind is dict else (0, value)
    if not CONTAINERS.isdisjoint(map(type, inner)):
        count += sum([count_keys(each, depth + 1) for each in inner])
    return count


def _parse_slowly(text: bytes, place: _Place) -> tuple[Any, list[Problem]]:
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        before = text[: error.start].decode("utf-8")
        utf16 = text.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in text[:4]
        problem = place.problem(
            before,
            len(before),
            code="encoding",
            message="the text is not UTF-8",
            expected="UTF-8, with or without a byte order mark",
            found=" ".join(f"0x{byte:02X}" for byte in text[error.start : error.start + 4]),
            hint="this looks like UTF-16; save it as UTF-8" if utf16 else "save the file as UTF-8",
        )
        return None, [problem]
    reader = _StrictDecoder()
    try:
        value = reader.decoder.decode(decoded)
    except json.JSONDecodeError as error:
        return None, [_syntax(decoded, error, place)]
    except RecursionError:
        return None, [_too_deep(decoded, place)]
    if reader.suspicious or _HALF_CHARACTER.search(decoded) or _may_be_deep(text):
        return value, list(islice(_Locator(decoded, place).problems(), MAX_PROBLEMS))
    return value, []


def _may_be_deep(text: bytes) -> bool:
    return text.count(b"[") + text.count(b"{") > MAX_DEPTH


class _Place(msgspec.Struct):
    """Where a text stands in its file: turns offsets into lines and columns."""

    file: str
    line: int | None

    def problem(self, text: str, offset: int, **fields: str) -> Problem:
        if self.line is None:
            return Problem(file=self.file, **fields)  # type: ignore[arg-type]
        line = self.line + text.count("\n", 0, offset)
        column = offset - text.rfind("\n", 0, offset)
        return Problem(file=self.file, line=line, column=column, **fields)  # type: ignore[arg-type]


class _StrictDecoder:
    """The standard decoder. `suspicious` becomes true when it accepts something that the JSON standard does not."""

    def __init__(self) -> None:
        self.suspicious = False
        self.decoder = json.JSONDecoder(
            object_pairs_hook=self._object, parse_constant=self._constant, parse_float=self._float, parse_int=self._int
        )

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        self.suspicious |= len(built) != len(pairs)
        return built

    def _constant(self, word: str) -> float:
        self.suspicious = True
        return float(word.replace("Infinity", "inf"))

    def _float(self, digits: str) -> float:
        number = float(digits)
        self.suspicious |= not isfinite(number)
        return number

    def _int(self, digits: str) -> int:
        number = _int_of(digits)
        self.suspicious |= number is None
        return number or 0


def _int_of(digits: str) -> int | None:
    """None: the number has more digits than Python converts (its guard against slow inputs)."""
    try:
        return int(digits)
    except ValueError:
        return None


class _Frame:
    """An object or list around the current token."""

    __slots__ = ("at", "seen")

    def __init__(self, is_object: bool) -> None:
        self.seen: set[str] = set()
        self.at: str | int = "" if is_object else 0


class _Locator:
    """Walks the tokens of a text that the decoder accepted, and reports what the standard does not allow, and where."""

    def __init__(self, text: str, place: _Place) -> None:
        self._text = text
        self._place = place
        self._frames: list[_Frame] = []

    def problems(self) -> Iterator[Problem]:
        for token in _TOKEN.finditer(self._text):
            match token.lastgroup:
                case "open":
                    self._frames.append(_Frame(token[0] == "{"))
                    if len(self._frames) == MAX_DEPTH + 1:
                        yield _too_deep(self._text, self._place, token.start())
                case "close":
                    self._frames.pop()
                case "comma":
                    frame = self._frames[-1]
                    frame.at = frame.at + 1 if isinstance(frame.at, int) else frame.at
                case "colon":
                    yield from self._key(token["string"], token.start())
                case "string":
                    yield from self._string(token["string"], token.start())
                case _:
                    yield from self._number(token[0], token.start())

    def _key(self, quoted: str, offset: int) -> Iterator[Problem]:
        frame = self._frames[-1]
        frame.at = key = str(json.loads(quoted))
        yield from self._string(quoted, offset)
        if key in frame.seen:
            message = f"the key {key!r} stands twice in one object"
            yield self._problem(offset, "json-duplicate-key", message, hint="remove one of them; readers keep the last")
        frame.seen.add(key)

    def _string(self, quoted: str, offset: int) -> Iterator[Problem]:
        if "\\u" in quoted and _SURROGATE.search(json.loads(quoted)):
            message = "half of a surrogate pair stands alone: it is no character"
            yield self._problem(offset, "json-surrogate", message, hint="write the character itself, or both halves")

    def _number(self, digits: str, offset: int) -> Iterator[Problem]:
        if set(digits) <= set("-0123456789"):
            if _int_of(digits) is None:
                message = f"a number of {len(digits)} digits cannot be read"
                yield self._problem(offset, "json-number-too-long", message)
        elif not isfinite(float(digits.replace("Infinity", "inf"))):
            message = f"{digits[:40]} is not a finite number"
            yield self._problem(
                offset, "json-not-finite", message, hint="leave the field out where the value is unknown"
            )

    def _problem(self, offset: int, code: str, message: str, hint: str = "") -> Problem:
        path = field_path(frame.at for frame in self._frames)
        return self._place.problem(self._text, offset, code=code, message=message, field=path, hint=hint)


_PLAIN_KEY = re.compile(r"[\w$-]+")


def field_path(parts: Iterable[str | int], prefix: str = "") -> str:
    """`choices[2].id`; a key that is not a plain word is quoted: `metadata["a b"]`."""
    path = prefix
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part):
            path += f".{part}" if path else part
        else:
            path += f"[{json.dumps(part, ensure_ascii=_SURROGATE.search(part) is not None)}]"
    return path


def _syntax(text: str, error: json.JSONDecodeError, place: _Place) -> Problem:
    near = text[error.pos : error.pos + 20]
    what = error.msg[0].lower() + error.msg[1:].removesuffix(" at").removesuffix(" starting")
    return place.problem(
        text,
        min(error.pos, len(text.rstrip())),  # a text that ends too early ends where it was last written, not below
        code="json-syntax",
        message=f"not valid JSON: {what}",
        found=near or "the end of the text",
        hint=_hint(text, near) or _HINTS.get(error.msg, ""),
    )


def _hint(text: str, near: str) -> str:
    if near.startswith("'"):
        return "strings need double quotes"
    if near.strip() == ",":
        return "take out the comma behind the object: lines are not separated by commas"
    if text.strip() in ("{", "["):
        return "a line format needs one whole object on each line: jq -c . FILE > lines.jsonl"
    return ""


def _too_deep(text: str, place: _Place, offset: int = 0) -> Problem:
    message = f"objects and lists are nested more than {MAX_DEPTH} deep"
    return place.problem(text, offset, code="json-depth", message=message, hint="store such a value as a text")


_SPACE = re.compile(r"[ \t\r\n]*")
# It only finds where a value ends: an integer may be longer than Python converts.
_DECODER = json.JSONDecoder(parse_int=str)


def element_lines(text: str, key: str) -> list[int]:
    """The 1-based line on which each element of the list under the top-level `key` starts. `text` is valid JSON.

    The decoder itself skips the values, so strings that look like structure do no harm.
    """
    lines: list[int] = []
    line, last = 1, 0
    places = [at for name, at in _members(text) if name == key]
    for offset in _elements(text, places[-1]) if places else ():  # of a key that stands twice, the last counts
        line += text.count("\n", last, offset)
        last = offset
        lines.append(line)
    return lines


def top_level_keys(text: str) -> list[str]:
    """The keys of the object at the start of `text`, which may be cut off anywhere."""
    keys: list[str] = []
    with suppress(ValueError, RecursionError):
        for name, _ in _members(text):
            keys.append(name)
    return keys


def head_keys(head: bytes) -> list[str]:
    """`top_level_keys` of the first bytes of a file."""
    return top_level_keys(head.decode("utf-8-sig", "ignore"))


def _members(text: str) -> Iterator[tuple[str, int]]:
    """Each key of the object, with the offset of its value. A key is yielded before its value is skipped."""
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
