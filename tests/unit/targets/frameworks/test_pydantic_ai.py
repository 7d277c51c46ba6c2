"""Messages of Pydantic AI, as its own adapter writes them, become a turn."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from howsure.errors import TargetTimedOut
from howsure.model.case import Case, SingleTurn
from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Usage
from howsure.targets.base import TargetRequest
from howsure.targets.frameworks.pydantic_ai import PydanticAiSettings, PydanticAiTarget, convert_call_usage, reply_of

Json = dict[str, Any]
USAGE = {"input_tokens": 11, "output_tokens": 7, "cache_read_tokens": 4, "output_reasoning_tokens": 2, "details": {}}


def response(*parts: Json, usage: Json | None = None) -> Json:
    return {"kind": "response", "parts": list(parts), "usage": USAGE if usage is None else usage, "model_name": "m"}


def request(*parts: Json) -> Json:
    return {"kind": "request", "parts": list(parts), "instructions": "help"}


def called(name: str, call_id: str, args: Any) -> Json:
    return {"part_kind": "tool-call", "tool_name": name, "args": args, "tool_call_id": call_id, "tool_kind": None}


def gave(name: str, call_id: str, content: Any, **fields: Any) -> Json:
    return {"part_kind": "tool-return", "tool_name": name, "tool_call_id": call_id, "content": content, **fields}


SAID = {"part_kind": "text", "content": "It is shipped."}


def test_a_turn_with_a_call_its_result_and_tokens() -> None:
    messages = [
        request({"part_kind": "user-prompt", "content": "Where is it?"}),
        response({"part_kind": "thinking", "content": "Look."}, called("look", "c1", '{"order_id": "A1"}')),
        request(gave("look", "c1", {"status": "shipped"}, outcome="success")),
        response(SAID),
    ]
    look = ToolCall(
        name="look", id="c1", arguments={"order_id": "A1"}, result=ToolResult(content={"status": "shipped"})
    )
    reply = reply_of(messages, "desk", "It is shipped.")
    assert reply.messages == (
        Message(role=Role.ASSISTANT, agent="desk", tool_calls=(look,)),
        Message(role=Role.ASSISTANT, agent="desk", content="It is shipped."),
    )
    assert reply.usage == Usage(prompt_tokens=22, completion_tokens=10, cached_tokens=8, thinking_tokens=4)


@pytest.mark.parametrize(
    ("part", "result"),
    [
        (gave("look", "c1", "shipped"), ToolResult(content="shipped")),
        (gave("look", "c1", "no", outcome="failed"), ToolResult(content="no", failed=True)),
        (gave("look", "c1", "no", outcome="denied"), ToolResult(content="no", failed=True)),
        (
            {"part_kind": "retry-prompt", "tool_name": "look", "tool_call_id": "c1", "content": "no order Z9"},
            ToolResult(content="no order Z9", failed=True),
        ),
        ({"part_kind": "retry-prompt", "tool_name": None, "content": "answer in JSON"}, None),
    ],
    ids=["success", "failed", "denied", "asked to try again", "about the answer, not the call"],
)
def test_how_a_call_ended(part: Json, result: ToolResult | None) -> None:
    reply = reply_of([response(called("look", "c1", {"order_id": "A1"})), request(part)])
    assert reply.messages[0].tool_calls[0].result == result


def test_a_tool_of_the_provider_is_called_and_answered_in_one_response() -> None:
    search = {**called("web_search", "w1", {"query": "moss"}), "part_kind": "builtin-tool-call"}
    found = {**gave("web_search", "w1", [{"title": "Moss"}]), "part_kind": "builtin-tool-return"}
    (message,) = reply_of([response(search, found, SAID)]).messages
    assert message.content == "It is shipped."
    assert message.tool_calls[0].result == ToolResult(content=[{"title": "Moss"}])


def test_a_structured_output_is_the_answer_and_its_call_is_none() -> None:
    messages = [
        response(called("final_result", "c1", '{"days": 2}')),
        request(gave("final_result", "c1", "Final result processed.")),
    ]
    assert reply_of(messages, "desk", {"days": 2}).messages == (
        Message(role=Role.ASSISTANT, agent="desk", content='{"days":2}'),
    )


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input_tokens": 0, "output_tokens": 0}, None),
        (None, None),
        (
            {"input_tokens": 9, "output_tokens": 5, "details": {"reasoning_tokens": 3}},
            Usage(prompt_tokens=9, completion_tokens=2, cached_tokens=0, thinking_tokens=3),
        ),
    ],
    ids=["zeros: nobody counted", "none", "older versions keep thinking among the details"],
)
def test_tokens_of_one_call(usage: Any, expected: Usage | None) -> None:
    assert convert_call_usage(usage) == expected


class Result:
    def __init__(self, told: list[Any], text: str) -> None:
        self.output = text
        self._new = [response({"part_kind": "text", "content": text})]
        self._all = [*told, *self._new]

    def new_messages(self) -> list[Any]:
        return self._new

    def all_messages(self) -> list[Any]:
        return self._all


class Agent:
    """Runs as the library's does, and says how much it was told."""

    name = "desk"

    async def run(self, text: str, *, message_history: list[Any], deps: Json) -> Result:
        deps["asked"] = text
        return Result([*message_history, text], f"I was told {len(message_history)} things.")


class Adapter:
    """Plain data in, plain data out."""

    def validate_python(self, given: list[Json]) -> list[Json]:
        return given

    def dump_python(self, messages: list[Json], mode: str) -> list[Json]:
        assert mode == "json"
        return messages


async def test_turns_share_a_history_that_begins_before_the_case() -> None:
    earlier = (Message(role=Role.USER, content="Hi"), Message(role=Role.ASSISTANT, content="Hello"))
    case = Case(id="1", input=SingleTurn(message="Where is it?", context="Order A1.", history=earlier))
    wish = TargetRequest(name="shop", state={"tier": "gold"})
    session = await PydanticAiTarget(wish, PydanticAiSettings(object="x:y"), Agent(), Adapter()).open(case)
    first = await session.send("Where is it?")
    assert (await session.close()).state == {"tier": "gold", "asked": "Order A1.\n\nWhere is it?"}
    second = await session.send("Thanks")
    assert [first.messages[0].content, second.messages[0].content] == ["I was told 2 things.", "I was told 4 things."]
    assert (await session.close()).state == {"tier": "gold", "asked": "Thanks"}


async def test_a_turn_has_a_limit() -> None:
    class SlowAgent(Agent):
        async def run(self, *_: Any, **__: Any) -> Any:
            await asyncio.sleep(5)

    settings = PydanticAiSettings(object="x:y", turn_seconds=0.05)
    target = PydanticAiTarget(TargetRequest(name="shop"), settings, SlowAgent(), Adapter())
    session = await target.open(Case(id="1", input=SingleTurn(message="Hi")))
    with pytest.raises(TargetTimedOut, match=r"no answer in 0\.05 s"):
        await session.send("Hi")
