"""Numbers that trip comparisons (too large for a float, infinite, no number), nesting, and many calls at once."""

from __future__ import annotations

from math import inf, nan
from time import process_time
from typing import Any

import pytest

from howsure.matching.calls import compare_calls
from howsure.matching.conditions import evaluate_condition
from howsure.matching.values import LENIENT, STRICT
from howsure.model.expectation import ExpectedCall, Matching, MatchMode, ToolCalls
from howsure.testing import a_transcript

HUGE = 10**400


@pytest.mark.parametrize(
    ("expected", "actual", "strict", "lenient"),
    [
        (HUGE, HUGE, True, True),
        (HUGE, HUGE + 1, False, False),
        (HUGE, 1.5, False, False),
        (2**53, 2**53 + 1, False, True),
        (1, 1.0, True, True),
        (True, 1, False, False),
        (0, False, False, False),
        (None, 0, False, False),
        ({"a": None}, {}, False, False),
        ({"$approx": HUGE, "within": 1}, HUGE + 1, True, True),
        ({"$approx": HUGE, "within": 1}, HUGE + 2, False, False),
        ({"$approx": HUGE, "within": 1}, 1.5, False, False),
        ({"$approx": 1, "within": 0.1}, inf, False, False),
        ({"$approx": 1, "within": 0.1}, nan, False, False),
        ({"$approx": 1, "within": 0.1}, 1.1, True, True),
        ({"$approx": 1, "within": 0}, True, False, False),
        ({"$between": [0, 5]}, nan, False, False),
        ({"$contains": {"a": {"$one_of": [{"$regex": "x+"}, 3]}}}, {"a": "xx", "b": 1}, True, True),
        ({"$contains": [1, {"$any": True}]}, [1], False, False),
        ({"$contains": [{"$any": True}, 1]}, [1, 2], True, True),
        ({"$contains": "ö"}, "sch\u00f6n", True, True),
        ("\u00e9", "e\u0301", False, False),
        ({"$text": "\u00e9"}, "E\u0301!", True, True),
    ],
)
def test_values_are_the_same_or_not(expected: Any, actual: Any, strict: bool, lenient: bool) -> None:
    assert STRICT.match(expected, actual) is strict
    assert LENIENT.match(expected, actual) is lenient


@pytest.mark.parametrize("op", ["gt", "gte", "lt", "lte"])
def test_what_is_no_number_is_neither_above_nor_below(op: str) -> None:
    assert evaluate_condition({"field": "x", "op": op, "value": 5}, {"x": nan}).holds is None


@pytest.mark.parametrize("mode", list(MatchMode))
def test_two_hundred_calls_in_the_wrong_order_are_compared_quickly(mode: MatchMode) -> None:
    wanted = tuple(ExpectedCall(name="t", arguments={"n": {"$between": [0, number]}}) for number in range(200))
    calls = ToolCalls(expected=wanted, match=Matching(mode=mode))
    made = a_transcript(calls=[("t", {"n": number}) for number in reversed(range(200))])
    start = process_time()
    compared = compare_calls(calls, made.messages)
    assert process_time() - start < 10
    assert compared.passed is (mode not in (MatchMode.EXACT, MatchMode.IN_ORDER))
