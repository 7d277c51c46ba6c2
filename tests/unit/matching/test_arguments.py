"""Arguments, literal and through matchers, in every mode."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.matching.calls import ArgumentRule, argument_mismatches, arguments_fit
from howsure.matching.values import STRICT, at_path, check_matcher
from howsure.model.expectation import ArgumentMode

EXACT, SUPERSET, SUBSET, IGNORE = ArgumentMode.EXACT, ArgumentMode.SUPERSET, ArgumentMode.SUBSET, ArgumentMode.IGNORE
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
        ({"order": "1", "amount": 50}, EXACT, True),
        ({"order": "1", "amount": 50, "note": "x"}, EXACT, False),
        ({"order": "1"}, EXACT, False),
        ({}, EXACT, False),
        ({"order": "1", "amount": 50, "note": "x"}, SUPERSET, True),
        ({"order": "1"}, SUPERSET, False),
        ({"order": "1", "amount": 51}, SUPERSET, False),
        ({"order": "1"}, SUBSET, True),
        ({}, SUBSET, True),
        ({"order": "2"}, SUBSET, False),
        ({"order": "1", "note": "x"}, SUBSET, False),
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


@pytest.mark.parametrize("rule", [EXACT, SUPERSET])
def test_an_optional_argument_may_be_missing_but_not_wrong(rule: ArgumentMode) -> None:
    expected = {"order": "1", "unit": {"$optional": {"$one_of": ["EUR", "USD"]}}}
    assert arguments_fit(expected, {"order": "1"}, rule)
    assert arguments_fit(expected, {"order": "1", "unit": "USD"}, rule)
    assert not arguments_fit(expected, {"order": "1", "unit": "GBP"}, rule)


def test_no_expected_arguments_are_satisfied_by_any_unless_exact() -> None:
    assert arguments_fit({}, {"a": 1}, SUPERSET)
    assert not arguments_fit({}, {"a": 1}, EXACT)
    assert not arguments_fit({}, {"a": 1}, SUBSET)


def test_objects_inside_arguments_are_compared_whole() -> None:
    assert not arguments_fit({"flight": {"no": 1}}, {"flight": {"no": 1, "from": "JFK"}}, SUPERSET)
    assert arguments_fit({"flight": {"$contains": {"no": 1}}}, {"flight": {"no": 1, "from": "JFK"}}, SUPERSET)


def test_all_arguments_together_may_be_one_matcher() -> None:
    either = {"$one_of": [{"city": "SF"}, {"zip": "94103"}]}
    assert arguments_fit(either, {"zip": "94103"}, SUPERSET)
    assert not arguments_fit(either, {"zip": "1"}, SUPERSET)
    assert arguments_fit(ANY, {"zip": "1"}, EXACT)


@pytest.mark.parametrize(
    ("expected", "actual", "rule", "said"),
    [
        ({"city": "SF"}, {"city": "LA"}, EXACT, ["`city`: expected 'SF', found 'LA'"]),
        ({"city": "SF"}, {}, EXACT, ["`city`: missing, expected 'SF'"]),
        ({}, {"city": "SF"}, EXACT, ["`city`: not expected, found 'SF'"]),
        ({"n": 5}, {"n": "5"}, SUPERSET, ["`n`: expected 5, found '5' (a number and a text)"]),
        ({"n": 1}, {"n": True}, SUPERSET, ["`n`: expected 1, found True (true or false, and a number)"]),
        ({"l": [1, 2]}, {"l": [1]}, EXACT, ["`l`: expected [1, 2], found [1] (2 and 1 members)"]),
        (
            {"time": {"start": "a", "end": "b"}},
            {"time": {"start": "a", "end": "c", "zone": "z"}},
            SUPERSET,
            ["`time.end`: expected 'b', found 'c'", "`time.zone`: not expected, found 'z'"],
        ),
        ({"f": [{"d": 1}, {"d": 2}]}, {"f": [{"d": 1}, {"d": 3}]}, EXACT, ["`f.1.d`: expected 2, found 3"]),
        ({"n": {"$between": [1, 5]}}, {"n": 9}, EXACT, ["`n`: expected from 1 to 5, found 9"]),
        ({"n": {"$approx": 1, "within": 2}}, {"n": 9}, EXACT, ["`n`: expected 1 give or take 2, found 9"]),
        ({"n": {"$one_of": [1, "b"]}}, {"n": 9}, EXACT, ["`n`: expected one of 1, 'b', found 9"]),
        ({"n": {"$regex": "a+"}}, {"n": "b"}, EXACT, ["`n`: expected a text like /a+/, found 'b'"]),
        ({"n": {"$text": "a"}}, {"n": "b"}, EXACT, ["`n`: expected the text 'a', found 'b'"]),
        ({"n": {"$contains": "a"}}, {"n": "b"}, EXACT, ["`n`: expected something with 'a' in it, found 'b'"]),
        ({"n": {"$optional": "a"}}, {"n": "b"}, EXACT, ["`n`: expected nothing, or 'a', found 'b'"]),
        ({"n": ANY}, {}, EXACT, ["`n`: missing, expected anything"]),
        ({"n": {"$literal": {"$gt": 1}}}, {"n": 1}, EXACT, ["`n`: expected {'$gt': 1}, found 1"]),
        ({"t": {"s": 1}}, {"t": {"s": 2}}, ("t.s",), ["`t.s`: expected 1, found 2"]),
        ({"a": 1}, {"a": 1, "b": 2}, SUBSET, ["`b`: not expected, found 2"]),
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
        arguments_fit({"a": {"$regexp": "x"}}, {"a": "x"}, SUPERSET)


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
