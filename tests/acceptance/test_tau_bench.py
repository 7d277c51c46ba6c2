"""The rule "the calls that change something are the expected ones" against tau-bench's own reward.

It cannot agree everywhere. One trajectory made exactly the expected changes and has no reward because the conversation
was cut off, and one was rewarded for the right change written with more fields than expected.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from howsure.graders.tool_calls import ToolCallGrader
from howsure.model.expectation import ArgumentMode, ExpectedCall, Matching, MatchMode, ToolCalls
from howsure.model.score import Score
from howsure.model.transcript import Message, Role, ToolCall, Transcript
from howsure.testing import a_case

pytestmark = pytest.mark.shared

Json = dict[str, Any]
CHANGING = (
    "book_reservation",
    "cancel_reservation",
    "send_certificate",
    "update_reservation_baggages",
    "update_reservation_flights",
    "update_reservation_passengers",
)
SAME_CHANGES = Matching(mode=MatchMode.ANY_ORDER, args=ArgumentMode.EXACT, only=CHANGING)


def expectation(trial: Json) -> ToolCalls:
    actions = trial["info"]["task"]["actions"]
    expected = tuple(ExpectedCall(name=action["name"], arguments=action["kwargs"]) for action in actions)
    return ToolCalls(expected=expected, match=SAME_CHANGES)


def transcript(trial: Json) -> Transcript:
    called = [message.get("tool_calls") or () for message in trial["traj"] if message["role"] == "assistant"]
    messages = tuple(Message(role=Role.ASSISTANT, tool_calls=tuple(map(tool_call, calls))) for calls in called)
    return Transcript(answer="", messages=messages)


def tool_call(call: Json) -> ToolCall:
    function = call["function"]
    return ToolCall(name=function["name"], arguments=msgspec.json.decode(function["arguments"]), id=call["id"])


async def test_the_rule_agrees_with_the_reward(shared_data: Callable[..., Path]) -> None:
    trials = msgspec.json.decode(shared_data("tau_bench", "gpt-4o-airline-tasks-0-9.json").read_bytes())
    outcomes: list[tuple[bool, bool]] = []
    for trial in trials:
        (grade,) = await ToolCallGrader().grade(a_case(expectation(trial)), transcript(trial))
        assert isinstance(grade, Score)
        outcomes.append((bool(grade.passed), trial["reward"] == 1.0))
    assert len(outcomes) == 40
    assert sum(passed == rewarded for passed, rewarded in outcomes) == 38
    assert sum(rewarded for _, rewarded in outcomes) == 5
    assert sum(passed and rewarded for passed, rewarded in outcomes) == 4
