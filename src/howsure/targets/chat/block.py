"""The settings of a chat target, `kind: chat` in howsure.yaml: its model and prompt, and the tools that the model is
offered with what answers their calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from howsure.matching.arguments import check_matcher
from howsure.model.agent import Agent
from howsure.model.case import Case
from howsure.model.transcript import Tool, ToolResult
from howsure.targets.blocks import Wrong, check_seconds, read_block
from howsure.targets.chat.tool_desk import Always, ByArguments, Desk, Functions, InTurn, Scripted, When
from howsure.targets.making import Wish

ROUNDS = 8


class ToolBlock(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tool as it is shown to the model; `parameters` is a JSON Schema."""

    name: str
    description: str = ""
    parameters: dict[str, Any] | None = None


class ChatBlock(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`tool_results`, by tool name: a value, a list of values used in order, or a list of {when, result, failed} of
    which the first counts whose `when` fits the arguments. `tool_functions`: `module:object` with Python functions by
    tool name, each with `tool_seconds` of time. `max_tool_rounds`: how often in one turn the model may call tools.
    `agent`: the name under which it takes part, for datasets that say which agents should."""

    model: str = ""
    system_prompt: str = ""
    agent: str = ""
    tools: tuple[ToolBlock, ...] | None = None
    tool_results: dict[str, Any] = field(default_factory=dict)
    tool_functions: str = ""
    tool_seconds: float = 60.0
    max_tool_rounds: int = ROUNDS


class Ruled(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of a list with `when`."""

    when: dict[str, Any] = field(default_factory=dict)
    result: Any = None
    failed: bool = False


class Offer(Struct, frozen=True, kw_only=True):
    """The tools a model is offered where the case brings none of its own, and the desk that answers its calls. Without
    a desk calls are recorded, and a turn ends with them."""

    tools: tuple[Tool, ...] = ()
    desk: Desk | None = None
    rounds: int = ROUNDS

    def to(self, case: Case) -> tuple[Tool, ...]:
        return self.tools if case.tools is None else case.tools


NO_TOOLS = Offer()


def read_chat(name: str, settings: Mapping[str, Any]) -> tuple[ChatBlock, dict[str, Scripted]]:
    """The block and its scripted results; `ConfigInvalid` names everything that is wrong with it."""
    wrong = Wrong(Wish(name=name))
    block = read_block(settings, ChatBlock, wrong)
    check_seconds("tool_seconds", block.tool_seconds, wrong)
    if block.max_tool_rounds < 1:
        wrong.add("max_tool_rounds", f"expected 1 or more, found {block.max_tool_rounds}")
    for tool, count in Counter(each.name for each in block.tools or ()).items():
        if count > 1 or not tool.strip():
            wrong.add("tools", f"{tool!r} is there {count} times" if tool.strip() else "a tool needs a name")
    # YAML reads dates as such, while models write them as text.
    scripts = {tool: _script(tool, msgspec.to_builtins(given), wrong) for tool, given in block.tool_results.items()}
    wrong.settle()
    return block, scripts


def offer_of(block: ChatBlock, scripts: Mapping[str, Scripted], folder: Path, agent: Agent | None) -> Offer:
    """What the block offers, else what the agent has. `folder` is where its functions are looked for."""
    functions = Functions.load(block.tool_functions, folder) if block.tool_functions else None
    desk = Desk(scripts=scripts, functions=functions, seconds=block.tool_seconds)
    return Offer(
        tools=_tools(block, agent),
        desk=desk if functions is not None or scripts else None,
        rounds=block.max_tool_rounds,
    )


def _tools(block: ChatBlock, agent: Agent | None) -> tuple[Tool, ...]:
    if block.tools is not None:
        return tuple(
            Tool(name=each.name, description=each.description, parameters=each.parameters) for each in block.tools
        )
    return tuple(Tool(name=each.tool_name, description=each.description) for each in agent.tools) if agent else ()


def _script(tool: str, given: Any, wrong: Wrong) -> Scripted:
    if _is_ruled(given):
        return ByArguments((_rule(f"tool_results.{tool}", given, wrong),))
    if not isinstance(given, list):
        return Always(_result(given))
    if any(_is_ruled(each) for each in given):
        places = [(f"tool_results.{tool}.{place}", each) for place, each in enumerate(given)]
        return ByArguments(tuple(_rule(place, each, wrong) for place, each in places))
    if not given:
        wrong.add(f"tool_results.{tool}", "expected at least one result in the list; for an empty list write [[]]")
    return InTurn(tuple(map(_result, given)))


def _is_ruled(given: Any) -> bool:
    return isinstance(given, dict) and "when" in given


def _rule(place: str, given: Any, wrong: Wrong) -> When:
    try:
        rule = msgspec.convert(given, Ruled)
    except msgspec.ValidationError as error:
        wrong.add(place, f"{error}; beside others with `when`, each is {{when, result, failed}}")
        rule = Ruled()
    for problem in check_matcher(rule.when):
        wrong.add(f"{place}.when", problem)
    return When(rule.when, ToolResult(content=rule.result, failed=rule.failed))


def _result(given: Any) -> ToolResult:
    """A value as it is; `{result: …, failed: true}` is one that failed."""
    if isinstance(given, dict) and given.keys() <= {"result", "failed"} and isinstance(given.get("failed"), bool):
        return ToolResult(content=given.get("result"), failed=given["failed"])
    return ToolResult(content=given)
