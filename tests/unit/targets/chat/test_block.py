"""The settings of a chat target: every wrong one in one error, and which tools are offered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from howsure.errors import ConfigInvalid
from howsure.model.agent import Agent, AgentTool
from howsure.model.transcript import Tool, ToolResult
from howsure.targets.chat.tools import (
    ChatSettings,
    ConstantResult,
    ResultRule,
    ResultsByArguments,
    ResultSequence,
    ScriptedResult,
    ToolOffer,
    read_chat_settings,
    tool_offer,
)
from howsure.testing import a_case

AGENT = Agent(id="a", name="Moss", tools=(AgentTool(tool_name="look", description="Looks."), AgentTool(tool_name="b")))


def scripts(text: str) -> dict[str, ScriptedResult]:
    return read_chat_settings("bot", {"tool_results": yaml.safe_load(text)})[1]


def offer(settings: dict[str, Any], agent: Agent | None = None, folder: Path = Path()) -> ToolOffer:
    return tool_offer(*read_chat_settings("bot", settings), folder, agent)


def test_nothing_said_is_nothing_offered() -> None:
    assert read_chat_settings("chat", {}) == (ChatSettings(), {})
    assert offer({}) == ToolOffer()


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("t: paid", ConstantResult(ToolResult(content="paid"))),
        ("t: {a: [1, 2]}", ConstantResult(ToolResult(content={"a": [1, 2]}))),
        ("t: null", ConstantResult(ToolResult())),
        ("t: {result: gone, failed: true}", ConstantResult(ToolResult(content="gone", failed=True))),
        ("t: {result: here}", ConstantResult(ToolResult(content={"result": "here"}))),
        ("t: {failed: maybe}", ConstantResult(ToolResult(content={"failed": "maybe"}))),
        ("t: [one, 2]", ResultSequence((ToolResult(content="one"), ToolResult(content=2)))),
        ("t: [[]]", ResultSequence((ToolResult(content=[]),))),
        ("t: [{failed: true}, ok]", ResultSequence((ToolResult(failed=True), ToolResult(content="ok")))),
        ("t: {when: {a: 1}, result: x}", ResultsByArguments((ResultRule({"a": 1}, ToolResult(content="x")),))),
        (
            "t: [{when: {day: 2026-11-15}, result: x}, {result: {day: 2026-11-16}, failed: true}]",
            ResultsByArguments(
                (
                    ResultRule({"day": "2026-11-15"}, ToolResult(content="x")),
                    ResultRule({}, ToolResult(content={"day": "2026-11-16"}, failed=True)),
                )
            ),
        ),
    ],
)
def test_results_are_read_as_they_are_written(text: str, script: ScriptedResult) -> None:
    assert scripts(text) == {"t": script}


def test_every_wrong_setting_is_in_one_error() -> None:
    settings = {
        "modle": "openai:gpt",
        "system_prompt": 3,
        "tools": [{"name": "a"}, {"name": "a"}],
        "tool_results": {
            "a": [],
            "b": [{"when": {"x": {"$regex": "("}}, "result": 1}, {"results": 2}],
            "c": {"when": 3},
        },
        "tool_seconds": 0,
        "max_tool_rounds": 0,
    }
    with pytest.raises(ConfigInvalid) as raised:
        read_chat_settings("bot", settings)
    said = str(raised.value)
    for part in (
        "`targets.bot.modle`: is not a setting; did you mean `model`?",
        "`targets.bot.system_prompt`: Expected `str`, got `int`",
        "`targets.bot.tools`: 'a' is there 2 times",
        "`targets.bot.tool_results.a`: expected at least one result",
        "`targets.bot.tool_results.b.0.when`: `x`: $regex",
        "`targets.bot.tool_results.b.1`: Object contains unknown field `results`",
        "`targets.bot.tool_results.c`: Expected `object`, got `int`",
        "`targets.bot.tool_seconds`: expected a number of seconds above 0",
        "`targets.bot.max_tool_rounds`: expected 1 or more, found 0",
    ):
        assert part in said


@pytest.mark.parametrize("tool", [{"description": "no name"}, {"name": "a", "params": {}}, {"name": " "}, "a"])
def test_a_tool_that_is_none_is_refused(tool: Any) -> None:
    with pytest.raises(ConfigInvalid, match=r"`targets\.bot\.tools`"):
        read_chat_settings("bot", {"tools": [tool]})


OWN = {"name": "own", "description": "d", "parameters": {"type": "object"}}


@pytest.mark.parametrize(
    ("case_tools", "block", "agent", "offered"),
    [
        ((Tool(name="c"),), {"tools": [OWN]}, AGENT, (Tool(name="c"),)),
        ((), {"tools": [OWN]}, AGENT, ()),
        (None, {"tools": [OWN]}, AGENT, (Tool(name="own", description="d", parameters={"type": "object"}),)),
        (None, {"tools": []}, AGENT, ()),
        (None, {}, AGENT, (Tool(name="look", description="Looks."), Tool(name="b"))),
        (None, {}, None, ()),
    ],
    ids=["the case's", "the case has none", "the block's", "the block has none", "the agent's", "nobody's"],
)
def test_whose_tools_are_offered(
    case_tools: tuple[Tool, ...] | None, block: dict[str, Any], agent: Agent | None, offered: tuple[Tool, ...]
) -> None:
    assert offer(block, agent).to(a_case(tools=case_tools)) == offered


def test_without_results_and_functions_there_is_no_desk(tmp_path: Path) -> None:
    (tmp_path / "desk_tools.py").write_text("TOOLS = {'own': lambda: 1}", encoding="utf-8")
    assert offer({"tools": [OWN]}).desk is None
    assert offer({"tools": [OWN], "tool_results": {"own": 1}}).desk is not None
    made = offer({"tool_functions": "desk_tools.py:TOOLS", "max_tool_rounds": 2, "tool_seconds": 5}, folder=tmp_path)
    assert made.desk is not None and made.desk.functions is not None
    assert (made.rounds, made.desk.seconds, made.desk.functions.spec) == (2, 5.0, "desk_tools.py:TOOLS")
