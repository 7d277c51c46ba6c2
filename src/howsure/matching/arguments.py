"""The arguments of one call against the expected ones: all of them, at least them, at most them, or only some paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from howsure.matching.matchers import is_matcher, may_be_missing
from howsure.matching.values import STRICT, check_matcher, unexpected
from howsure.model.expectation import ArgumentMode

__all__ = ["ArgumentRule", "arguments_fit", "at_path", "check_matcher", "mismatches"]

Arguments = Mapping[str, Any]
ArgumentRule = ArgumentMode | tuple[str, ...]
"""A mode, or the paths of the arguments that alone count (`time.start`, `flights.0.date`)."""

_ABSENT: Final = object()


def arguments_fit(expected: dict[str, Any], actual: dict[str, Any], rule: ArgumentRule) -> bool:
    """The fast answer; `mismatches` says why."""
    if isinstance(rule, tuple):
        return not _path_mismatches(expected, actual, rule)
    if rule is ArgumentMode.IGNORE:
        return True
    if rule is ArgumentMode.EXACT or is_matcher(expected):
        return STRICT.match(expected, actual)
    if rule is ArgumentMode.SUBSET:
        return all(key in expected and STRICT.match(expected[key], value) for key, value in actual.items())
    for key, value in expected.items():
        if key in actual:
            given = actual[key]
            # Most arguments are short texts: equal ones need no walk.
            if not (type(value) is str and value == given) and not STRICT.match(value, given):
                return False
        elif not may_be_missing(value):
            return False
    return True


def mismatches(expected: dict[str, Any], actual: dict[str, Any], rule: ArgumentRule = ArgumentMode.EXACT) -> list[str]:
    """What differs, in words, with paths; empty when the arguments fit. Modes are about the arguments themselves:
    objects and lists inside them are compared whole (`$contains` loosens that)."""
    if isinstance(rule, tuple):
        return _path_mismatches(expected, actual, rule)
    if rule is ArgumentMode.IGNORE:
        return []
    if rule is ArgumentMode.EXACT or is_matcher(expected):
        return STRICT.differences(expected, actual, "")
    if rule is ArgumentMode.SUBSET:
        known = {key: value for key, value in expected.items() if key in actual}
        return [*STRICT.missing_or_different(known, actual, ""), *unexpected(expected, actual, "")]
    return STRICT.missing_or_different(expected, actual, "")


def _path_mismatches(expected: Arguments, actual: Arguments, paths: tuple[str, ...]) -> list[str]:
    """A path that the expected call does not have must be absent from the actual one too."""
    said: list[str] = []
    for path in paths:
        wanted = at_path(expected, path, _ABSENT)
        found = at_path(actual, path, _ABSENT)
        said += STRICT.differences(_only(path, wanted), _only(path, found), "")
    return said


def _only(path: str, value: Any) -> dict[str, Any]:
    return {} if value is _ABSENT else {path: value}


def at_path(values: Any, path: str, default: Any = None) -> Any:
    """The value at a dotted path; a key that has dots itself wins, and numbers count into lists."""
    if isinstance(values, Mapping):
        if path in values:
            return values[path]
        for end, character in enumerate(path):
            if character == "." and path[:end] in values:
                found = at_path(values[path[:end]], path[end + 1 :], default)
                if found is not default:
                    return found
        return default
    if isinstance(values, list | tuple):
        first, _, rest = path.partition(".")
        if first.isdecimal() and int(first) < len(values):
            return at_path(values[int(first)], rest, default) if rest else values[int(first)]
    return default
