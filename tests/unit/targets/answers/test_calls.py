"""Tool calls in the spellings of the common frameworks."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.model.transcript import ToolCall, ToolResult
from howsure.targets.answer_parts import call_of, calls_in, result_of

MADE = ToolCall(name="refund", arguments={"order": "1"}, id="c1")


@pytest.mark.parametrize(
    "call",
    [
        {"name": "refund", "arguments": {"order": "1"}, "id": "c1"},
        {"name": "refund", "arguments": '{"order": "1"}', "id": "c1"},
        {"name": "refund", "args": {"order": "1"}, "id": "c1", "type": "tool_call"},
        {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": '{"order": "1"}'}},
        {"type": "tool_use", "id": "c1", "name": "refund", "input": {"order": "1"}},
        {"tool_name": "refund", "input_arguments": {"order": "1"}, "call_id": "c1"},
        {"toolName": "refund", "parameters": {"order": "1"}, "toolCallId": "c1"},
        {"tool": "refund", "tool_input": {"order": "1"}, "tool_call_id": "c1"},
        {"function": "refund", "params": {"order": "1"}, "id": "c1"},
        {"functionCall": {"name": "refund", "args": {"order": "1"}, "id": "c1"}},
        MADE,
    ],
    ids=str,
)
def test_every_spelling_is_the_same_call(call: Any) -> None:
    assert call_of(call, "tool_calls[0]") == MADE


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        (None, {}),
        ("", {}),
        ("{}", {}),
        ('{"a": [1]}', {"a": [1]}),
        ("not json", {"$unread": "not json"}),
        ("[1]", {"$unread": "[1]"}),
        ([1], {"$unread": [1]}),
        ("[" * 100_000, {"$unread": "[" * 100_000}),
    ],
    ids=lambda given: str(given)[:20],
)
def test_arguments_that_are_no_object_are_kept_as_they_came(given: Any, arguments: dict[str, Any]) -> None:
    assert call_of({"name": "x", "arguments": given}, "").arguments == arguments


@pytest.mark.parametrize(
    ("fields", "result"),
    [
        ({}, None),
        ({"result": None}, None),
        ({"result": "ok"}, ToolResult(content="ok")),
        ({"output": 0}, ToolResult(content=0)),
        ({"response": {"a": 1}}, ToolResult(content={"a": 1})),
        ({"result": "no", "failed": True}, ToolResult(content="no", failed=True)),
        ({"result": {"status": "error"}}, ToolResult(content={"status": "error"}, failed=True)),
        ({"result": {"error": "x"}, "isError": False}, ToolResult(content={"error": "x"})),
        ({"error": "timed out"}, ToolResult(content="timed out", failed=True)),
    ],
    ids=str,
)
def test_results_are_read_with_whether_they_failed(fields: dict[str, Any], result: ToolResult | None) -> None:
    assert call_of({"name": "x", **fields}, "").result == result


def test_one_call_alone_is_a_list_of_one_and_null_is_none() -> None:
    assert calls_in({"name": "x"}, "") == (ToolCall(name="x"),)
    assert calls_in(None, "") == ()


def test_a_number_is_an_id_too() -> None:
    assert call_of({"name": "x", "id": 7}, "").id == "7"


def test_an_error_in_a_result_is_a_failure() -> None:
    assert result_of({"error_message": "no such order"}).failed
    assert not result_of({"error": None}).failed
    assert not result_of("error").failed
