"""One value against another: literal, or through matchers, however deep; and in words, what differs and where.

Two ideas of equality share the walk. `STRICT` is for arguments: the same JSON value, integers equal to floats of the
same value, True not 1. `LENIENT` is for final states: numbers may differ by rounding, dates by their spelling, and
objects may hold more than is listed, however deep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isclose
from typing import Any

from howsure.matching.dates import moment, same_moment
from howsure.matching.matchers import is_number, matcher_of, may_be_missing, shown

RELATIVE_TOLERANCE = 1e-9


def equal(expected: Any, actual: Any) -> bool:
    """The same plain value."""
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    return bool(expected == actual)


def alike(expected: Any, actual: Any) -> bool:
    """The same plain value but for rounding and the spelling of dates. A number written as text is not a number."""
    if equal(expected, actual):
        return True
    if is_number(expected) and is_number(actual):
        return _close(expected, actual)
    first, second = moment(expected), moment(actual)
    return first is not None and second is not None and same_moment(first, second)


def _close(one: float, other: float) -> bool:
    try:
        return isclose(one, other, rel_tol=RELATIVE_TOLERANCE)
    except OverflowError:
        return False  # A whole number too large for a float was never rounded.


class Values:
    """The walk, over one idea of what makes two plain values the same."""

    def __init__(self, same: Callable[[Any, Any], bool], *, more_keys: bool = False) -> None:
        self._same = same
        self._more_keys = more_keys

    def match(self, expected: Any, actual: Any) -> bool:
        if type(expected) is str:
            return expected == actual or self._same(expected, actual)
        if isinstance(expected, dict):
            kind = matcher_of(expected)
            if kind is not None:
                return kind.matches(expected, actual, self.match)
            return isinstance(actual, dict) and self._objects_match(expected, actual)
        if isinstance(expected, list | tuple):
            return (
                isinstance(actual, list | tuple)
                and len(expected) == len(actual)
                and all(map(self.match, expected, actual))
            )
        return self._same(expected, actual)

    def _objects_match(self, expected: dict[str, Any], actual: dict[str, Any]) -> bool:
        for key, value in expected.items():
            if key in actual:
                if not self.match(value, actual[key]):
                    return False
            elif not may_be_missing(value):
                return False
        return self._more_keys or (len(actual) <= len(expected) and all(key in expected for key in actual))

    def differences(self, expected: Any, actual: Any, path: str) -> list[str]:
        """Every difference, the deepest place first to show it; empty when they match."""
        if self.match(expected, actual):
            return []
        if isinstance(expected, dict) and isinstance(actual, dict) and matcher_of(expected) is None:
            extra = [] if self._more_keys else unexpected(expected, actual, path)
            return [*self.missing_or_different(expected, actual, path), *extra]
        if isinstance(expected, list | tuple) and isinstance(actual, list | tuple) and len(expected) == len(actual):
            pairs = enumerate(zip(expected, actual, strict=True))
            return [said for place, pair in pairs for said in self.differences(*pair, joined(path, str(place)))]
        return [f"`{path}`: expected {shown(expected)}, found {shown(actual)}{_why(expected, actual)}"]

    def missing_or_different(self, expected: Mapping[str, Any], actual: Mapping[str, Any], path: str) -> list[str]:
        said: list[str] = []
        for key, value in expected.items():
            if key in actual:
                said += self.differences(value, actual[key], joined(path, key))
            elif not may_be_missing(value):
                said.append(f"`{joined(path, key)}`: missing, expected {shown(value)}")
        return said


STRICT = Values(equal)
LENIENT = Values(alike, more_keys=True)


def unexpected(expected: Mapping[str, Any], actual: Mapping[str, Any], path: str) -> list[str]:
    """The keys that nobody asked for."""
    extra = [key for key in actual if key not in expected]
    return [f"`{joined(path, key)}`: not expected, found {shown(actual[key])}" for key in extra]


def joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _why(expected: Any, actual: Any) -> str:
    """A word on differences that are easily overlooked."""
    for one, other in ((expected, actual), (actual, expected)):
        if is_number(one) and isinstance(other, str):
            return " (a number and a text)"
        if isinstance(one, bool) and is_number(other):
            return " (true or false, and a number)"
    if isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        return f" ({len(expected)} and {len(actual)} members)"
    return ""


def check_matcher(expected: Any, path: str = "") -> list[str]:
    """What is wrong with the matchers in an expected value, each with its path; empty when nothing is."""
    if isinstance(expected, list | tuple):
        return [said for place, each in enumerate(expected) for said in _check_member(each, joined(path, str(place)))]
    if not isinstance(expected, dict):
        return []
    try:
        kind = matcher_of(expected)
    except ValueError as error:
        return [f"`{path}`: {error}"]
    if kind is not None:
        return kind.check(expected, path, check_matcher)
    return [said for key, value in expected.items() for said in check_matcher(value, joined(path, key))]


def _check_member(expected: Any, path: str) -> list[str]:
    if isinstance(expected, dict) and "$optional" in expected:
        return [f"`{path}`: $optional belongs to a key that may be missing; a place in a list cannot be"]
    return check_matcher(expected, path)
