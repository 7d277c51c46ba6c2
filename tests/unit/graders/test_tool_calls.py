"""The graders of tool calls: scores, reasons and details."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.graders.tool_calls import ForbiddenToolsGrader, ToolCallGrader, ToolsUsedGrader, tool_usage_accuracy
from howsure.model.case import World
from howsure.model.expectation import ExpectedCall, ForbiddenTools, Matching, MatchMode, ToolCalls
from howsure.model.score import UNIT, Score
from howsure.testing import a_case, a_transcript

REFUND = ToolCalls(expected=(ExpectedCall(name="refund", arguments={"order": "1", "amount": 50}),))


@pytest.mark.parametrize(
    ("arguments", "mark"),
    [
        ({"order": "1", "amount": 50}, 1.0),
        ({"order": "1", "amount": 50, "note": "x"}, 1.0),
        ({"order": "1", "amount": 50.0}, 1.0),
        ({"order": "1"}, 0.0),
        ({}, 0.0),
        ({"order": 1, "amount": 50}, 0.0),
    ],
    ids=["exact", "extra is free", "the same number", "one missing", "all missing", "a number is not a text"],
)
async def test_every_expected_argument_must_be_there(arguments: dict[str, Any], mark: float) -> None:
    (score,) = await ToolCallGrader().grade(a_case(REFUND), a_transcript(calls=[("refund", arguments)]))
    assert isinstance(score, Score)
    assert score.value == mark
    assert score.passed is (mark == 1.0)


async def test_a_score_says_what_was_wrong_and_where() -> None:
    (score,) = await ToolCallGrader().grade(
        a_case(REFUND), a_transcript(calls=[("refund", {"order": "1"}), ("mail", {})])
    )
    assert isinstance(score, Score)
    assert (score.name, score.scale, score.pass_mark) == ("tool_calls", UNIT, 1.0)
    assert score.reason == "`refund` was called with other arguments: `amount`: missing, expected 50"
    assert score.details == {
        "selection": 1.0,
        "arguments": 0.0,
        "order": None,
        "matched": 0,
        "missing": ["refund"],
        "unexpected": ["refund", "mail"],
    }


@pytest.mark.parametrize(
    ("calls", "expected", "reason"),
    [
        ([("refund", {"order": "1", "amount": 50})], REFUND, "the expected call was made"),
        ([], ToolCalls(expected=()), "no call was expected and none was made"),
        (
            [("a", {}), ("b", {})],
            ToolCalls(expected=(ExpectedCall(name="a"), ExpectedCall(name="b"))),
            "the 2 expected calls were made",
        ),
        (
            [],
            ToolCalls(expected=REFUND.expected, match=Matching(mode=MatchMode.SUBSET)),
            "no call was made, as is allowed",
        ),
    ],
)
async def test_a_score_says_what_was_right_too(calls: list[Any], expected: ToolCalls, reason: str) -> None:
    (score,) = await ToolCallGrader().grade(a_case(expected), a_transcript(calls=calls))
    assert isinstance(score, Score)
    assert (score.value, score.reason) == (1.0, reason)


async def test_many_reasons_are_cut_short() -> None:
    wanted = ToolCalls(expected=tuple(ExpectedCall(name=f"t{n}") for n in range(8)))
    (score,) = await ToolCallGrader().grade(a_case(wanted), a_transcript())
    assert isinstance(score, Score)
    assert score.reason.endswith("`t4` was not called; and 3 more")


async def test_the_golden_world_has_its_own_name_for_it() -> None:
    grader = tool_usage_accuracy()
    assert grader.wants(a_case(REFUND, world=World.GOLDEN))
    assert not grader.wants(a_case(REFUND, world=World.EXPLAIN))
    (score,) = await grader.grade(a_case(REFUND, world=World.GOLDEN), a_transcript())
    assert (score.name, score.reason) == ("tool_usage_accuracy", "`refund` was not called")


SEARCH = ToolCalls(expected=(ExpectedCall(name="search_kb"), ExpectedCall(name="rank")))
BANNED = ForbiddenTools(names=("live_handoff", "delete"))


@pytest.mark.parametrize(
    ("called", "value", "missing", "forbidden"),
    [
        (["search_kb", "rank"], 1.0, [], []),
        (["rank", "other", "search_kb"], 1.0, [], []),
        (["search_kb"], 0.75, ["rank"], []),
        ([], 0.5, ["search_kb", "rank"], []),
        (["search_kb", "rank", "live_handoff"], 0.75, [], ["live_handoff"]),
        (["live_handoff", "delete", "delete"], 0.0, ["search_kb", "rank"], ["live_handoff", "delete"]),
    ],
)
async def test_should_and_should_not_are_one_score(
    called: list[str], value: float, missing: list[str], forbidden: list[str]
) -> None:
    case = a_case(SEARCH, BANNED, world=World.TEST_SET)
    (score,) = await ToolsUsedGrader().grade(case, a_transcript(calls=[(name, {"q": "x"}) for name in called]))
    assert isinstance(score, Score)
    assert score.value == pytest.approx(value)
    assert score.passed is (value == 1.0)
    assert score.details == {"used": list(dict.fromkeys(called)), "missing": missing, "forbidden": forbidden}


@pytest.mark.parametrize(
    ("expectation", "called", "value", "reason"),
    [
        (SEARCH, ["search_kb", "rank"], 1.0, "the tools that should be used were used, and no other that should not"),
        (SEARCH, ["rank"], 0.5, "`search_kb` was not called"),
        (BANNED, [], 1.0, "the tools that should be used were used, and no other that should not"),
        (BANNED, ["delete"], 0.5, "`delete` was used, but should not be"),
        (ToolCalls(expected=()), ["x"], 0.0, "`x` was called, but no call was expected"),
    ],
)
async def test_either_list_may_stand_alone(expectation: Any, called: list[str], value: float, reason: str) -> None:
    case = a_case(expectation, world=World.TEST_SET)
    assert ToolsUsedGrader().wants(case)
    (score,) = await ToolsUsedGrader().grade(case, a_transcript(calls=[(name, {}) for name in called]))
    assert isinstance(score, Score)
    assert (score.value, score.reason) == (value, reason)


@pytest.mark.parametrize(
    ("called", "value", "reason"),
    [
        ([], 1.0, "no forbidden tool was called"),
        (["search_kb"], 1.0, "no forbidden tool was called"),
        (["Live_Handoff"], 1.0, "no forbidden tool was called"),
        (["delete"], 0.5, "`delete` was called, but is forbidden"),
        (
            ["delete", "live_handoff"],
            0.0,
            "`live_handoff` was called, but is forbidden; `delete` was called, but is forbidden",
        ),
    ],
)
async def test_forbidden_tools_must_be_left_alone(called: list[str], value: float, reason: str) -> None:
    (score,) = await ForbiddenToolsGrader().grade(a_case(BANNED), a_transcript(calls=[(name, {}) for name in called]))
    assert isinstance(score, Score)
    assert (score.value, score.reason, score.passed) == (value, reason, value == 1.0)
