"""The measures of tools: each call once, and what is not known is not a success."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.graders.measures import measures
from howsure.model.score import Grade, Score, Unscored, UnscoredReason
from howsure.model.transcript import Message, Role, Span, ToolCall, ToolResult
from howsure.testing import a_case, a_transcript

ARGS = "gcp.vertex.agent.tool_call_args"
RESPONSE = "gcp.vertex.agent.tool_response"


def tool(name: str, response: Any = None, **more: Any) -> Span:
    attributes = {ARGS: "{}", **({} if response is None else {RESPONSE: response}), **more}
    return Span(name=f"execute_tool {name}", attributes=attributes)


async def measured(name: str, *spans: Span, **fields: Any) -> Grade:
    (measure,) = [measure for measure in measures() if measure.name == name]
    (grade,) = await measure.grade(a_case(), a_transcript(spans=spans or None, **fields))
    return grade


SESSION = tuple(
    Span(name=f"execute_tool {name}", attributes=attributes)
    for name in ("get_recommendations", "check_availability", "access_cart", "modify_cart")
    for attributes in ({ARGS: '{"id": 1}'}, {RESPONSE: '{"status": "success"}'})
)


async def test_call_and_response_as_two_spans_are_one_call_in_every_measure() -> None:
    used, worked = await measured("tool_utilization", *SESSION), await measured("tool_success_rate", *SESSION)
    assert isinstance(used, Score) and isinstance(worked, Score)
    assert (used.value, worked.value) == (4.0, 1.0)
    assert used.details == {
        "total_tool_calls": 4,
        "unique_tools_used": 4,
        "tool_counts": {"get_recommendations": 1, "check_availability": 1, "access_cart": 1, "modify_cart": 1},
    }
    assert worked.details["total_tool_calls"] == 4


async def test_a_trace_without_tools_used_none() -> None:
    grade = await measured("tool_utilization", Span(name="call_llm"))
    assert isinstance(grade, Score)
    assert (grade.value, grade.reason) == (0.0, "0 tool calls to 0 tools")


@pytest.mark.parametrize(
    ("spans", "rate"),
    [
        ([tool("a", "{}")], 1.0),
        ([tool("a", '{"status": "error"}')], 0.0),
        ([tool("a", "{}"), tool("b", '{"error": "x"}')], 0.5),
        ([tool("a", "{}"), tool("b", '{"error": null}')], 1.0),
        ([tool("a", "{}"), tool("b")], 0.5),
        ([tool("a", "{}"), tool("b", '{"cut of')], 1.0),
        ([tool("a", '{"error": 1}'), tool("b", '{"cut of')], 0.0),
        ([tool("a", "{}"), tool("b", "{}", **{"error.type": "Timeout"})], 0.5),
    ],
    ids=[
        "worked",
        "failed",
        "half",
        "an empty error is none",
        "one unanswered",
        "one unreadable is left out",
        "one failed, one unreadable",
        "failed by its status",
    ],
)
async def test_the_success_rate(spans: list[Span], rate: float) -> None:
    grade = await measured("tool_success_rate", *spans)
    assert isinstance(grade, Score)
    assert grade.value == rate
    assert grade.details["tool_success_rate"] == rate


async def test_the_success_rate_in_detail() -> None:
    spans = [tool("a", "{}"), tool("b", '{"error": 1}'), tool("b", '{"error": 1}'), tool("c"), tool("d", "{'x")]
    grade = await measured("tool_success_rate", *spans)
    assert isinstance(grade, Score)
    assert grade.value == 0.25
    assert (
        grade.reason == "1 of 4 calls worked; 2 failed; 1 without a response; 1 response that cannot be read left out"
    )
    assert grade.details["total_tool_calls"] == 5
    assert grade.details["failed_tool_calls"] == 2
    assert grade.details["failed_tools_list"] == ["b"]
    assert grade.details["calls_without_response"] == 1
    assert grade.details["unreadable_responses"] == 1
    assert grade.details["problem_count"] == 1


@pytest.mark.parametrize(
    ("spans", "why", "reason"),
    [
        ([Span(name="call_llm")], UnscoredReason.NOT_APPLICABLE, "no tool was called"),
        ([], UnscoredReason.NOT_APPLICABLE, "no spans were recorded"),
        ([tool("a"), tool("b")], UnscoredReason.NOT_APPLICABLE, "no tool's response was recorded"),
        ([tool("a", "{'x")], UnscoredReason.ERROR, "1 response that cannot be read"),
        (
            [tool("a"), tool("b", **{"error.type": "Timeout"})],
            UnscoredReason.ERROR,
            "1 of 2 calls failed; no response was recorded for the other 1",
        ),
    ],
    ids=["no calls", "no spans", "responses not captured", "nothing readable", "only failures show"],
)
async def test_where_no_outcome_is_known_there_is_no_rate(spans: list[Span], why: UnscoredReason, reason: str) -> None:
    grade = await measured("tool_success_rate", *spans)
    assert isinstance(grade, Unscored)
    assert (grade.why, grade.reason) == (why, reason)


def said(*calls: ToolCall) -> dict[str, Any]:
    return {"messages": (Message(role=Role.ASSISTANT, tool_calls=calls),)}


CALLS = said(
    ToolCall(name="read_file", result=ToolResult(content={"text": "x"})),
    ToolCall(name="refund", result=ToolResult(content="no", failed=True)),
    ToolCall(name="refund", result=ToolResult(content={"status": "error"})),
    ToolCall(name="refund"),
)


@pytest.mark.parametrize(
    ("name", "value"), [("tool_utilization", 4.0), ("tool_success_rate", 0.25), ("sandbox_usage", 1.0)]
)
async def test_without_spans_the_calls_in_the_messages_serve_and_the_reason_says_so(name: str, value: float) -> None:
    grade = await measured(name, **CALLS)
    assert isinstance(grade, Score)
    assert grade.value == value
    assert grade.reason.endswith("no spans were recorded; from the calls in the messages")


async def test_spans_without_tools_do_not_hide_the_calls_in_the_messages() -> None:
    grade = await measured("tool_utilization", Span(name="call_llm"), **CALLS)
    assert isinstance(grade, Score)
    assert grade.value == 4.0
    assert grade.reason.endswith("the spans hold no tool call; from the calls in the messages")


@pytest.mark.parametrize("name", ["tool_utilization", "sandbox_usage"])
async def test_without_spans_and_calls_nobody_knows(name: str) -> None:
    grade = await measured(name)
    assert isinstance(grade, Unscored)
    assert (grade.why, grade.reason) == (UnscoredReason.NOT_APPLICABLE, "no spans were recorded")


@pytest.mark.parametrize(
    ("names", "value"),
    [
        (["save_artifact", "load_artifact", "read_file", "write_file"], 4.0),
        (["run_python_script", "execute_code", "save_to_file", "read_from_file"], 4.0),
        (["mcp_read_file_v2", "Execute_Code"], 2.0),
        (["refund", "readfile", "filesystem"], 0.0),
        (["read_file", "read_file"], 2.0),
        ([], 0.0),
    ],
)
async def test_the_sandbox_is_used_by_tools_of_these_names(names: list[str], value: float) -> None:
    grade = await measured("sandbox_usage", Span(name="call_llm"), *(tool(name, "{}") for name in names))
    assert isinstance(grade, Score)
    assert grade.value == value


async def test_the_sandbox_in_detail() -> None:
    grade = await measured("sandbox_usage", tool("read_file", "{}"), tool("read_file", "{}"), tool("refund", "{}"))
    assert grade.details == {
        "total_sandbox_ops": 2,
        "unique_ops_used": 1,
        "sandbox_tools_used": ["read_file"],
        "op_counts": {"read_file": 2},
    }
