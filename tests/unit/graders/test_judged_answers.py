"""Answers judged against a reference."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.errors import UnknownName
from howsure.graders.base import GraderContext
from howsure.graders.judged_answers import ReferenceAnswerGrader
from howsure.judges.dataset_policies import POLICIES
from howsure.model.case import World
from howsure.model.dataset_policy import DatasetPolicy
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
        ("Yes, the candidate is correct.", 1.0, True),
        ("No, the candidate is not correct.", 0.0, False),
    ],
)
async def test_the_value_gates_at_seven_tenths(reply: Any, value: float, passed: bool) -> None:
    grade = await graded(reply)
    assert isinstance(grade, Score)
    assert (grade.value, grade.passed) == (value, passed)


LOW_PASS, HIGH_FAIL = {"score": 0.5, "pass": True}, {"score": 0.9, "pass": False}


@pytest.mark.parametrize(
    ("policy", "reply", "value", "passed"),
    [
        ("default_v1", LOW_PASS, 0.5, True),
        ("default_v1", HIGH_FAIL, 0.9, False),
        ("default_v1", {"score": 0, "pass": True}, 0.0, True),
        ("apexv1_extended_v1", HIGH_FAIL, 0.9, False),
        ("lexam_oq_v1", LOW_PASS, 0.5, False),
        ("lexam_oq_v1", HIGH_FAIL, 0.9, True),
        ("lexam_oq_v1", {"score": 0, "pass": True}, 0.0, False),
        ("neither_v1", LOW_PASS, None, None),
        ("neither_v1", HIGH_FAIL, None, None),
        ("neither_v1", {"score": 0.9, "pass": True}, 0.9, True),
    ],
)
async def test_the_policy_says_what_counts_where_the_judge_states_a_pass_of_its_own(
    policy: str, reply: Any, value: float | None, passed: bool | None
) -> None:
    """The value stays as it was judged; only whether it passes follows the judge's word."""
    policies = {**POLICIES, "neither_v1": DatasetPolicy(pass_wins=None)}
    context = GraderContext(judge=ScriptedJudge({"reference_answer": reply}), policies=policies)
    case = a_case(REFERENCE, world=World.LEGAL, metadata={"policy_id": policy})
    (grade,) = await ReferenceAnswerGrader().bind(context).grade(case, a_transcript("Art. 41"))
    assert (getattr(grade, "value", None), getattr(grade, "passed", None)) == (value, passed)
    if value is None:
        assert "beside" in grade.reason


async def test_a_case_whose_policy_nobody_knows_is_not_judged_by_another() -> None:
    with pytest.raises(UnknownName, match="unknown policy 'lexam_v9'; known: apexv1_extended_v1"):
        await graded({"score": 0.7}, metadata={"policy_id": "lexam_v9"})


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


@pytest.mark.parametrize("reply", [{"score": 8}, {"score": "N/A"}, "It depends.", '{"score": NaN}'])
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
