"""The desk where a model's tool calls are answered: from a script, or by Python functions. One is opened for each
conversation, so that scripted results start afresh."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from howsure.errors import ConfigInvalid, TargetFailed, TargetTimedOut
from howsure.llm.wire import UNREAD_ARGUMENTS
from howsure.matching.arguments import arguments_fit
from howsure.model.expectation import ArgumentMode
from howsure.model.transcript import Tool, ToolCall, ToolResult
from howsure.targets.function.calls import Calling
from howsure.targets.loading import load_object
from howsure.targets.turns import plain

Function = Callable[..., Any]


class Always(Struct, frozen=True):
    """The same result for every call."""

    result: ToolResult


class InTurn(Struct, frozen=True):
    """A result for the first call, one for the second …"""

    results: tuple[ToolResult, ...]


class When(Struct, frozen=True):
    """A result for calls whose arguments fit; arguments that are not named are free."""

    arguments: dict[str, Any]
    result: ToolResult


class ByArguments(Struct, frozen=True):
    """The first that fits."""

    rules: tuple[When, ...]


Scripted = Always | InTurn | ByArguments


class Functions(Struct, frozen=True):
    """Python functions by tool name: the values of a dict, or what a module, class or object has."""

    holder: Any
    spec: str

    @classmethod
    def load(cls, spec: str, folder: Path) -> Functions:
        holder = load_object(spec, folder)
        if inspect.isroutine(holder):
            raise ConfigInvalid(f"{spec}: is one function; name a dict of functions by tool name, a class or a module")
        if isinstance(holder, Mapping) and (odd := [name for name, each in holder.items() if not callable(each)]):
            raise ConfigInvalid(f"{spec}: expected functions by tool name; no function: {', '.join(map(str, odd))}")
        return cls(holder, spec)

    def named(self, name: str) -> Function | None:
        found = self.holder.get(name) if isinstance(self.holder, Mapping) else getattr(self.holder, name, None)
        return found if callable(found) else None


class Desk(Struct, frozen=True, kw_only=True):
    """What there is to answer calls with. A script wins over a function."""

    scripts: Mapping[str, Scripted] = field(default_factory=dict)
    functions: Functions | None = None
    seconds: float = 60.0

    def open(self, tools: Sequence[Tool]) -> OpenDesk:
        return OpenDesk(self, frozenset(tool.name for tool in tools))


class OpenDesk:
    """A desk during one conversation."""

    def __init__(self, desk: Desk, offered: frozenset[str]) -> None:
        self._desk = desk
        self._offered = offered
        self._used: Counter[str] = Counter()

    async def answered(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        """The calls with their results, one after the other."""
        return tuple([replace(call, result=await self._result(call)) for call in calls])

    async def _result(self, call: ToolCall) -> ToolResult:
        name = call.name
        # Only what was offered is looked up: a model must not reach whatever else a module holds.
        if name not in self._offered:
            return _failed(f"there is no tool {name!r}; there is: {', '.join(sorted(self._offered)) or 'none'}")
        if UNREAD_ARGUMENTS in call.arguments:
            return _failed("the arguments are not a JSON object")
        if (script := self._desk.scripts.get(name)) is not None:
            return self._scripted(script, call)
        function = self._desk.functions.named(name) if self._desk.functions else None
        if function is None:
            return _failed(f"nothing answers the tool {name!r} here: it has no scripted result and no function")
        return await _called(function, call, self._desk.seconds)

    def _scripted(self, script: Scripted, call: ToolCall) -> ToolResult:
        match script:
            case Always(result=result):
                return result
            case InTurn(results=results):
                self._used[call.name] += 1
                used = self._used[call.name]
                return results[used - 1] if used <= len(results) else _used_up(call.name, len(results))
            case ByArguments(rules=rules):
                fitting = (rule.result for rule in rules if _fits(rule, call))
                return next(fitting, None) or _failed(f"no scripted result of {call.name!r} fits these arguments")


def _fits(rule: When, call: ToolCall) -> bool:
    return arguments_fit(rule.arguments, call.arguments, ArgumentMode.SUPERSET)


async def _called(function: Function, call: ToolCall, seconds: float) -> ToolResult:
    """What the function returns. An error of it is a result, too: the model sees it, as it would with its real tools;
    one that does not come back ends the conversation."""
    calling = Calling(function=function, who=f"tool {call.name!r}", text=False, fixed=call.arguments, seconds=seconds)
    try:
        return ToolResult(content=plain(await calling({})))
    except TargetTimedOut:
        raise
    except TargetFailed as failure:
        cause = failure.__cause__
        return _failed(f"{type(cause).__name__}: {cause}" if cause is not None else str(failure))


def _failed(why: str) -> ToolResult:
    return ToolResult(content=why, failed=True)


def _used_up(name: str, count: int) -> ToolResult:
    return _failed(f"the script has {count} result{'' if count == 1 else 's'} of {name!r}, and all are used")
