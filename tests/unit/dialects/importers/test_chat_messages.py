"""Messages in the shapes of chat APIs and tracing libraries."""

from __future__ import annotations

import json
from typing import Any

import pytest

from howsure.dialects.importers.chat_messages import (
    LoggedMessage,
    LoggedToolCall,
    LoggedToolResult,
    declared_tools,
    match_results,
    read_messages,
    tools_in,
    transcript_messages,
)
from howsure.model.transcript import Message, Role, Tool, ToolCall, ToolResult

HI = LoggedMessage("user", "Hi?")
CALL = LoggedMessage("assistant", calls=(LoggedToolCall("c1", "find", {"x": 1}),))
RESULT = LoggedMessage("tool", answers=(LoggedToolResult("c1", "", "there"),))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Hi?", [HI]),
        ('"Hi?"', [HI]),
        ([{"role": "user", "content": "Hi?"}], [HI]),
        ([{"role": "user", "content": "Hi?", "additional_kwargs": 5, "tool_calls": "none"}], [HI]),
        ([{"role": "user", "content": [{"type": "text", "text": "Hi?"}]}], [HI]),
        ([{"role": "user", "content": [{"type": "input_text", "text": "Hi?"}]}], [HI]),
        ([{"role": "user", "parts": [{"type": "text", "content": "Hi?"}]}], [HI]),
        ({"contents": [{"role": "user", "parts": [{"text": "Hi?"}]}]}, [HI]),
        ({"contents": "Hi?", "model": "m"}, [HI]),
        ({"messages": [{"type": "human", "content": "Hi?"}]}, [HI]),
        ({"args": ["Hi?"], "kwargs": {}}, [HI]),
        ({"new_message": {"parts": [{"text": "Hi?"}], "role": "user"}, "state": None}, [HI]),
        ({"messages": [{"role": "developer", "content": "Be kind."}]}, [LoggedMessage("system", "Be kind.")]),
        (
            {"config": {"system_instruction": "Be kind."}, "contents": [{"role": "user", "parts": [{"text": "Hi?"}]}]},
            [LoggedMessage("system", "Be kind."), HI],
        ),
        (None, []),
        ("", []),
        ({}, []),
        ([], []),
        (3, []),
        ([1, 2], []),
        ("{broken", []),
        ({"temperature": 1}, []),
    ],
)
def test_what_was_said_to_a_model_is_found_in_every_shape(value: Any, expected: list[LoggedMessage]) -> None:
    assert read_messages(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "find", "arguments": '{"x": 1}'}}]},
        {
            "role": "assistant",
            "content": "",
            "additional_kwargs": {"tool_calls": [{"id": "c1", "function": {"name": "find", "arguments": {"x": 1}}}]},
        },
        {"type": "ai", "content": "", "tool_calls": [{"id": "c1", "name": "find", "args": {"x": 1}}]},
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": ["run", "c1"], "name": "find", "arguments": {"x": 1}}],
        },
        {
            "role": "assistant",
            "content": [{"type": "tool_call", "tool_call_id": "c1", "name": "find", "arguments": {"x": 1}}],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "tool_call", "tool_call": {"id": "c1", "function": {"name": "find", "arguments": {"x": 1}}}}
            ],
        },
        {"type": "function_call", "call_id": "c1", "id": "fc", "name": "find", "arguments": '{"x": 1}'},
        {
            "choices": [
                {
                    "message": {
                        "role": "assistant",
                        "content": None,
                        "tool_calls": [{"id": "c1", "function": {"name": "find", "arguments": {"x": 1}}}],
                    }
                }
            ]
        },
        {
            "candidates": [
                {
                    "content": {
                        "role": "model",
                        "parts": [{"functionCall": {"id": "c1", "name": "find", "args": {"x": 1}}}],
                    }
                }
            ]
        },
        {"content": {"role": "model", "parts": [{"function_call": {"id": "c1", "name": "find", "args": {"x": 1}}}]}},
        {
            "role": "tool",
            "content": [{"type": "function", "id": "c1", "function": {"name": "find", "arguments": {"x": 1}}}],
        },
    ],
    ids=[
        "openai",
        "langchain",
        "langchain new",
        "otel",
        "azure",
        "azure nested",
        "responses",
        "choices",
        "gemini",
        "adk",
        "koog",
    ],
)
def test_a_call_is_found_in_every_shape(value: Any) -> None:
    assert read_messages(value, "assistant") == [CALL]


