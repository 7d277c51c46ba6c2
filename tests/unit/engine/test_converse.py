"""Talking to a target: turns in order, the right answer, nothing hidden when it breaks."""

from __future__ import annotations

import pytest

from assay.engine.converse import converse, final_answer, total
from assay.errors import TargetFailed
from assay.model.case import Case, Script, SingleTurn
from assay.model.transcript import Message, Role, Span, ToolCall, Usage
from assay.targets.base import Closing, Reply
from assay.testing import ScriptedTarget


def said(text: str, *calls: str) -> Message:
    return Message(role=Role.ASSISTANT, content=text, tool_calls=tuple(ToolCall(name=name) for name in calls))


def asked(text: str) -> Message:
    return Message(role=Role.USER, content=text)


async def test_the_turns_of_a_script_are_sent_in_order() -> None:
    case = Case(id="1", input=Script(turns=("Hi", "Refund please")))
    transcript = await converse(case, ScriptedTarget("Hello!", "Done."))
    assert [message.content for message in transcript.messages] == ["Hi", "Hello!", "Refund please", "Done."]
    assert transcript.answer == "Done."


async def test_state_spans_and_usage_end_up_in_the_transcript() -> None:
    closing = Closing(state={"paid": True}, spans=(Span(name="call_llm"),))
    reply = Reply(messages=(said("ok"),), usage=Usage(prompt_tokens=3, completion_tokens=1))
    case = Case(id="1", input=SingleTurn(message="Hi"))
    transcript = await converse(case, ScriptedTarget(reply, closing=closing))
    assert transcript.state == {"paid": True}
    assert transcript.spans == (Span(name="call_llm"),)
    assert transcript.usage == Usage(prompt_tokens=3, completion_tokens=1)


class BreaksTwice:
    """A session that breaks on sending and again on closing."""

    name = "fragile"

    async def open(self, case: Case) -> BreaksTwice:
        return self

    async def send(self, text: str) -> Reply:
        raise ConnectionError("reset")

    async def close(self) -> Closing:
        raise RuntimeError("already closed")


async def test_the_first_failure_is_reported_even_when_closing_fails_too() -> None:
    with pytest.raises(TargetFailed, match="target 'fragile': ConnectionError: reset"):
        await converse(Case(id="1", input=SingleTurn(message="Hi")), BreaksTwice())


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
    assert total(usages) == expected
