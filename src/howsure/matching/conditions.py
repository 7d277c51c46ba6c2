"""Conditions on a final state (`outcome_check` of a rule): comparisons of single fields, combined by all, any and not.
They are checked when they are read, and answered in words. If something cannot be compared (a text with a number, a
time without an offset), the answer is neither yes nor no, and stays so through every all, any and not that it could
decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from howsure.matching.matchers import describe_value, is_number
from howsure.matching.patterns import PatternRefused, compile_pattern, pattern_fault
from howsure.matching.text import not_after, parse_moment
from howsure.matching.values import ABSENT, LENIENT, at_path, check_matcher

Test = Callable[[Any, Any, datetime | None], bool]

_AGE = re.compile(r"(?P<count>\d+(?:\.\d+)?)\s*(?P<unit>[smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LONGEST = timedelta(days=365_000)


class CannotCompare(ValueError):
    """The values cannot be compared, so the answer is neither yes nor no."""


class ConditionOperator(Struct, frozen=True):
    """`fits`: whether the operator takes this value. `negative`: it holds if `test` does not or if the field is absent.
    `timed`: it needs a clock. `presence`: it only asks whether the field is there, and its value may be left out."""

    words: str
    test: Test
    takes: str
    fits: Callable[[Any], bool]
    negative: bool = False
    timed: bool = False
    presence: bool = False


def parse_age(text: Any) -> timedelta | None:
    """`30s`, `15m`, `24h`, `7d`, `2w`; None for anything else."""
    match = _AGE.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        return None
    try:
        length = timedelta(**{_UNITS[match["unit"]]: float(match["count"])})
    except OverflowError:
        return None
    return length if length <= _LONGEST else None


def _equals(actual: Any, expected: Any, now: datetime | None) -> bool:
    return LENIENT.match(expected, actual)


def _contains(actual: Any, expected: Any, now: datetime | None) -> bool:
    if isinstance(actual, str | dict):
        return _require_text(expected) in actual
    if isinstance(actual, list | tuple):
        return any(LENIENT.match(expected, each) for each in actual)
    raise CannotCompare(f"{describe_value(actual)} is neither a text nor a list nor an object, and can contain nothing")


def _require_text(value: Any) -> str:
    if not isinstance(value, str):
        raise CannotCompare(f"{describe_value(value)} is not a text")
    return value


def _one_of(actual: Any, expected: Any, now: datetime | None) -> bool:
    return any(LENIENT.match(each, actual) for each in expected)


def _order(actual: Any, expected: Any) -> int:
    """-1, 0 or 1: numbers, or moments in time. A number written as text is not a number."""
    if is_number(actual) and is_number(expected):
        if not (actual <= expected or actual >= expected):
            raise CannotCompare(f"{describe_value(actual)} is neither above nor below {describe_value(expected)}")
        return (actual > expected) - (actual < expected)
    first, second = parse_moment(actual), parse_moment(expected)
    if first is None or second is None:
        raise CannotCompare(f"{describe_value(actual)} cannot be compared with {describe_value(expected)}")
    before, after = not_after(first, second), not_after(second, first)
    if before is None or after is None:
        raise CannotCompare(f"only one of {describe_value(actual)} and {describe_value(expected)} has an offset")
    return after - before


def _age_of(actual: Any, now: datetime | None) -> timedelta:
    then = parse_moment(actual)
    if then is None:
        raise CannotCompare(f"{describe_value(actual)} is not a date or time")
    if now is None:
        raise CannotCompare("its age cannot be told without a clock")
    at = then if isinstance(then, datetime) else datetime(then.year, then.month, then.day, tzinfo=now.tzinfo)
    if (at.tzinfo is None) != (now.tzinfo is None):
        raise CannotCompare(f"only one of {describe_value(actual)} and the clock has an offset")
    return now - at


def _expected_age(expected: Any) -> timedelta:
    length = parse_age(expected)
    if length is None:
        raise CannotCompare(f"{describe_value(expected)} is not a length of time")
    return length


def _is_well_formed(value: Any) -> bool:
    """A literal value, or one whose matchers are well formed."""
    return not check_matcher(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and _is_well_formed(value)


_ANY, _LIST, _WORDS = "any value (a matcher in it must be well formed)", "a list with at least one value", "a text"
_NUMBER, _LENGTH = "a number, or a date or time in ISO 8601", "a length of time such as 30s, 15m, 24h, 7d or 2w"


def _order_operator(words: str, test: Callable[[int], bool]) -> ConditionOperator:
    return ConditionOperator(
        words,
        lambda actual, expected, now: test(_order(actual, expected)),
        _NUMBER,
        lambda value: is_number(value) or parse_moment(value) is not None,
    )


def _age_operator(words: str, test: Callable[[timedelta, timedelta], bool]) -> ConditionOperator:
    return ConditionOperator(
        words,
        lambda actual, expected, now: test(_age_of(actual, now), _expected_age(expected)),
        _LENGTH,
        lambda value: parse_age(value) is not None,
        timed=True,
    )


OPERATORS: dict[str, ConditionOperator] = {
    "equals": ConditionOperator("equal to", _equals, _ANY, _is_well_formed),
    "not_equals": ConditionOperator("not equal to", _equals, _ANY, _is_well_formed, negative=True),
    "contains": ConditionOperator("containing", _contains, _ANY, _is_well_formed),
    "not_contains": ConditionOperator("not containing", _contains, _ANY, _is_well_formed, negative=True),
    "starts_with": ConditionOperator(
        "starting with", lambda actual, expected, now: _require_text(actual).startswith(expected), _WORDS, _is_text
    ),
    "ends_with": ConditionOperator(
        "ending with", lambda actual, expected, now: _require_text(actual).endswith(expected), _WORDS, _is_text
    ),
    "gt": _order_operator("more than", lambda order: order > 0),
    "gte": _order_operator("at least", lambda order: order >= 0),
    "lt": _order_operator("less than", lambda order: order < 0),
    "lte": _order_operator("at most", lambda order: order <= 0),
    "in": ConditionOperator("one of", _one_of, _LIST, _is_list),
    "not_in": ConditionOperator("none of", _one_of, _LIST, _is_list, negative=True),
    "matches": ConditionOperator(
        "a text like",
        lambda actual, expected, now: compile_pattern(expected).search(_require_text(actual)) is not None,
        "a regular expression",
        lambda value: isinstance(value, str) and not pattern_fault(value),
    ),
    "exists": ConditionOperator(
        "there",
        lambda actual, expected, now: bool(expected),
        "true or false",
        lambda value: isinstance(value, bool),
        presence=True,
    ),
    "older_than": _age_operator("older than", lambda age, length: age > length),
    # The future does not count.
    "within": _age_operator("within the last", lambda age, length: timedelta(0) <= age <= length),
}


GROUPS = ("all", "any")
NOT = "not"
_COMPARISON = ("field", "op", "value")

ConditionPath = tuple[str | int, ...]


class ConditionProblem(Struct, frozen=True):
    """What is wrong with a condition as it is written, and where."""

    path: ConditionPath
    message: str
    expected: str = ""
    found: str = ""


class ConditionResult(Struct, frozen=True):
    """Whether a condition holds (None: unknown), and why."""

    holds: bool | None
    reason: str


def condition_problems(check: Any, path: ConditionPath = ()) -> Iterator[ConditionProblem]:
    """Everything that is wrong with a condition; nothing if `evaluate_condition` can answer it."""
    if not isinstance(check, Mapping):
        yield ConditionProblem(path, "must be a condition", "an object", describe_value(check))
        return
    operators = [name for name in (*GROUPS, NOT) if name in check]
    if not operators:
        yield from _comparison_problems(check, path)
        return
    if len(check) > 1:
        message = f"`{operators[0]}` must stand alone in its object"
        yield ConditionProblem(path, message, f"{{{operators[0]!r}: …}}", describe_value(check))
    for name in operators:
        yield from _group_problems(name, check[name], (*path, name))


def evaluate_condition(
    check: Mapping[str, Any], state: Mapping[str, Any], now: datetime | None = None
) -> ConditionResult:
    """The answer of a condition without problems. `now` is the time from which ages are counted."""
    for name in GROUPS:
        if name in check:
            results = [evaluate_condition(each, state, now) for each in check[name]]
            holds = _GROUP_RULES[name]([each.holds for each in results])
            # The reasons of the results that decide it.
            return ConditionResult(holds, "; ".join(each.reason for each in results if each.holds is holds))
    if NOT in check:
        inner = evaluate_condition(check[NOT], state, now)
        return ConditionResult(None if inner.holds is None else not inner.holds, f"not: {inner.reason}")
    return _evaluate_comparison(check, state, now)


def needs_clock(check: Mapping[str, Any]) -> bool:
    """Whether a comparison asks how long ago something was."""
    inner = [each for name in GROUPS for each in check.get(name, ())] + ([check[NOT]] if NOT in check else [])
    if inner:
        return any(map(needs_clock, inner))
    return "op" in check and OPERATORS[check["op"]].timed


def _group_problems(name: str, inner: Any, path: ConditionPath) -> Iterator[ConditionProblem]:
    if name == NOT:
        yield from condition_problems(inner, path)
        return
    if not isinstance(inner, Sequence) or isinstance(inner, str) or not inner:
        expected = "a list with at least one condition"
        yield ConditionProblem(path, f"must be {expected}", expected, describe_value(inner))
        return
    for place, each in enumerate(inner):
        yield from condition_problems(each, (*path, place))


def _comparison_problems(check: Mapping[str, Any], path: ConditionPath) -> Iterator[ConditionProblem]:
    known = ", ".join((*_COMPARISON, *GROUPS, NOT))
    for key in check:
        if key not in _COMPARISON:
            yield ConditionProblem((*path, key), f"`{key}` is not part of a condition", known, key)
    field, name = check.get("field"), check.get("op")
    if not isinstance(field, str) or not field.strip():
        expected = "the path of a value in the state"
        yield ConditionProblem((*path, "field"), f"must be {expected}", expected, describe_value(field))
    operator = OPERATORS.get(name) if isinstance(name, str) else None
    if operator is None:
        yield ConditionProblem((*path, "op"), "is not an operator", ", ".join(OPERATORS), describe_value(name))
        return
    if "value" not in check:
        if not operator.presence:
            yield ConditionProblem((*path, "value"), f"`{name}` needs a value", operator.takes)
    elif not operator.fits(check["value"]):
        value = check["value"]
        faults = (
            [pattern_fault(value)] if name == "matches" and isinstance(value, str) else check_matcher(value, "value")
        )
        message = "; ".join([f"`{name}` takes {operator.takes}", *faults])
        yield ConditionProblem((*path, "value"), message, operator.takes, describe_value(value))


_GROUP_RULES: dict[str, Callable[[list[bool | None]], bool | None]] = {
    "all": lambda answers: False if False in answers else None if None in answers else True,
    "any": lambda answers: True if True in answers else None if None in answers else False,
}


def _evaluate_comparison(check: Mapping[str, Any], state: Mapping[str, Any], now: datetime | None) -> ConditionResult:
    field, operator = check["field"], OPERATORS[check["op"]]
    expected = check.get("value", True)
    actual = at_path(state, field, ABSENT)
    if operator.presence:
        there = actual is not ABSENT
        return ConditionResult(there is expected, f"`{field}` is {'there' if there else 'not there'}")
    if actual is ABSENT:
        return ConditionResult(
            operator.negative, f"`{field}` is not there, wanted: {operator.words} {describe_value(expected)}"
        )
    try:
        holds = operator.test(actual, expected, now) is not operator.negative
    except (CannotCompare, PatternRefused) as error:
        return ConditionResult(None, f"`{field}`: {error}")
    reason = f"`{field}` is {describe_value(actual)}"
    return ConditionResult(holds, reason if holds else f"{reason}, wanted: {operator.words} {describe_value(expected)}")
