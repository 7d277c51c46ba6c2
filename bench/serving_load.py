"""A service in a process of its own, and clients who list runs and page through results, each asking once in a while,
as people at dashboards do. How long each answer took, and what it cost the service."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from uuid import UUID

from aiohttp import ClientSession
from msgspec import Struct
from msgspec.structs import replace

from bench.storing import BATCH, NOW, a_run, some_results
from howsure.model.run import RunState
from howsure.store.store import Store

CLIENTS = 50
EVERY = 2.5
"""Seconds between two questions of one client: together they ask twenty times a second."""
TICKS = os.sysconf("SC_CLK_TCK")

BOT = """
import asyncio

async def answer(text: str) -> str:
    await asyncio.sleep(0.02)
    return "Answer: A"
"""
SETTINGS = """
targets:
  bot:
    kind: function
    function: serving_bot:answer
service:
  target: bot
"""


async def fill(location: str, sizes: Sequence[int]) -> list[str]:
    """Runs that have ended, of so many results each."""
    given = some_results(max(sizes))
    names: list[str] = []
    async with await Store.open(location) as store:
        for number, size in enumerate(sizes, 1):
            names.append(str(UUID(int=number, version=4)))
            await store.create_run(replace(a_run(size), id=names[-1]))
            for start in range(0, size, BATCH):
                await store.save(names[-1], given[start : min(start + BATCH, size)])
            await store.set_state(names[-1], RunState.COMPLETED, completed_at=NOW)
    return names


class Process(Struct, frozen=True):
    """A server to be measured."""

    pid: int
    base: str

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def megabytes(self) -> float:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 1e6


@contextmanager
def service(folder: Path, database: str) -> Iterator[Process]:
    """`howsure serve` with one worker."""
    (folder / "serving_bot.py").write_text(BOT)
    (folder / "howsure.yaml").write_text(SETTINGS)
    words = ("-m", "howsure", "serve", "--trust", "--port", "0", "--workers", "1", "--database", database)
    with (folder / "serve.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, *words], cwd=folder, stderr=log, start_new_session=True)
    try:
        while not (found := re.search(rb"serving (http://127[^\"\s]+)", (folder / "serve.log").read_bytes())):
            if process.poll() is not None:
                raise SystemExit((folder / "serve.log").read_text())
            time.sleep(0.05)
        yield Process(process.pid, found[1].decode())
    finally:
        os.kill(process.pid, signal.SIGTERM)
        process.wait()


class Took(Struct):
    """Every answer of some clients, in milliseconds."""

    times: list[float]
    errors: int = 0
    cpu: float = 0.0

    def __add__(self, other: Took) -> Took:
        return Took(self.times + other.times, self.errors + other.errors, self.cpu + other.cpu)

    @property
    def p50(self) -> float:
        return median(self.times)

    @property
    def p99(self) -> float:
        return quantiles(self.times, n=100)[98]

    def __str__(self) -> str:
        each = self.cpu / len(self.times) * 1e3
        failed = f"   {self.errors} ERRORS" if self.errors else ""
        return (
            f"p50 {self.p50:6.1f} ms   p99 {self.p99:6.1f} ms   {each:4.1f} ms CPU a request, "
            f"{len(self.times)} requests{failed}"
        )


Ask = Callable[[ClientSession, int], AsyncIterator[float]]


async def load(process: Process, ask: Ask, seconds: float, clients: int = CLIENTS) -> Took:
    """So many clients for so long. `ask` asks one question after another, and gives what each took."""
    took = Took([])
    before, end = process.cpu(), time.perf_counter() + seconds
    async with ClientSession(base_url=f"{process.base}/") as session:
        await asyncio.gather(*(_client(session, number, ask, end, took) for number in range(clients)))
    took.cpu = process.cpu() - before
    return took


async def _client(session: ClientSession, number: int, ask: Ask, end: float, took: Took) -> None:
    await asyncio.sleep(EVERY * number / CLIENTS)
    async for seconds in ask(session, number):
        if seconds < 0:
            took.errors += 1
        else:
            took.times.append(seconds * 1e3)
        if time.perf_counter() >= end:
            return
        await asyncio.sleep(max(0.0, EVERY - max(seconds, 0.0)))


@asynccontextmanager
async def asked(session: ClientSession, path: str, **wanted: Any) -> AsyncIterator[tuple[float, Any, Any]]:
    """The time a question took, -1 where it failed; the answer's JSON; its headers."""
    began = time.perf_counter()
    method = "POST" if wanted else "GET"
    async with session.request(method, path, **wanted) as response:
        raw = await response.read()
        took = time.perf_counter() - began
        body = await response.json() if raw and response.status == 200 else []
        yield (took if response.status == 200 else -1.0), body, response.headers


def listing_and_paging(runs: Sequence[str], start: Callable[[int], int]) -> Ask:
    """The list of runs, then a few pages of one of them, from wherever the client began; and again."""

    async def ask(session: ClientSession, number: int) -> AsyncIterator[float]:
        turn = number
        while True:
            async with asked(session, "runs?limit=20") as (seconds, _, _):
                yield seconds
            path = f"runs/{runs[turn % len(runs)]}/results?limit=50"
            further = ""
            for _ in range(3):
                async with asked(session, path + further) as (seconds, _, headers):
                    yield seconds
                further = f"&cursor={headers.get('X-Next-Cursor', '')}"
            turn += start(turn)

    return ask