@pytest.mark.parametrize(
    "value",
    [
        {"role": "tool", "tool_call_id": "c1", "content": "there"},
        {"type": "tool", "tool_call_id": "c1", "content": "there"},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "tool_result", "tool_result": "there"}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "there"}]},
        {"type": "function_call_output", "call_id": "c1", "output": "there"},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "response": "there"}}]},
    ],
    ids=["openai", "langchain", "azure", "otel", "responses", "gemini"],
)
def test_a_result_is_found_in_every_shape(value: Any) -> None:
    (said,) = read_messages(value)
    assert said.answers == RESULT.answers


def test_thoughts_are_not_said() -> None:
    parts = [{"text": "Hm.", "thought": True}, {"text": "Hello."}]
    assert read_messages({"role": "model", "parts": parts}) == [LoggedMessage("assistant", "Hello.")]


def test_a_tool_that_is_declared_among_the_messages_is_no_message() -> None:
    tool = {"type": "function", "function": {"name": "find", "description": "Finds.", "parameters": {"type": "object"}}}
    given = [{"role": "user", "content": "Hi?"}, {"role": "tool", "content": tool}]
    assert read_messages(given) == [HI]
    assert tools_in(declared_tools(given)) == (Tool(name="find", description="Finds.", parameters={"type": "object"}),)


@pytest.mark.parametrize(
    "request_body",
    [
        {"tools": [{"type": "function", "function": {"name": "find"}}]},
        {"config": {"tools": [{"function_declarations": [{"name": "find"}]}]}},
        {"tools": [{"name": "find", "type": "function"}]},
    ],
)
def test_declared_tools_are_found_in_requests(request_body: Any) -> None:
    assert tools_in(declared_tools(json.dumps(request_body))) == (Tool(name="find"),)


@pytest.mark.parametrize("given", [None, [], "none", {}, [{}], [{"name": ""}], [3]])
def test_no_tools_are_none(given: Any) -> None:
    assert tools_in(given) is None


def test_results_come_to_their_calls() -> None:
    call = ToolCall(name="find", arguments={"x": 1}, id="c1", result=ToolResult(content="there"))
    assert transcript_messages([HI, CALL, RESULT]) == (
        Message(role=Role.USER, content="Hi?"),
        Message(role=Role.ASSISTANT, tool_calls=(call,)),
    )


def test_a_result_without_a_name_belongs_to_the_earliest_call_that_waits() -> None:
    calls = LoggedMessage("assistant", calls=(LoggedToolCall("", "one", {}), LoggedToolCall("", "two", {})))
    talk = [
        calls,
        LoggedMessage("tool", answers=(LoggedToolResult("", "", 1),)),
        LoggedMessage("tool", answers=(LoggedToolResult("", "", 2),)),
    ]
    (message,) = transcript_messages(talk)
    assert [(call.name, call.result) for call in message.tool_calls] == [
        ("one", ToolResult(content=1)),
        ("two", ToolResult(content=2)),
    ]


def test_a_nameless_result_that_no_call_waits_for_says_nothing_new() -> None:
    assert match_results([HI, LoggedMessage("tool", answers=(LoggedToolResult("", "", 1),))]) == [HI]


def test_a_named_result_shows_that_there_was_a_call() -> None:
    (message,) = transcript_messages([LoggedMessage("tool", answers=(LoggedToolResult("c9", "find", 1),))])
    assert message.tool_calls == (ToolCall(name="find", id="c9", result=ToolResult(content=1)),)
