"""Tool calls against the expected ones, in every mode."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.matching.calls import compare_calls
from howsure.model.expectation import ArgumentMode, ExpectedCall, Matching, MatchMode, ToolCalls
from howsure.model.transcript import Message, Role, ToolCall

EXACT, IN_ORDER, ANY_ORDER = MatchMode.EXACT, MatchMode.IN_ORDER, MatchMode.ANY_ORDER
SUPERSET, SUBSET = MatchMode.SUPERSET, MatchMode.SUBSET
Call = tuple[str, dict[str, Any]]


def call(written: str) -> Call:
    """`a1` is the call a(x=1)."""
    return written[0], {"x": int(written[1:])} if written[1:] else {}


def messages(written: str) -> list[Message]:
    """Messages apart by `|`, calls in one message by spaces."""
    groups = [[call(each) for each in group.split()] for group in written.split("|")]
    return [
        Message(role=Role.ASSISTANT, tool_calls=tuple(ToolCall(name=name, arguments=given) for name, given in group))
        for group in groups
    ]


def expected(written: str, mode: MatchMode, grouped: bool = False, **matching: Any) -> ToolCalls:
    groups = [group.split() for group in written.split("|")]
    calls = [
        ExpectedCall(name=call(each)[0], arguments=call(each)[1], message=number if grouped else None)
        for number, group in enumerate(groups)
        for each in group
    ]
    return ToolCalls(expected=tuple(calls), match=Matching(mode=mode, **matching))


# wanted, made, and the value in each mode: exact, in_order, any_order, superset, subset
TABLE = [
    ("a1", "a1", 1, 1, 1, 1, 1),
    ("a1|b2", "a1|b2", 1, 1, 1, 1, 1),
    ("a1|b2", "b2|a1", 1 / 3, 0.5, 1, 1, 1),
    ("a1|b2", "a1|c3|b2", 2 / 3, 1, 2 / 3, 1, 2 / 3),
    ("a1|b2", "a1", 0.5, 0.5, 0.5, 0.5, 1),
    ("a1|b2", "", 0, 0, 0, 0, 1),
    ("a1", "a2", 0, 0, 0, 0, 0),
    ("a1", "b1", 0, 0, 0, 0, 0),
    ("a1|a1", "a1", 0.5, 0.5, 0.5, 0.5, 1),
    ("a1", "a1|a1", 0.5, 1, 0.5, 1, 0.5),
    ("a1|b2|c3", "c3|a1|b2", 0.5, 2 / 3, 1, 1, 1),
    ("a1|a2", "a2|a1", 1 / 3, 0.5, 1, 1, 1),
    ("", "", 1, 1, 1, 1, 1),
    ("", "a1", 0, 0, 0, 0, 0),
]


@pytest.mark.parametrize(("wanted", "made", "exact", "in_order", "any_order", "superset", "subset"), TABLE)
def test_each_mode_asks_for_something_else(
    wanted: str, made: str, exact: float, in_order: float, any_order: float, superset: float, subset: float
) -> None:
    values = {EXACT: exact, IN_ORDER: in_order, ANY_ORDER: any_order, SUPERSET: superset, SUBSET: subset}
    for mode, value in values.items():
        found = compare_calls(expected(wanted, mode), messages(made))
        assert found.value == pytest.approx(value), mode
        assert found.passed is (value == 1), mode
        assert found.passed is (found.reasons == ()), mode


@pytest.mark.parametrize(
    ("wanted", "made", "passed"),
    [
        ("a1 b2", "a1 b2", True),
        ("a1 b2", "b2 a1", True),
        ("a1 b2", "a1|b2", False),
        ("a1|b2", "a1 b2", False),
        ("a1|b2 c3", "a1|c3 b2", True),
        ("a1|b2 c3", "a1 b2|c3", False),
        ("a1 a2", "a2 a1", True),
        ("a1||b2", "a1|b2", True),
    ],
)
def test_exact_goes_message_by_message_and_calls_in_one_message_have_no_order(
    wanted: str, made: str, passed: bool
) -> None:
    assert compare_calls(expected(wanted, EXACT, grouped=True), messages(made)).passed is passed


def test_calls_without_a_message_number_are_messages_of_their_own() -> None:
    assert compare_calls(expected("a1 b2", EXACT), messages("a1|b2")).passed
    assert not compare_calls(expected("a1 b2", EXACT), messages("a1 b2")).passed


@pytest.mark.parametrize("mode", [IN_ORDER, ANY_ORDER, SUPERSET, SUBSET])
def test_other_modes_do_not_care_about_messages(mode: MatchMode) -> None:
    assert compare_calls(expected("a1|b2", mode, grouped=True), messages("a1 b2")).passed


@pytest.mark.parametrize("mode", [ANY_ORDER, SUPERSET, SUBSET])
def test_a_greedy_assignment_would_be_wrong(mode: MatchMode) -> None:
    loose = ExpectedCall(name="a", arguments={"x": {"$any": True}})
    tight = ExpectedCall(name="a", arguments={"x": 1})
    calls = ToolCalls(expected=(loose, tight), match=Matching(mode=mode))
    assert compare_calls(calls, messages("a1|a2")).passed
    assert compare_calls(calls, messages("a2|a1")).passed


def test_arguments_follow_the_mode_unless_they_are_set() -> None:
    made = messages("a1")
    nothing_said = (ExpectedCall(name="a"),)
    assert not compare_calls(ToolCalls(expected=nothing_said, match=Matching(mode=EXACT)), made).passed
    assert compare_calls(ToolCalls(expected=nothing_said, match=Matching(mode=ANY_ORDER)), made).passed
    loosened = Matching(mode=EXACT, args=ArgumentMode.SUPERSET)
    assert compare_calls(ToolCalls(expected=nothing_said, match=loosened), made).passed


def test_a_missing_expected_argument_is_a_mismatch() -> None:
    found = compare_calls(expected("a1", SUPERSET), messages("a"))
    assert not found.passed
    assert found.reasons == ("`a` was called with other arguments: `x`: missing, expected 1",)


@pytest.mark.parametrize(
    ("rule", "passed"),
    [(ArgumentMode.IGNORE, True), (ArgumentMode.EXACT, False), (("y",), True), (("x",), False)],
)
def test_args_for_refines_the_rule_of_one_tool(rule: Any, passed: bool) -> None:
    found = compare_calls(expected("a1|b1", ANY_ORDER, args_for={"a": rule}), messages("a2|b1"))
    assert found.passed is passed
    assert not compare_calls(expected("a1|b1", ANY_ORDER, args_for={"a": rule}), messages("a1|b2")).passed


@pytest.mark.parametrize(
    ("wanted", "made", "matching", "passed"),
    [
        ("a1", "a1|b9", {"only": ("a",)}, True),
        ("a1|b2", "a1", {"only": ("a",)}, True),
        ("a1", "a1|c1", {"only": ("a", "c")}, False),
        ("a1", "a1|b9", {"ignore": ("b",)}, True),
        ("a1|b2", "a1", {"ignore": ("b",)}, True),
        ("b2", "", {"only": ("a",)}, True),
        ("b2", "a1", {"only": ("a",)}, False),
        ("", "b1", {"only": ("a",)}, True),
        ("", "a1", {"only": ("a",)}, False),
        ("a1", "b1", {"only": ()}, True),
    ],
)
def test_tools_that_do_not_count_are_left_out_on_both_sides(
    wanted: str, made: str, matching: dict[str, Any], passed: bool
) -> None:
    assert compare_calls(expected(wanted, ANY_ORDER, **matching), messages(made)).passed is passed


def test_nothing_left_to_expect_is_not_nothing_expected() -> None:
    assert compare_calls(expected("a1", SUPERSET, ignore=("a",)), messages("b1")).passed
    assert not compare_calls(expected("", SUPERSET), messages("b1")).passed


@pytest.mark.parametrize(
    ("wanted", "made", "selection", "arguments", "order"),
    [
        ("a1|b2", "a1|b2", 1, 1, 1),
        ("a1|b2", "b2|a1", 1, 1, 0.5),
        ("a1|b2", "a9|b2", 1, 0.5, None),
        ("a1|b2", "c1", 0, None, None),
        ("a1|b2", "b2", 0.5, 1, None),
        ("a1", "a1", 1, 1, None),
        ("a1|b2|c3", "c3|a1|b2", 1, 1, 2 / 3),
    ],
)
def test_selection_arguments_and_order_are_reported_apart(
    wanted: str, made: str, selection: float, arguments: float | None, order: float | None
) -> None:
    found = compare_calls(expected(wanted, SUPERSET), messages(made))
    assert (found.selection, found.arguments, found.order) == (selection, arguments, order)


@pytest.mark.parametrize(
    ("wanted", "made", "mode", "reasons", "missing", "unexpected"),
    [
        ("a1|b2", "a1", SUPERSET, ["`b` was not called"], ["b"], []),
        ("a1", "a1|b2", ANY_ORDER, ["`b` was called, but not expected"], [], ["b"]),
        ("a1", "a2", ANY_ORDER, ["`a` was called with other arguments: `x`: expected 1, found 2"], ["a"], ["a"]),
        ("a1|b2", "b2|a1", IN_ORDER, ["`b`: called, but not in the expected order"], ["b"], ["b"]),
        (
            "a1|b2",
            "b2|a1",
            EXACT,
            ["`b`: called, but not in the expected place (message by message)"],
            ["b"],
            ["b"],
        ),
        ("", "a1|b1", SUPERSET, [f"`{name}` was called, but no call was expected" for name in "ab"], [], ["a", "b"]),
        ("a1|b1", "a2", SUBSET, ["`a` was called with other arguments: `x`: expected 1, found 2"], ["a", "b"], ["a"]),
        ("a1|a5", "a5|a2", SUPERSET, ["`a` was called with other arguments: `x`: expected 1, found 2"], ["a"], ["a"]),
    ],
)
def test_reasons_name_the_call_and_what_is_wrong_with_it(
    wanted: str, made: str, mode: MatchMode, reasons: list[str], missing: list[str], unexpected: list[str]
) -> None:
    found = compare_calls(expected(wanted, mode), messages(made))
    assert list(found.reasons) == reasons
    assert list(found.missing) == missing
    assert list(found.unexpected) == unexpected


def test_the_closest_call_explains_the_mismatch() -> None:
    wanted = ToolCalls(expected=(ExpectedCall(name="a", arguments={"x": 1, "y": 1, "z": 1}),))
    made = [
        Message(role=Role.ASSISTANT, tool_calls=(ToolCall(name="a", arguments=arguments),))
        for arguments in ({"x": 2, "y": 2, "z": 2}, {"x": 1, "y": 1, "z": 2})
    ]
    found = compare_calls(wanted, made)
    assert found.reasons == ("`a` was called with other arguments: `z`: expected 1, found 2",)
