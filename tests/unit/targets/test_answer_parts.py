"""The parts of a bot's answer in every spelling: calls, messages, usage."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Usage
from howsure.targets.answer_parts import (
    UnreadableAnswer,
    call_of,
    calls_in,
    message_of,
    messages_in,
    result_of,
    usage_of,
)

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


CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
MADE_CALL = ToolCall(name="look_up", id="c1", result=ToolResult(content={"status": "shipped"}))


def test_the_openai_form_is_read_and_results_meet_their_calls() -> None:
    messages = messages_in(
        [
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": '{"status": "shipped"}'},
            {"role": "assistant", "content": "On its way."},
        ]
    )
    assert messages == (
        Message(role=Role.ASSISTANT, tool_calls=(MADE_CALL,)),
        Message(role=Role.ASSISTANT, content="On its way."),
    )


def test_the_anthropic_form_is_read_and_results_are_no_turn_of_the_user() -> None:
    messages = messages_in(
        [
            {"role": "user", "content": "Where is it?"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "text", "text": "Let me see."},
                    {"type": "tool_use", "id": "c1", "name": "look_up", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c1", "content": '{"status": "shipped"}'}],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "On "}, {"type": "text", "text": "its way."}]},
        ]
    )
    assert messages == (
        Message(role=Role.ASSISTANT, content="Let me see.", tool_calls=(MADE_CALL,)),
        Message(role=Role.ASSISTANT, content="On its way."),
    )


def test_the_langchain_form_is_read() -> None:
    messages = messages_in(
        [
            {"type": "human", "content": "Where is it?"},
            {
                "type": "ai",
                "content": "",
                "name": "orders",
                "tool_calls": [{"name": "look_up", "args": {}, "id": "c1"}],
            },
            {"type": "tool", "content": '{"status": "shipped"}', "tool_call_id": "c1", "name": "look_up"},
            {"type": "ai", "content": "On its way.", "name": "orders"},
        ]
    )
    assert messages == (
        Message(role=Role.ASSISTANT, agent="orders", tool_calls=(MADE_CALL,)),
        Message(role=Role.ASSISTANT, agent="orders", content="On its way."),
    )


def test_what_was_said_before_the_last_user_message_is_not_said_again() -> None:
    history = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "Bye"},
        {"role": "assistant", "content": "Goodbye!"},
    ]
    assert messages_in(history) == (Message(role=Role.ASSISTANT, content="Goodbye!"),)
    assert messages_in(history[:3]) == ()


@pytest.mark.parametrize(
    ("result", "names"),
    [
        ({"tool_call_id": "2"}, [None, "done"]),
        ({"tool_call_id": "1"}, ["done", None]),
        ({"name": "b"}, [None, "done"]),
        ({}, ["done", None]),
    ],
    ids=["by id", "by the other id", "by name", "the first that waits"],
)
def test_a_result_finds_its_call(result: dict[str, Any], names: list[str | None]) -> None:
    calls = [{"id": "1", "name": "a"}, {"id": "2", "name": "b"}]
    given = [{"role": "assistant", "tool_calls": calls}, {"role": "tool", "content": "done", **result}]
    (message,) = messages_in(given)
    assert [call.result.content if call.result else None for call in message.tool_calls] == names


def test_a_result_without_a_call_shows_that_there_was_one() -> None:
    (message,) = messages_in([{"role": "tool", "name": "look_up", "content": "x", "tool_call_id": "9"}])
    assert message.tool_calls == (ToolCall(name="look_up", id="9", result=ToolResult(content="x")),)


@pytest.mark.parametrize("told", [{"status": "error"}, {"is_error": True}, {"failed": True}], ids=str)
def test_a_result_may_say_that_it_failed(told: dict[str, Any]) -> None:
    given = [{"role": "assistant", "tool_calls": [{"name": "a"}]}, {"role": "tool", "content": "x", **told}]
    (message,) = messages_in(given)
    assert message.tool_calls[0].result == ToolResult(content="x", failed=True)


def test_the_old_function_call_is_a_call() -> None:
    (message,) = messages_in(
        [{"role": "assistant", "content": None, "function_call": {"name": "a", "arguments": "{}"}}]
    )
    assert message.tool_calls == (ToolCall(name="a"),)


def test_our_own_messages_and_plain_texts_may_stand_in_the_list() -> None:
    said = Message(role=Role.ASSISTANT, content="Hi")
    assert messages_in([said, "Bye"]) == (said, Message(role=Role.ASSISTANT, content="Bye"))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (3, "`messages[0]`: expected a message with `role` and `content`, found a number 3"),
        ({"role": "narrator", "content": "x"}, "`messages[0].role`: expected one of assistant, ai, model, agent, bot"),
        ({"role": "assistant"}, "`messages[0]`: expected a message with `content`, found the keys role"),
        ({"content": 3}, "`messages[0].content`: expected text or a list of parts, found a number 3"),
        ({"content": [3]}, "`messages[0].content[0]`: expected text or a part, found a number 3"),
    ],
    ids=str,
)
def test_what_is_no_message_is_told_with_its_place(entry: Any, message: str) -> None:
    with pytest.raises(UnreadableAnswer) as caught:
        messages_in([entry])
    assert str(caught.value).startswith(message)


def test_one_message_alone_is_the_assistants() -> None:
    assert message_of("Hi", "answer") == (Message(role=Role.ASSISTANT, content="Hi"),)
    assert message_of({"role": "user", "content": "Hi"}, "answer") == ()


@pytest.mark.parametrize(
    ("given", "usage"),
    [
        (None, None),
        ({}, None),
        ({"total_tokens": 9}, None),
        ({"prompt_tokens": 3, "completion_tokens": 4}, Usage(prompt_tokens=3, completion_tokens=4)),
        ({"promptTokens": 3, "completionTokens": 4}, Usage(prompt_tokens=3, completion_tokens=4)),
        ({"input_tokens": 3, "output_tokens": 4.0}, Usage(prompt_tokens=3, completion_tokens=4)),
        (
            {"promptTokenCount": 9, "candidatesTokenCount": 4, "thoughtsTokenCount": 2, "cachedContentTokenCount": 5},
            Usage(prompt_tokens=9, completion_tokens=4, thinking_tokens=2, cached_tokens=5),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 6,
                "prompt_tokens_details": {"cached_tokens": 5},
                "completion_tokens_details": {"reasoning_tokens": 2},
            },
            Usage(prompt_tokens=9, completion_tokens=4, thinking_tokens=2, cached_tokens=5),
        ),
        (
            {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 100},
            Usage(prompt_tokens=103, completion_tokens=4, cached_tokens=100),
        ),
        (
            {"prompt_tokens": 9, "completion_tokens": 6, "thinking_tokens": 2},
            Usage(prompt_tokens=9, completion_tokens=6, thinking_tokens=2),
        ),
        ({"cost_usd": 0.5}, Usage(cost_usd=0.5)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, Usage(prompt_tokens=0, completion_tokens=0)),
        (Usage(prompt_tokens=1), Usage(prompt_tokens=1)),
    ],
    ids=str,
)
def test_usage_is_read(given: Any, usage: Usage | None) -> None:
    assert usage_of(given) == usage


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1], "`usage`: expected an object of token counts, found a list [1]"),
        ({"prompt_tokens": "many"}, "`usage.prompt_tokens`: expected a whole number from 0, found text 'many'"),
        ({"prompt_tokens": -1}, "`usage.prompt_tokens`: expected a whole number from 0, found a number -1"),
        ({"prompt_tokens": 1.5}, "`usage.prompt_tokens`: expected a whole number from 0, found a number 1.5"),
        ({"prompt_tokens": True}, "`usage.prompt_tokens`: expected a whole number from 0, found true"),
        (
            {"output_tokens": float("inf")},
            "`usage.completion_tokens`: expected a whole number from 0, found a number inf",
        ),
        ({"cost": "cheap"}, "`usage.cost_usd`: expected an amount from 0, found text 'cheap'"),
    ],
    ids=str,
)
def test_amounts_that_are_none_are_told(given: Any, message: str) -> None:
    with pytest.raises(UnreadableAnswer) as caught:
        usage_of(given)
    assert str(caught.value) == message
