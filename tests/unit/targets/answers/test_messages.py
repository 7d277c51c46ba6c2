"""Lists of messages: roles, calls and results, as chat APIs and frameworks keep them."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.model.transcript import Message, Role, ToolCall, ToolResult
from howsure.targets.answer_parts import UnreadableAnswer, message_of, messages_in

CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
MADE = ToolCall(name="look_up", id="c1", result=ToolResult(content={"status": "shipped"}))


def test_the_openai_form_is_read_and_results_meet_their_calls() -> None:
    messages = messages_in(
        [
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": '{"status": "shipped"}'},
            {"role": "assistant", "content": "On its way."},
        ]
    )
    assert messages == (
        Message(role=Role.ASSISTANT, tool_calls=(MADE,)),
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
        Message(role=Role.ASSISTANT, content="Let me see.", tool_calls=(MADE,)),
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
        Message(role=Role.ASSISTANT, agent="orders", tool_calls=(MADE,)),
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
