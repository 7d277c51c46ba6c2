"""The criteria of a case and the rules of a rubric."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.graders.base import GraderContext
from howsure.graders.criteria import CriteriaGrader, WeightedCriteriaGrader
from howsure.graders.rubric import RubricGrader
from howsure.model.case import World
from howsure.model.expectation import Criteria, Criterion, WeightedCriteria
from howsure.model.rubric import Rubric, Rule, Scope, Severity
from howsure.model.score import Direction, Grade, Part, Score, Unscored, UnscoredReason
from howsure.testing import ScriptedJudge, a_case, a_transcript

CASE = a_case(
    Criteria(criteria=(Criterion(id="a", text="Greets"), Criterion(id="b", text="Helps"))),
    Criteria(criteria=(Criterion(id="c", text="Says goodbye"),)),
)
RULES = Rubric(
    name="Shop",
    rules=(
        Rule(id="BRIEF", name="Brief answers", severity=Severity.LOW, scope=Scope.PROMPT),
        Rule(id="SAFE", name="No secrets", severity=Severity.HIGH),
    ),
)


async def by_criteria(a: Any, b: Any, c: Any) -> tuple[list[Grade], Grade]:
    judge = ScriptedJudge({("criteria", "a"): a, ("criteria", "b"): b, ("criteria", "c"): c})
    *parts, whole = await CriteriaGrader().bind(GraderContext(judge=judge)).grade(CASE, a_transcript("Hi"))
    assert len(judge.asked) >= 3
    return parts, whole


async def test_every_criterion_is_answered_exactly_once_in_its_order() -> None:
    parts, whole = await by_criteria("yes", {"passed": False, "reasoning": "it did not"}, 'Fine. {"met": true}')
    assert [(part.part, part.value) for part in parts if isinstance(part, Score)] == [
        (Part(id="a", text="Greets", position=1), 1.0),
        (Part(id="b", text="Helps", position=2), 0.0),
        (Part(id="c", text="Says goodbye", position=3), 1.0),
    ]
    assert [part.passed for part in parts if isinstance(part, Score)] == [True, False, True]
    assert parts[1].reason == "it did not"
    assert whole == Score(
        name="criteria",
        value=2 / 3,
        pass_mark=1.0,
        reason="2 of 3 criteria met",
        details={"passed": 2, "total": 3},
    )


async def test_an_unreadable_criterion_leaves_the_whole_without_a_value() -> None:
    parts, whole = await by_criteria("no", "hm", "yes")
    assert [getattr(part, "value", None) for part in parts] == [0.0, None, 1.0]
    assert isinstance(whole, Unscored)
    assert whole.why is UnscoredReason.ERROR
    assert whole.reason.startswith("1 of 3 could not be judged; “Helps”: attempt 1: no value in the reply: “hm”")


async def test_no_criterion_can_be_called_not_applicable() -> None:
    parts, whole = await by_criteria("no", "N/A", "yes")
    assert [getattr(part, "value", None) for part in parts] == [0.0, None, 1.0]
    assert isinstance(whole, Unscored)
    assert whole.why is UnscoredReason.ERROR
    assert "the reply says that the question does not apply, which it does not offer: “N/A”" in whole.reason


@pytest.mark.parametrize("reply", [{"score": 0, "passed": True}, {"score": 0.5}, {"score": 7}])
async def test_a_criterion_is_met_or_not(reply: Any) -> None:
    parts, _ = await by_criteria(reply, "yes", "yes")
    assert isinstance(parts[0], Unscored)
    assert parts[0].why is UnscoredReason.ERROR


async def test_without_a_judge_each_part_and_the_whole_say_so() -> None:
    grades = await CriteriaGrader().grade(CASE, a_transcript("Hi"))
    assert [grade.why for grade in grades if isinstance(grade, Unscored)] == [UnscoredReason.NO_JUDGE] * 4
    assert {grade.pass_mark for grade in grades} == {1.0}


def test_a_case_without_criteria_is_not_wanted() -> None:
    assert not CriteriaGrader().wants(a_case())
    assert not CriteriaGrader().wants(a_case(Criteria(criteria=())))


async def by_rules(brief: Any, safe: Any) -> tuple[list[Grade], Grade]:
    judge = ScriptedJudge({("rubric", "BRIEF"): brief, ("rubric", "SAFE"): safe})
    *parts, whole = (
        await RubricGrader().bind(GraderContext(judge=judge, rubric=RULES)).grade(a_case(), a_transcript("Hi"))
    )
    return parts, whole


async def test_rules_carry_their_severity_and_scope() -> None:
    parts, whole = await by_rules("fail", {"passed": True, "score": 1.0, "reasoning": "kept quiet"})
    assert [part.part for part in parts] == [
        Part(id="BRIEF", text="Brief answers", severity=Severity.LOW, scope="prompt", position=1),
        Part(id="SAFE", text="No secrets", severity=Severity.HIGH, scope="general", position=2),
    ]
    assert [part.passed for part in parts if isinstance(part, Score)] == [False, True]
    assert whole == Score(name="rubric", value=0.5, reason="1 of 2 rules held", details={"passed": 1, "total": 2})


async def test_a_rule_that_does_not_apply_is_left_out() -> None:
    parts, whole = await by_rules("N/A", "pass")
    assert isinstance(parts[0], Unscored)
    assert isinstance(whole, Score)
    assert (whole.value, whole.details) == (1.0, {"passed": 1, "total": 1})


def test_rules_are_asked_about_only_when_the_run_brings_them() -> None:
    assert not RubricGrader().wants(a_case())
    assert not RubricGrader().bind(GraderContext(rubric=Rubric(name="Empty", rules=()))).wants(a_case())
    assert RubricGrader().bind(GraderContext(rubric=RULES)).wants(a_case())


async def graded(weights: list[float | None], replies: list[Any], **case: Any) -> tuple[list[Grade], Grade]:
    criteria = tuple(Criterion(id=str(n), text=f"Criterion {n}", weight=weight) for n, weight in enumerate(weights))
    judge = ScriptedJudge({("weighted_criteria", str(n)): reply for n, reply in enumerate(replies)})
    grader = WeightedCriteriaGrader().bind(GraderContext(judge=judge))
    *parts, whole = await grader.grade(a_case(WeightedCriteria(criteria=criteria), **case), a_transcript("Hi"))
    return parts, whole


async def test_a_weighted_sum_is_never_made_of_the_other_parts_alone() -> None:
    parts, whole = await graded([8, 2], ["N/A", "yes"])
    assert [getattr(part, "value", None) for part in parts] == [None, 1.0]
    assert isinstance(whole, Unscored)
    assert whole.why is UnscoredReason.ERROR


@pytest.mark.parametrize(
    ("policy", "reply", "value"),
    [
        ("prbench_v1", {"score": 0.7}, None),
        ("prbench_v1", {"score": 1}, 1.0),
        ("prbench_v1", "no", 0.0),
        ("prbench_v1", {"criteria_met": True}, 1.0),
        ("default_v1", {"score": 0.7}, 0.7),
        ("apexv1_extended_v1", {"score": 0.7}, 0.7),
    ],
)
async def test_the_criteria_of_prbench_are_met_or_not(policy: str, reply: Any, value: float | None) -> None:
    (part,), _ = await graded([1], [reply], metadata={"policy_id": policy}, world=World.LEGAL)
    assert getattr(part, "value", None) == value


@pytest.mark.parametrize(
    ("weight", "reply", "value"),
    [
        (8, {"score": 0.9, "met": True}, 0.9),
        (8, {"score": 0.9, "met": False}, None),
        (8, {"score": 0.2, "pass": True}, None),
        (8, {"score": 0.5, "pass": True}, 0.5),
        (8, {"score": 0, "met": True}, None),
        (-5, {"score": 1, "met": True}, 1.0),
        (-5, {"score": 0, "met": False}, 0.0),
        (-5, {"score": 1, "met": False}, None),
    ],
)
async def test_met_beside_a_degree_must_agree_with_it_whether_meeting_it_is_good_or_bad(
    weight: float, reply: Any, value: float | None
) -> None:
    (part,), _ = await graded([weight], [reply])
    assert getattr(part, "value", None) == value


@pytest.mark.parametrize(
    ("weights", "met", "points", "min_max"),
    [
        ([8, -5], [1, 1], 3 / 8, 8 / 13),
        ([8, -5], [1, 0], 1.0, 1.0),
        ([8, -5], [0, 1], 0.0, 0.0),
        ([8, -5], [0, 0], 0.0, 5 / 13),
        ([8, -5], [0.5, 0], 0.5, 9 / 13),
        ([10, 5, -10], [1, 0, 1], 0.0, 10 / 25),
        ([None, None], [1, 0], 0.5, 0.5),
        ([None, 3], [1, 0], 0.25, 0.25),
        ([0, 2], [1, 1], 1.0, 1.0),
        ([0.1, 0.2], [1, 1], 1.0, 1.0),
    ],
    ids=[
        "both met",
        "only the good",
        "only the bad",
        "an empty answer earns nothing",
        "half met",
        "below zero is zero",
        "no weight is one",
        "one without a weight",
        "a weight of zero",
        "binary fractions",
    ],
)
async def test_both_normalisations_are_reported_and_points_is_the_value(
    weights: list[float | None], met: list[float], points: float, min_max: float
) -> None:
    _, whole = await graded(weights, [{"score": value} for value in met])
    assert isinstance(whole, Score)
    assert whole.value == pytest.approx(points)
    assert whole.details["points"] == pytest.approx(points)
    assert whole.details["min_max"] == pytest.approx(min_max)
    assert (whole.pass_mark, whole.details["normalization"]) == (0.7, "points")


async def test_the_record_of_the_sum_is_complete() -> None:
    _, whole = await graded([8, -5], ["yes", "yes"])
    assert whole.details == {
        "points": 0.375,
        "min_max": pytest.approx(8 / 13),
        "normalization": "points",
        "raw_sum": 3.0,
        "min_raw": -5.0,
        "max_raw": 8.0,
        "matched_criteria": 2,
        "total_criteria": 2,
    }
    assert whole.reason == "3 of 8 points"


@pytest.mark.parametrize(("met", "value"), [([0, 0], 1.0), ([1, 0], 0.4), ([1, 1], 0.0)])
async def test_without_a_positive_weight_it_is_min_max_and_flagged(met: list[float], value: float) -> None:
    _, whole = await graded([-3, -2], [{"score": each} for each in met])
    assert isinstance(whole, Score)
    assert whole.value == pytest.approx(value)
    assert whole.details["no_positive_weight"] is True
    assert (whole.details["points"], whole.details["normalization"]) == (None, "min_max")


async def test_weights_that_are_all_zero_decide_nothing() -> None:
    _, whole = await graded([0, 0], ["yes", "no"])
    assert isinstance(whole, Unscored)
    assert whole.why is UnscoredReason.NOT_APPLICABLE


async def test_an_errored_part_leaves_the_sum_without_a_value() -> None:
    parts, whole = await graded([8, -5], [{"score": 8}, "yes"])
    assert isinstance(parts[0], Unscored)
    assert isinstance(parts[1], Score)
    assert isinstance(whole, Unscored)
    assert (whole.why, whole.pass_mark) == (UnscoredReason.ERROR, 0.7)


async def test_meeting_a_bad_criterion_is_a_failed_check() -> None:
    parts, _ = await graded([8, -5, 4, -1], [{"met": True}, {"met": True}, {"score": 0.5}, {"met": False}])
    scores = [part for part in parts if isinstance(part, Score)]
    assert [score.passed for score in scores] == [True, False, False, True]
    assert [score.direction for score in scores] == [
        Direction.HIGHER,
        Direction.LOWER,
        Direction.HIGHER,
        Direction.LOWER,
    ]
    assert [score.part.weight for score in scores if score.part] == [8, -5, 4, -1]


def test_only_cases_with_weighted_criteria_are_wanted() -> None:
    assert not WeightedCriteriaGrader().wants(a_case())
    assert WeightedCriteriaGrader().wants(a_case(WeightedCriteria(criteria=(Criterion(id="a", text="A"),))))
