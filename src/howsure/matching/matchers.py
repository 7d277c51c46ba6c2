"""The matchers that may replace an expected value: `{"$any": true}`, `{"$one_of": […]}` and the others.

Each matcher checks how it is written, compares, and describes itself in words. Values inside a matcher are compared by
the `compare` of the caller, so matchers nest and follow the caller's idea of equality.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import inf
from typing import Any, Protocol, TypeGuard

from howsure.matching.alignment import maximum_matching
from howsure.matching.text import not_after, parse_moment, squeeze_text

Spec = Mapping[str, Any]
Compare = Callable[[Any, Any], bool]
Check = Callable[[Any, str], list[str]]

# Decimal fractions are not exact in binary: 1.1 is within 0.1 of 1.0.
_ROUNDING = 1e-12


class Matcher(Protocol):
    """One kind of matcher. `spec` is the whole object as it is written."""

    @property
    def keys(self) -> tuple[str, ...]: ...

    def check(self, spec: Spec, path: str, check: Check) -> list[str]: ...

    def matches(self, spec: Spec, actual: Any, compare: Compare) -> bool: ...

    def in_words(self, spec: Spec) -> str: ...


class AnyMatcher:
    """`{"$any": true}`: present, whatever it is."""

    keys = ("$any",)

    def check(self, spec: Spec, path: str, check: Check) -> list[str]:
        return [] if spec["$any"] is True else [f"`{path}`: $any takes true, found {describe_value(spec['$any'])}"]

    def matches(self, spec: Spec, actual: Any, compare: Compare) -> bool:
        return True

    def in_words(self, spec: Spec) -> str:
        return "anything"


class OneOfMatcher:
    """`{"$one_of": [X, Y]}`: any of these, values or matchers."""

    keys = ("$one_of",)

    def check(self, spec: Spec, path: str, check: Check) -> list[str]:
        offered = spec["$one_of"]
        if not isinstance(offered, list | tuple) or not offered:
            return [f"`{path}`: $one_of takes a list with at least one value, found {describe_value(offered)}"]
        return [problem for place, each in enumerate(offered) for problem in check(each, f"{path}.$one_of.{place}")]

    def matches(self, spec: Spec, actual: Any, compare: Compare) -> bool:
        return any(compare(each, actual) for each in spec["$one_of"])

    def in_words(self, spec: Spec) -> str:
        return "one of " + ", ".join(describe_value(each) for each in spec["$one_of"])


class OptionalMatcher:
    """`{"$optional": X}`: may be missing; if present, X. A null is a value like any other."""

    keys = ("$optional",)

    def check(self, spec: Spec, path: str, check: Check) -> list[str]:
        return check(spec["$optional"], f"{path}.$optional")

    def matches(self, spec: Spec, actual: Any, compare: Compare) -> bool:
        return compare(spec["$optional"], actual)

    def in_words(self, spec: Spec) -> str:
        return f"nothing, or {describe_value(spec['$optional'])}"


class RegexMatcher:
    """`{"$regex": "…"}`: a text that the pattern covers from its first character to its last. To find the pattern
    anywhere, write `{"$contains": {"$regex": "…"}}`."""

    keys = ("$regex",)

    def check(self, spec: Spec, path: str, check: Check) -> list[str]:
        pattern = spec["$regex"]
        if not isinstance(pattern, str):
            return [f"`{path}`: $regex takes a text, found {describe_value(pattern)}"]
        try:
            compile_pattern(pattern)
        except re.error as error:
            return [f"`{path}`: $regex {pattern!r} is not a regular expression: {error}"]
        return []

    def matches(self, spec: Spec, actual: Any, compare: Compare) -> bool:
        return isinstance(actual, str) and compile_pattern(spec["$regex"]).fullmatch(actual) is not None

    def in_words(self, spec: Spec) -> str:
        return f"a text like /{spec['$regex']}/"


class TextMatcher:
    """`{"$text": "…"}`: the same text but for case, spaces and punctuation. Between two digits a separator counts as
    one, whichever it is: `1.5` is `1,5` and not `15`."""

    keys = ("$text",)

    def check(self, spec: Spec, path: str, check: Check) -> list[str]:
        if not isinstance(spec["$text"], str):
            return [f"`{path}`: $text takes a text, found {describe_value(spec['$text'])}"]
        if not squeeze_text(spec["$text"]):
            return [f"`{path}`: $text {spec['$text']!r} has nothing but spaces and punctuation, which do not count"]
        return []

    def matches(self, spec: Spec, actual: Any, compare: Compare) -> bool:
        return isinstance(actual, str) and squeeze_text(spec["$text"]) == squeeze_text(actual)

    def in_words(self, spec: Spec) -> str:
        return f"the text {describe_value(spec['$text'])}"


class BetweenMatcher:
    """`{"$between": [a, b]}`: a number, or an ISO date, from a to b, both included."""

    keys = ("$between",)

    def check(self, spec: Spec, path: str, check: Check) -> list[str]:
        ends = spec["$between"]
        if not isinstance(ends, list | tuple) or len(ends) != 2:
            return [f"`{path}`: $between takes two ends, found {describe_value(ends)}"]
        if self._ordered(*ends) is None:
            return [f"`{path}`: $between takes two numbers or two ISO dates, found {describe_value(ends)}"]
        if not self._ordered(*ends):
            return [f"`{path}`: $between {describe_value(ends)} holds nothing: its first end is above its second"]
        return []

    def matches(self, spec: Spec, actual: Any, compare: Compare) -> bool:
        low, high = spec["$between"]
        return self._ordered(low, actual) is True and self._ordered(actual, high) is True

    def in_words(self, spec: Spec) -> str:
        low, high = spec["$between"]
        return f"from {describe_value(low)} to {describe_value(high)}"

    @staticmethod
    def _ordered(low: Any, high: Any) -> bool | None:
        """None: these two cannot be compared."""
        if is_number(low) and is_number(high):
            return bool(low <= high)
        first, second = parse_moment(low), parse_moment(high)
        return None if first is None or second is None else not_after(first, second)


class ApproxMatcher:
    """`{"$approx": x, "within": y}`: a number no further than y from x."""

    keys = ("$approx", "within")

    def check(self, spec: Spec, path: str, check: Check) -> list[str]:
        if not is_number(spec["$approx"]):
            return [f"`{path}`: $approx takes a number, found {describe_value(spec['$approx'])}"]
        within = spec.get("within")
        if not is_number(within) or within < 0:
            return [f"`{path}`: $approx needs `within`, a number that is not negative, found {describe_value(within)}"]
        return []

    def matches(self, spec: Spec, actual: Any, compare: Compare) -> bool:
        expected, within = spec["$approx"], spec["within"]
        if not is_number(actual) or abs(actual) == inf:
            return False
        try:
            return bool(abs(actual - expected) <= within + _ROUNDING * max(abs(expected), abs(actual)))
        except OverflowError:  # Whole numbers too large for a float are exact: no rounding to allow for.
            return isinstance(actual, int) and isinstance(expected, int) and abs(actual - expected) <= within

    def in_words(self, spec: Spec) -> str:
        return f"{describe_value(spec['$approx'])} give or take {describe_value(spec['within'])}"


class ContainsMatcher:
    """`{"$contains": X}`: a text with the text X in it (or something `$regex` or `$text` finds in it); a list with the
    member X, or with all of them where X is a list; an object with at least the keys and values of X."""

    keys = ("$contains",)

    def check(self, spec: Spec, path: str, check: Check) -> list[str]:
        return check(spec["$contains"], f"{path}.$contains")

    def matches(self, spec: Spec, actual: Any, compare: Compare) -> bool:
        part = spec["$contains"]
        if isinstance(actual, str):
            return self._in_text(part, actual)
        if isinstance(actual, list | tuple):
            parts = part if isinstance(part, list | tuple) else [part]
            edges = [[place for place, member in enumerate(actual) if compare(each, member)] for each in parts]
            return len(maximum_matching(edges)) == len(edges)
        if not isinstance(actual, Mapping) or not isinstance(part, Mapping):
            return False
        if matcher_of(part) is not None:
            return compare(part, actual)
        return all(
            compare(value, actual[key]) if key in actual else may_be_missing(value) for key, value in part.items()
        )

    def in_words(self, spec: Spec) -> str:
        return f"something with {describe_value(spec['$contains'])} in it"

    def _in_text(self, part: Any, actual: str) -> bool:
        match part:
            case str():
                return part in actual
            case {"$regex": pattern}:
                return compile_pattern(pattern).search(actual) is not None
            case {"$text": text}:
                return squeeze_text(text) in squeeze_text(actual)
            case {"$one_of": parts}:
                return any(self._in_text(each, actual) for each in parts)
            case _:
                return False


class LiteralMatcher:
    """`{"$literal": X}`: X itself, for values whose own keys begin with a dollar sign."""

    keys = ("$literal",)

    def check(self, spec: Spec, path: str, check: Check) -> list[str]:
        return []

    def matches(self, spec: Spec, actual: Any, compare: Compare) -> bool:
        return _equal_as_written(spec["$literal"], actual)

    def in_words(self, spec: Spec) -> str:
        return describe_value(spec["$literal"])


MATCHERS: dict[str, Matcher] = {
    kind.keys[0]: kind
    for kind in (
        AnyMatcher(),
        OneOfMatcher(),
        OptionalMatcher(),
        RegexMatcher(),
        TextMatcher(),
        BetweenMatcher(),
        ApproxMatcher(),
        ContainsMatcher(),
        LiteralMatcher(),
    )
}


def matcher_of(value: Mapping[str, Any]) -> Matcher | None:
    """The matcher of an object; None for a plain object. Raises ValueError for an unknown matcher."""
    for key in value:
        if key[:1] == "$":
            kind = MATCHERS.get(key)
            if kind is None or any(key not in kind.keys for key in value):
                raise ValueError(f"{describe_value(value)} is not a matcher; known: {', '.join(MATCHERS)}")
            return kind
    return None


def is_matcher(value: Mapping[str, Any]) -> bool:
    """Whether all arguments together are one matcher, by their first key."""
    for key in value:
        return key[:1] == "$"
    return False


def may_be_missing(expected: Any) -> bool:
    """Whether an expected value accepts that there is no value."""
    match expected:
        case {"$optional": _}:
            return True
        case {"$one_of": offered}:
            return any(may_be_missing(each) for each in offered)
        case _:
            return False


def is_number(value: Any) -> TypeGuard[int | float]:
    """Whether this is a number. True is not 1."""
    return isinstance(value, int | float) and not isinstance(value, bool)


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def describe_value(value: Any, limit: int = 120) -> str:
    """A value in a sentence: as Python writes it, shortened if it is long; matchers in words."""
    if isinstance(value, Mapping):
        for key in value:
            if key in MATCHERS:
                return MATCHERS[key].in_words(value)
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}…"


def _equal_as_written(expected: Any, actual: Any) -> bool:
    if isinstance(expected, Mapping):
        return (
            isinstance(actual, Mapping)
            and expected.keys() == actual.keys()
            and all(_equal_as_written(value, actual[key]) for key, value in expected.items())
        )
    if isinstance(expected, list | tuple):
        return (
            isinstance(actual, list | tuple)
            and len(expected) == len(actual)
            and all(map(_equal_as_written, expected, actual))
        )
    return bool(expected == actual) and isinstance(expected, bool) == isinstance(actual, bool)
