"""Graders that compare the text of an answer by program."""

from __future__ import annotations

import pytest

from howsure.graders.matches import MATCH_GRADERS
from howsure.matching.numbers import number_in, read_number
from howsure.model.case import World
from howsure.model.expectation import (
    ExactText,
    Expectation,
    IncludedText,
    JsonOutput,
    JsonPlace,
    NumericAnswer,
    TextForm,
    TextPattern,
)
from howsure.model.score import Grade, Score, Unscored, UnscoredReason
from howsure.model.verdict import Verdict
from howsure.policies.verdicts import builtin_policies
from howsure.testing import a_case, a_transcript

PARIS = ExactText(values=("Paris",))
OBJECT = JsonOutput(schema={"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}})


async def grade(expected: Expectation, answer: str) -> Grade:
    (grader,) = [each for each in MATCH_GRADERS if each.wants(a_case(expected))]
    (found,) = await grader.grade(a_case(expected), a_transcript(answer))
    return found


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (PARIS, [" Paris\n"], ["paris", "Paris.", "", "It is Paris"]),
        (ExactText(values=("Paris", "Lyon")), ["Lyon"], ["Paris Lyon"]),
        (ExactText(values=("Paris",), form=TextForm.AS_IS), ["Paris"], ["Paris\n"]),
        (ExactText(values=("The U.S.",), form=TextForm.WORDS), ["the u s"], ["the USA"]),
        (ExactText(values=("straße",), ignore_case=True), ["STRASSE"], ["Strase"]),
        (ExactText(values=("Paris",), negate=True), ["Lyon", ""], ["Paris"]),
        (IncludedText(values=("Paris",)), ["In Paris, yes"], ["paris", ""]),
        (IncludedText(values=("Paris",), ignore_case=True), ["PARIS"], ["Pari"]),
        (IncludedText(values=("a", "b"), every=True), ["ba"], ["a", "b"]),
        (IncludedText(values=("a", "b")), ["a", "b"], ["c"]),
        (IncludedText(values=("Yes",), at_start=True), ["Yes, sir", "Yes"], ["Oh Yes", "\nYes"]),
        (IncludedText(values=("a", "b"), every=True, negate=True), ["a"], ["ab"]),
        (TextPattern(patterns=(r"L-\d+",)), ["order L-17"], ["L-x"]),
        (TextPattern(patterns=(r"L-\d+",), whole=True), [" L-17\n"], ["order L-17"]),
        (TextPattern(patterns=("a", "(?i)B")), ["b"], ["c"]),
        (TextPattern(patterns=("sorry",), negate=True), ["Sure"], ["I am sorry"]),
        (NumericAnswer(values=(1234.0,)), ["1,234", "It is $1,234.00.", "1234 of 9? Answer: 1234"], ["1", "1234 or 5"]),
        (NumericAnswer(values=(10.0,), tolerance=0.5), ["10.4", "9.5"], ["10.6", "none", ""]),
        (NumericAnswer(values=(0.3,)), ["0.30000000000000004"], ["0.31"]),
        (NumericAnswer(values=(3.0,), negate=True), ["4", "none"], ["3"]),
        (JsonOutput(), ['{"a": 1}', "3", "```json\n[1]\n```"], ["{", "", "Sure: {}"]),
        (JsonOutput(place=JsonPlace.WHOLE), ["[1]"], ["```json\n[1]\n```"]),
        (JsonOutput(place=JsonPlace.ANYWHERE), ["Sure: [1, {}] here"], ["Sure: [1, {", "[" * 100_000]),
        (OBJECT, ['{"id": 1}'], ['{"id": "1"}', "{}", "[]", "no"]),
        (JsonOutput(schema={"required": ["id"]}, place=JsonPlace.ANYWHERE), ['{} then {"id": 1}'], ["{} and {}"]),
        (JsonOutput(negate=True), ["words"], ["{}"]),
    ],
)
async def test_an_answer_is_right_or_wrong(expected: Expectation, right: list[str], wrong: list[str]) -> None:
    for answers, value in ((right, 1.0), (wrong, 0.0)):
        for answer in answers:
            found = await grade(expected, answer)
            assert isinstance(found, Score) and (found.value, found.passed) == (value, value == 1.0), answer[:50]


@pytest.mark.parametrize(
    "expected",
    [
        TextPattern(patterns=("(?=a)b",)),
        TextPattern(patterns=("(",)),
        JsonOutput(schema={"type": "objekt"}),
        JsonOutput(schema={"$ref": "https://example.com/schema.json"}),
    ],
)
async def test_what_nobody_can_be_held_to_is_an_error_and_no_failure(expected: Expectation) -> None:
    found = await grade(expected, '{"a": 1}')
    assert isinstance(found, Unscored) and found.why is UnscoredReason.ERROR


async def test_each_of_several_expectations_must_hold() -> None:
    case = a_case(IncludedText(values=("a",)), IncludedText(values=("b",), negate=True), world=World.PLAIN)
    grader = next(each for each in MATCH_GRADERS if each.name == "includes")
    decide = builtin_policies()[World.PLAIN]
    verdicts = [
        decide(case, await grader.grade(case, a_transcript(text)), None).verdict for text in ("a", "ab", "b", "")
    ]
    assert verdicts == [Verdict.PASSED, Verdict.FAILED, Verdict.FAILED, Verdict.FAILED]


@pytest.mark.parametrize(
    ("answer", "number"),
    [
        ("10-20", 20.0),
        ("The answer is **42** (of 50)", 42.0),
        ("3 and 4, so #### 7. Not 8.", 7.0),
        (r"\boxed{-3.5}", -3.5),
        ("v2.0 costs nothing", None),
        ("1e9999", None),
        ("−7 °C", -7.0),
        ("1,2,3", 3.0),
        ("Es sind 1,5 Liter.", 1.5),
        ("It is 1,500.", 1500.0),
        ("0,125 or so", 0.125),
        ("1.234.567,89 €", 1234567.89),
        ("either 1, 5", 5.0),
        (".5", 0.5),
    ],
)
def test_the_number_that_an_answer_comes_to(answer: str, number: float | None) -> None:
    assert number_in(answer) == number


def test_an_expected_number_is_written_as_people_write_numbers() -> None:
    texts = ["42", "1,234.5", "$ 12", "45 %", "−3", "1e3", "12,34", "0,125", "1.234,5", "1,2,3", "forty", "", "1 2"]
    numbers = [42.0, 1234.5, 12.0, 45.0, -3.0, 1000.0, 12.34, 0.125, 1234.5, None, None, None, None]
    assert [read_number(text) for text in texts] == numbers
