"""Messages of LangGraph, as LangChain writes them, become a turn; nodes become agents."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from howsure.errors import TargetTimedOut
from howsure.model.case import Case, SingleTurn
from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Usage
from howsure.targets.base import TargetRequest
from howsure.targets.frameworks.langgraph import LangGraphSettings, LangGraphTarget, reply_of, speaker

Json = dict[str, Any]
USAGE = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18, "input_token_details": {"cache_read": 4},
         "output_token_details": {"reasoning": 2}}  # fmt: skip


def ai(content: Any, *calls: Json, **fields: Any) -> Json:
    data = {"type": "ai", "content": content, "name": None, "tool_calls": list(calls), "invalid_tool_calls": []}
    return {"type": "ai", "data": {**data, "usage_metadata": USAGE, **fields}}


def called(name: str, call_id: str, **args: Any) -> Json:
    return {"name": name, "args": args, "id": call_id, "type": "tool_call"}


def tool(name: str, call_id: str, content: Any, status: str = "success") -> Json:
    data = {"type": "tool", "content": content, "name": name, "tool_call_id": call_id, "status": status}
    return {"type": "tool", "data": data}


def human(content: str) -> Json:
    return {"type": "human", "data": {"type": "human", "content": content}}


def test_a_turn_with_a_call_its_result_and_tokens() -> None:
    said = [
        ("", human("Where is it?")),
        ("desk", ai("", called("look", "c1", order_id="A1"))),
        ("desk", tool("look", "c1", '{"status": "shipped"}')),
        ("desk", ai([{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "It is shipped."}])),
    ]
    look = ToolCall(
        name="look", id="c1", arguments={"order_id": "A1"}, result=ToolResult(content={"status": "shipped"})
    )
    reply = reply_of(said)
    assert reply.messages == (
        Message(role=Role.ASSISTANT, agent="desk", tool_calls=(look,)),
        Message(role=Role.ASSISTANT, agent="desk", content="It is shipped."),
    )
    assert reply.usage == Usage(prompt_tokens=22, completion_tokens=10, cached_tokens=8, thinking_tokens=4)


def test_a_messages_own_name_tells_better_who_spoke() -> None:
    (message,) = reply_of([("supervisor", ai("Hi", name="billing"))]).messages
    assert message.agent == "billing"


@pytest.mark.parametrize(
    ("content", "status", "result"),
    [
        ("shipped", "success", ToolResult(content="shipped")),
        ("Error: no order Z9", "error", ToolResult(content="Error: no order Z9", failed=True)),
        ('{"error": "no order"}', "success", ToolResult(content={"error": "no order"}, failed=True)),
        ([{"type": "text", "text": "[1, 2]"}], "success", ToolResult(content=[1, 2])),
        ([{"type": "image", "data": "x"}], "success", ToolResult(content=[{"type": "image", "data": "x"}])),
    ],
    ids=["text", "error", "says so itself", "blocks of text", "other blocks are kept"],
)
def test_what_a_tool_gave_back(content: Any, status: str, result: ToolResult) -> None:
    reply = reply_of([("", ai("", called("look", "c1"))), ("", tool("look", "c1", content, status))])
    assert reply.messages[0].tool_calls[0].result == result


def test_a_call_with_broken_arguments_is_still_a_call() -> None:
    broken = {"name": "look", "args": '{"order_id": ', "id": "c1", "error": "not JSON", "type": "invalid_tool_call"}
    (message,) = reply_of([("", ai("", invalid_tool_calls=[broken]))]).messages
    assert message.tool_calls == (ToolCall(name="look", id="c1", arguments={"arguments": '{"order_id": '}),)


def test_what_a_stopped_graph_asks_is_said_to_the_user() -> None:
    reply = reply_of([], ["Shall I?", {"amount": 50}])
    assert [message.content for message in reply.messages] == ["Shall I?", '{"amount":50}']


def test_a_message_that_no_model_wrote_counts_no_tokens() -> None:
    assert reply_of([("", ai("Hi", usage_metadata=None))]).usage == Usage()


@pytest.mark.parametrize(
    ("path", "node", "expected"),
    [
        ((), "billing", "billing"),
        ((), "model", ""),
        (("billing:0b1c",), "model", "billing"),
        (("team:1", "billing:2"), "tools", "billing"),
        (("tools:1",), "agent", ""),
    ],
    ids=["a node", "the ready-made agent", "inside an agent", "teams", "called by a tool"],
)
def test_the_innermost_name_speaks(path: tuple[str, ...], node: str, expected: str) -> None:
    assert speaker(path, node) == expected


class Graph:
    """Runs as a compiled graph does, and keeps what it was given; a slow one never ends."""

    def __init__(self, *, slow: bool = False) -> None:
        self.slow = slow
        self.given: list[tuple[list[str], int]] = []

    async def astream(self, given: Json, config: Json, **_: Any) -> AsyncIterator[Any]:
        self.given.append((sorted(given), config["recursion_limit"]))
        if self.slow:
            await asyncio.sleep(5)
        yield (), {}

    async def aget_state(self, config: Json) -> Any:
        return SimpleNamespace(interrupts=(), values={"messages": [], "chat": []})


async def talk(graph: Graph, **settings: Any) -> None:
    block = LangGraphSettings(object="shop:graph", **settings)
    target = LangGraphTarget(TargetRequest(name="shop"), block, graph)
    session = await target.open(Case(id="1", input=SingleTurn(message="Hi")))
    await session.send("Hi")


async def test_the_settings_say_where_messages_are_and_how_many_steps_a_turn_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # LangChain is not installed here; there is no message for it to write down.
    monkeypatch.setitem(sys.modules, "langchain_core.messages", SimpleNamespace(message_to_dict=dict))
    graph = Graph()
    await talk(graph)
    await talk(graph, messages_key="chat", recursion_limit=7)
    assert graph.given == [(["messages"], 50), (["chat"], 7)]


async def test_a_turn_has_a_limit() -> None:
    with pytest.raises(TargetTimedOut, match=r"no answer in 0\.05 s"):
        await talk(Graph(slow=True), turn_seconds=0.05)
