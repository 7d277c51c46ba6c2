"""A real LangGraph of two agents, on a model on loopback."""

from __future__ import annotations

from pathlib import Path

from frameworks.talking import HERE, REFUND, a_case_with_a_past, a_wish, run_by_command, talk_to, try_out
from howsure.model.transcript import ToolResult, Usage
from howsure.targets.frameworks.langgraph import LangGraphKind

SHOP = a_wish("langgraph_shop.py:build", state={"tier": "gold", "intent": "none"})


async def test_a_handoff_its_tools_state_and_tokens_arrive() -> None:
    found = await talk_to(LangGraphKind(), SHOP, "I want a refund", state={"tier": "silver"})
    transfer, refund = found.tool_calls
    assert (transfer.name, transfer.result) == ("transfer_to_billing", ToolResult(content="Billing takes over."))
    assert (refund.name, refund.arguments) == ("issue_refund", {"order_id": "A1", "amount": 50})
    assert refund.result == ToolResult(content={"ok": True, "amount": 50.0, "tier": "silver"})
    assert found.agents == ("front_desk", "billing")
    assert found.answer == 'The tool said {"ok": true, "amount": 50.0, "tier": "silver"}.'
    assert found.state == {"tier": "silver", "intent": "refund", "refunded": 50.0}
    assert found.usage == Usage(prompt_tokens=33, completion_tokens=15, cached_tokens=12, thinking_tokens=6)


async def test_turns_share_one_thread_and_nothing_is_told_twice() -> None:
    found = await talk_to(LangGraphKind(), SHOP, "Hi", "Where is my order?", "Bye")
    said = [(message.role.value, message.content) for message in found.messages if message.content]
    assert said == [
        ("user", "Hi"),
        ("assistant", "Hello, this is turn 1."),
        ("user", "Where is my order?"),
        ("assistant", 'The tool said {"order_id": "A1", "status": "shipped"}.'),
        ("user", "Bye"),
        ("assistant", "Hello, this is turn 3."),
    ]
    assert [(call.name, call.result) for call in found.tool_calls] == [
        ("lookup_order", ToolResult(content={"order_id": "A1", "status": "shipped"}))
    ]
    assert found.usage == Usage(prompt_tokens=44, completion_tokens=20, cached_tokens=16, thinking_tokens=8)


async def test_a_graph_that_stops_to_ask_goes_on_with_the_users_answer() -> None:
    found = await talk_to(LangGraphKind(), a_wish("langgraph_shop.py:asking"), "Cancel it", "yes")
    assert [message.content for message in found.messages] == [
        "Cancel it",
        "Shall I cancel the order?",
        "yes",
        "You said yes.",
    ]
    assert found.messages[-1].agent == "approve"
    assert found.state == {"intent": "cancel"}


async def test_two_conversations_do_not_see_each_other() -> None:
    target = LangGraphKind().make(SHOP)
    first = await talk_to(LangGraphKind(), SHOP, "Hi", "Hi")
    second = await talk_to(LangGraphKind(), SHOP, "Hi")
    assert (first.answer, second.answer) == ("Hello, this is turn 2.", "Hello, this is turn 1.")
    assert (await target.check()).startswith("langgraph_shop.py:build is loaded (langgraph ")


async def test_an_earlier_conversation_and_the_context_of_a_question_reach_the_agent() -> None:
    greeted = await try_out(LangGraphKind(), SHOP, a_case_with_a_past("Hi"))
    assert [message.content for message in greeted.messages] == ["Hi", "Hello, this is turn 2."]
    found = await try_out(LangGraphKind(), SHOP, a_case_with_a_past("Where is it?", "This is about my order."))
    assert [call.name for call in found.tool_calls] == ["lookup_order"]


def test_a_run_by_command_drives_it_and_keeps_calls_state_agents_and_tokens(tmp_path: Path) -> None:
    result = run_by_command(tmp_path, f"langgraph:{HERE / 'langgraph_shop.py'}:build", REFUND)
    assert [call["name"] for call in result["output"]["tool_calls"]] == ["transfer_to_billing", "issue_refund"]
    assert result["output"]["state"]["refunded"] == 50.0
    assert {message.get("agent") for message in result["output"]["messages"]} >= {"billing"}
    assert result["output"]["usage"]["prompt_tokens"] == 33
