"""What Ray runs on a worker: looking around before anything is spent, and working on a shard. A process keeps its room
and its event loop from one shard to the next. Ray itself is not imported here: handles are passed in."""

from __future__ import annotations

import asyncio
import atexit
import gc
import os
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import msgspec
from msgspec import Struct

from howsure.dialects.finding import digest
from howsure.errors import HowsureError, InputError
from howsure.model.run import DatasetPin
from howsure.services.cluster.desk import Lease, Report
from howsure.services.cluster.room import Outcome, Room
from howsure.services.cluster.shards import Shard
from howsure.services.cluster.site import SENT, Site
from howsure.services.hosting.materials import is_reference
from howsure.services.paths import usable
from howsure.services.remote import far_problem, is_address
from howsure.store.lease import machine

T = TypeVar("T")
EARLIER = "run:"
LARGE = 4 << 30
"""Bytes of a file whose hash takes too long to compare on every node."""
GC_THRESHOLD = (100_000, 50, 100)
"""As the program itself has it: cases and results hold no cycles."""


class Found(Struct, frozen=True, kw_only=True):
    """What a look around one machine gave. `problems`: what is missing there."""

    machine: str = ""
    problems: tuple[str, ...] = ()


class CalledDesk:
    """The desk behind Ray's handle of it."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    async def pace(self, model: str, kind: str, per_minute: float, amount: float) -> float:
        return float(await self._handle.pace.remote(model, kind, per_minute, amount))

    async def lease(self, worker: str, usd: float, tokens: float) -> Lease:
        given: Lease = await self._handle.lease.remote(worker, usd, tokens)
        return given

    async def settle(self, worker: str, usd: float, tokens: float) -> None:
        await self._handle.settle.remote(worker, usd, tokens)

    async def get(self, key: bytes) -> bytes | None:
        found: bytes | None = await self._handle.get.remote(key)
        return found

    async def put(self, pairs: list[tuple[bytes, bytes]]) -> None:
        await self._handle.put.remote(pairs)

    async def report(self, given: Report) -> None:
        await self._handle.report.remote(given)


class _Process:
    """What this process holds open: one event loop, and the room of the run it last worked on."""

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None
        self._room: Room | None = None
        self._key: tuple[bytes, str] | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        if self._runner is None:
            gc.set_threshold(*GC_THRESHOLD)
            self._runner = asyncio.Runner()
            atexit.register(self.end)
        return self._runner.run(work)

    async def room(self, packed: bytes, desk: Any, token: str) -> Room:
        """The room of this run, as this driver wants it: a driver that was started anew has another desk."""
        if self._room is None or self._key != (packed, token):
            await self.leave()
            self._room = await Room.opened(Site.unpacked(packed), CalledDesk(desk), f"{os.getpid()}-{uuid4().hex}")
            self._key = (packed, token)
        return self._room

    async def leave(self) -> None:
        room, self._room, self._key = self._room, None, None
        if room is not None:
            # Whatever is wrong with what an earlier run left open is nothing to the next one.
            with suppress(HowsureError, OSError):
                await room.close()

    def end(self) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            runner.close()


PROCESS = _Process()


class Task(Struct, frozen=True, kw_only=True):
    """A shard to work on: whose run it is, and the attempts to make again."""

    shard: Shard
    owner: str
    again: tuple[int, ...] = ()


def work_on(packed: bytes, desk: Any, token: str, task: bytes) -> Outcome:
    """One shard. What the user can mend comes back as data; anything else is Ray's to tell, and our fault."""
    return PROCESS.run(_work_on(packed, desk, token, msgspec.json.decode(task, type=Task)))


async def _work_on(packed: bytes, desk: Any, token: str, task: Task) -> Outcome:
    try:
        room = await PROCESS.room(packed, desk, token)
        return await room.work_on(task.shard, task.owner, task.again)
    except InputError as error:
        return Outcome(error=str(error))


def look_around(packed: bytes, desk: Any, token: str) -> Found:
    """Whether this machine has what the run needs: files as they are pinned, plug-ins, keys, the store, the target."""
    return PROCESS.run(_look_around(packed, desk, token))


async def _look_around(packed: bytes, desk: Any, token: str) -> Found:
    problems: list[str] = []
    try:
        await PROCESS.room(packed, desk, token)
    except InputError as error:
        problems.append(str(error))
    problems += _file_problems(Site.unpacked(packed))
    return Found(machine=machine(), problems=tuple(dict.fromkeys(problems)))


def _file_problems(site: Site) -> list[str]:
    pins = site.run.pins
    sizes = dict(zip(pins.datasets, site.sizes, strict=True)) if site.sizes else {}
    files = (*pins.datasets, *pins.responses, *pins.evals, *filter(None, [pins.criteria_from]))
    return [problem for pin in files if (problem := _file_problem(pin, sizes.get(pin, 0)))]


def _file_problem(pin: DatasetPin, size: int) -> str:
    """`size`: of a dataset at the driver's; 0 where it is not known."""
    if size == SENT:
        return ""
    if is_reference(pin.path) or pin.path.startswith(EARLIER):
        return ""
    if is_address(pin.path):
        return far_problem(pin.path)
    path = Path(usable(pin.path))
    if not path.is_file():
        return f"no such file: {path}"
    try:
        # Of a very large file the bytes of each shard are hashed when they are read, and that is soon enough.
        same = path.stat().st_size == size if size >= LARGE else digest(path) == pin.sha256
        return "" if same else f"{path} is another file than the driver's"
    except InputError as error:
        return str(error)
