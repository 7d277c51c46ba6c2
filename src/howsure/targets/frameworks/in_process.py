"""What the frameworks that run in this process share: settings, loading of framework and agent, the limit on a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any, Generic, TypeVar

from msgspec import Struct

from howsure.errors import ConfigInvalid
from howsure.model.case import Case
from howsure.model.plain_values import object_fields
from howsure.model.transcript import Message
from howsure.targets.base import Session, TargetRequest
from howsure.targets.conversations import PromptedSession, text_prompt
from howsure.targets.objects import load_object
from howsure.targets.settings import SettingProblems, check_seconds, request_block


class Framework(Struct, frozen=True):
    """A framework: the module that shows it is installed, and the extra that installs it. Its agents are `expected`,
    and have one of the attributes `marks`."""

    kind: str
    module: str
    package: str
    extra: str
    marks: tuple[str, ...] = ()
    expected: str = ""

    def load(self, module: str = "") -> ModuleType:
        """A module of the framework; `ConfigInvalid` names the extra where it is missing."""
        try:
            return import_module(module or self.module)
        except ModuleNotFoundError as error:
            raise ConfigInvalid(
                f"a {self.kind} target needs {self.package} ({error.name!r} is missing):"
                f" pip install 'howsure[{self.extra}]'"
            ) from error

    def load_agent(self, request: TargetRequest, kind: type[Block]) -> tuple[Block, ModuleType, Any]:
        """The settings of a target, the framework, and the agent; the first that is wrong is told."""
        settings = read_in_process_settings(request, kind)
        return settings, self.load(), load_agent(request, settings.object, self.marks, self.expected)

    def describe(self, place: str) -> str:
        """One sentence on what was loaded."""
        try:
            installed = f"{self.package} {version(self.package)}"
        except PackageNotFoundError:
            installed = self.package
        return f"{place} is loaded ({installed})"


class InProcessSettings(Struct, frozen=True, kw_only=True):
    """The block of an agent that runs in this process."""

    object: str = ""
    """`module:object` or `path/file.py:object`; needed."""
    turn_seconds: float = 120.0
    """The longest a turn may take."""


Block = TypeVar("Block", bound=InProcessSettings)


def read_in_process_settings(request: TargetRequest, kind: type[Block]) -> Block:
    """The target's block; `--target kind:module:object` names the object too."""
    problems = SettingProblems(request)
    block = request_block(request, "object", kind, problems)
    if not block.object:
        problems.add("object", "missing; expected `module:object` or `path/file.py:object`")
    check_seconds("turn_seconds", block.turn_seconds, problems)
    problems.raise_if_any()
    return block


class InProcessTarget(Generic[Block]):
    """An agent of a framework, and `library`: the part of the framework that it is used with."""

    framework: Framework

    def __init__(self, request: TargetRequest, settings: Block, agent: Any, library: Any = None) -> None:
        self.name = request.name
        self.request = request
        self.settings = settings
        self.agent = agent
        self.library = library

    async def check(self) -> str:
        return self.framework.describe(self.settings.object)

    async def open(self, case: Case) -> PromptedSession:
        prompt = text_prompt(case, self.request)
        return PromptedSession(await self.open_session(case, prompt.earlier), prompt)

    async def open_session(self, case: Case, earlier: Sequence[Message]) -> Session:
        """A conversation that goes on from these messages."""
        raise NotImplementedError

    def make_context(self, factory: str, case: Case) -> Any:
        """The context of tools: the state itself, or what the named function makes from it."""
        state = self.request.initial_state(case)
        return load_object(factory, self.request.folder)(state) if factory else state


def load_agent(request: TargetRequest, place: str, marks: tuple[str, ...], expected: str) -> Any:
    """The object, or what it returns when it is a function. It must have one of the attributes `marks`."""
    agent = load_object(place, request.folder)
    if callable(agent) and not any(hasattr(agent, mark) for mark in marks):
        agent = agent()
    if isinstance(agent, type) or not any(hasattr(agent, mark) for mark in marks):
        raise ConfigInvalid(f"{place!r}: expected {expected}, found {type(agent).__name__}")
    return agent


def context_state(context: Any) -> dict[str, Any] | None:
    """The final state in a context; None where it has no named values."""
    fields = context if isinstance(context, Mapping) else object_fields(context)
    return dict(getattr(context, "__dict__", {}) if fields is None else fields) or None
