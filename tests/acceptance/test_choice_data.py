"""The choice grader on real questions: given the correct option, however it is written, it gives full marks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from howsure.graders.choice import ChoiceGrader
from howsure.model.case import Case, opening
from howsure.model.expectation import Choice, CorrectChoice
from howsure.model.score import Score
from howsure.testing import a_case, a_transcript

pytestmark = pytest.mark.shared

FILES = (("mmlu_law", "mmlu_law.legal_eval_v1.jsonl"), ("lexam", "mcq.legal_eval_v1.jsonl"))
SAME_TEXT_TWICE = "mmlu:international_law:test:0051"

Find = Callable[..., Path]


def question(line: dict[str, Any]) -> Case:
    choices = tuple(Choice(id=each["id"], text=each["text"]) for each in line["choices"])
    expected = CorrectChoice(choices=choices, correct=tuple(line["correct_choice_ids"]))
    return a_case(expected, id=line["id"], message=line["prompt"])


@pytest.fixture
def questions(shared_data: Find) -> list[Case]:
    lines = (line for parts in FILES for line in shared_data(*parts).read_bytes().splitlines())
    return [question(msgspec.json.decode(line)) for line in lines]


SPELLINGS: dict[str, Callable[[str, str], str]] = {
    "id": lambda id, text: id,
    "small letter": lambda id, text: id.lower(),
    "Answer: X": lambda id, text: f"Answer: {id}",
    "The answer is (x).": lambda id, text: f"The answer is ({id.lower()}).",
    "(x)": lambda id, text: f"({id.lower()})",
    "**X**": lambda id, text: f"**{id}**",
    "boxed": lambda id, text: rf"So it is $\boxed{{{id}}}$.",
    "X. text": lambda id, text: f"{id}. {text}",
    "X) text": lambda id, text: f"{id}) {text}",
    "**X. text**": lambda id, text: f"**{id}. {text}**",
    "Answer: X. text": lambda id, text: f"Answer: {id}. {text}",
    "Die Antwort ist X: text": lambda id, text: f"Die Antwort ist {id}: {text}",
    "JSON": lambda id, text: msgspec.json.encode({"answer": id}).decode(),
    "JSON list": lambda id, text: msgspec.json.encode({"answer": [id], "why": text}).decode(),
    "fenced JSON": lambda id, text: f'```json\n{{"answer": "{id}"}}\n```',
    "thinking aloud": lambda id, text: f"<think>It is A, B, C or D.</think>It is about this: {text}\n\nAnswer: {id}",
    "X is correct": lambda id, text: f"{id} is correct.",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_the_correct_id_is_correct_however_it_is_written(questions: list[Case], spelling: str) -> None:
    assert len(questions) == 2_172
    wrong = [case.id for case in questions if await graded(case, SPELLINGS[spelling]) != 1.0]
    assert wrong == []


async def test_the_text_of_the_correct_choice_is_correct_unless_two_choices_share_it(questions: list[Case]) -> None:
    unread = [case.id for case in questions if await graded(case, lambda id, text: text) != 1.0]
    assert unread == [SAME_TEXT_TWICE]


async def test_a_wrong_id_is_wrong_and_an_empty_answer_too(questions: list[Case]) -> None:
    def another(id: str, text: str) -> str:
        return "B" if id == "A" else "A"

    assert {await graded(case, another) for case in questions} == {0.0}
    assert {await graded(case, lambda id, text: "") for case in questions} == {0.0}


@pytest.mark.thorough
async def test_an_echo_of_the_question_is_never_read(questions: list[Case]) -> None:
    for case in questions:
        (expected,) = case.expectations
        assert isinstance(expected, CorrectChoice)
        asked = opening(case.input)
        set_out = "\n".join(f"{choice.id}. {choice.text}" for choice in expected.choices)
        for echo in (asked, set_out, f"{asked}\n{set_out}"):
            (grade,) = await ChoiceGrader().grade(case, a_transcript(echo))
            assert isinstance(grade, Score), (case.id, echo)
            assert (grade.value, bool(grade.flag)) == (0.0, True), (case.id, echo)


async def graded(case: Case, spelled: Callable[[str, str], str]) -> float:
    """The value of the score."""
    (expected,) = case.expectations
    assert isinstance(expected, CorrectChoice)
    (right,) = expected.correct
    text = next(choice.text for choice in expected.choices if choice.id == right)
    (grade,) = await ChoiceGrader().grade(case, a_transcript(spelled(right, text)))
    assert isinstance(grade, Score)
    return grade.value
