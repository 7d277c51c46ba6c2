"""One transcript from the turns: the right answer, and a sum that knows what it does not know."""

from __future__ import annotations

import pytest

from howsure.engine.converse import final_answer, total_usage
from howsure.model.transcript import Message, Role, ToolCall, Usage


def said(text: str, *calls: str) -> Message:
    return Message(role=Role.ASSISTANT, content=text, tool_calls=tuple(ToolCall(name=name) for name in calls))


def asked(text: str) -> Message:
    return Message(role=Role.USER, content=text)


@pytest.mark.parametrize(
    ("messages", "answer"),
    [
        ([asked("Hi"), said("Hello")], "Hello"),
        ([asked("Hi"), said("Let me look", "search"), said("It is 42")], "It is 42"),
        ([asked("Hi"), said("Let me look", "search")], ""),
        ([asked("Hi"), said("First"), asked("More"), said("", "search")], ""),
        ([asked("Hi"), said("It is 42"), said("")], "It is 42"),
        ([], ""),
    ],
    ids=["plain", "thinking beside a call is not the answer", "only a call", "an older answer does not count",
         "an empty last message is passed over", "nothing said"],
)  # fmt: skip
def test_the_answer_is_the_last_thing_said_to_the_user(messages: list[Message], answer: str) -> None:
    assert final_answer(messages) == answer


@pytest.mark.parametrize(
    ("usages", "expected"),
    [
        ([None, None], None),
        ([Usage(prompt_tokens=2), None, Usage(prompt_tokens=3)], Usage(prompt_tokens=5)),
        ([Usage(prompt_tokens=2), Usage()], Usage()),
        ([Usage(cost_usd=0.5), Usage(cost_usd=0.25)], Usage(cost_usd=0.75)),
    ],
    ids=["unknown", "known ones add up", "one unknown makes the sum unknown", "money"],
)
def test_usage_adds_up_only_where_it_is_known(usages: list[Usage | None], expected: Usage | None) -> None:
    assert total_usage(usages) == expected
