"""The graders of trajectory, final state and routing."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.graders.state_and_steps import AgentsInvolvedGrader, FinalStateGrader, TrajectoryGrader
from howsure.model.expectation import AgentsInvolved, FinalState, Trajectory
from howsure.model.score import Score, Unscored, UnscoredReason
from howsure.model.transcript import AgentStep, Message, Role, ToolCall, ToolStep, Transcript
from howsure.testing import a_case, a_transcript

CONVERSATION = (
    Message(role=Role.USER, content="I want my money back"),
    Message(role=Role.ASSISTANT, agent="GreetingAgent", content="Hello"),
    Message(role=Role.ASSISTANT, agent="BillingSupportAgent", tool_calls=(ToolCall(name="PaymentTool"),)),
    Message(role=Role.ASSISTANT, agent="BillingSupportAgent", content="Done"),
)


@pytest.mark.parametrize(
    ("steps", "value", "reason"),
    [
        (("GreetingAgent", "BillingSupportAgent", "PaymentTool"), 1.0, "the trajectory is as expected"),
        (("GreetingAgent", "PaymentTool"), 1.0, "the trajectory is as expected"),
        (("agent:GreetingAgent", "tool:PaymentTool"), 1.0, "the trajectory is as expected"),
        (("GreetingAgent", "HumanAgent"), 0.5, "`HumanAgent` did not take part"),
        (("PaymentTool", "GreetingAgent"), 0.5, "`GreetingAgent` took part, but not in the expected place"),
    ],
)
async def test_agents_and_tools_are_one_sequence(steps: tuple[str, ...], value: float, reason: str) -> None:
    transcript = Transcript(answer="Done", messages=CONVERSATION)
    (score,) = await TrajectoryGrader().grade(a_case(Trajectory(steps=steps)), transcript)
    assert isinstance(score, Score)
    assert (score.name, score.value, score.reason) == ("trajectory_accuracy", value, reason)
    assert score.details["taken"] == ["GreetingAgent", "BillingSupportAgent", "PaymentTool"]


async def test_recorded_steps_win_over_the_messages() -> None:
    transcript = a_transcript(calls=[("x", {})], steps=(AgentStep(name="Root"), ToolStep(name="y")))
    (score,) = await TrajectoryGrader().grade(a_case(Trajectory(steps=("Root", "y"))), transcript)
    assert isinstance(score, Score)
    assert score.passed


@pytest.mark.parametrize(
    ("state", "value", "reason"),
    [
        ({"customer_intent": "refund", "refund_amount": 50}, 1.0, "the state is as expected"),
        ({"customer_intent": "refund"}, 0.5, "`refund_amount`: not in the state, expected 50.0"),
        (
            {},
            0.0,
            "`customer_intent`: not in the state, expected 'refund'; `refund_amount`: not in the state, expected 50.0",
        ),
    ],
)
async def test_the_final_state_is_checked_where_it_is_listed(state: dict[str, Any], value: float, reason: str) -> None:
    expected = FinalState(variables={"customer_intent": "refund", "refund_amount": 50.00})
    (score,) = await FinalStateGrader().grade(a_case(expected), a_transcript(state=state))
    assert isinstance(score, Score)
    assert (score.name, score.value, score.reason) == ("state_management_fidelity", value, reason)


async def test_a_state_that_nobody_recorded_is_an_error_not_a_zero() -> None:
    (grade,) = await FinalStateGrader().grade(a_case(FinalState(variables={"x": 1})), a_transcript())
    assert isinstance(grade, Unscored)
    assert (grade.why, grade.reason) == (UnscoredReason.ERROR, "no final state was recorded")


@pytest.mark.parametrize(
    ("names", "value", "missing"),
    [
        (("GreetingAgent",), 1.0, []),
        (("agent:GreetingAgent", "BillingSupportAgent"), 1.0, []),
        (("GreetingAgent", "HumanAgent"), 0.5, ["HumanAgent"]),
        (("greetingagent",), 0.0, ["greetingagent"]),
    ],
)
async def test_routing_checks_only_the_agents_that_are_named(
    names: tuple[str, ...], value: float, missing: list[str]
) -> None:
    transcript = Transcript(answer="Done", messages=CONVERSATION)
    (score,) = await AgentsInvolvedGrader().grade(a_case(AgentsInvolved(names=names)), transcript)
    assert isinstance(score, Score)
    assert (score.name, score.value, score.details["missing"]) == ("agent_routing", value, missing)
    assert score.details["seen"] == ["GreetingAgent", "BillingSupportAgent"]


async def test_a_transcript_that_names_no_agent_cannot_tell_about_routing() -> None:
    (grade,) = await AgentsInvolvedGrader().grade(a_case(AgentsInvolved(names=("X",))), a_transcript("hello"))
    assert isinstance(grade, Unscored)
    assert (grade.why, grade.reason) == (UnscoredReason.ERROR, "the transcript names no agent")
