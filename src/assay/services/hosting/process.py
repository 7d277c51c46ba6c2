"""A worker as a process: it stops when it is told to, or when whoever started it is gone."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress

from assay.services.hosting.host import Host
from assay.services.hosting.worker import UNHURRIED, Pace, Worker
from assay.services.workplace import Workplace


async def work_until_told(work: Workplace, *, while_open: bool = False, pace: Pace = UNHURRIED) -> None:
    """Carry out runs until SIGTERM or SIGINT; with `while_open`, also until stdin is closed."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError):
            loop.add_signal_handler(number, stop.set)
    watching = asyncio.create_task(_closed(stop)) if while_open else None
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
