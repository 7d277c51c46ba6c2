"""What the in-process adapters share: their block of settings, loading framework and agent, and the limit on a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any, TypeVar

from msgspec import Struct

from howsure.errors import ConfigInvalid, TargetTimedOut
from howsure.model.case import Case
from howsure.targets.base import TargetRequest
from howsure.targets.objects import load_object
from howsure.targets.settings import Block, SettingProblems, check_seconds, read_block
from howsure.targets.turns import plain_value

Given = TypeVar("Given")


class Framework(Struct, frozen=True):
    """A framework: the module that shows it is installed, and the extra that installs it."""

    kind: str
    module: str
    package: str
    extra: str

    def load(self, module: str = "") -> ModuleType:
        """A module of the framework; `ConfigInvalid` names the extra where it is missing."""
        try:
            return import_module(module or self.module)
        except ModuleNotFoundError as error:
            raise ConfigInvalid(
                f"a {self.kind} target needs {self.package} ({error.name!r} is missing):"
                f" pip install 'howsure[{self.extra}]'"
            ) from error

    def said(self, place: str) -> str:
        """What was loaded, in one sentence."""
        try:
            installed = f"{self.package} {version(self.package)}"
        except PackageNotFoundError:
            installed = self.package
        return f"{place} is loaded ({installed})"


class InProcessSettings(Struct, frozen=True, kw_only=True):
    """The block of an agent that runs in this process."""

    object: str = ""
    turn_seconds: float = 120.0


def read_in_process_settings(wish: TargetRequest, block: type[Block]) -> Block:
    """The target's block; `--target kind:module:object` names the object too."""
    wrong = SettingProblems(wish)
    found = read_block({**wish.settings, **({"object": wish.rest} if wish.rest else {})}, block, wrong)
    if not getattr(found, "object", ""):
        wrong.add("object", "missing; expected `module:object` or `path/file.py:object`")
    check_seconds("turn_seconds", getattr(found, "turn_seconds", 1.0), wrong)
    wrong.settle()
    return found


def load_agent(wish: TargetRequest, place: str, marks: tuple[str, ...], expected: str) -> Any:
    """The object, or what it makes when it is a function without arguments. It must have one of the `marks`."""
    found = load_object(place, wish.folder)
    if callable(found) and not any(hasattr(found, mark) for mark in marks):
        found = found()
    if isinstance(found, type) or not any(hasattr(found, mark) for mark in marks):
        raise ConfigInvalid(f"{place!r}: expected {expected}, found {type(found).__name__}")
    return found


async def run_limited(turn: Awaitable[Given], seconds: float) -> Given:
    """The turn's result, if it comes in time."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await turn
    except TimeoutError:
        if limit.expired():
            raise TargetTimedOut(f"no answer in {seconds:g} s") from None
        raise


def initial_state(wish: TargetRequest, case: Case) -> dict[str, Any]:
    """What the agent's state starts with; the case's own variables win."""
    return {**wish.state, **case.state}


def make_context(wish: TargetRequest, factory: str, state: Mapping[str, Any]) -> Any:
    """What tools see as their context: the state itself, or what the named function makes of it."""
    return load_object(factory, wish.folder)(dict(state)) if factory else dict(state)


def context_state(held: Any) -> dict[str, Any] | None:
    """The final state in a context; None where it holds nothing that has a name."""
    if not isinstance(held, Mapping) and hasattr(held, "__dict__") and not hasattr(held, "model_dump"):
        held = vars(held)
    found = plain_value(held)
    return found if isinstance(found, dict) and found else None
