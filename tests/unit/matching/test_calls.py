"""Tool calls against the expected ones, in every mode."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.matching.calls import ArgumentRule, argument_mismatches, arguments_fit, compare_calls
from howsure.matching.values import STRICT, at_path, check_matcher
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


@pytest.mark.parametrize(
    ("made", "value"),
    [("a1|b2", 1), ("a1 b2", 1), ("b2 a1", 1 / 3), ("b2|a1", 1 / 3), ("a1 b2 c3", 2 / 3), ("a1", 0.5)],
)
def test_without_message_numbers_exact_compares_the_calls_in_order_however_they_were_grouped(
    made: str, value: float
) -> None:
    assert compare_calls(expected("a1 b2", EXACT), messages(made)).value == pytest.approx(value)


def test_beside_numbered_calls_one_without_a_number_is_a_message_of_its_own() -> None:
    calls = (
        ExpectedCall(name="a", message=1),
        ExpectedCall(name="b", message=1),
        ExpectedCall(name="c"),
    )
    exact = ToolCalls(expected=calls, match=Matching(mode=EXACT))
    assert compare_calls(exact, messages("b a|c")).passed
    assert not compare_calls(exact, messages("a b c")).passed


@pytest.mark.parametrize(
    ("wanted", "made", "reasons"),
    [
        ("a1|a1|a1", "a1|a1", ("`a` was called 2 of 3 times",)),
        ("a1|a1|a1", "a1", ("`a` was called 1 of 3 times",)),
        ("a1|a1", "b1", ("`a` was not called",)),
        ("a1|a2", "a1", ("`a` was called 1 of 2 times",)),
    ],
)
def test_a_call_that_was_made_too_rarely_is_not_said_to_be_missing(
    wanted: str, made: str, reasons: tuple[str, ...]
) -> None:
    assert compare_calls(expected(wanted, SUPERSET), messages(made)).reasons == reasons


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
            ["`b`: called, but not in the expected order"],
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


EXACT_ARGUMENTS, SUPERSET_ARGUMENTS, SUBSET_ARGUMENTS, IGNORE = (
    ArgumentMode.EXACT,
    ArgumentMode.SUPERSET,
    ArgumentMode.SUBSET,
    ArgumentMode.IGNORE,
)
ANY = {"$any": True}


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        (1, 1, True),
        (1, 1.0, True),
        (1, True, False),
        (True, 1, False),
        (False, 0, False),
        (0, None, False),
        (None, None, True),
        ("1", 1, False),
        ("a", "a", True),
        ("a", "A", False),
        (0.1 + 0.2, 0.3, False),
        ([1, 2], [1, 2.0], True),
        ([1, 2], [2, 1], False),
        ([1], [1, 1], False),
        ([True], [1], False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": {"b": [1]}}, {"a": {"b": [True]}}, False),
        ({}, {}, True),
        ({}, [], False),
        ([], {}, False),
        ([], "", False),
        ("é", "e\u0301", False),
    ],
)
def test_literals_are_the_same_json_value(expected: Any, actual: Any, same: bool) -> None:
    assert STRICT.match(expected, actual) is same
    assert (STRICT.differences(expected, actual, "x") == []) is same


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        (ANY, "x", True),
        (ANY, None, True),
        (ANY, [], True),
        ({"$one_of": [1, 2]}, 2.0, True),
        ({"$one_of": [1, 2]}, True, False),
        ({"$one_of": ["a", {"$regex": "b+"}]}, "bbb", True),
        ({"$one_of": [[1, 2], [3]]}, [3], True),
        ({"$optional": 5}, 5, True),
        ({"$optional": 5}, 6, False),
        ({"$optional": 5}, None, False),
        ({"$regex": "ab"}, "ab", True),
        ({"$regex": "ab"}, "xaby", False),
        ({"$regex": "a|b"}, "ab", False),
        ({"$regex": r"o-\d+"}, "o-17", True),
        ({"$regex": r"\d+"}, 17, False),
        ({"$regex": "a.b"}, "a\nb", False),
        ({"$text": "New York"}, "new-york", True),
        ({"$text": "New York"}, "York", False),
        ({"$text": "Straße"}, "STRASSE", True),
        ({"$text": "5"}, 5, False),
        ({"$between": [1, 5]}, 1, True),
        ({"$between": [1, 5]}, 5.0, True),
        ({"$between": [1, 5]}, 5.01, False),
        ({"$between": [0, 5]}, True, False),
        ({"$between": [0, 5]}, "3", False),
        ({"$between": ["2024-01-01", "2024-12-31"]}, "2024-06-01", True),
        ({"$between": ["2024-01-01", "2024-12-31"]}, "2025-01-01", False),
        ({"$between": ["2024-01-01", "2024-12-31"]}, "soon", False),
        ({"$approx": 1.0, "within": 0.1}, 1.1, True),
        ({"$approx": 1.0, "within": 0.1}, 1.11, False),
        ({"$approx": 100, "within": 5}, 95, True),
        ({"$approx": 1, "within": 1}, True, False),
        ({"$contains": "fund"}, "refund it", True),
        ({"$contains": "Fund"}, "refund it", False),
        ({"$contains": {"$regex": r"\d"}}, "order 7", True),
        ({"$contains": {"$text": "New York"}}, "fly to new-york!", True),
        ({"$contains": {"$one_of": ["x", "order"]}}, "order 7", True),
        ({"$contains": 1}, [1, 2], True),
        ({"$contains": 3}, [1, 2], False),
        ({"$contains": [1, 2]}, [2, 3, 1], True),
        ({"$contains": [1, 1]}, [1, 2], False),
        ({"$contains": [{"$between": [1, 9]}, 5]}, [5, 7], True),
        ({"$contains": [{"$between": [1, 9]}, 5]}, [5, 70], False),
        ({"$contains": {"a": 1}}, {"a": 1, "b": 2}, True),
        ({"$contains": {"a": 1}}, {"b": 2}, False),
        ({"$contains": {"a": {"$optional": 1}}}, {"b": 2}, True),
        ({"$contains": {"a": 1}}, [{"a": 1}], True),
        ({"$contains": {"a": 1}}, [{"a": 1, "b": 2}], False),
        ({"$contains": {"$contains": {"a": 1}}}, [{"a": 1, "b": 2}], True),
        ({"$contains": 5}, 5, False),
        ({"$contains": "5"}, 5, False),
        ({"$literal": {"$gt": 5}}, {"$gt": 5}, True),
        ({"$literal": {"$gt": 5}}, {"$gt": 6}, False),
        ({"$literal": {"$any": True}}, {"$any": 1}, False),
        ([ANY, {"$text": "b"}], ["a", "B."], True),
        ({"a": {"b": [{"c": ANY}]}}, {"a": {"b": [{"c": 1}]}}, True),
        ({"a": ANY}, {}, False),
        ({"a": {"$optional": ANY}}, {}, True),
        ({"a": {"$one_of": [1, {"$optional": 2}]}}, {}, True),
    ],
)
def test_matchers_match_what_they_say(expected: Any, actual: Any, same: bool) -> None:
    assert check_matcher(expected, "x") == []
    assert STRICT.match(expected, actual) is same
    assert (STRICT.differences(expected, actual, "x") == []) is same


BASE = {"order": "1", "amount": 50}


@pytest.mark.parametrize(
    ("actual", "rule", "fits"),
    [
        ({"order": "1", "amount": 50}, EXACT_ARGUMENTS, True),
        ({"order": "1", "amount": 50, "note": "x"}, EXACT_ARGUMENTS, False),
        ({"order": "1"}, EXACT_ARGUMENTS, False),
        ({}, EXACT_ARGUMENTS, False),
        ({"order": "1", "amount": 50, "note": "x"}, SUPERSET_ARGUMENTS, True),
        ({"order": "1"}, SUPERSET_ARGUMENTS, False),
        ({"order": "1", "amount": 51}, SUPERSET_ARGUMENTS, False),
        ({"order": "1"}, SUBSET_ARGUMENTS, True),
        ({}, SUBSET_ARGUMENTS, True),
        ({"order": "2"}, SUBSET_ARGUMENTS, False),
        ({"order": "1", "note": "x"}, SUBSET_ARGUMENTS, False),
        ({"anything": 1}, IGNORE, True),
        ({"order": "1", "amount": 7}, ("order",), True),
        ({"order": "2", "amount": 50}, ("order",), False),
        ({"amount": 50}, ("order",), False),
        ({"order": "1", "note": "x"}, ("order", "note"), False),
        ({"order": "1"}, ("order", "note"), True),
        ({"order": "9"}, (), True),
    ],
)
def test_modes_say_which_arguments_count(actual: dict[str, Any], rule: ArgumentRule, fits: bool) -> None:
    assert arguments_fit(BASE, actual, rule) is fits
    assert (argument_mismatches(BASE, actual, rule) == []) is fits


@pytest.mark.parametrize("rule", [EXACT_ARGUMENTS, SUPERSET_ARGUMENTS])
def test_an_optional_argument_may_be_missing_but_not_wrong(rule: ArgumentMode) -> None:
    expected = {"order": "1", "unit": {"$optional": {"$one_of": ["EUR", "USD"]}}}
    assert arguments_fit(expected, {"order": "1"}, rule)
    assert arguments_fit(expected, {"order": "1", "unit": "USD"}, rule)
    assert not arguments_fit(expected, {"order": "1", "unit": "GBP"}, rule)


def test_no_expected_arguments_are_satisfied_by_any_unless_exact() -> None:
    assert arguments_fit({}, {"a": 1}, SUPERSET_ARGUMENTS)
    assert not arguments_fit({}, {"a": 1}, EXACT_ARGUMENTS)
    assert not arguments_fit({}, {"a": 1}, SUBSET_ARGUMENTS)


def test_objects_inside_arguments_are_compared_whole() -> None:
    assert not arguments_fit({"flight": {"no": 1}}, {"flight": {"no": 1, "from": "JFK"}}, SUPERSET_ARGUMENTS)
    assert arguments_fit({"flight": {"$contains": {"no": 1}}}, {"flight": {"no": 1, "from": "JFK"}}, SUPERSET_ARGUMENTS)


def test_all_arguments_together_may_be_one_matcher() -> None:
    either = {"$one_of": [{"city": "SF"}, {"zip": "94103"}]}
    assert arguments_fit(either, {"zip": "94103"}, SUPERSET_ARGUMENTS)
    assert not arguments_fit(either, {"zip": "1"}, SUPERSET_ARGUMENTS)
    assert arguments_fit(ANY, {"zip": "1"}, EXACT_ARGUMENTS)


@pytest.mark.parametrize(
    ("expected", "actual", "rule", "said"),
    [
        ({"city": "SF"}, {"city": "LA"}, EXACT_ARGUMENTS, ["`city`: expected 'SF', found 'LA'"]),
        ({"city": "SF"}, {}, EXACT_ARGUMENTS, ["`city`: missing, expected 'SF'"]),
        ({}, {"city": "SF"}, EXACT_ARGUMENTS, ["`city`: not expected, found 'SF'"]),
        ({"n": 5}, {"n": "5"}, SUPERSET_ARGUMENTS, ["`n`: expected 5, found '5' (a number and a text)"]),
        ({"n": 1}, {"n": True}, SUPERSET_ARGUMENTS, ["`n`: expected 1, found True (true or false, and a number)"]),
        ({"l": [1, 2]}, {"l": [1]}, EXACT_ARGUMENTS, ["`l`: expected [1, 2], found [1] (2 and 1 members)"]),
        (
            {"time": {"start": "a", "end": "b"}},
            {"time": {"start": "a", "end": "c", "zone": "z"}},
            SUPERSET_ARGUMENTS,
            ["`time.end`: expected 'b', found 'c'", "`time.zone`: not expected, found 'z'"],
        ),
        ({"f": [{"d": 1}, {"d": 2}]}, {"f": [{"d": 1}, {"d": 3}]}, EXACT_ARGUMENTS, ["`f.1.d`: expected 2, found 3"]),
        ({"n": {"$between": [1, 5]}}, {"n": 9}, EXACT_ARGUMENTS, ["`n`: expected from 1 to 5, found 9"]),
        ({"n": {"$approx": 1, "within": 2}}, {"n": 9}, EXACT_ARGUMENTS, ["`n`: expected 1 give or take 2, found 9"]),
        ({"n": {"$one_of": [1, "b"]}}, {"n": 9}, EXACT_ARGUMENTS, ["`n`: expected one of 1, 'b', found 9"]),
        ({"n": {"$regex": "a+"}}, {"n": "b"}, EXACT_ARGUMENTS, ["`n`: expected a text like /a+/, found 'b'"]),
        ({"n": {"$text": "a"}}, {"n": "b"}, EXACT_ARGUMENTS, ["`n`: expected the text 'a', found 'b'"]),
        ({"n": {"$contains": "a"}}, {"n": "b"}, EXACT_ARGUMENTS, ["`n`: expected something with 'a' in it, found 'b'"]),
        ({"n": {"$optional": "a"}}, {"n": "b"}, EXACT_ARGUMENTS, ["`n`: expected nothing, or 'a', found 'b'"]),
        ({"n": ANY}, {}, EXACT_ARGUMENTS, ["`n`: missing, expected anything"]),
        ({"n": {"$literal": {"$gt": 1}}}, {"n": 1}, EXACT_ARGUMENTS, ["`n`: expected {'$gt': 1}, found 1"]),
        ({"t": {"s": 1}}, {"t": {"s": 2}}, ("t.s",), ["`t.s`: expected 1, found 2"]),
        ({"a": 1}, {"a": 1, "b": 2}, SUBSET_ARGUMENTS, ["`b`: not expected, found 2"]),
    ],
)
def test_mismatches_say_what_differs_and_where(
    expected: dict[str, Any], actual: dict[str, Any], rule: ArgumentRule, said: list[str]
) -> None:
    assert argument_mismatches(expected, actual, rule) == said


def test_a_long_value_is_cut_in_a_reason() -> None:
    (said,) = argument_mismatches({"a": "x" * 1000}, {"a": "y" * 1000})
    assert len(said) < 300
    assert said.endswith("…")


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ({"a": {"$regexp": "x"}}, "`a`: {'$regexp': 'x'} is not a matcher; known: $any, $one_of"),
        ({"a": {"$any": True, "b": 1}}, "`a`: "),
        ({"a": {"$any": 1}}, "`a`: $any takes true, found 1"),
        ({"a": {"$one_of": []}}, "`a`: $one_of takes a list with at least one value, found []"),
        ({"a": {"$one_of": "xyz"}}, "`a`: $one_of takes a list"),
        ({"a": {"$one_of": [{"$regex": "("}]}}, "`a.$one_of.0`: $regex '(' is not a regular expression"),
        ({"a": {"$regex": 5}}, "`a`: $regex takes a text, found 5"),
        ({"a": {"$text": 5}}, "`a`: $text takes a text, found 5"),
        ({"a": {"$text": "..."}}, "`a`: $text '...' has nothing but spaces and punctuation"),
        ({"a": {"$between": [1]}}, "`a`: $between takes two ends, found [1]"),
        ({"a": {"$between": [1, "x"]}}, "`a`: $between takes two numbers or two ISO dates"),
        ({"a": {"$between": [5, 1]}}, "`a`: $between [5, 1] holds nothing"),
        ({"a": {"$approx": 5}}, "`a`: $approx needs `within`"),
        ({"a": {"$approx": "5", "within": 1}}, "`a`: $approx takes a number, found '5'"),
        ({"a": {"$approx": 5, "within": -1}}, "`a`: $approx needs `within`"),
        ({"a": {"$approx": 5, "within": True}}, "`a`: $approx needs `within`"),
        ({"a": [{"$optional": 1}]}, "`a.0`: $optional belongs to a key that may be missing"),
        ({"a": {"b": [1, {"$nope": 1}]}}, "`a.b.1`: "),
        ({"a": {"$optional": {"$contains": {"$nope": 1}}}}, "`a.$optional.$contains`: "),
        ({"a": {"$set": {"x": 1}}}, "`a`: "),
    ],
)
def test_a_matcher_that_is_not_well_written_is_found_before_anything_runs(expected: Any, said: str) -> None:
    (problem,) = check_matcher(expected)
    assert problem.startswith(said)


def test_every_malformed_matcher_is_reported() -> None:
    assert len(check_matcher({"a": {"$x": 1}, "b": [{"$y": 1}, {"$any": False}], "c": "$fine"})) == 3


def test_an_unknown_matcher_is_an_error_and_never_a_mismatch() -> None:
    with pytest.raises(ValueError, match=r"is not a matcher; known: \$any"):
        arguments_fit({"a": {"$regexp": "x"}}, {"a": "x"}, SUPERSET_ARGUMENTS)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a", {"b": [10, {"c": 11}]}),
        ("a.b.0", 10),
        ("a.b.1.c", 11),
        ("a.b.2", "absent"),
        ("a.b.x", "absent"),
        ("a.z", "absent"),
        ("d.e", 12),
        ("d.e.f", "absent"),
        ("g.h.i", 13),
        ("", "absent"),
    ],
)
def test_a_path_goes_into_objects_and_lists_and_keys_with_dots_win(path: str, found: Any) -> None:
    values = {"a": {"b": [10, {"c": 11}]}, "d.e": 12, "d": {"e": 99}, "g.h": {"i": 13}}
    assert at_path(values, path, "absent") == found
