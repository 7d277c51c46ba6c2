"""The programmatic graders as a set: names, worlds, and full marks for the reference itself."""

from __future__ import annotations

import pytest

from howsure.graders.base import BindableGrader, Grader, GraderContext
from howsure.graders.choice import ChoiceGrader
from howsure.graders.output_contract import OutputContractGrader
from howsure.graders.state_and_steps import AgentsInvolvedGrader, FinalStateGrader, TrajectoryGrader
from howsure.graders.tool_calls import ForbiddenToolsGrader, ToolsUsedGrader, tool_calls, tool_usage_accuracy
from howsure.model.case import World
from howsure.model.expectation import (
    AgentsInvolved,
    Choice,
    Contract,
    CorrectChoice,
    Expectation,
    ExpectedCall,
    FinalState,
    ForbiddenTools,
    Goal,
    ToolCalls,
    Trajectory,
)
from howsure.model.score import Score
from howsure.model.transcript import AgentStep, ToolStep
from howsure.testing import a_case, a_transcript


def programmatic_graders() -> tuple[Grader | BindableGrader, ...]:
    return (
        ChoiceGrader(),
        tool_calls(),
        tool_usage_accuracy(),
        TrajectoryGrader(),
        FinalStateGrader(),
        AgentsInvolvedGrader(),
        ToolsUsedGrader(),
        ForbiddenToolsGrader(),
        OutputContractGrader(),
    )


CALLS = ToolCalls(expected=(ExpectedCall(name="refund", arguments={"order": "1"}),))
FORBIDDEN = ForbiddenTools(names=("live_handoff",))
QUESTION = CorrectChoice(choices=(Choice(id="A", text="x"), Choice(id="B", text="y")), correct=("B",))
OF_EVERY_KIND: tuple[Expectation, ...] = (
    QUESTION,
    CALLS,
    FORBIDDEN,
    Trajectory(steps=("Billing", "refund")),
    FinalState(variables={"amount": 50}),
    AgentsInvolved(names=("Billing",)),
    Contract(name="Letter"),
    Goal(text="be kind"),
)


def test_names_are_those_of_the_design() -> None:
    assert [grader.name for grader in programmatic_graders()] == [
        "choice",
        "tool_calls",
        "tool_usage_accuracy",
        "trajectory_accuracy",
        "state_management_fidelity",
        "agent_routing",
        "tools_used",
        "forbidden_tools",
        "output_contract",
    ]


ALWAYS = {"choice", "trajectory_accuracy", "state_management_fidelity", "agent_routing", "output_contract"}


@pytest.mark.parametrize(
    ("world", "own"),
    [
        (World.EXPLAIN, {"tool_calls", "forbidden_tools"}),
        (World.LEGAL, {"tool_calls", "forbidden_tools"}),
        (World.PLAIN, {"tool_calls", "forbidden_tools"}),
        (World.GOLDEN, {"tool_usage_accuracy", "forbidden_tools"}),
        (World.TEST_SET, {"tools_used"}),
    ],
)
def test_each_world_checks_calls_under_one_name(world: str, own: set[str]) -> None:
    case = a_case(*OF_EVERY_KIND, world=world)
    bound = [
        grader.bind(GraderContext()) if isinstance(grader, BindableGrader) else grader
        for grader in programmatic_graders()
    ]
    assert {grader.name for grader in bound if grader.wants(case)} == ALWAYS | own


def test_a_case_that_expects_nothing_is_wanted_by_nobody() -> None:
    empty = (FinalState(variables={}), AgentsInvolved(names=()), ForbiddenTools(names=()), Goal(text="x"))
    for world in (World.PLAIN, World.GOLDEN, World.TEST_SET):
        case = a_case(*empty, world=world)
        graders = [
            grader.bind(GraderContext()) if isinstance(grader, BindableGrader) else grader
            for grader in programmatic_graders()
        ]
        assert [grader.name for grader in graders if grader.wants(case)] == []


async def test_the_reference_itself_gets_full_marks() -> None:
    contracts = {"Letter": {"type": "string", "enum": ["B"]}}
    transcript = a_transcript(
        '"B"',
        calls=[("refund", {"order": "1"})],
        steps=(AgentStep(name="Billing"), ToolStep(name="refund")),
        state={"amount": 50.0},
    )
    for world in (World.PLAIN, World.GOLDEN, World.TEST_SET):
        case = a_case(*OF_EVERY_KIND, world=world)
        for grader in programmatic_graders():
            bound = grader.bind(GraderContext(contracts=contracts)) if isinstance(grader, BindableGrader) else grader
            if bound.wants(case):
                (grade,) = await bound.grade(case, transcript)
                assert isinstance(grade, Score), bound.name
                assert (grade.name, grade.value, grade.passed) == (bound.name, 1.0, True)
                assert grade.reason
