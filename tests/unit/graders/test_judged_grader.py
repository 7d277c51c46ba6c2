"""What all judged graders have in common, shown on each of them."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.graders.base import BindableGrader, GraderContext
from howsure.graders.judged_answers import ExpectedOutcomeGrader
from howsure.graders.judged_grader import JudgedGrader
from howsure.kit.plugins import judged_graders
from howsure.model.case import Case, Scenario, World
from howsure.model.expectation import Criteria, Criterion, Goal, Qualities, ReferenceAnswer, WeightedCriteria
from howsure.model.rubric import Rubric, Rule, Severity
from howsure.model.score import Score, Unscored, UnscoredReason
from howsure.model.simulation import Ending, Simulation
from howsure.policies.verdicts import EXPLAIN_EVALS
from howsure.testing import ScriptedJudge, a_case, a_transcript

RUBRIC = Rubric(name="Shop", rules=(Rule(id="BRIEF", name="Brief", severity=Severity.LOW),))
ONE = (Criterion(id="c", text="Greets"),)
SAID = a_transcript("Hi", simulation=Simulation(user="offline", ending=Ending.GOAL_REACHED))


def wanted_by(name: str) -> Case:
    """A case that the grader of this name wants, with a judge and a rubric bound."""
    if name in EXPLAIN_EVALS:
        return a_case(Qualities(names=EXPLAIN_EVALS), world=World.EXPLAIN)
    return {
        "criteria": a_case(Criteria(criteria=ONE), world=World.TEST_SET),
        "rubric": a_case(world=World.TEST_SET),
        "expected_outcome": a_case(Goal(text="Refunded"), world=World.TEST_SET),
        "weighted_criteria": a_case(WeightedCriteria(criteria=ONE), world=World.LEGAL),
        "reference_answer": a_case(ReferenceAnswer(answers=("42",)), world=World.LEGAL),
        "simulator_fidelity_judged": a_case(input=Scenario(persona="Curt", initial_message="Hi")),
    }.get(name, a_case(world=World.GOLDEN))


def test_there_is_one_grader_for_each_judged_name_of_the_design() -> None:
    assert [grader.name for grader in judged_graders()] == [
        "TaskAdherenceExplain",
        "IntentResolutionExplain",
        "ToolCallAccuracyExplain",
        "RelevanceExplain",
        "CoherenceExplain",
        "PerceivedIntelligenceExplain",
        "FluencyExplain",
        "EmpathyExplain",
        "HelpfulnessExplain",
        "criteria",
        "rubric",
        "expected_outcome",
        "weighted_criteria",
        "reference_answer",
        "tool_usage_accuracy_judged",
        "trajectory_accuracy_judged",
        "state_management_fidelity_judged",
        "response_correctness",
        "capability_honesty",
        "pipeline_integrity",
        "general_quality",
        "text_quality",
        "instruction_following",
        "grounding",
        "hallucination",
        "safety",
        "final_response_quality",
        "tool_use_quality",
        "multi_turn_general_quality",
        "multi_turn_text_quality",
        "simulator_fidelity_judged",
    ]


ALL = pytest.mark.parametrize("grader", judged_graders(), ids=lambda grader: grader.name)


@ALL
async def test_without_a_judge_nothing_has_a_value(grader: BindableGrader) -> None:
    bound = grader.bind(GraderContext(rubric=RUBRIC))
    for grade in await bound.grade(wanted_by(grader.name), a_transcript("Hi")):
        assert isinstance(grade, Unscored)
        assert grade.name == grader.name
        assert grade.why in (UnscoredReason.NO_JUDGE, UnscoredReason.NOT_APPLICABLE)


@ALL
def test_it_wants_its_own_cases_and_no_other(grader: BindableGrader) -> None:
    bound = grader.bind(GraderContext(judge=ScriptedJudge({}), rubric=RUBRIC))
    assert bound.wants(wanted_by(grader.name))
    assert bound.wants(a_case()) is (grader.name == "rubric")
    if isinstance(grader, JudgedGrader):
        assert grader.judge is None


@ALL
@pytest.mark.parametrize(
    "reply", ["I cannot say.", {"score": 70}, {"score": -1}, {"score": 0, "passed": True, "rating": 1}, {}, ""]
)
async def test_an_unreadable_judge_is_an_error_and_never_a_value(grader: BindableGrader, reply: Any) -> None:
    bound = grader.bind(GraderContext(judge=ScriptedJudge({grader.name: reply}), rubric=RUBRIC))
    for grade in await bound.grade(wanted_by(grader.name), SAID):
        assert isinstance(grade, Unscored)
        assert grade.why is UnscoredReason.ERROR or "single turn" in grade.reason


async def test_who_judged_and_what_was_said_is_kept() -> None:
    judge = ScriptedJudge({"expected_outcome": {"passed": True, "reason": "done", "evidence": ["turn 2"], "sure": 0.9}})
    grader = ExpectedOutcomeGrader().bind(GraderContext(judge=judge))
    (grade,) = await grader.grade(wanted_by("expected_outcome"), a_transcript("Hi"))
    assert grade == Score(
        name="expected_outcome",
        value=1.0,
        pass_mark=1.0,
        reason="done",
        evidence=("turn 2",),
        judge="scripted",
        details={"sure": 0.9},
    )


async def test_an_error_quotes_the_replies() -> None:
    grader = ExpectedOutcomeGrader().bind(
        GraderContext(judge=ScriptedJudge({"expected_outcome": ["maybe", "perhaps"]}))
    )
    (grade,) = await grader.grade(wanted_by("expected_outcome"), a_transcript("Hi"))
    assert grade.reason == ("attempt 1: no value in the reply: “maybe”; attempt 2: no value in the reply: “perhaps”")


async def test_binding_leaves_the_unbound_grader_as_it_was() -> None:
    grader = ExpectedOutcomeGrader()
    grader.bind(GraderContext(judge=ScriptedJudge({})))
    assert grader.judge is None


@pytest.mark.parametrize("world", [World.EXPLAIN, World.GOLDEN, World.LEGAL, World.PLAIN])
def test_a_goal_without_a_scenario_is_graded_in_test_sets_only(world: str) -> None:
    assert not ExpectedOutcomeGrader().wants(a_case(Goal(text="Refunded"), world=world))


@pytest.mark.parametrize(("world", "wanted"), [(World.GOLDEN, True), (World.PLAIN, True), (World.EXPLAIN, False)])
def test_the_outcome_of_a_scenario_is_judged_in_any_world_but_explain(world: str, wanted: bool) -> None:
    case = a_case(Goal(text="Refunded"), world=world, input=Scenario(persona="A customer", initial_message="Hi"))
    assert ExpectedOutcomeGrader().wants(case) is wanted
