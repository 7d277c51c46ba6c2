"""Our match modes against 56 verdicts of another library's own tests.

Its `strict` is our `exact`, its `unordered` our `any_order`; its argument mode is `exact` unless it says otherwise. Its
strict mode compares conversations message by message, ours compares the messages that have calls: what is said between
them is for other graders.
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
MODES = {"strict": MatchMode.EXACT, "unordered": MatchMode.ANY_ORDER}


def called(call: Json) -> tuple[str, Json]:
    """Calls are written in two ways: a function with JSON text, or a name with an object."""
    if "function" in call:
        return call["function"]["name"], msgspec.json.decode(call["function"]["arguments"])
    return call["name"], call["args"]


def matching(config: Json) -> Matching:
    mode = config.get("trajectory_match_mode", "strict")
    overrides = config.get("tool_args_match_overrides", {})
    return Matching(
        mode=MODES.get(mode) or MatchMode(mode),
        args=ArgumentMode(config.get("tool_args_match_mode", "exact")),
        args_for={
            tool: tuple(rule) if isinstance(rule, list) else ArgumentMode(rule) for tool, rule in overrides.items()
        },
    )


def expectation(line: Json) -> ToolCalls:
    numbered = [
        (number, *called(call))
        for number, message in enumerate(line["reference_outputs"])
        for call in message.get("tool_calls") or ()
    ]
    expected = tuple(ExpectedCall(name=name, arguments=given, message=number) for number, name, given in numbered)
    return ToolCalls(expected=expected, match=matching(line["config"]))


def transcript(line: Json) -> Transcript:
    calls = [[called(call) for call in message.get("tool_calls") or ()] for message in line["outputs"]]
    messages = tuple(
        Message(role=Role.ASSISTANT, tool_calls=tuple(ToolCall(name=name, arguments=given) for name, given in group))
        for group in calls
    )
    return Transcript(answer="", messages=messages)


async def test_every_verdict_agrees(shared_data: Callable[..., Path]) -> None:
    path = shared_data("agentevals_cases", "trajectory_match_cases.jsonl")
    lines = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    agreed = 0
    for line in lines:
        (grade,) = await ToolCallGrader().grade(a_case(expectation(line)), transcript(line))
        assert isinstance(grade, Score)
        assert grade.passed is line["expected"], (line["test"], line["config"], grade.reason)
        assert grade.passed or grade.reason
        agreed += 1
    assert agreed == 56
