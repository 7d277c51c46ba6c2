"""The nine Explain evals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from howsure.graders.base import GraderContext
from howsure.graders.judged_evals import LIBRARY_EVALS, ExplainEval, explain_evals, library_evals
from howsure.judges.judge_prompts import judge_messages, load_prompts
from howsure.judges.recordings import RecordedJudge
from howsure.model.agent import Agent
from howsure.model.case import Case, SingleTurn, World
from howsure.model.expectation import Goal, Qualities, ReferenceAnswer
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


async def test_no_eval_can_be_called_not_applicable() -> None:
    grade = await graded({"score": "N/A", "explanation": "no feelings in JSON"})
    assert isinstance(grade, Unscored)
    assert grade.why is UnscoredReason.ERROR
    assert "which it does not offer" in grade.reason


@pytest.mark.parametrize(
    ("reply", "mark", "value"),
    [
        ({"score": 4, "passed": True}, 3.6, 4.0),
        ({"score": 3, "passed": True}, 3.6, None),
        ({"score": 4, "passed": False}, 3.6, None),
        ({"score": 3, "passed": False}, 3.6, 3.0),
        ({"score": 4, "passed": False}, None, None),
        ({"score": 3, "passed": False}, None, 3.0),
    ],
    ids=["both pass", "pass below the mark", "fail above it", "both fail", "fail above the middle", "in the middle"],
)
async def test_a_pass_on_the_other_side_of_the_profiles_mark_is_an_error(
    reply: Any, mark: float | None, value: float | None
) -> None:
    judge = ScriptedJudge({"RelevanceExplain": reply})
    context = GraderContext(judge=judge, marks=lambda case, name: mark)
    (grade,) = await ExplainEval("RelevanceExplain").bind(context).grade(CASE, a_transcript("Hi"))
    assert getattr(grade, "value", None) == value


def test_only_the_evals_that_a_case_names_want_it() -> None:
    assert [grader.name for grader in explain_evals() if grader.wants(CASE)] == ["RelevanceExplain", "FluencyExplain"]
    elsewhere = a_case(*CASE.expectations, world=World.GOLDEN)
    assert not any(grader.wants(elsewhere) for grader in explain_evals())


GRADERS = {grader.name: grader for grader in library_evals()}
FULL = a_case(
    ReferenceAnswer(answers=("Oslo",)),
    Goal(text="Name the capital"),
    input=SingleTurn(message="Capital?", context="Norway's capital is Oslo."),
)
AGENT = Agent(id="a", name="A", system_prompt="Be brief.")


async def grade_with_reply(name: str, reply: Any, case: Case = FULL, **setting: Any) -> tuple[Grade, ScriptedJudge]:
    judge = ScriptedJudge({name: reply})
    (grade,) = await GRADERS[name].bind(GraderContext(judge=judge, **setting)).grade(case, a_transcript("It is Oslo."))
    return grade, judge


def test_there_are_six() -> None:
    assert LIBRARY_EVALS == (
        "GroundednessExplain",
        "SimilarityExplain",
        "RetrievalExplain",
        "RoleAdherenceExplain",
        "ExcessiveAgencyExplain",
        "ToxicityExplain",
    )


@pytest.mark.parametrize("name", LIBRARY_EVALS)
async def test_each_is_a_whole_number_from_1_to_5_without_a_mark(name: str) -> None:
    grade, _ = await grade_with_reply(name, {"score": 4, "explanation": "fine", "thoughtChain": "so", "probScore": 3.9})
    assert grade == Score(
        name=name,
        value=4,
        scale=LIKERT,
        reason="fine",
        judge="scripted",
        details={"thought_chain": "so", "prob_score": 3.9},
    )
    for wrong in ({"score": 0}, {"score": 6}, {"score": 4.5}, "fine"):
        unread, _ = await grade_with_reply(name, wrong)
        assert isinstance(unread, Unscored)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("GroundednessExplain", "the case has no context that an answer could rest on"),
        ("SimilarityExplain", "the case has no reference answer to compare with"),
        ("RetrievalExplain", "the case has no retrieved context"),
        ("RoleAdherenceExplain", "neither the agent's instructions nor a goal say what its role is"),
    ],
)
async def test_what_a_case_lacks_makes_an_eval_not_applicable(name: str, reason: str) -> None:
    grade, judge = await grade_with_reply(name, {"score": 1}, a_case())
    assert judge.asked == []
    assert isinstance(grade, Unscored)
    assert (grade.why, grade.reason) == (UnscoredReason.NOT_APPLICABLE, reason)


@pytest.mark.parametrize("name", ["ExcessiveAgencyExplain", "ToxicityExplain"])
async def test_two_need_nothing_but_an_answer(name: str) -> None:
    grade, _ = await grade_with_reply(name, {"score": 5}, a_case())
    assert isinstance(grade, Score)


@pytest.mark.parametrize(
    ("case", "setting"), [(a_case(Goal(text="Help")), {}), (a_case(), {"agent": AGENT})], ids=["goal", "instructions"]
)
async def test_a_role_is_told_by_instructions_or_a_goal(case: Case, setting: dict[str, Any]) -> None:
    grade, _ = await grade_with_reply("RoleAdherenceExplain", {"score": 5}, case, **setting)
    assert isinstance(grade, Score)


@pytest.mark.parametrize("name", LIBRARY_EVALS)
def test_they_run_only_when_asked_for(name: str, tmp_path: Path) -> None:
    grader = GRADERS[name]
    assert grader.optional
    assert not grader.wants(FULL)
    assert grader.bind(GraderContext(judge=ScriptedJudge({}))).wants(FULL)
    path = tmp_path / "recording.jsonl"
    path.write_text(json.dumps({"case_id": "case-1", "grader": name, "reply": {"score": 5}}) + "\n")
    recorded = grader.bind(GraderContext(judge=RecordedJudge.load(path).at("", 1)))
    assert recorded.wants(FULL)
    assert recorded.wants(a_case(world=World.LEGAL))
    assert not recorded.wants(a_case(id="another"))


@pytest.mark.parametrize("name", LIBRARY_EVALS)
async def test_each_has_a_prompt_on_its_scale(name: str) -> None:
    assert load_prompts()[name].scale == LIKERT
    assert load_prompts()[name].whole
    _, judge = await grade_with_reply(name, {"score": 5}, agent=AGENT)
    *_, user = judge_messages(judge.asked[0])
    assert "Capital?" in user.content


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("GroundednessExplain", "Norway's capital is Oslo."),
        ("SimilarityExplain", "Oslo"),
        ("RetrievalExplain", "Norway's capital is Oslo."),
        ("RoleAdherenceExplain", "Be brief."),
        ("ExcessiveAgencyExplain", "Be brief."),
        ("ToxicityExplain", "It is Oslo."),
    ],
)
async def test_each_judge_sees_what_its_question_is_about(name: str, shown: str) -> None:
    _, judge = await grade_with_reply(name, {"score": 5}, agent=AGENT)
    *_, user = judge_messages(judge.asked[0])
    assert shown in user.content
