"""How values and names are shown in problems: short, printable, in the words of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

SHOWN = 60
"""Characters of a found value that a problem shows."""

_KINDS: dict[type, str] = {
    bool: "boolean",
    str: "string",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}


def shown(value: Any) -> str:
    """A value as JSON, short enough to print."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def kind_of(value: Any) -> str:
    """The JSON name of a value's type."""
    return _KINDS.get(type(value), type(value).__name__)


def a(noun: str) -> str:
    """`an array`, `a string or object`."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean …?`, or nothing. Capitals do not matter."""
    return _guess(name, tuple(known))


@lru_cache(maxsize=4096)  # the same slip stands on every line of a file
def _guess(name: str, known: tuple[str, ...]) -> str:
    plain = {word.lower(): word for word in known}
    close = get_close_matches(name.lower(), list(plain), n=1)
    return f"did you mean `{plain[close[0]]}`?" if close else ""
