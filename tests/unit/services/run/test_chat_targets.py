"""A chat target made for a run: its model, its prompt and its tools come from the block, else from the agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from howsure.config import Settings
from howsure.errors import ConfigInvalid
from howsure.kit.plugins import builtin_kit
from howsure.model.agent import Agent, AgentTool
from howsure.model.run_request import RunRequest
from howsure.model.transcript import Tool
from howsure.policies.verdicts import builtin_profiles
from howsure.services.run.model_access import OpenModels
from howsure.services.run.participants import Participants, resolve_candidates
from howsure.services.workspace import Workspace
from howsure.targets.chat.target import ChatTarget
from howsure.testing import ScriptedModel, a_case

AGENT = Agent(id="a", name="Moss", system_prompt="You are Moss.", tools=(AgentTool(tool_name="look"),))
KIT = builtin_kit(builtin_profiles())


def target(
    model: ScriptedModel, block: dict[str, Any], agent: Agent | None = None, folder: Path = Path()
) -> ChatTarget:
    work = Workspace(Settings(targets={"bot": {"kind": "chat", "model": "m", **block}}), KIT, folder)
    models = OpenModels(models={"m": model})
    participants = Participants(work, RunRequest(target="bot"), models, agent=agent)
    made = participants.target(participants.candidates[0], 2)
    assert isinstance(made, ChatTarget)
    return made


@pytest.mark.parametrize(
    ("block", "agent", "system", "tools"),
    [
        ({}, None, [], ()),
        ({}, AGENT, ["You are Moss."], (Tool(name="look"),)),
        ({"system_prompt": "Be brief."}, AGENT, ["Be brief."], (Tool(name="look"),)),
        ({"tools": [{"name": "own"}]}, AGENT, ["You are Moss."], (Tool(name="own"),)),
    ],
    ids=["nothing", "the agent's", "the block's prompt", "the block's tools"],
)
async def test_prompt_and_tools(
    block: dict[str, Any], agent: Agent | None, system: list[str], tools: tuple[Tool, ...]
) -> None:
    model = ScriptedModel("Hi.")
    session = await target(model, block, agent).open(a_case())
    await session.send("Hello")
    (asked,) = model.asked
    assert [message.content for message in asked.messages[:-1]] == system
    assert (asked.tools, asked.namespace) == (tools, "repeat 2")


async def test_functions_are_looked_for_beside_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", ["/nowhere"])
    (tmp_path / "aimed_tools.py").write_text("TOOLS = {'own': lambda: 'here'}", encoding="utf-8")
    target(ScriptedModel("Hi."), {"tool_functions": "aimed_tools.py:TOOLS"}, folder=tmp_path)
    with pytest.raises(ConfigInvalid, match="no such file"):
        target(ScriptedModel("Hi."), {"tool_functions": "gone.py:TOOLS"}, folder=tmp_path)


def test_a_wrong_block_is_refused_before_a_model_is_opened() -> None:
    work = Workspace(Settings(targets={"bot": {"kind": "chat", "model": 3, "prompt": "x"}}), KIT, Path())
    with pytest.raises(ConfigInvalid, match=r"`targets\.bot\.model`.*`targets\.bot\.prompt`.*`system_prompt`"):
        resolve_candidates(RunRequest(target="bot"), work)
