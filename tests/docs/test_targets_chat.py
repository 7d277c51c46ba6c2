"""docs/targets-chat.md: the agent it shows behaves as it says, and every setting is explained."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields

from howsure.config import load
from howsure.llm.base import Completion
from howsure.model.transcript import ToolCall, ToolResult, Usage
from howsure.targets.chat.target import ChatTarget
from howsure.targets.chat.tools import ChatSettings, ToolOffer, read_chat_settings, tool_offer
from howsure.testing import ScriptedModel, a_case

PAGE = (Path(__file__).parents[2] / "docs" / "targets-chat.md").read_text(encoding="utf-8")


@pytest.fixture
def offer(tmp_path: Path) -> Iterator[ToolOffer]:
    """What the page offers, made from its files."""
    before = list(sys.path)
    for name, source in re.findall(r"```\w+\n# (\S+)\n(.+?)```", PAGE, re.DOTALL):
        (tmp_path / name).write_text(source, encoding="utf-8")
    block = load(tmp_path, {}).targets["shop"]
    chat, scripts = read_chat_settings("shop", {name: value for name, value in block.items() if name != "kind"})
    assert (chat.model, chat.agent, chat.max_tool_rounds) == ("openai:gpt-5-mini", "support", 5)
    yield tool_offer(chat, scripts, tmp_path, None)
    sys.path[:] = before


@pytest.mark.parametrize(
    ("name", "arguments", "results"),
    [
        ("look_up_order", {"order_id": "L-1042"}, [ToolResult(content={"status": "shipped", "total": 39})] * 2),
        ("look_up_order", {"order_id": "L-7"}, [ToolResult(content="no such order", failed=True)] * 2),
        ("look_up_order", {"order_id": "L-1077"}, [ToolResult(content={"status": "delivered", "total": 24})] * 2),
        ("refund_order", {"order_id": "L-1042"}, [ToolResult(content={"refunded": "L-1042"})] * 2),
        ("refund_order", {"order_id": "9"}, [ToolResult(content="ValueError: 9 is no order of ours", failed=True)] * 2),
        ("server_time", {}, [ToolResult(content="09:00"), ToolResult(content="09:05")]),
    ],
)
async def test_the_tools_give_what_the_page_says(
    offer: ToolOffer, name: str, arguments: dict[str, Any], results: list[ToolResult]
) -> None:
    call = Completion(text="", model="m", usage=Usage(), tool_calls=(ToolCall(name=name, arguments=arguments),))
    model = ScriptedModel(call, call, Completion(text="Done.", model="m", usage=Usage()))
    session = await ChatTarget(model, offer=offer).open(a_case())
    reply = await session.send("Hello")
    assert [call.result for message in reply.messages for call in message.tool_calls] == results
    assert reply.messages[-1].content == "Done."


def test_every_setting_is_explained_with_its_default() -> None:
    explained = dict(re.findall(r"^\| `(\w+)` \|.*\| (\d*) *\|$", PAGE, re.MULTILINE))
    assert list(explained) == [each.name for each in fields(ChatSettings)]
    assert (float(explained["tool_seconds"]), int(explained["max_tool_rounds"])) == (60.0, 8)
    assert (ChatSettings().tool_seconds, ChatSettings().max_tool_rounds) == (60.0, 8)
