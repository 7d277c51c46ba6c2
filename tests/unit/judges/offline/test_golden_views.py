"""What the offline judge says of golden questions: what a program compares, on the scale from 0 to 5, or why it cannot
tell; and of outcomes: failure sometimes, success seldom."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.judges.offline.criteria import judge_outcome
from howsure.judges.offline.judge import GOLDEN, judge_golden
from howsure.judges.offline.opinions import Judgment, NoOpinion, OfflineOpinion
from howsure.model.case import Case, SingleTurn
from howsure.model.expectation import (
    Expectation,
    ExpectedCall,
    FinalState,
    ReferenceAnswer,
    ToolCalls,
    Trajectory,
)
from howsure.model.transcript import Message, Role, ToolCall, Transcript

TOOLS, STEPS, STATE, RESPONSE = GOLDEN


def seen(grader: str, *expected: Expectation, calls: tuple[str, ...] = (), **fields: Any) -> Judgment:
    made = tuple(ToolCall(name=name) for name in calls)
    transcript = Transcript(
        answer=fields.pop("answer", "Done."), messages=(Message(role=Role.ASSISTANT, tool_calls=made),), **fields
    )  # fmt: skip
    case = Case(id="c", input=SingleTurn(message="Refund order 17."), expectations=expected)
    return judge_golden(grader, case, transcript, transcript.answer)


def wanted(*names: str) -> ToolCalls:
    return ToolCalls(expected=tuple(ExpectedCall(name=name) for name in names))


@pytest.mark.parametrize(("grader", "what"), [(TOOLS, "tool calls"), (STEPS, "trajectory")], ids=["calls", "steps"])
def test_where_nothing_is_expected_nothing_can_be_told(grader: str, what: str) -> None:
    assert seen(grader) == NoOpinion(f"the case expects no particular {what}")


def test_a_state_that_nobody_recorded_is_not_an_empty_one() -> None:
    expected = FinalState(variables={"refunded": True})
    assert seen(STATE, expected) == NoOpinion("no final state was recorded")
    empty = seen(STATE, expected, state={})
    assert isinstance(empty, OfflineOpinion)
    assert empty.value == 0.0
    assert seen(STATE, state={}) == NoOpinion("the case expects no particular state")


@pytest.mark.parametrize(
    ("expected", "calls", "value"),
    [
        (wanted("refund"), ("refund",), 5.0),
        (wanted("refund"), (), 0.0),
        (wanted("lookup", "refund"), ("lookup",), 2.5),
        (wanted(), (), 5.0),
        (wanted(), ("refund",), 0.0),
    ],
    ids=["as expected", "missing", "half", "none wanted", "none wanted, one made"],
)
def test_tool_calls_are_compared_by_program(expected: ToolCalls, calls: tuple[str, ...], value: float) -> None:
    view = seen(TOOLS, expected, calls=calls)
    assert isinstance(view, OfflineOpinion)
    assert (view.value, view.confidence) == (value, 0.8)
    assert view.reason.endswith(".")


def test_of_several_lists_the_worst_decides() -> None:
    view = seen(TOOLS, wanted("refund"), wanted("escalate"), calls=("refund",))
    assert isinstance(view, OfflineOpinion)
    assert view.value == 0.0


def test_what_fits_says_so() -> None:
    view = seen(STATE, FinalState(variables={"refunded": True}), state={"refunded": True, "other": 1})
    assert isinstance(view, OfflineOpinion)
    assert view.value == 5.0
    assert seen(STEPS, Trajectory(steps=("refund",)), calls=("refund",)) == OfflineOpinion(
        value=5.0, confidence=0.8, reason="The trajectory is as expected."
    )


def test_a_response_is_compared_with_its_reference() -> None:
    reference = ReferenceAnswer(answers=("Paris",))
    right, wrong = seen(RESPONSE, reference, answer="It is Paris."), seen(RESPONSE, reference, answer="It is Rome.")
    assert isinstance(right, OfflineOpinion)
    assert right.value == 5.0
    assert isinstance(wrong, NoOpinion) or wrong.value < 2.5
    assert seen(RESPONSE) == NoOpinion("the case has no reference answer")


def outcome(goal: str, answer: str, *calls: str) -> Judgment:
    made = tuple(ToolCall(name=name) for name in calls)
    transcript = Transcript(answer=answer, messages=(Message(role=Role.ASSISTANT, content=answer, tool_calls=made),))
    return judge_outcome([goal], answer, transcript)


@pytest.mark.parametrize(
    ("goal", "answer", "calls", "value"),
    [
        ("Calls refund_order", "Done.", ("refund_order",), 1.0),
        ("Calls refund_order", "Done.", (), 0.0),
        ("The user gets help with the invoice", "I'm sorry, I cannot help with that.", (), 0.0),
    ],
    ids=["done", "not done", "a refusal at the end"],
)
def test_an_outcome_that_can_be_seen(goal: str, answer: str, calls: tuple[str, ...], value: float) -> None:
    view = outcome(goal, answer, *calls)
    assert isinstance(view, OfflineOpinion)
    assert view.value == value


@pytest.mark.parametrize(
    ("goal", "answer"),
    [
        ("The agent declines politely", "I'm sorry, I cannot help with that."),
        ("The user gets help with the invoice", "Here you are."),
        ("The user is handed to a person", "I'm sorry, I cannot help with that."),
    ],
    ids=["a refusal is wanted", "words do not show it", "somebody else helps"],
)
def test_what_needs_understanding_is_left_alone(goal: str, answer: str) -> None:
    assert isinstance(outcome(goal, answer), NoOpinion)
