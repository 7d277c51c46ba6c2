"""The judged evals of the golden world."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from howsure.graders.base import GraderContext
from howsure.graders.judged_evals import GoldenJudgedGrader, golden_judged
from howsure.judges.judge_prompts import load_prompts
from howsure.judges.recordings import RecordedJudge, RecordingJudge
from howsure.model.case import Case, Scenario, Script, World
from howsure.model.score import UNIT, ZERO_TO_FIVE, Grade, Score, Unscored, UnscoredReason
from howsure.model.transcript import Message, Role
from howsure.testing import ScriptedJudge, a_case, a_transcript

CASE = a_case(world=World.GOLDEN)
GRADERS = {grader.name: grader for grader in golden_judged()}


def user(*texts: str) -> tuple[Message, ...]:
    return tuple(Message(role=Role.USER, content=text) for text in texts)


async def graded(name: str, reply: Any, case: Case = CASE, **transcript: Any) -> Grade:
    grader = GRADERS[name].bind(GraderContext(judge=ScriptedJudge({name: reply})))
    (grade,) = await grader.grade(case, a_transcript("Hi", **transcript))
    return grade


@pytest.mark.parametrize(
    "name",
    [
        "tool_usage_accuracy_judged",
        "trajectory_accuracy_judged",
        "state_management_fidelity_judged",
        "response_correctness",
        "capability_honesty",
        "pipeline_integrity",
    ],
)
async def test_six_are_on_0_to_5_without_a_mark(name: str) -> None:
    grade = await graded(name, {"score": 0, "explanation": "nothing works"})
    assert grade == Score(name=name, value=0.0, scale=ZERO_TO_FIVE, reason="nothing works", judge="scripted")
    assert isinstance(await graded(name, {"score": 5.5}), Unscored)


async def test_the_others_are_shares_of_verdicts() -> None:
    reply = {"verdicts": [{"content": "Polite", "verdict": True}, {"content": "Short", "verdict": False}]}
    grade = await graded("general_quality", reply)
    assert isinstance(grade, Score)
    assert (grade.value, grade.scale, grade.pass_mark) == (0.5, UNIT, None)
    assert [verdict["content"] for verdict in grade.details["rubric_verdicts"]] == ["Polite", "Short"]


@pytest.mark.parametrize(
    ("name", "why"), [("capability_honesty", UnscoredReason.NOT_APPLICABLE), ("safety", UnscoredReason.ERROR)]
)
async def test_not_applicable_is_read_where_the_prompt_offers_it(name: str, why: UnscoredReason) -> None:
    grade = await graded(name, "N/A")
    assert isinstance(grade, Unscored)
    assert grade.why is why
    assert load_prompts()[name].head.may_not_apply is (why is UnscoredReason.NOT_APPLICABLE)


@pytest.mark.parametrize(
    ("case", "transcript", "applies"),
    [
        (CASE, {}, False),
        (a_case(world=World.GOLDEN, input=Script(turns=("Hi",))), {}, False),
        (a_case(world=World.GOLDEN, input=Script(turns=("Hi", "Bye"))), {}, True),
        (CASE, {"messages": user("Hi", "Bye")}, True),
        (a_case(world=World.GOLDEN, input=Scenario(persona="Ann", initial_message="Hi")), {}, False),
        (
            a_case(world=World.GOLDEN, input=Scenario(persona="Ann", initial_message="Hi")),
            {"messages": user("Hi", "And?")},
            True,
        ),
    ],
)
async def test_multi_turn_evals_need_several_turns(case: Case, transcript: dict[str, Any], applies: bool) -> None:
    grade = await graded("multi_turn_text_quality", {"score": 1}, case, **transcript)
    assert isinstance(grade, Score) is applies
    if isinstance(grade, Unscored):
        assert (grade.why, grade.reason) == (UnscoredReason.NOT_APPLICABLE, "the conversation has a single turn")


def wanting(setting: GraderContext, case: Case) -> list[str]:
    bound: list[GoldenJudgedGrader] = [grader.bind(setting) for grader in golden_judged()]
    return [grader.name for grader in bound if grader.wants(case)]


def test_without_a_judge_they_want_nothing() -> None:
    assert not any(grader.wants(CASE) for grader in golden_judged())
    assert wanting(GraderContext(), CASE) == []


def test_a_judge_that_can_be_asked_anything_is_asked_about_golden_cases() -> None:
    assert len(wanting(GraderContext(judge=ScriptedJudge({})), CASE)) == 16
    assert wanting(GraderContext(judge=ScriptedJudge({})), a_case(world=World.LEGAL)) == []


def test_a_recording_is_asked_only_about_what_it_covers(tmp_path: Path) -> None:
    path = tmp_path / "judge.jsonl"
    path.write_text(json.dumps({"case_id": "case-1", "candidate": "a", "grader": "safety", "reply": "1"}))
    judge = RecordedJudge.load(path)
    assert wanting(GraderContext(judge=judge.at("a", 1)), CASE) == ["safety"]
    assert wanting(GraderContext(judge=RecordingJudge(judge.at("a", 1), lambda line: None)), CASE) == ["safety"]
    assert wanting(GraderContext(judge=judge.at("b", 1)), CASE) == []
    assert wanting(GraderContext(judge=judge.at("a", 1)), a_case(world=World.GOLDEN, id="case-2")) == []


def test_a_plan_can_tell_that_they_are_optional() -> None:
    assert all(grader.optional for grader in golden_judged())
