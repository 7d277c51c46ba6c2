"""The choice grader: what a reading is worth."""

from __future__ import annotations

import pytest

from howsure.graders.choice import ChoiceGrader
from howsure.model.expectation import Choice, CorrectChoice
from howsure.model.score import Score, Unscored, UnscoredReason
from howsure.testing import a_case, a_transcript

CHOICES = tuple(
    Choice(id=letter, text=f"option number {word}")
    for letter, word in zip("ABCD", ("one", "two", "three", "four"), strict=True)
)


@pytest.mark.parametrize(
    ("correct", "answer", "value", "reason"),
    [
        ("B", "B", 1.0, "chose B, which is correct"),
        ("B", "Answer: b", 1.0, "chose B, which is correct"),
        ("B", "C", 0.0, "chose C; correct is B"),
        ("B", "", 0.0, "the answer is empty"),
        ("B", "<think>B</think>", 0.0, "the answer is empty"),
        ("B", "A and B", 0.0, "chose A and B; correct is B"),
        ("AC", "A and C", 1.0, "chose A and C, which is correct"),
        ("AC", '{"answer": ["C", "A"]}', 1.0, "chose A and C, which is correct"),
        ("AC", "A", 0.0, "chose A; correct is A and C"),
        ("AC", "A, B, C", 0.0, "chose A and B and C; correct is A and C"),
        ("AC", '{"answer": []}', 0.0, "chose nothing; correct is A and C"),
        ("CA", "AC", 1.0, "chose A and C, which is correct"),
    ],
)
async def test_only_the_exact_set_is_correct(correct: str, answer: str, value: float, reason: str) -> None:
    case = a_case(CorrectChoice(choices=CHOICES, correct=tuple(correct)))
    (grade,) = await ChoiceGrader().grade(case, a_transcript(answer))
    assert isinstance(grade, Score)
    assert (grade.value, grade.passed, grade.reason) == (value, value == 1.0, reason)
    assert grade.details["correct"] == list(correct)


@pytest.mark.parametrize("answer", ["A or B", "I cannot answer.", "Answer: E", "A contract is void."])
async def test_an_answer_that_cannot_be_read_is_an_error_not_a_zero(answer: str) -> None:
    case = a_case(CorrectChoice(choices=CHOICES, correct=("B",)))
    (grade,) = await ChoiceGrader().grade(case, a_transcript(answer))
    assert isinstance(grade, Unscored)
    assert grade.why is UnscoredReason.ERROR
    assert grade.reason
    assert grade.details["answer"] == answer


async def test_two_questions_in_one_case_are_two_parts() -> None:
    two = (CorrectChoice(choices=CHOICES, correct=("A",)), CorrectChoice(choices=CHOICES, correct=("B",)))
    grades = await ChoiceGrader().grade(a_case(*two), a_transcript("A"))
    assert [(grade.part.id if grade.part else "", getattr(grade, "value", None)) for grade in grades] == [
        ("1", 1.0),
        ("2", 0.0),
    ]
