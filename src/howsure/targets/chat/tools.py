"""The tools of a chat target: its settings, the tools that a model is offered, and the backend that answers its calls
from a script or by Python functions. Each conversation opens a session of its own, so that scripted results start
afresh."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from howsure.errors import ConfigInvalid, TargetFailed, TargetTimedOut
from howsure.llm.messages import UNREAD_ARGUMENTS
from howsure.matching.calls import arguments_fit
from howsure.matching.values import check_matcher
from howsure.model.agent import Agent
from howsure.model.case import Case
from howsure.model.expectation import ArgumentMode
from howsure.model.transcript import Tool, ToolCall, ToolResult
from howsure.targets.base import TargetRequest
from howsure.targets.function.calls import BoundFunction
from howsure.targets.objects import load_object
from howsure.targets.settings import SettingProblems, check_seconds, read_block
from howsure.targets.turns import plain_value

Function = Callable[..., Any]


class ResultSequence(Struct, frozen=True):
    """One result for the first call, another for the second, and so on."""

    results: tuple[ToolResult, ...]


class ResultRule(Struct, frozen=True):
    """A result for calls whose arguments match; arguments that are not named are free."""

    arguments: dict[str, Any]
    result: ToolResult


class ResultsByArguments(Struct, frozen=True):
    """The result of the first rule that matches."""

    rules: tuple[ResultRule, ...]


ScriptedResult = ResultSequence | ResultsByArguments


class ToolFunctions(Struct, frozen=True):
    """Python functions by tool name: the values of a dict, or what a module, class or object has."""

    holder: Any
    spec: str

    @classmethod
    def load(cls, spec: str, folder: Path) -> ToolFunctions:
        holder = load_object(spec, folder)
        if inspect.isroutine(holder):
            raise ConfigInvalid(f"{spec}: is one function; name a dict of functions by tool name, a class or a module")
        if isinstance(holder, Mapping) and (odd := [name for name, each in holder.items() if not callable(each)]):
            raise ConfigInvalid(f"{spec}: expected functions by tool name; no function: {', '.join(map(str, odd))}")
        return cls(holder, spec)

    def named(self, name: str) -> Function | None:
        function = self.holder.get(name) if isinstance(self.holder, Mapping) else getattr(self.holder, name, None)
        return function if callable(function) else None


class ToolBackend(Struct, frozen=True, kw_only=True):
    """What answers calls. A script wins over a function."""

    scripts: Mapping[str, ScriptedResult] = field(default_factory=dict)
    functions: ToolFunctions | None = None
    seconds: float = 60.0

    def open(self, tools: Sequence[Tool]) -> ToolSession:
        return ToolSession(self, frozenset(tool.name for tool in tools))


class ToolSession:
    """A backend during one conversation."""

    def __init__(self, backend: ToolBackend, offered: frozenset[str]) -> None:
        self._backend = backend
        self._offered = offered
        self._used: Counter[str] = Counter()

    async def answered(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        """The calls with their results, made one after the other."""
        return tuple([replace(call, result=await self._result(call)) for call in calls])

    async def _result(self, call: ToolCall) -> ToolResult:
        name = call.name
        # Only offered names are looked up: a model must not reach whatever else a module holds.
        if name not in self._offered:
            return _failed(f"there is no tool {name!r}; there is: {', '.join(sorted(self._offered)) or 'none'}")
        if UNREAD_ARGUMENTS in call.arguments:
            return _failed("the arguments are not a JSON object")
        if (script := self._backend.scripts.get(name)) is not None:
            return self._scripted(script, call)
        function = self._backend.functions.named(name) if self._backend.functions else None
        if function is None:
            return _failed(f"nothing answers the tool {name!r} here: it has no scripted result and no function")
        return await _called(function, call, self._backend.seconds)

    def _scripted(self, script: ScriptedResult, call: ToolCall) -> ToolResult:
        match script:
            case ResultSequence(results=results):
                self._used[call.name] += 1
                used, count = self._used[call.name], len(results)
                if used <= count:
                    return results[used - 1]
                plural = "" if count == 1 else "s"
                return _failed(f"the script has {count} result{plural} of {call.name!r}, and all are used")
            case ResultsByArguments(rules=rules):
                fitting = (
                    rule.result
                    for rule in rules
                    if arguments_fit(rule.arguments, call.arguments, ArgumentMode.SUPERSET)
                )
                return next(fitting, None) or _failed(f"no scripted result of {call.name!r} fits these arguments")


async def _called(function: Function, call: ToolCall, seconds: float) -> ToolResult:
    """The result of the function. An error is a result, too: the model sees it, as it would with its real tools. A
    function that does not return in time ends the conversation."""
    calling = BoundFunction(
        function=function, who=f"tool {call.name!r}", text=False, fixed=call.arguments, seconds=seconds
    )
    try:
        return ToolResult(content=plain_value(await calling({})))
    except TargetTimedOut:
        raise
    except TargetFailed as failure:
        cause = failure.__cause__
        return _failed(f"{type(cause).__name__}: {cause}" if cause is not None else str(failure))


def _failed(why: str) -> ToolResult:
    return ToolResult(content=why, failed=True)


ROUNDS = 8


class ToolSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tool as it is shown to the model."""

    name: str
    """The tool's name; needed."""
    description: str = ""
    """What it is for."""
    parameters: dict[str, Any] | None = None
    """A JSON Schema of its arguments."""


class ChatSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The block of a model that is under test."""

    model: str = ""
    """`provider:model`; `--target chat:provider:model` names it too."""
    system_prompt: str = ""
    """What the model is told before the case's messages."""
    agent: str = ""
    """The name under which it takes part, for datasets that say which agents should."""
    tools: tuple[ToolSettings, ...] | None = None
    """The tools that it is offered where the case brings none."""
    tool_results: dict[str, Any] = field(default_factory=dict)
    """By tool name: a value, a list of values used in order, or a list of `when`, `result` and `failed`, of which the
    first counts whose `when` fits the arguments."""
    tool_functions: str = ""
    """`module:object` with Python functions by tool name."""
    tool_seconds: float = 60.0
    """How long one of these functions may take."""
    max_tool_rounds: int = ROUNDS
    """How often in one turn the model may call tools."""


class ResultRuleSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of a list with `when`."""

    when: dict[str, Any] = field(default_factory=dict)
    """Arguments that a call must have."""
    result: Any = None
    """What the tool returns."""
    failed: bool = False
    """Whether that is an error of the tool."""


class ToolOffer(Struct, frozen=True, kw_only=True):
    """The tools a model is offered where the case brings none of its own, and the backend that answers its calls.
    Without a backend calls are recorded, and the turn ends with them."""

    tools: tuple[Tool, ...] = ()
    backend: ToolBackend | None = None
    rounds: int = ROUNDS

    def to(self, case: Case) -> tuple[Tool, ...]:
        return self.tools if case.tools is None else case.tools


NO_TOOLS = ToolOffer()


def read_chat_settings(name: str, settings: Mapping[str, Any]) -> tuple[ChatSettings, dict[str, ScriptedResult]]:
    """The block and its scripted results; `ConfigInvalid` names every wrong setting."""
    problems = SettingProblems(TargetRequest(name=name))
    block = read_block(settings, ChatSettings, problems)
    check_seconds("tool_seconds", block.tool_seconds, problems)
    if block.max_tool_rounds < 1:
        problems.add("max_tool_rounds", f"expected 1 or more, found {block.max_tool_rounds}")
    for tool, count in Counter(each.name for each in block.tools or ()).items():
        if count > 1 or not tool.strip():
            problems.add("tools", f"{tool!r} is there {count} times" if tool.strip() else "a tool needs a name")
    # YAML reads dates as such, while models write them as text.
    scripts = {tool: _script(tool, msgspec.to_builtins(value), problems) for tool, value in block.tool_results.items()}
    problems.raise_if_any()
    return block, scripts


def tool_offer(
    block: ChatSettings, scripts: Mapping[str, ScriptedResult], folder: Path, agent: Agent | None
) -> ToolOffer:
    """The tools of the block, else those of the agent. Functions are looked for in `folder`."""
    functions = ToolFunctions.load(block.tool_functions, folder) if block.tool_functions else None
    backend = ToolBackend(scripts=scripts, functions=functions, seconds=block.tool_seconds)
    tools = tuple(Tool(name=each.tool_name, description=each.description) for each in agent.tools) if agent else ()
    if block.tools is not None:
        tools = msgspec.convert(block.tools, tuple[Tool, ...], from_attributes=True)
    return ToolOffer(
        tools=tools, backend=backend if functions is not None or scripts else None, rounds=block.max_tool_rounds
    )


def _script(tool: str, value: Any, problems: SettingProblems) -> ScriptedResult:
    if _is_ruled(value):
        return ResultsByArguments((_rule(f"tool_results.{tool}", value, problems),))
    if not isinstance(value, list):
        return ResultsByArguments((ResultRule({}, _result(value)),))
    if any(_is_ruled(each) for each in value):
        places = [(f"tool_results.{tool}.{place}", each) for place, each in enumerate(value)]
        return ResultsByArguments(tuple(_rule(place, each, problems) for place, each in places))
    if not value:
        problems.add(f"tool_results.{tool}", "expected at least one result in the list; for an empty list write [[]]")
    return ResultSequence(tuple(map(_result, value)))


def _is_ruled(value: Any) -> bool:
    return isinstance(value, dict) and "when" in value


def _rule(place: str, value: Any, problems: SettingProblems) -> ResultRule:
    try:
        rule = msgspec.convert(value, ResultRuleSettings)
    except msgspec.ValidationError as error:
        problems.add(place, f"{error}; beside others with `when`, each is {{when, result, failed}}")
        rule = ResultRuleSettings()
    for problem in check_matcher(rule.when):
        problems.add(f"{place}.when", problem)
    return ResultRule(rule.when, ToolResult(content=rule.result, failed=rule.failed))


def _result(value: Any) -> ToolResult:
    """A value as it is; `{result: …, failed: true}` is one that failed."""
    if isinstance(value, dict) and value.keys() <= {"result", "failed"} and isinstance(value.get("failed"), bool):
        return ToolResult(content=value.get("result"), failed=value["failed"])
    return ToolResult(content=value)
