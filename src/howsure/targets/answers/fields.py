"""Reading the fields of an answer whatever their spelling, and telling what is wrong with a value: what answers, calls,
messages and usage are read with.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

SHOWN = 200
"""How much of a value that cannot be read is quoted."""


class Unreadable(ValueError):
    """What came back is no answer; the message says what was expected and what was found."""


class Fields:
    """An object whose keys are found in camelCase, snake_case and kebab-case alike."""

    __slots__ = ("_known", "keys")

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.keys = tuple(given)
        known: dict[str, Any] = {}
        for name, value in given.items():
            plain = _plain(name)
            # Of two spellings of one name, the one with a value counts.
            if known.get(plain) is None:
                known[plain] = value
        self._known = known

    def __contains__(self, name: str) -> bool:
        return _plain(name) in self._known

    def any_of(self, names: frozenset[str]) -> bool:
        """Whether one of these is there; they are `plain_names`."""
        return not names.isdisjoint(self._known)

    def first(self, *names: str) -> Any:
        """The first of these that has a value."""
        for name in names:
            value = self._known.get(_plain(name))
            if value is not None:
                return value
        return None

    def text(self, *names: str) -> str:
        """The first of these that is text or a number (ids are either)."""
        value = self.first(*names)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return ""
        return str(value)


@lru_cache(4096)
def _plain(name: str) -> str:
    return str(name).replace("_", "").replace("-", "").lower()


def plain_names(*names: str) -> frozenset[str]:
    """Names without what tells spellings apart."""
    return frozenset(map(_plain, names))


def kind_of(value: Any) -> str:
    """What a value is, in the words of JSON."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return "text"
        case int() | float():
            return "a number"
        case Mapping():
            return "an object"
        case list() | tuple():
            return "a list"
        case _:
            return f"a {type(value).__name__}"


def shown(value: Any, limit: int = SHOWN) -> str:
    """A value, quoted and cut."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}…"


def found(value: Any) -> str:
    """`text 'abc'`, `a number 3`, `null`: what stands where something else was expected."""
    return kind_of(value) if value is None or isinstance(value, bool) else f"{kind_of(value)} {shown(value)}"


def listed(names: tuple[str, ...] | list[str], most: int = 20) -> str:
    """Names of keys for a message; `none` where there are none."""
    told = ", ".join(str(name) for name in names[:most])
    return f"{told}, … ({len(names)} in all)" if len(names) > most else told or "none"
