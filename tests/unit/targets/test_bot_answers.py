"""The one reader of answers: what a bot may send, in which spellings, and what is no answer."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Usage
from howsure.targets.answer_parts import UnreadableAnswer
from howsure.targets.bot_answers import BotError, read_answer


def said(*texts: str) -> tuple[Message, ...]:
    return tuple(Message(role=Role.ASSISTANT, content=text) for text in texts)


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ("Hi", ["Hi"]),
        ("", [""]),
        ({"answer": "Hi"}, ["Hi"]),
        ({"answer": ""}, [""]),
        ({"answer": None}, [""]),
        ({"response": "Hi"}, ["Hi"]),
        ({"responseText": "Hi"}, ["Hi"]),
        ({"output_text": "Hi"}, ["Hi"]),
        ({"text": "Hi", "trace": "abc"}, ["Hi"]),
        ({"answer": "Hi", "text": "other"}, ["Hi"]),
        ({"answer": None, "text": "Hi"}, ["Hi"]),
        ({"answer": ["One", "Two"]}, ["One", "Two"]),
        ({"answer": []}, []),
        ({"message": {"role": "assistant", "content": "Hi"}}, ["Hi"]),
        ({"answer": "Hi", "error": None}, ["Hi"]),
        ({"answer": "Hi", "error": ""}, ["Hi"]),
        ({"answer": "Hi", "error": False}, ["Hi"]),
    ],
    ids=str,
)
def test_an_answer_is_found(value: Any, texts: list[str]) -> None:
    assert read_answer(value).reply.messages == said(*texts)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "expected text or an object with `answer`, found null"),
        (3, "expected text or an object with `answer`, found a number 3"),
        (["Hi"], "expected text or an object with `answer`, found a list ['Hi']"),
        ({}, "expected an object with `answer`, `messages` or `tool_calls`; found the keys none"),
        ({"a": 1, "b": 2}, "expected an object with `answer`, `messages` or `tool_calls`; found the keys a, b"),
        ({"answer": 3}, "`answer`: expected text, found a number 3"),
        ({"answer": True}, "`answer`: expected text, found true"),
        ({"answer": {"a": 1}}, "`answer`: expected a message with `content`, found the keys a"),
        ({"answer": [3]}, "`answer[0]`: expected a message with `role` and `content`, found a number 3"),
        ({"answer": "Hi", "state": "done"}, "`state`: expected an object, found text 'done'"),
        ({"answer": "Hi", "usage": 3}, "`usage`: expected an object of token counts, found a number 3"),
        ({"answer": "Hi", "agents": "billing"}, "`agents`: expected a list of names, found text 'billing'"),
        ({"messages": "Hi"}, "`messages`: expected a list of messages, found text 'Hi'"),
        ({"tool_calls": 7}, "`tool_calls`: expected a list of calls, found a number 7"),
        ({"tool_calls": [7]}, "`tool_calls[0]`: expected a call with `name` and `arguments`, found a number 7"),
        ({"tool_calls": [{"x": 1}]}, "`tool_calls[0]`: expected a call with `name`, found the keys x"),
    ],
    ids=str,
)
def test_what_is_no_answer_is_told(value: Any, message: str) -> None:
    with pytest.raises(UnreadableAnswer) as caught:
        read_answer(value)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("no tokens left", "no tokens left"),
        ({"message": "no tokens left", "code": 7}, "no tokens left"),
        ({"code": 7}, "{'code': 7}"),
        (True, "True"),
        ([{"code": 7}], "[{'code': 7}]"),
    ],
)
def test_an_error_is_one_whatever_stands_beside_it(error: Any, told: str) -> None:
    with pytest.raises(BotError) as caught:
        read_answer({"answer": "Hi", "error": error})
    assert str(caught.value) == f"the bot answered with an error: {told}"


def test_calls_beside_an_answer_come_before_it() -> None:
    call = {"name": "look_up", "arguments": {"order": "1"}, "result": "shipped"}
    made = ToolCall(name="look_up", arguments={"order": "1"}, result=ToolResult(content="shipped"))
    reply = read_answer({"answer": "On its way.", "toolCalls": [call]}).reply
    assert reply.messages == (Message(role=Role.ASSISTANT, tool_calls=(made,)), *said("On its way."))


def test_calls_without_an_answer_are_a_reply() -> None:
    reply = read_answer({"tool_calls": [{"name": "stop"}]}).reply
    assert reply.messages == (Message(role=Role.ASSISTANT, tool_calls=(ToolCall(name="stop"),)),)


def test_calls_that_the_messages_tell_are_not_told_twice() -> None:
    call = {"id": "1", "name": "look_up", "arguments": {}}
    other = {"id": "2", "name": "refund", "arguments": {}}
    value = {
        "messages": [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "assistant", "content": "Ok"},
        ],
        "tool_calls": [call, other],
    }
    calls = [[made.name for made in message.tool_calls] for message in read_answer(value).reply.messages]
    assert calls == [["look_up"], ["refund"], []]


def test_the_same_call_made_twice_is_two_calls() -> None:
    call = {"name": "look_up", "arguments": {}}
    value = {"messages": [{"role": "assistant", "tool_calls": [call]}], "tool_calls": [call, call]}
    assert sum(len(message.tool_calls) for message in read_answer(value).reply.messages) == 2


def test_an_answer_that_repeats_the_last_message_is_one_message() -> None:
    assert read_answer({"messages": ["One", "Two"], "answer": "Two"}).reply.messages == said("One", "Two")
    assert read_answer({"messages": ["One"], "answer": "Two"}).reply.messages == said("One", "Two")


@pytest.mark.parametrize(
    ("fields", "agents"),
    [
        ({"agent": "billing"}, ["billing"]),
        ({"agentName": "billing"}, ["billing"]),
        ({"agents": ["router", "billing"]}, ["router", "billing"]),
        ({"agents": [{"name": "router"}, {"agent": "billing"}]}, ["router", "billing"]),
        ({"agents": ["router"], "agent": "billing"}, ["router", "billing"]),
        ({"agents": []}, [""]),
        ({"agent": None}, [""]),
    ],
    ids=str,
)
def test_agents_are_named_on_the_messages(fields: dict[str, Any], agents: list[str]) -> None:
    messages = read_answer({"answer": "Hi", **fields}).reply.messages
    assert [message.agent for message in messages] == agents
    assert messages[-1].content == "Hi"


def test_state_and_usage_are_read_beside_the_answer() -> None:
    result = read_answer({"answer": "Hi", "sessionState": {"a": 1}, "usage": {"inputTokens": 3, "outputTokens": 4}})
    assert result.state == {"a": 1}
    assert result.reply.usage == Usage(prompt_tokens=3, completion_tokens=4)


def test_what_nobody_told_is_not_known() -> None:
    result = read_answer({"answer": "Hi"})
    assert (result.state, result.reply.usage) == (None, None)


def test_an_empty_state_is_a_state() -> None:
    assert read_answer({"answer": "Hi", "state": {}}).state == {}
