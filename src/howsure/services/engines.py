"""Who makes the attempts of a run: this process, with the targets open, or a cluster that was looked over first."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Protocol, Self

from msgspec import Struct

from howsure.errors import ConfigInvalid
from howsure.model.run import Run
from howsure.services.planning import RAY, Plan
from howsure.services.readying import ready
from howsure.services.running import Work, execute
from howsure.services.workspace import Workspace
from howsure.store.store import Store

Execute = Callable[[Store, Run, Work], Awaitable[Run]]


class _Said(Protocol):
    """What options say at the start of a run, and when it goes on."""

    @property
    def cache(self) -> bool: ...

    @property
    def trace(self) -> Path | None: ...

    @property
    def record_judge(self) -> Path | None: ...


class Manner(Struct, frozen=True, kw_only=True):
    """How the attempts are made: by which engine, with or without the cache of replies, and where calls and the judges'
    replies are written down."""

    engine: str
    cache: bool = True
    trace: Path | None = None
    record: Path | None = None

    @classmethod
    def of(cls, said: _Said, engine: str) -> Self:
        return cls(engine=engine, cache=said.cache, trace=said.trace, record=said.record_judge)


@asynccontextmanager
async def hands(work: Workspace, plan: Plan, run: Run, manner: Manner) -> AsyncIterator[Execute]:
    """Inside this block whoever makes the attempts is ready to."""
    if manner.engine != RAY:
        async with ready(plan.lanes):
            yield execute
        return
    try:
        driving = import_module("howsure.services.cluster.driving")
    except ModuleNotFoundError as missing:
        if missing.name != "ray":
            raise
        raise ConfigInvalid("--engine ray needs Ray, on every machine: pip install 'howsure[ray]'") from missing
    async with driving.cluster(work, plan, run, manner) as there:
        yield there
