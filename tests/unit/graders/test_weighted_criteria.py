"""Criteria that earn and cost points: every expected value is worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.graders.base import GraderContext
from howsure.graders.criteria import WeightedCriteriaGrader
from howsure.model.expectation import Criterion, WeightedCriteria
from howsure.model.score import Direction, Grade, Score, Unscored, UnscoredReason
from howsure.testing import ScriptedJudge, a_case, a_transcript


async def graded(weights: list[float | None], replies: list[Any]) -> tuple[list[Grade], Grade]:
    criteria = tuple(Criterion(id=str(n), text=f"Criterion {n}", weight=weight) for n, weight in enumerate(weights))
    judge = ScriptedJudge({("weighted_criteria", str(n)): reply for n, reply in enumerate(replies)})
    grader = WeightedCriteriaGrader().bind(GraderContext(judge=judge))
    *parts, whole = await grader.grade(a_case(WeightedCriteria(criteria=criteria)), a_transcript("Hi"))
    return parts, whole


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
    _, whole = await graded([8, -5, 2], ["yes", "yes", "N/A"])
    assert whole.details == {
        "points": 0.375,
        "min_max": pytest.approx(8 / 13),
        "normalization": "points",
        "raw_sum": 3.0,
        "min_raw": -5.0,
        "max_raw": 8.0,
        "matched_criteria": 2,
        "total_criteria": 3,
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
