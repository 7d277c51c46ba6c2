"""A real agent of the OpenAI Agents SDK with a handoff, on a model on loopback."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.talking import HERE, REFUND, a_case_with_a_past, a_wish, run_by_command, talk_to, try_out
from howsure.model.transcript import ToolResult, Usage
from howsure.targets.frameworks.openai_agents import OpenAiAgentsKind

APIS = pytest.mark.parametrize("api", ["chat", "responses"])


@APIS
async def test_a_handoff_its_tools_state_and_tokens_arrive(api: str) -> None:
    wish = a_wish(f"openai_agents_shop.py:{api}", state={"tier": "gold"})
    found = await talk_to(OpenAiAgentsKind(), wish, "I want a refund", state={"tier": "silver"})
    transfer, refund = found.tool_calls
    assert (transfer.name, transfer.result) == ("transfer_to_billing", ToolResult(content={"assistant": "billing"}))
    assert (refund.name, refund.arguments) == ("issue_refund", {"order_id": "A1", "amount": 50})
    assert refund.result == ToolResult(content={"ok": True, "amount": 50.0, "tier": "silver"})
    assert found.agents == ("front_desk", "billing")
    assert found.answer == "The tool said {'ok': True, 'amount': 50.0, 'tier': 'silver'}."
    assert found.state == {"tier": "silver", "refunded": 50.0}
    assert found.usage == Usage(prompt_tokens=33, completion_tokens=15, cached_tokens=12, thinking_tokens=6)


@APIS
async def test_turns_share_one_conversation_and_a_tool_that_raises_has_failed(api: str) -> None:
    wish = a_wish(f"openai_agents_shop.py:{api}")
    found = await talk_to(OpenAiAgentsKind(), wish, "Hi", "Where is the unknown order?", "Bye")
    (lookup,) = found.tool_calls
    assert (lookup.name, lookup.arguments) == ("lookup_order", {"order_id": "Z9"})
    assert lookup.result is not None and lookup.result.failed
    assert found.messages[1].content == "Hello, this is turn 1."
    assert found.answer == "Hello, this is turn 3."
    assert found.state == {"intent": "order"}
    assert found.usage == Usage(prompt_tokens=44, completion_tokens=20, cached_tokens=16, thinking_tokens=8)


@APIS
async def test_an_earlier_conversation_and_the_context_of_a_question_reach_the_agent(api: str) -> None:
    wish = a_wish(f"openai_agents_shop.py:{api}")
    greeted = await try_out(OpenAiAgentsKind(), wish, a_case_with_a_past("Hi"))
    assert [message.content for message in greeted.messages] == ["Hi", "Hello, this is turn 2."]
    found = await try_out(OpenAiAgentsKind(), wish, a_case_with_a_past("Where is it?", "This is about my order."))
    assert [call.name for call in found.tool_calls] == ["lookup_order"]


def test_a_run_by_command_drives_it_and_keeps_calls_state_agents_and_tokens(tmp_path: Path) -> None:
    result = run_by_command(tmp_path, f"openai-agents:{HERE / 'openai_agents_shop.py'}:chat", REFUND)
    assert [call["name"] for call in result["output"]["tool_calls"]] == ["transfer_to_billing", "issue_refund"]
    assert result["output"]["state"] == {"tier": "silver", "refunded": 50.0}
    assert {message.get("agent") for message in result["output"]["messages"]} >= {"billing"}
    assert result["output"]["usage"]["prompt_tokens"] == 33
