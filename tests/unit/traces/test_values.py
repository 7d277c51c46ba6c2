"""Attribute values come as numbers, as text, as JSON in text, printed, cut off."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.errors import Level
from howsure.traces.values import (
    LONGEST_LITERAL,
    UNREADABLE,
    TraceProblems,
    decode_value,
    first_present,
    first_text,
    pick_value,
    read_amount,
    read_count,
)


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (39, 39),
        ("39", 39),
        (" 39 ", 39),
        (39.0, 39),
        ("39.0", 39),
        (0, 0),
        ("0", 0),
        (2**70, 2**70),
        (39.5, None),
        ("many", None),
        ("", None),
        (-1, None),
        ("-1", None),
        (True, None),
        (None, None),
        (float("nan"), None),
        (float("inf"), None),
        ("inf", None),
        ([39], None),
        ({}, None),
        (10**400, None),
    ],
)
def test_a_count_is_a_whole_number_however_it_is_written(value: Any, count: int | None) -> None:
    assert read_count(value) == count


@pytest.mark.parametrize(
    ("value", "money"),
    [
        (0.5, 0.5),
        ("0.00009435", 0.00009435),
        (0, 0.0),
        (-0.5, None),
        ("nan", None),
        (float("inf"), None),
        (True, None),
        ("free", None),
        ([1], None),
    ],
)
def test_an_amount_is_finite_and_not_negative(value: Any, money: float | None) -> None:
    assert read_amount(value) == money


@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        ('{"a": 1}', {"a": 1}),
        (" [1, 2]\n", [1, 2]),
        ({"a": 1}, {"a": 1}),
        (None, None),
        (7, 7),
        ("The weather is sunny.", "The weather is sunny."),
        ("", ""),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('"plain"', "plain"),
        ("{'ok': True, 'amount': 50.0}", {"ok": True, "amount": 50.0}),
        ("[{'title': \"It's\"}]", [{"title": "It's"}]),
        ("{}", {}),
        ("[]", []),
    ],
    ids=[
        "object",
        "list with spaces around",
        "not text",
        "nothing",
        "a number",
        "plain text",
        "empty text",
        "encoded twice",
        "a JSON string",
        "a printed dict",
        "a printed list",
        "empty object",
        "empty list",
    ],
)
def test_text_that_holds_a_value_is_read_as_the_value(value: Any, meaning: Any) -> None:
    assert decode_value(value) == meaning


def test_the_nan_that_python_writes_is_read() -> None:
    assert str(decode_value('{"score": NaN}')) == "{'score': nan}"


@pytest.mark.parametrize(
    "value",
    ['{"status": "error"', "[1, 2", '{"a": 1} and more', '"open', "{not json}", "[" * 100_000, "{'a': open('x')}"],
    ids=["cut off", "open list", "something after", "open string", "no JSON", "too deep", "code"],
)
def test_broken_json_is_unreadable_and_not_text(value: str) -> None:
    assert decode_value(value) is UNREADABLE


def test_a_very_long_broken_text_is_given_up_without_trying_it_as_python() -> None:
    assert decode_value("['" + "x" * LONGEST_LITERAL + "']") is UNREADABLE


def test_the_first_name_with_a_value_wins_and_empty_is_no_value() -> None:
    attributes = {"a": None, "b": "", "c": 0, "d": "x"}
    assert first_present(attributes, ["a", "b", "c", "d"]) == "c"
    assert first_present(attributes, ["a", "b", "missing"]) is None


def test_text_skips_what_is_none() -> None:
    assert first_text({"a": 3, "b": ["x"], "c": "name"}, ["a", "b", "c"]) == "name"
    assert first_text({"a": 3}, ["a", "b"]) == ""


@pytest.mark.parametrize("mapping", [None, "text", 3, ["a"]])
def test_picking_from_what_is_no_mapping_gives_nothing(mapping: Any) -> None:
    assert pick_value(mapping, "a") is None


def test_picking_passes_over_nulls() -> None:
    assert pick_value({"a": None, "b": 0}, "a", "b") == 0


def test_a_note_names_span_attribute_and_what_was_found() -> None:
    notes = TraceProblems()
    notes.add("unreadable_json", "is not JSON", "span 1 (call_llm)", "gcp.vertex.agent.llm_response", "{" * 200)
    (problem,) = notes.items
    assert problem.code == "unreadable_json"
    assert problem.field == "span 1 (call_llm).gcp.vertex.agent.llm_response"
    assert problem.message == "is not JSON"
    assert problem.found == "{" * 80
    assert problem.level is Level.WARNING
