"""The chat target with tools: calls are recorded, answered, and sent back until the model has no more of them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from howsure.errors import TargetFailed
from howsure.llm.base import Completion
from howsure.llm.messages import ChatMessage, ToolTurn
from howsure.model.case import Case, Script
from howsure.model.transcript import Message as Said
from howsure.model.transcript import Role, Tool, ToolCall, ToolResult, Usage
from howsure.targets.base import Reply
from howsure.targets.chat.target import ChatTarget
from howsure.targets.chat.tools import ConstantResult, ToolBackend, ToolOffer
from howsure.testing import ScriptedModel, a_case

REFUND, PING = Tool(name="refund", description="Pays back."), Tool(name="ping")
PAID = ToolResult(content={"paid": 50})
DESK = ToolBackend(scripts={"refund": ConstantResult(PAID)})
OFFER = ToolOffer(tools=(REFUND, PING), desk=DESK)


def calling(*names: str, text: str = "", echo: Any = None, **usage: Any) -> Completion:
    calls = tuple(ToolCall(name=name, arguments={"order": "A1"}, id=f"id-{name}") for name in names)
    return Completion(text=text, model="m", usage=Usage(**usage), tool_calls=calls, echo=echo)


def saying(text: str, **usage: Any) -> Completion:
    return Completion(text=text, model="m", usage=Usage(**usage))


async def replies(model: ScriptedModel, offer: ToolOffer, case: Case | None = None, *texts: str) -> list[Reply]:
    session = await ChatTarget(model, namespace="repeat 1", offer=offer).open(case or a_case())
    return [await session.send(text) for text in texts or ("Hello",)]


def called(name: str, result: ToolResult | None) -> ToolCall:
    return ToolCall(name=name, arguments={"order": "A1"}, id=f"id-{name}", result=result)


async def test_a_call_is_answered_and_the_model_speaks_then() -> None:
    model = ScriptedModel(calling("refund", text="One moment.", echo=["signed"]), saying("Done."))
    (reply,) = await replies(model, OFFER)
    assert reply.messages == (
        Said(role=Role.ASSISTANT, content="One moment.", tool_calls=(called("refund", PAID),)),
        Said(role=Role.ASSISTANT, content="Done."),
    )
    assert model.asked[1].messages == (
        ChatMessage(Role.USER, "Hello"),
        ToolTurn(Role.ASSISTANT, "One moment.", (), (called("refund", PAID),), ["signed"]),
    )
    assert [(asked.tools, asked.namespace, asked.purpose) for asked in model.asked] == [
        ((REFUND, PING), "repeat 1", "target")
    ] * 2


async def test_a_turn_takes_as_long_as_its_calls_of_the_model_and_of_its_tools() -> None:
    quick = replace(calling("refund"), latency_ms=100.0), replace(saying("Done."), latency_ms=20.0)
    (reply,) = await replies(ScriptedModel(*quick), OFFER)
    assert isinstance(reply.duration_ms, float)
    assert 120.0 <= reply.duration_ms < 1_000.0


@pytest.mark.parametrize("cached", [0, 1])
async def test_a_turn_of_which_one_call_came_from_the_cache_was_not_timed(cached: int) -> None:
    calls = [replace(call, latency_ms=9.0) for call in (calling("refund"), saying("Done."))]
    calls[cached] = replace(calls[cached], cached=True)
    (reply,) = await replies(ScriptedModel(*calls), OFFER)
    assert reply.duration_ms is None


async def test_several_calls_and_rounds_are_all_kept_in_order() -> None:
    model = ScriptedModel(calling("refund", "ping"), calling("refund"), saying("Done."))
    (reply,) = await replies(model, OFFER)
    lost = ToolResult(
        content="nothing answers the tool 'ping' here: it has no scripted result and no function", failed=True
    )
    assert [message.tool_calls for message in reply.messages] == [
        (called("refund", PAID), called("ping", lost)),
        (called("refund", PAID),),
        (),
    ]


async def test_without_a_desk_calls_are_recorded_and_the_turn_ends() -> None:
    model = ScriptedModel(calling("refund", text="One moment."))
    (reply,) = await replies(model, ToolOffer(tools=(REFUND,)))
    assert reply.messages == (Said(role=Role.ASSISTANT, content="One moment.", tool_calls=(called("refund", None),)),)
    assert len(model.asked) == 1


async def test_a_call_without_result_stays_in_the_conversation() -> None:
    model = ScriptedModel(calling("refund"), saying("Hm."))
    await replies(model, ToolOffer(tools=(REFUND,)), Case(id="1", input=Script(turns=("Hi", "And?"))), "Hi", "And?")
    assert model.asked[1].messages == (
        ChatMessage(Role.USER, "Hi"),
        ToolTurn(Role.ASSISTANT, "", (), (called("refund", None),)),
        ChatMessage(Role.USER, "And?"),
    )


async def test_a_model_that_calls_what_nobody_offered_is_recorded_and_not_reminded_of_it() -> None:
    model = ScriptedModel(calling("refund", text="Hm."), saying("Yes."))
    case = Case(id="1", input=Script(turns=("Hi", "And?")))
    first, _ = await replies(model, ToolOffer(desk=DESK), case, "Hi", "And?")
    assert first.messages[0].tool_calls == (called("refund", None),)
    assert model.asked[1].messages[1] == ChatMessage(Role.ASSISTANT, "Hm.")
    assert model.asked[0].tools == ()


@pytest.mark.parametrize("rounds", [1, 3])
async def test_rounds_without_end_are_ended_and_the_setting_is_named(rounds: int) -> None:
    model = ScriptedModel(calling("refund", "ping", "ping"))
    with pytest.raises(TargetFailed) as raised:
        await replies(model, ToolOffer(tools=(REFUND, PING), desk=DESK, rounds=rounds))
    assert str(raised.value) == (
        f"the model called tools in {rounds} rounds of one turn and goes on with refund, ping;"
        " `max_tool_rounds` allows no more"
    )
    assert len(model.asked) == rounds + 1


async def test_as_many_rounds_as_are_allowed_may_be_used() -> None:
    model = ScriptedModel(*[calling("refund")] * 3, saying("Done."))
    (reply,) = await replies(model, ToolOffer(tools=(REFUND,), desk=DESK, rounds=3))
    assert reply.messages[-1].content == "Done."


async def test_usage_is_that_of_all_rounds_and_what_one_does_not_know_stays_unknown() -> None:
    first = calling("refund", prompt_tokens=10, completion_tokens=2, cost_usd=0.5)
    model = ScriptedModel(first, saying("Done.", prompt_tokens=30, completion_tokens=4, thinking_tokens=7))
    (reply,) = await replies(model, OFFER)
    assert reply.usage == Usage(prompt_tokens=40, completion_tokens=6)


async def test_the_tools_of_a_case_come_before_those_of_the_run() -> None:
    model = ScriptedModel(calling("refund"), saying("Done."))
    own = (Tool(name="ping"),)
    (reply,) = await replies(model, OFFER, a_case(tools=own))
    assert model.asked[0].tools == own
    result = reply.messages[0].tool_calls[0].result
    assert result == ToolResult(content="there is no tool 'refund'; there is: ping", failed=True)


async def test_each_turn_has_its_own_rounds() -> None:
    model = ScriptedModel(calling("refund"), saying("One."), calling("refund"), saying("Two."))
    case = Case(id="1", input=Script(turns=("Hi", "And?")))
    both = await replies(model, ToolOffer(tools=(REFUND,), desk=DESK, rounds=1), case, "Hi", "And?")
    assert [reply.messages[-1].content for reply in both] == ["One.", "Two."]
    assert len(model.asked[3].messages) == 5


async def test_the_model_takes_part_under_the_name_it_was_given() -> None:
    session = await ChatTarget(ScriptedModel("Hi."), agent="moss").open(a_case())
    assert (await session.send("Hello")).messages == (Said(role=Role.ASSISTANT, content="Hi.", agent="moss"),)
