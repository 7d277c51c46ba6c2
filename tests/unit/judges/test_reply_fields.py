"""The value of one field or phrase: a number, yes, no, not applicable; and the fields of an object by any name."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.judges.replies import (
    Value,
    VerdictWord,
    find_evidence,
    find_reason,
    find_values,
    normalize_fields,
    normalize_key,
    parse_value,
    parse_word,
    require_on_scale,
    scale_end,
)
from howsure.judges.rulings import UnparsableReply
from howsure.judges.verdict_sentences import StatedNumber
from howsure.model.score import LIKERT, UNIT, ZERO_TO_FIVE, Scale

YES, NO, IDLE = VerdictWord.YES, VerdictWord.NO, VerdictWord.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (True, YES),
        (False, NO),
        (1, StatedNumber(1.0)),
        (0, StatedNumber(0.0)),
        (-2.5, StatedNumber(-2.5)),
        (10**400, StatedNumber(inf)),
        ("4", StatedNumber(4.0)),
        (" **4** ", StatedNumber(4.0)),
        ("4/5", StatedNumber(4.0, 5.0)),
        ("4 out of 5", StatedNumber(4.0, 5.0)),
        ("0.75", StatedNumber(0.75)),
        ("-1", StatedNumber(-1.0)),
        ("yes", YES),
        ("Yes.", YES),
        ("PASSED", YES),
        ("not_met", NO),
        ("not met", NO),
        ("unmet", NO),
        ("N/A", IDLE),
        ("not-applicable", IDLE),
        ("4-5", None),
        ("4,5", None),
        ("4 %", StatedNumber(4.0, 100.0)),
        (".5", StatedNumber(0.5)),
        ("✅ Pass", YES),
        ("Satisfied", YES),
        ("incorrect.", NO),
        ("Nein", NO),
        ("yes?", None),
        ("about 4", None),
        ("no doubt", None),
        ("", None),
        (None, None),
        ([4], None),
        ({"score": 4}, None),
    ],
)
def test_what_a_field_holds(said: Any, expected: Value | None) -> None:
    assert parse_value(said) == expected


@pytest.mark.parametrize(
    ("prose", "expected"),
    [
        ("Score: 4", [StatedNumber(4.0)]),
        ("The rating is fine.\nRating = 4/5", [StatedNumber(4.0, 5.0)]),
        ("**Score:** 3", [StatedNumber(3.0)]),
        ("Score (1-5): 4", [StatedNumber(4.0, 5.0)]),
        ("I would rate this 4 out of 5.", [StatedNumber(4.0, 5.0)]),
        ("I would rate this 4.", [StatedNumber(4.0)]),
        ("Verdict: pass", [YES]),
        ("Criteria met: no", [NO]),
        ("No, it does not.", [NO]),
        ("No doubt it is fine.", []),
        ("Score: 4-5", []),
        ("Score: 80%", [StatedNumber(80.0, 100.0)]),
        ("Style score: 5\nFacts score: 3\nOverall score: 4", [StatedNumber(4.0)]),
        ("The underscore: 4", []),
        ("It mentions 4 of the 5 points.", []),
        ("", []),
        ("\n\n", []),
    ],
)
def test_what_prose_states_as_its_own(prose: str, expected: list[Value]) -> None:
    assert list(dict.fromkeys(find_values(prose))) == expected


@given(st.integers(0, 5), st.sampled_from(["Score: {}", "Rating: {}/5", "grade = {}", "**Score: {}**", "{}"]))
def test_a_number_is_read_however_it_is_labelled(number: int, form: str) -> None:
    assert {value.value for value in find_values(form.format(number)) if isinstance(value, StatedNumber)} == {
        float(number)
    }


@given(st.text(max_size=80))
def test_no_prose_breaks_the_reading(prose: str) -> None:
    assert all(isinstance(value, StatedNumber | VerdictWord) for value in find_values(prose))
    assert parse_word(prose) in (None, *VerdictWord)


@pytest.mark.parametrize(
    ("number", "scale", "whole", "problem"),
    [
        (StatedNumber(4.0), LIKERT, True, ""),
        (StatedNumber(4.0, 5.0), LIKERT, True, ""),
        (StatedNumber(4.5), LIKERT, False, ""),
        (StatedNumber(4.0, 10.0), LIKERT, False, "4 out of 10 where the scale is 1 to 5"),
        (StatedNumber(0.0), LIKERT, False, "0 is not on the scale 1 to 5"),
        (StatedNumber(6.0), ZERO_TO_FIVE, False, "6 is not on the scale 0 to 5"),
        (StatedNumber(inf), Scale(0, None), False, "inf is not on the scale 0 to ∞"),
        (StatedNumber(4.5), LIKERT, True, "4.5 where a whole number is needed, 1 to 5"),
    ],
)
def test_a_number_is_never_moved_onto_its_scale(number: StatedNumber, scale: Scale, whole: bool, problem: str) -> None:
    if not problem:
        assert require_on_scale(number, scale, whole=whole) == number.value
        return
    with pytest.raises(UnparsableReply) as caught:
        require_on_scale(number, scale, whole=whole)
    assert str(caught.value) == problem


def test_yes_and_no_are_the_ends_of_a_share_and_of_nothing_else() -> None:
    assert (scale_end(YES, UNIT), scale_end(NO, UNIT)) == (1.0, 0.0)
    with pytest.raises(UnparsableReply, match="a 'yes' where a number is needed, 1 to 5"):
        scale_end(YES, LIKERT)


@pytest.mark.parametrize(
    ("key", "plain"),
    [
        ("criteriaMet", "criteriamet"),
        ("Criteria met", "criteriamet"),
        ("criteria_met", "criteriamet"),
        ("Größe", "gre"),
    ],
)
def test_one_key_has_many_spellings(key: str, plain: str) -> None:
    assert normalize_key(key) == plain


def test_two_spellings_of_one_key_must_agree() -> None:
    assert normalize_fields({"criteria_met": True, "criteriaMet": True}) == {"criteriamet": True}
    with pytest.raises(UnparsableReply, match="the reply says two things under the key 'criteriaMet'"):
        normalize_fields({"criteria_met": True, "criteriaMet": False})


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"reason": " because "}, ("because", "reason")),
        ({"reason": "b", "explanation": "a"}, ("a", "explanation")),
        ({"explanation": " ", "rationale": "b"}, ("b", "rationale")),
        ({"reason": ["because"]}, ("", "")),
        ({"why": "because"}, ("", "")),
        ({}, ("", "")),
    ],
)
def test_the_reason_has_several_names(fields: dict[str, Any], expected: tuple[str, str]) -> None:
    assert find_reason(fields) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"evidence": "he said so"}, (("he said so",), "evidence")),
        ({"evidence": ["a", "b"]}, (("a", "b"), "evidence")),
        ({"evidence": [2, "b"]}, (("turn 2", "b"), "evidence")),
        ({"evidence": []}, ((), "evidence")),
        ({"evidence": " ", "quotes": ["a"]}, (("a",), "quotes")),
        ({"evidence": [{"quote": "a"}]}, ((), "")),
        ({"evidence": [True]}, ((), "")),
        ({"quote": "a"}, (("a",), "quote")),
        ({}, ((), "")),
    ],
)
def test_what_a_judge_quotes_has_several_names(fields: dict[str, Any], expected: tuple[tuple[str, ...], str]) -> None:
    assert find_evidence(fields) == expected
