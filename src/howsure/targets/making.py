"""Making targets from a spec and settings, and what a target may offer beyond the contract."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct, field

from howsure.llm.guard import Guard
from howsure.model.agent import Agent
from howsure.targets.base import Target


@runtime_checkable
class Held(Protocol):
    """A target that holds something open for a whole run: connections, a process."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


@runtime_checkable
class Checked(Protocol):
    """A target that can be asked, before a run, whether it is there."""

    async def check(self) -> str:
        """One sentence on what was found; raises `TargetFailed` saying what to do."""
        ...


class Wish(Struct, frozen=True, kw_only=True):
    """What is asked of a target. `rest` follows the kind in `--target kind:rest`; `settings` is its block in
    howsure.yaml, found in `folder`; `state` is what every session starts with, before the case's own; `guard` says
    where connections may go, and there is none where whoever wishes may go anywhere."""

    name: str
    rest: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    folder: Path = Path()
    environ: Mapping[str, str] = field(default_factory=dict)
    state: Mapping[str, Any] = field(default_factory=dict)
    agent: Agent | None = None
    candidate: str = ""
    repeat: int = 1
    guard: Guard | None = None


class Making(Protocol):
    """A kind of target: makes one as wished, or raises `ConfigInvalid` naming every setting that is wrong. One with
    `keeps_time = True` bounds each of its calls itself, and a run sets its turns no limit unless it is told to."""

    name: str

    def make(self, wish: Wish) -> Target: ...
