"""What the OpenAI Agents SDK did, as plain data, becomes a turn."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import Struct

from howsure.errors import TargetTimedOut
from howsure.model.case import Case, Script
from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Usage
from howsure.targets.base import TargetRequest
from howsure.targets.frameworks.openai_agents import (
    OpenAiAgentsSettings,
    OpenAiAgentsTarget,
    convert_call_usage,
    reply_of,
)

Json = dict[str, Any]
USAGE = {
    "input_tokens": 11,
    "output_tokens": 7,
    "total_tokens": 18,
    "input_tokens_details": {"cached_tokens": 4},
    "output_tokens_details": {"reasoning_tokens": 2},
}


def called(name: str, call_id: str, arguments: str = "{}") -> Json:
    return {"type": "function_call", "id": "fc", "call_id": call_id, "name": name, "arguments": arguments}


def gave(call_id: str, output: Any) -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def spoke(text: str) -> Json:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}


HANDED_OVER = [
    ("desk", called("transfer_to_billing", "c1")),
    ("desk", gave("c1", '{"assistant": "billing"}')),
    ("billing", {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Pay."}]}),
    ("billing", called("issue_refund", "c2", '{"order_id": "A1", "amount": 50}')),
    ("billing", gave("c2", "{'ok': True, 'amount': 50.0}")),
    ("billing", spoke("Done.")),
]


def test_a_handoff_its_calls_and_tokens() -> None:
    transfer = ToolCall(name="transfer_to_billing", id="c1", result=ToolResult(content={"assistant": "billing"}))
    refund = ToolCall(
        name="issue_refund",
        id="c2",
        arguments={"order_id": "A1", "amount": 50},
        result=ToolResult(content={"ok": True, "amount": 50.0}),
    )
    reply = reply_of(HANDED_OVER, [USAGE, USAGE, USAGE], "Done.")
    assert reply.messages == (
        Message(role=Role.ASSISTANT, agent="desk", tool_calls=(transfer,)),
        Message(role=Role.ASSISTANT, agent="billing", tool_calls=(refund,)),
        Message(role=Role.ASSISTANT, agent="billing", content="Done."),
    )
    assert reply.usage == Usage(prompt_tokens=33, completion_tokens=15, cached_tokens=12, thinking_tokens=6)


@pytest.mark.parametrize(
    ("output", "result"),
    [
        ("shipped", ToolResult(content="shipped")),
        ('{"error": "no order"}', ToolResult(content={"error": "no order"}, failed=True)),
        (
            "An error occurred while running the tool. Please try again.",
            ToolResult(content="An error occurred while running the tool. Please try again.", failed=True),
        ),
        ([{"type": "input_text", "text": "x"}], ToolResult(content=[{"type": "input_text", "text": "x"}])),
        ([{"type": "text", "text": '{"a": 1}'}], ToolResult(content={"a": 1})),
        ("{'broken", ToolResult(content="{'broken")),
    ],
    ids=["text", "error", "raised", "blocks of another kind", "blocks of text", "unreadable is kept"],
)
def test_what_a_tool_gave_back(output: Any, result: ToolResult) -> None:
    reply = reply_of([("desk", called("look", "1")), ("desk", gave("1", output))], [])
    assert reply.messages[0].tool_calls[0].result == result


def test_a_tool_of_the_provider_is_a_call_with_its_own_result() -> None:
    search = {"type": "web_search_call", "id": "ws1", "status": "completed", "action": {"query": "moss"}}
    files = {"type": "file_search_call", "id": "fs1", "queries": ["moss"], "results": [{"text": "green"}]}
    remote = {"type": "mcp_call", "id": "m1", "name": "add", "arguments": '{"a": 1}', "output": "2", "error": None}
    calls = [message.tool_calls[0] for message in reply_of([("desk", s) for s in (search, files, remote)], []).messages]
    assert calls == [
        ToolCall(name="web_search", id="ws1", arguments={"action": {"query": "moss"}}),
        ToolCall(name="file_search", id="fs1", arguments={"queries": ["moss"]},
                 result=ToolResult(content=[{"text": "green"}])),
        ToolCall(name="add", id="m1", arguments={"a": 1}, result=ToolResult(content="2")),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("output", "said"), [("shipped", "shipped"), ({"status": "shipped"}, '{"status":"shipped"}')], ids=["text", "data"]
)
def test_a_run_that_ends_in_a_tools_output_answers_with_it(output: Any, said: str) -> None:
    reply = reply_of([("desk", called("look", "1")), ("desk", gave("1", "shipped"))], [], output)
    assert reply.messages[-1].content == said


def test_zeros_are_tokens_that_nobody_counted() -> None:
    assert convert_call_usage({**USAGE, "input_tokens": 0, "output_tokens": 0}) is None
    assert reply_of([("desk", spoke("Hi"))], [{"input_tokens": 0, "output_tokens": 0}]).usage == Usage()


class Named(Struct):
    name: str


class Done(Struct):
    agent: Named
    kept: Json

    def to_input_item(self) -> Json:
        return self.kept


class Counted(Struct):
    input_tokens: int = 3
    output_tokens: int = 1
    total_tokens: int = 4


class Response(Struct):
    usage: Counted


class Result(Struct):
    said: list[Any]
    new_items: list[Done]
    last_agent: Named
    raw_responses: list[Response]
    final_output: str

    def to_input_list(self) -> list[Any]:
        return [*self.said, *(done.kept for done in self.new_items)]


class Runner:
    """Runs as the SDK's does: every turn is handed to billing, which counts what it was told."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, int, int]] = []

    async def run(self, agent: Named, said: list[Any], *, context: Json, max_turns: int) -> Result:
        self.ran.append((agent.name, len(said), max_turns))
        context["turns"] = len(self.ran)
        billing = Named("billing")
        done = [Done(billing, spoke(f"I was told {len(said)} things."))]
        return Result(list(said), done, billing, [Response(Counted())], "")


async def test_turns_share_a_history_go_to_the_agent_that_spoke_last_and_change_the_context() -> None:
    runner = Runner()
    wish = TargetRequest(name="shop", state={"tier": "gold", "turns": 0})
    target = OpenAiAgentsTarget(wish, OpenAiAgentsSettings(object="x:y", max_turns=4), Named("desk"), runner)
    case = Case(id="1", input=Script(turns=("Hi", "Bye")), state={"tier": "silver"})
    session = await target.open(case)
    await session.send("Hi")
    reply = await session.send("Bye")
    assert reply.messages == (Message(role=Role.ASSISTANT, agent="billing", content="I was told 3 things."),)
    assert reply.usage == Usage(prompt_tokens=3, completion_tokens=1)
    assert runner.ran == [("desk", 1, 4), ("billing", 3, 4)]
    assert (await session.close()).state == {"tier": "silver", "turns": 2}


async def test_a_turn_has_a_limit() -> None:
    class SlowRunner:
        async def run(self, *_: Any, **__: Any) -> None:
            await asyncio.sleep(5)

    settings = OpenAiAgentsSettings(object="x:y", turn_seconds=0.05)
    target = OpenAiAgentsTarget(TargetRequest(name="shop"), settings, Named("desk"), SlowRunner())
    session = await target.open(Case(id="1", input=Script(turns=("Hi",))))
    with pytest.raises(TargetTimedOut, match=r"no answer in 0\.05 s"):
        await session.send("Hi")
