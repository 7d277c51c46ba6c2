"""Answers judged against a reference."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.graders.base import GraderContext
from howsure.graders.judged_answers import ReferenceAnswerGrader
from howsure.model.case import World
from howsure.model.expectation import Criteria, Criterion, Expectation, ReferenceAnswer, WeightedCriteria
from howsure.model.score import Grade, Score, Unscored, UnscoredReason
from howsure.testing import ScriptedJudge, a_case, a_transcript

REFERENCE = ReferenceAnswer(answers=("Art. 41 OR",))
ONE = (Criterion(id="a", text="Names the article"),)


async def graded(reply: Any, **case: Any) -> Grade:
    grader = ReferenceAnswerGrader().bind(GraderContext(judge=ScriptedJudge({"reference_answer": reply})))
    (grade,) = await grader.grade(a_case(REFERENCE, world=World.LEGAL, **case), a_transcript("Art. 41"))
    return grade


@pytest.mark.parametrize(
    ("reply", "value", "passed"),
    [
        ({"score": 0.7}, 0.7, True),
        ({"score": 0.69}, 0.69, False),
        ({"score": 0.65}, 0.65, False),
        ({"score": 0.5, "pass": True}, 0.5, False),
        ("Yes, the candidate is correct.", 1.0, True),
        ("No, the candidate is not correct.", 0.0, False),
    ],
)
async def test_the_value_gates_at_seven_tenths_whatever_the_judge_calls_a_pass(
    reply: Any, value: float, passed: bool
) -> None:
    grade = await graded(reply)
    assert isinstance(grade, Score)
    assert (grade.value, grade.passed) == (value, passed)


@pytest.mark.parametrize(
    ("said", "value"),
    [(0.65, 0.7), (0.649, 0.6), (0.05, 0.1), (0.04, 0.0), (0.25, 0.3), (0.35, 0.4), (0.95, 1.0), (1, 1.0), (0.7, 0.7)],
)
async def test_scores_of_open_exam_questions_are_rounded_to_tenths_halves_up(said: float, value: float) -> None:
    grade = await graded({"score": said}, metadata={"policy_id": "lexam_oq_v1"})
    assert isinstance(grade, Score)
    assert grade.value == value
    assert grade.details == {"judged": said, "quantised_to": 0.1}


async def test_other_policies_round_nothing() -> None:
    grade = await graded({"score": 0.65}, metadata={"policy_id": "prbench_v1"})
    assert isinstance(grade, Score)
    assert (grade.value, grade.details) == (0.65, {})


@pytest.mark.parametrize("reply", [{"score": 8}, {"score": 0, "pass": True}, "It depends.", '{"score": NaN}'])
async def test_an_unreadable_score_is_an_error_also_when_it_would_be_rounded(reply: Any) -> None:
    grade = await graded(reply, metadata={"policy_id": "lexam_oq_v1"})
    assert isinstance(grade, Unscored)
    assert grade.why is UnscoredReason.ERROR


@pytest.mark.parametrize(
    ("world", "expectations", "wanted"),
    [
        (World.LEGAL, (REFERENCE,), True),
        (World.PLAIN, (REFERENCE,), True),
        ("my-world", (REFERENCE,), True),
        (World.EXPLAIN, (REFERENCE,), False),
        (World.GOLDEN, (REFERENCE,), False),
        (World.LEGAL, (), False),
        (World.LEGAL, (REFERENCE, WeightedCriteria(criteria=ONE)), False),
        (World.TEST_SET, (REFERENCE, Criteria(criteria=ONE)), False),
    ],
)
def test_a_reference_beside_criteria_or_for_other_judges_is_not_graded_by_itself(
    world: str, expectations: tuple[Expectation, ...], wanted: bool
) -> None:
    assert ReferenceAnswerGrader().wants(a_case(*expectations, world=world)) is wanted
