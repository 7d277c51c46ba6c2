"""A real agent of Pydantic AI, on a model on loopback."""

from __future__ import annotations

from pathlib import Path

from frameworks.talking import HERE, a_case_with_a_past, a_wish, run_by_command, talk_to, try_out
from howsure.model.transcript import ToolResult, Usage
from howsure.targets.frameworks.pydantic_ai import PydanticAiKind

SHOP = a_wish("pydantic_ai_shop.py:build", state={"tier": "gold"})


async def test_tools_state_and_tokens_arrive() -> None:
    found = await talk_to(PydanticAiKind(), SHOP, "Where is my order?", state={"tier": "silver"})
    (lookup,) = found.tool_calls
    assert (lookup.name, lookup.arguments) == ("lookup_order", {"order_id": "A1"})
    assert lookup.result == ToolResult(content={"order_id": "A1", "status": "shipped"})
    assert found.agents == ("front_desk",)
    assert found.answer == 'The tool said {"order_id":"A1","status":"shipped"}.'
    assert found.state == {"tier": "silver", "intent": "order"}
    assert found.usage == Usage(prompt_tokens=22, completion_tokens=10, cached_tokens=8, thinking_tokens=4)


async def test_an_agent_asked_by_a_tool_is_seen_as_that_tool_and_its_state_stays() -> None:
    found = await talk_to(PydanticAiKind(), SHOP, "I want a refund")
    (asked,) = found.tool_calls
    assert asked.name == "ask_billing"
    assert asked.result == ToolResult(content={"billing": 'The tool said {"ok":true,"amount":50.0}.'})
    assert found.state == {"tier": "gold", "refunded": 50.0}


async def test_turns_share_one_history_and_a_refused_call_has_failed() -> None:
    found = await talk_to(PydanticAiKind(), SHOP, "Hi", "Where is the unknown order?", "Bye")
    (lookup,) = found.tool_calls
    assert lookup.result is not None and lookup.result.failed
    assert found.messages[1].content == "Hello, this is turn 1."
    assert found.answer == "Hello, this is turn 3."


async def test_a_structured_output_is_the_answer_and_no_tool() -> None:
    settings = {"object": "pydantic_ai_shop.py:structured", "deps": "pydantic_ai_shop.py:shop"}
    found = await talk_to(PydanticAiKind(), a_wish(settings=settings), "When?", state={"tier": "gold"})
    assert found.answer == '{"status":"shipped","days":2}'
    assert found.tool_calls == ()
    assert found.state == {"tier": "gold", "intent": ""}


async def test_an_earlier_conversation_and_the_context_of_a_question_reach_the_agent() -> None:
    greeted = await try_out(PydanticAiKind(), SHOP, a_case_with_a_past("Hi"))
    assert [message.content for message in greeted.messages] == ["Hi", "Hello, this is turn 2."]
    found = await try_out(PydanticAiKind(), SHOP, a_case_with_a_past("Where is it?", "This is about my order."))
    assert [call.name for call in found.tool_calls] == ["lookup_order"]


def test_a_run_by_command_drives_it_and_keeps_calls_state_agents_and_tokens(tmp_path: Path) -> None:
    lookup = [{"tool_name": "lookup_order", "input_arguments": {"order_id": "A1"}}]
    expected = {"turn": "Where is my order?", "reference_tool_interactions": lookup}
    result = run_by_command(tmp_path, f"pydantic-ai:{HERE / 'pydantic_ai_shop.py'}:build", expected)
    assert result["output"]["tool_calls"][0]["result"]["content"] == {"order_id": "A1", "status": "shipped"}
    assert result["output"]["state"] == {"tier": "silver", "intent": "order"}
    assert {message.get("agent") for message in result["output"]["messages"]} >= {"front_desk"}
    assert result["output"]["usage"]["prompt_tokens"] == 22
