"""The matchers that may replace an expected value: `{"$any": true}`, `{"$one_of": […]}` and the others.

Each matcher checks how it is written, compares, and describes itself in words. Values inside a matcher are compared by
the `compare` of the caller, so matchers nest and follow the caller's idea of equality.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Any, TypeGuard

from msgspec import Struct

from howsure.matching.alignment import maximum_matching
from howsure.matching.patterns import compile_pattern, pattern_fault
from howsure.matching.text import not_after, parse_moment, squeeze_text

Spec = Mapping[str, Any]
Compare = Callable[[Any, Any], bool]
Check = Callable[[Any, str], list[str]]

# Decimal fractions are not exact in binary: 1.1 is within 0.1 of 1.0.
_ROUNDING = 1e-12


class Matcher(Struct, frozen=True, kw_only=True):
    """One kind of matcher. `spec` is the whole object as written: `fault` says what is wrong with it ("": nothing),
    `inner` gives the values in it that may be matchers, each with its place."""

    keys: tuple[str, ...]
    matches: Callable[[Spec, Any, Compare], bool]
    in_words: Callable[[Spec], str]
    fault: Callable[[Spec], str] = lambda spec: ""
    inner: Callable[[Spec], Iterable[tuple[str, Any]]] = lambda spec: ()

    def check(self, spec: Spec, path: str, check: Check) -> list[str]:
        if fault := self.fault(spec):
            return [f"`{path}`: {self.keys[0]} {fault}"]
        return [problem for place, value in self.inner(spec) for problem in check(value, f"{path}.{place}")]


def _one_of_fault(spec: Spec) -> str:
    offered = spec["$one_of"]
    if isinstance(offered, list | tuple) and offered:
        return ""
    return f"takes a list with at least one value, found {describe_value(offered)}"


def _regex_fault(spec: Spec) -> str:
    pattern = spec["$regex"]
    return pattern_fault(pattern) if isinstance(pattern, str) else f"takes a text, found {describe_value(pattern)}"


def _text_fault(spec: Spec) -> str:
    if not isinstance(spec["$text"], str):
        return f"takes a text, found {describe_value(spec['$text'])}"
    if not squeeze_text(spec["$text"]):
        return f"{spec['$text']!r} has nothing but spaces and punctuation, which do not count"
    return ""


def _between_fault(spec: Spec) -> str:
    ends = spec["$between"]
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        return f"takes two ends, found {describe_value(ends)}"
    if _ordered(*ends) is None:
        return f"takes two numbers or two ISO dates, found {describe_value(ends)}"
    return "" if _ordered(*ends) else f"{describe_value(ends)} holds nothing: its first end is above its second"


def _is_between(spec: Spec, actual: Any, compare: Compare) -> bool:
    low, high = spec["$between"]
    return _ordered(low, actual) is True and _ordered(actual, high) is True


def _ordered(low: Any, high: Any) -> bool | None:
    """None: these two cannot be compared."""
    if is_number(low) and is_number(high):
        return bool(low <= high)
    first, second = parse_moment(low), parse_moment(high)
    return None if first is None or second is None else not_after(first, second)


def _approx_fault(spec: Spec) -> str:
    if not is_number(spec["$approx"]):
        return f"takes a number, found {describe_value(spec['$approx'])}"
    within = spec.get("within")
    if not is_number(within) or within < 0:
        return f"needs `within`, a number that is not negative, found {describe_value(within)}"
    return ""


def _is_near(spec: Spec, actual: Any, compare: Compare) -> bool:
    expected, within = spec["$approx"], spec["within"]
    if not is_number(actual) or abs(actual) == inf:
        return False
    try:
        return bool(abs(actual - expected) <= within + _ROUNDING * max(abs(expected), abs(actual)))
    except OverflowError:  # Whole numbers too large for a float are exact: no rounding to allow for.
        return isinstance(actual, int) and isinstance(expected, int) and abs(actual - expected) <= within


def _contains(spec: Spec, actual: Any, compare: Compare) -> bool:
    part = spec["$contains"]
    if isinstance(actual, str):
        return _in_text(part, actual)
    if isinstance(actual, list | tuple):
        parts = part if isinstance(part, list | tuple) else [part]
        edges = [[place for place, member in enumerate(actual) if compare(each, member)] for each in parts]
        return len(maximum_matching(edges)) == len(edges)
    if not isinstance(actual, Mapping) or not isinstance(part, Mapping):
        return False
    if matcher_of(part) is not None:
        return compare(part, actual)
    return all(compare(value, actual[key]) if key in actual else may_be_missing(value) for key, value in part.items())


def _in_text(part: Any, actual: str) -> bool:
    match part:
        case str():
            return part in actual
        case {"$regex": pattern}:
            return compile_pattern(pattern).search(actual) is not None
        case {"$text": text}:
            return squeeze_text(text) in squeeze_text(actual)
        case {"$one_of": parts}:
            return any(_in_text(each, actual) for each in parts)
        case _:
            return False


_KINDS = (
    # `{"$any": true}`: present, whatever it is.
    Matcher(
        keys=("$any",),
        fault=lambda spec: "" if spec["$any"] is True else f"takes true, found {describe_value(spec['$any'])}",
        matches=lambda spec, actual, compare: True,
        in_words=lambda spec: "anything",
    ),
    # `{"$one_of": [X, Y]}`: any of these, values or matchers.
    Matcher(
        keys=("$one_of",),
        fault=_one_of_fault,
        inner=lambda spec: ((f"$one_of.{place}", each) for place, each in enumerate(spec["$one_of"])),
        matches=lambda spec, actual, compare: any(compare(each, actual) for each in spec["$one_of"]),
        in_words=lambda spec: "one of " + ", ".join(describe_value(each) for each in spec["$one_of"]),
    ),
    # `{"$optional": X}`: may be missing; if present, X. A null is a value like any other.
    Matcher(
        keys=("$optional",),
        inner=lambda spec: spec.items(),
        matches=lambda spec, actual, compare: compare(spec["$optional"], actual),
        in_words=lambda spec: f"nothing, or {describe_value(spec['$optional'])}",
    ),
    # `{"$regex": "…"}`: a text that the pattern covers from its first character to its last. To find the pattern
    # anywhere, write `{"$contains": {"$regex": "…"}}`.
    Matcher(
        keys=("$regex",),
        fault=_regex_fault,
        matches=lambda spec, actual, compare: (
            isinstance(actual, str) and compile_pattern(spec["$regex"]).fullmatch(actual) is not None
        ),
        in_words=lambda spec: f"a text like /{spec['$regex']}/",
    ),
    # `{"$text": "…"}`: the same text but for case, spaces and punctuation. Between two digits a separator counts as
    # one, whichever it is: `1.5` is `1,5` and not `15`.
    Matcher(
        keys=("$text",),
        fault=_text_fault,
        matches=lambda spec, actual, compare: (
            isinstance(actual, str) and squeeze_text(spec["$text"]) == squeeze_text(actual)
        ),
        in_words=lambda spec: f"the text {describe_value(spec['$text'])}",
    ),
    # `{"$between": [a, b]}`: a number, or an ISO date, from a to b, both included.
    Matcher(
        keys=("$between",),
        fault=_between_fault,
        matches=_is_between,
        in_words=lambda spec: "from {} to {}".format(*map(describe_value, spec["$between"])),
    ),
    # `{"$approx": x, "within": y}`: a number no further than y from x.
    Matcher(
        keys=("$approx", "within"),
        fault=_approx_fault,
        matches=_is_near,
        in_words=lambda spec: f"{describe_value(spec['$approx'])} give or take {describe_value(spec['within'])}",
    ),
    # `{"$contains": X}`: a text with the text X in it (or something `$regex` or `$text` finds in it); a list with the
    # member X, or with all of them where X is a list; an object with at least the keys and values of X.
    Matcher(
        keys=("$contains",),
        inner=lambda spec: spec.items(),
        matches=_contains,
        in_words=lambda spec: f"something with {describe_value(spec['$contains'])} in it",
    ),
    # `{"$literal": X}`: X itself, for values whose own keys begin with a dollar sign.
    Matcher(
        keys=("$literal",),
        matches=lambda spec, actual, compare: _equal_as_written(spec["$literal"], actual),
        in_words=lambda spec: describe_value(spec["$literal"]),
    ),
)
MATCHERS: dict[str, Matcher] = {kind.keys[0]: kind for kind in _KINDS}


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


def describe_value(value: Any, limit: int = 120) -> str:
    """A value in a sentence: as Python writes it, shortened if it is long; matchers in words."""
    if isinstance(value, Mapping):
        for key in value:
            if key in MATCHERS and not MATCHERS[key].fault(value):
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
