"""Conditions on a final state."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from howsure.matching.conditions import (
    OPERATORS,
    ConditionProblem,
    condition_problems,
    evaluate_condition,
    needs_clock,
    parse_age,
)

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
STATE: dict[str, Any] = {
    "status": "shipped",
    "order": {"total": 42, "lines": [{"sku": "A1"}, {"sku": "B2"}], "note": None},
    "tags": ["vip", "late"],
    "paid": True,
    "amount": "42",
    "created": "2026-03-09T12:00:00Z",
    "day": "2026-03-01",
    "naive": "2026-03-10T11:00:00",
    "future": "2026-03-11T12:00:00Z",
}


def one(field: str, op: str, value: Any = ...) -> dict[str, Any]:
    return {"field": field, "op": op} | ({} if value is ... else {"value": value})


YES, NO = one("status", "equals", "shipped"), one("status", "equals", "lost")
UNKNOWN = one("amount", "gt", 40)


@pytest.mark.parametrize(
    ("check", "holds"),
    [
        (one("status", "equals", "shipped"), True),
        (one("status", "equals", "Shipped"), False),
        (one("order.total", "equals", 42.0), True),
        (one("order.total", "equals", "42"), False),
        (one("paid", "equals", 1), False),
        (one("order.lines.1.sku", "equals", "B2"), True),
        (one("day", "equals", "2026-03-01T00:00:00"), True),
        (one("gone", "equals", None), False),
        (one("order.note", "equals", None), True),
        (one("status", "not_equals", "shipped"), False),
        (one("status", "not_equals", "lost"), True),
        (one("gone", "not_equals", "lost"), True),
        (one("status", "contains", "ship"), True),
        (one("tags", "contains", "vip"), True),
        (one("tags", "contains", "vi"), False),
        (one("order", "contains", "total"), True),
        (one("order.total", "contains", "4"), None),
        (one("status", "contains", 4), None),
        (one("tags", "not_contains", "gone"), True),
        (one("tags", "not_contains", "vip"), False),
        (one("order.total", "not_contains", "4"), None),
        (one("gone", "not_contains", "x"), True),
        (one("status", "starts_with", "ship"), True),
        (one("status", "starts_with", "hip"), False),
        (one("order.total", "starts_with", "4"), None),
        (one("status", "ends_with", "ped"), True),
        (one("gone", "ends_with", "ped"), False),
        (one("order.total", "gt", 41), True),
        (one("order.total", "gt", 42), False),
        (one("order.total", "gte", 42), True),
        (one("order.total", "lt", 42.5), True),
        (one("order.total", "lte", 41), False),
        (one("gone", "lt", 5), False),
        (one("amount", "gt", 40), None),
        (one("paid", "gt", 0), None),
        (one("created", "lt", "2026-03-10T00:00:00Z"), True),
        (one("day", "gte", "2026-03-01"), True),
        (one("naive", "lt", "2026-03-10T12:00:00Z"), None),
        (one("status", "in", ["shipped", "lost"]), True),
        (one("status", "in", ["ship"]), False),
        (one("paid", "in", [1]), False),
        (one("status", "not_in", ["lost"]), True),
        (one("status", "not_in", ["shipped"]), False),
        (one("status", "matches", "^ship"), True),
        (one("status", "matches", "SHIP"), False),
        (one("order.total", "matches", "4"), None),
        (one("status", "exists"), True),
        (one("order.note", "exists", True), True),
        (one("gone", "exists"), False),
        (one("gone", "exists", False), True),
        (one("status", "exists", False), False),
        (one("created", "older_than", "23h"), True),
        (one("created", "older_than", "24h"), False),
        (one("created", "older_than", "1d"), False),
        (one("day", "older_than", "1w"), True),
        (one("created", "within", "24h"), True),
        (one("created", "within", "23h"), False),
        (one("future", "within", "7d"), False),
        (one("future", "older_than", "1s"), False),
        (one("naive", "within", "2h"), None),
        (one("status", "within", "2h"), None),
        (one("order.total", "older_than", "2h"), None),
        (one("gone", "within", "2h"), False),
    ],
)
def test_each_operator_tells_yes_no_or_that_it_cannot_tell(check: dict[str, Any], holds: bool | None) -> None:
    assert list(condition_problems(check)) == []
    assert evaluate_condition(check, STATE, NOW).holds is holds


@pytest.mark.parametrize(
    ("check", "holds"),
    [
        ({"all": [YES, YES]}, True),
        ({"all": [YES, NO]}, False),
        ({"all": [UNKNOWN, YES]}, None),
        ({"all": [UNKNOWN, NO]}, False),
        ({"any": [NO, YES]}, True),
        ({"any": [NO, NO]}, False),
        ({"any": [UNKNOWN, NO]}, None),
        ({"any": [UNKNOWN, YES]}, True),
        ({"not": YES}, False),
        ({"not": NO}, True),
        ({"not": UNKNOWN}, None),
        ({"not": {"any": [NO, {"all": [YES, NO]}]}}, True),
    ],
)
def test_what_cannot_be_told_stays_so_unless_the_rest_decides(check: dict[str, Any], holds: bool | None) -> None:
    assert list(condition_problems(check)) == []
    assert evaluate_condition(check, STATE, NOW).holds is holds


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        (YES, "`status` is 'shipped'"),
        (NO, "`status` is 'shipped', wanted: equal to 'lost'"),
        (one("gone", "gt", 1), "`gone` is not there, wanted: more than 1"),
        (one("gone", "exists"), "`gone` is not there"),
        (UNKNOWN, "`amount`: '42' cannot be compared with 40"),
        (
            {"all": [YES, NO, NO]},
            "`status` is 'shipped', wanted: equal to 'lost'; `status` is 'shipped', wanted: equal to 'lost'",
        ),
        ({"any": [NO, YES]}, "`status` is 'shipped'"),
        ({"not": YES}, "not: `status` is 'shipped'"),
        (one("naive", "within", "1h"), "`naive`: only one of '2026-03-10T11:00:00' and the clock has an offset"),
    ],
)
def test_the_reason_is_that_of_what_decided(check: dict[str, Any], reason: str) -> None:
    assert evaluate_condition(check, STATE, NOW).reason == reason


def test_an_age_needs_a_clock() -> None:
    check = {"not": {"any": [NO, one("created", "within", "1d")]}}
    assert needs_clock(check)
    assert not needs_clock({"all": [YES, {"not": NO}]})
    assert evaluate_condition(check, STATE, None).reason == "not: `created`: its age cannot be told without a clock"


@pytest.mark.parametrize(
    ("check", "path", "message"),
    [
        ("equals", (), "must be a condition"),
        ([], (), "must be a condition"),
        ({}, ("field",), "must be the path of a value in the state"),
        (one("", "exists"), ("field",), "must be the path of a value in the state"),
        (one("a", "eq", 1), ("op",), "is not an operator"),
        ({"field": "a", "op": ["equals"], "value": 1}, ("op",), "is not an operator"),
        (one("a", "equals"), ("value",), "`equals` needs a value"),
        (one("a", "in", "x"), ("value",), "`in` takes a list with at least one value"),
        (one("a", "in", []), ("value",), "`in` takes a list with at least one value"),
        (one("a", "gt", "much"), ("value",), "`gt` takes a number, or a date or time in ISO 8601"),
        (one("a", "gt", True), ("value",), "`gt` takes a number, or a date or time in ISO 8601"),
        (one("a", "matches", 5), ("value",), "`matches` takes a regular expression"),
        (
            one("a", "matches", "(?=a)"),
            ("value",),
            "`matches` takes a regular expression; "
            "'(?=a)' looks ahead with `(?=`; write what follows into the pattern itself",
        ),
        (one("a", "starts_with", ""), ("value",), "`starts_with` takes a text"),
        (one("a", "exists", "yes"), ("value",), "`exists` takes true or false"),
        (
            one("a", "within", "a week"),
            ("value",),
            "`within` takes a length of time such as 30s, 15m, 24h, 7d or 2w",
        ),
        (
            one("a", "equals", {"$any": 1}),
            ("value",),
            "`equals` takes any value (a matcher in it must be well formed); `value`: $any takes true, found 1",
        ),
        ({**YES, "values": 1}, ("values",), "`values` is not part of a condition"),
        ({"all": []}, ("all",), "must be a list with at least one condition"),
        ({"all": YES}, ("all",), "must be a list with at least one condition"),
        ({"not": [YES]}, ("not",), "must be a condition"),
        ({"any": [YES, {"not": one("a", "eq", 1)}]}, ("any", 1, "not", "op"), "is not an operator"),
    ],
)
def test_a_malformed_condition_is_found_with_its_place(check: Any, path: tuple[Any, ...], message: str) -> None:
    found = list(condition_problems(check))
    assert (found[0].path, found[0].message) == (path, message)


def test_every_fault_is_found_at_once() -> None:
    check = {"all": [one("", "equals"), one("a", "eq", 1)], "not": YES}
    assert [fault.path for fault in condition_problems(check)] == [
        (),
        ("all", 0, "field"),
        ("all", 0, "value"),
        ("all", 1, "op"),
    ]
    assert isinstance(next(condition_problems(check)), ConditionProblem)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(
            ("30s", 30),
            ("15m", 900),
            ("24h", 86_400),
            ("7d", 604_800),
            ("2w", 1_209_600),
            ("1.5h", 5_400),
            ("2 d", 172_800),
        ),
        *(("h", None), ("-1d", None), ("1y", None), ("", None), (5, None), ("9" * 400 + "d", None)),
    ],
)
def test_lengths_of_time(text: Any, seconds: float | None) -> None:
    length = parse_age(text)
    assert (None if length is None else length.total_seconds()) == seconds


def test_the_sixteen_operators_have_the_names_people_know() -> None:
    assert list(OPERATORS) == [
        *("equals", "not_equals", "contains", "not_contains", "starts_with", "ends_with", "gt", "gte", "lt", "lte"),
        *("in", "not_in", "matches", "exists", "older_than", "within"),
    ]
