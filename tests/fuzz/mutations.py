"""Changes of a valid input that keep most of its structure: a value of a JSON document, of a line, or inside a cell of
a table becomes something that nobody writes; lines are swapped, doubled and cut; bytes are turned over. Both engines
use them, with the random numbers that the engine gives."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

LARGEST = 1 << 16
"""The longest input, in bytes: every parser must be done with that in seconds."""
DEEP = 5_000
_MARK = "@@here@@"

RAW = (
    "null",
    "true",
    "0",
    "-1",
    "-0.0",
    "1e999",
    "NaN",
    "-Infinity",
    "1e308",
    "9223372036854775808",
    "1" * 400,
    "1" * 5_000,
    '""',
    '" "',
    r'"\ud800"',
    r'"\udc00\ud800"',
    r'"\u0000"',
    r'"\u202e\u2028\ufeff"',
    '"' + "a" * 3_000 + '"',
    '"' + "1," * 1_500 + '"',
    '"' + "((" * 1_000 + '"',
    '"' + "a=b " * 800 + '"',
    '"2024-02-30T25:61:00Z"',
    '"0001-01-01T00:00:00+14:00"',
    '"9999-12-31T23:59:59-14:00"',
    '"P99999999999D"',
    '"²"',
    '"١٢"',
    '"http://[bad/"',
    '"{\\"a\\": 1, \\"a\\": 2}"',
    '"[1, 2"',
    "[]",
    "{}",
    "[[]]",
    '[null, 1, "x", {}, []]',
    '{"": null}',
    '{"a": 1, "a": 2}',
    '{"$regex": "("}',
    '{"$regex": "(a|aa)+$"}',
    '{"$between": [1, "x"]}',
    '{"$any": 3, "$one_of": []}',
    "[" * 150 + "]" * 150,
    "[" * DEEP + "]" * DEEP,
    '{"a":' * DEEP + "1" + "}" * DEEP,
)
"""JSON that is legal or nearly so, and means trouble."""

BYTES = (
    b"",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\xc0\x80",
    b"\xf4\x90\x80\x80",
    b"\r",
    b"\x85",
    b"\xe2\x80\xa8",
    b"\x1b[31m",
    b'"',
    b"'",
    b"\\",
    b",",
    b";",
    b":",
    b"|",
    b"=",
    b"%00",
    b"%",
    b"&a *a",
    b"*a",
    b"&a [*a]",
    b"!!binary x",
    b"? ",
    b"- ",
    b"\t",
    b"<<: ",
    b"2024-01-01",
    b"0x1p3",
    b"1_000",
    b"```json\n",
    b"<think>",
    b"</think>",
    b"data: ",
    b"event: error\n",
    b"\n\n",
    b"[DONE]",
    b"$",
    b"..",
    b"[*]",
)


def mutate(data: bytes, random: Random, largest: int = LARGEST) -> bytes:
    """The input after one change, at most `largest` bytes of it."""
    ways: tuple[Callable[[bytes, Random], bytes | None], ...] = (_json, _json, _json, _lines, _table, _words, _bytes)
    changed = random.choice(ways)(data, random)
    return (_bytes(data, random) if changed is None else changed)[:largest]


def _json(data: bytes, random: Random) -> bytes | None:
    """A changed value in a document, or in one of its lines; None where there is no JSON."""
    text = data.decode("utf-8-sig", "replace")
    whole = _changed_json(text, random)
    if whole is not None:
        return whole.encode("utf-8", "surrogatepass")
    lines = text.split("\n")
    places = [place for place, line in enumerate(lines) if "{" in line or "[" in line]
    if not places:
        return None
    place = random.choice(places)
    start = min(at for at in (lines[place].find("{"), lines[place].find("[")) if at >= 0)
    changed = _changed_json(lines[place][start:], random)
    if changed is None:
        return None
    lines[place] = lines[place][:start] + changed
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _changed_json(text: str, random: Random) -> str | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    try:
        places = list(_places(value))
        if not places:
            return random.choice(RAW)
        holder, key = random.choice(places)
        raw = _change(holder, key, random)
        written = json.dumps(value, ensure_ascii=random.random() < 0.5)
    except (RecursionError, ValueError):
        return None
    return written.replace(f'"{_MARK}"', raw, 1)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container with each of its keys."""
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        if isinstance(holder, dict | list):
            for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
                yield holder, key
                waiting.append(holder[key])


def _change(holder: Any, key: Any, random: Random) -> str:
    """Change one place of a document; the raw JSON that replaces the mark there."""
    old = holder[key]
    match random.randrange(7):
        case 0:
            del holder[key]
            return ""
        case 1 if isinstance(holder, dict):
            holder[random.choice(("", "id", "$regex", "a b", "\x00", _MARK, f"{key}x"))] = holder.pop(key)
            return '"\\ud83d"'
        case 1:
            holder.insert(key, old)
            return ""
        case 2 if isinstance(old, str):
            # A document in a text: tool arguments, cells, answers.
            holder[key] = _changed_json(old, random) or old + random.choice(BYTES).decode("utf-8", "replace")
            return ""
        case 2:
            holder[key] = [old]
            return ""
        case 3:
            holder[key] = json.dumps(old)
            return ""
        case 4 if isinstance(old, int | float):
            holder[key] = -old
            return ""
        case _:
            holder[key] = _MARK
            return random.choice(RAW)


def _lines(data: bytes, random: Random) -> bytes | None:
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return None
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    match random.randrange(4):
        case 0:
            lines[one], lines[other] = lines[other], lines[one]
        case 1:
            lines.insert(one, lines[other])
        case 2:
            del lines[one]
        case _:
            lines[one] = lines[one].rstrip(b"\r\n")
    return b"".join(lines)


def _table(data: bytes, random: Random) -> bytes | None:
    """A changed cell of a table; None where there is none."""
    try:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig", "replace")), strict=True))
    except csv.Error:
        return None
    if len(rows) < 2 or len(rows[0]) < 2:
        return None
    row = random.choice(rows)
    if not row:
        return None
    place = random.randrange(len(row))
    match random.randrange(4):
        case 0:
            row[place] = random.choice(RAW)
        case 1:
            row.append(row[place])
        case 2:
            del row[place]
        case _:
            row[place] = _changed_json(row[place], random) or row[place] * 2
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue().encode("utf-8", "surrogatepass")


def _words(data: bytes, random: Random) -> bytes:
    """Something nasty between, or in the place of, some bytes."""
    start = random.randint(0, len(data))
    end = min(len(data), start + random.choice((0, 0, 1, 4, 16)))
    word = random.choice(BYTES) if random.random() < 0.6 else random.choice(RAW).encode()
    return data[:start] + word + data[end:]


def _bytes(data: bytes, random: Random) -> bytes:
    if not data:
        return random.choice(BYTES)
    start = random.randrange(len(data))
    end = min(len(data), start + 1 + random.randrange(1 + min(len(data), 64)))
    match random.randrange(5):
        case 0:
            return data[:start] + bytes([data[start] ^ (1 << random.randrange(8))]) + data[start + 1 :]
        case 1:
            return data[:start] + data[end:]
        case 2:
            return data[:end] + data[start:]
        case 3:
            return data[:start]
        case _:
            # The same again and again: what takes quadratic time shows.
            return data[:start] + data[start:end] * random.choice((2, 20, 2_000)) + data[end:]
