"""Compares one value with another, literal or through matchers at any depth; and says in words what differs and where.

There are two ideas of equality. `STRICT` is for arguments: the same JSON value, integers equal to floats of the same
value, True not 1. `LENIENT` is for final states: numbers may differ by rounding, dates by their spelling, and objects
may hold more than is listed, at any depth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isclose
from typing import Any, Final

from howsure.matching.matchers import describe_value, is_number, matcher_of, may_be_missing
from howsure.matching.text import parse_moment, same_moment

RELATIVE_TOLERANCE = 1e-9
ABSENT: Final = object()
"""What `at_path` gives, when asked to, for a value that is not there. None is a value."""


def equal(expected: Any, actual: Any) -> bool:
    """The same plain value."""
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    return bool(expected == actual)


def nearly_equal(expected: Any, actual: Any) -> bool:
    """The same plain value apart from rounding and the spelling of dates. A number written as text is not a number."""
    if equal(expected, actual):
        return True
    if is_number(expected) and is_number(actual):
        try:
            return isclose(expected, actual, rel_tol=RELATIVE_TOLERANCE)
        except OverflowError:
            return False  # A whole number that is too large for a float was never rounded.
    first, second = parse_moment(expected), parse_moment(actual)
    return first is not None and second is not None and same_moment(first, second)


class ValueComparer:
    """Compares nested values, with `same` as the comparison of plain values."""

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
        """Every difference, each at the deepest place that shows it; empty if the values match."""
        if self.match(expected, actual):
            return []
        if isinstance(expected, dict) and isinstance(actual, dict) and matcher_of(expected) is None:
            extra = [] if self._more_keys else unexpected_keys(expected, actual, path)
            return [*self.missing_or_different(expected, actual, path), *extra]
        if isinstance(expected, list | tuple) and isinstance(actual, list | tuple) and len(expected) == len(actual):
            pairs = enumerate(zip(expected, actual, strict=True))
            return [text for place, pair in pairs for text in self.differences(*pair, join_path(path, str(place)))]
        note = _explain_difference(expected, actual)
        return [f"`{path}`: expected {describe_value(expected)}, found {describe_value(actual)}{note}"]

    def missing_or_different(self, expected: Mapping[str, Any], actual: Mapping[str, Any], path: str) -> list[str]:
        differences: list[str] = []
        for key, value in expected.items():
            if key in actual:
                differences += self.differences(value, actual[key], join_path(path, key))
            elif not may_be_missing(value):
                differences.append(f"`{join_path(path, key)}`: missing, expected {describe_value(value)}")
        return differences


STRICT = ValueComparer(equal)
LENIENT = ValueComparer(nearly_equal, more_keys=True)


def unexpected_keys(expected: Mapping[str, Any], actual: Mapping[str, Any], path: str) -> list[str]:
    """The keys that are not expected."""
    extra = [key for key in actual if key not in expected]
    return [f"`{join_path(path, key)}`: not expected, found {describe_value(actual[key])}" for key in extra]


def join_path(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _explain_difference(expected: Any, actual: Any) -> str:
    """A note on differences that are easily overlooked."""
    for one, other in ((expected, actual), (actual, expected)):
        if is_number(one) and isinstance(other, str):
            return " (a number and a text)"
        if isinstance(one, bool) and is_number(other):
            return " (true or false, and a number)"
    if isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        return f" ({len(expected)} and {len(actual)} members)"
    return ""


def check_matcher(expected: Any, path: str = "") -> list[str]:
    """What is wrong with the matchers in an expected value, each with its path; empty if nothing is."""
    if isinstance(expected, list | tuple):
        problems: list[str] = []
        for place, each in enumerate(expected):
            inner = join_path(path, str(place))
            if isinstance(each, dict) and "$optional" in each:
                problems.append(
                    f"`{inner}`: $optional belongs to a key that may be missing; a place in a list cannot be"
                )
            else:
                problems += check_matcher(each, inner)
        return problems
    if not isinstance(expected, dict):
        return []
    try:
        kind = matcher_of(expected)
    except ValueError as error:
        return [f"`{path}`: {error}"]
    if kind is not None:
        return kind.check(expected, path, check_matcher)
    return [text for key, value in expected.items() for text in check_matcher(value, join_path(path, key))]


def at_path(values: Any, path: str, default: Any = None) -> Any:
    """The value at a dotted path. A key that itself has dots wins, and numbers are positions in lists."""
    if isinstance(values, Mapping):
        if path in values:
            return values[path]
        for end, character in enumerate(path):
            if character == "." and path[:end] in values:
                value = at_path(values[path[:end]], path[end + 1 :], default)
                if value is not default:
                    return value
        return default
    if isinstance(values, list | tuple):
        first, _, rest = path.partition(".")
        if first.isdecimal() and int(first) < len(values):
            return at_path(values[int(first)], rest, default) if rest else values[int(first)]
    return default
