"""A worker as a process: it stops when it is told to, or when whoever started it is gone. And what every process needs
that is there for weeks."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from contextlib import suppress

from howsure.services.hosting.host import Host
from howsure.services.hosting.worker import UNHURRIED, Pace, Worker
from howsure.services.workspace import Workspace

GC_THRESHOLD = (10_000, 10, 10)


def settle_in() -> None:
    """A command ends before what it left lying about matters, and looks for it hardly ever; a process that stays must.
    What is there by now stays with it: nobody need look at that again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLD)


async def work_until_told(work: Workspace, *, while_open: bool = False, pace: Pace = UNHURRIED) -> None:
    """Carry out runs until SIGTERM or SIGINT; with `while_open`, also until stdin is closed."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError):
            loop.add_signal_handler(number, stop.set)
    watching = asyncio.create_task(_closed(stop)) if while_open else None
    settle_in()
    async with await work.store() as store:
        await Worker(Host(work, store), pace).run(stop)
    if watching is not None:
        watching.cancel()


async def _closed(stop: asyncio.Event) -> None:
    """Whoever holds the other end of our stdin was killed, or lets us go."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.read(1024):
        pass
    stop.set()
