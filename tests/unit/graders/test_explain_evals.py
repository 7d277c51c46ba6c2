"""The nine Explain evals."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.graders.base import GraderContext
from howsure.graders.explain_evals import ExplainEval, explain_evals
from howsure.model.case import World
from howsure.model.expectation import Qualities
from howsure.model.score import LIKERT, Grade, Score, Unscored, UnscoredReason
from howsure.testing import ScriptedJudge, a_case, a_transcript

CASE = a_case(Qualities(names=("RelevanceExplain", "FluencyExplain")), world=World.EXPLAIN)


async def graded(reply: Any) -> Grade:
    grader = ExplainEval("RelevanceExplain").bind(GraderContext(judge=ScriptedJudge({"RelevanceExplain": reply})))
    (grade,) = await grader.grade(CASE, a_transcript("Hi"))
    return grade


async def test_the_integer_is_the_value_and_the_rest_are_details() -> None:
    grade = await graded({"thoughtChain": "first …", "explanation": "on topic", "score": 4, "probScore": 3.82})
    assert grade == Score(
        name="RelevanceExplain",
        value=4.0,
        scale=LIKERT,
        reason="on topic",
        judge="scripted",
        details={"thought_chain": "first …", "prob_score": 3.82},
    )


@pytest.mark.parametrize("key", ["prob_score", "probScore", "ProbScore"])
async def test_the_probability_weighted_score_has_one_name(key: str) -> None:
    grade = await graded({"score": 4, key: "3.5"})
    assert grade.details == {"prob_score": 3.5}


async def test_log_probabilities_are_kept() -> None:
    logprobs = [{"token": "4", "logprob": -0.1}, {"token": "5", "logprob": -2.3}]
    assert (await graded({"score": 4, "logprobs": logprobs})).details == {"logprobs": logprobs}


@pytest.mark.parametrize(
    "reply",
    [
        {"score": 7},
        {"score": 0},
        {"score": -1},
        {"score": 3.5},
        {"score": True},
        {"score": "yes"},
        '{"score": NaN}',
        {"score": 4, "prob_score": 7.3},
        {"score": 4, "prob_score": "high"},
        {"explanation": "good"},
        "",
    ],
)
async def test_a_value_off_1_to_5_is_an_error(reply: Any) -> None:
    grade = await graded(reply)
    assert isinstance(grade, Unscored)
    assert (grade.why, grade.scale) == (UnscoredReason.ERROR, LIKERT)


async def test_perceived_intelligence_is_on_1_to_5_too() -> None:
    name = "PerceivedIntelligenceExplain"
    grader = ExplainEval(name).bind(GraderContext(judge=ScriptedJudge({name: {"score": 8}})))
    (grade,) = await grader.grade(CASE, a_transcript("Hi"))
    assert isinstance(grade, Unscored)
    assert "8 is not on the scale 1 to 5" in grade.reason


async def test_an_eval_that_does_not_apply_has_no_value() -> None:
    grade = await graded({"score": "N/A", "explanation": "no feelings in JSON"})
    assert isinstance(grade, Unscored)
    assert (grade.why, grade.reason) == (UnscoredReason.NOT_APPLICABLE, "no feelings in JSON")


def test_only_the_evals_that_a_case_names_want_it() -> None:
    assert [grader.name for grader in explain_evals() if grader.wants(CASE)] == ["RelevanceExplain", "FluencyExplain"]
    elsewhere = a_case(*CASE.expectations, world=World.GOLDEN)
    assert not any(grader.wants(elsewhere) for grader in explain_evals())
