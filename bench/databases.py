"""The same store on both databases, by the clock on the wall: saving results in small batches, a page, a run, a list.
`TEST_DATABASE_URL` names an empty PostgreSQL database; without it only SQLite is measured."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.storing import RUN, a_run, some_results
from howsure.store.store import Store

SAVED = 20_000
BATCH = 50
TRIES = 200


async def measure(location: str) -> None:
    given = some_results(SAVED)
    async with await Store.open(location) as store:
        await store.create_run(a_run(SAVED))
        began = time.perf_counter()
        for start in range(0, SAVED, BATCH):
            await store.save(RUN, given[start : start + BATCH])
        taken = time.perf_counter() - began
        page = await _median(lambda: store.results(RUN, after=SAVED // 2, limit=100))
        run = await _median(lambda: store.run(RUN))
        beat = await _median(lambda: store.heartbeat(RUN))
        await store.delete_run(RUN)
    print(f"{location.partition(':')[0] if '://' in location else 'sqlite':<12}", end="")
    print(f"{SAVED / taken:>9,.0f} results/s saved in batches of {BATCH}", end="")
    print(f"   page of 100 {page * 1e3:.1f} ms   one run {run * 1e3:.2f} ms   heartbeat {beat * 1e3:.2f} ms")


async def _median(call: Callable[[], Awaitable[object]]) -> float:
    times: list[float] = []
    for _ in range(TRIES):
        began = time.perf_counter()
        await call()
        times.append(time.perf_counter() - began)
    return median(times)


def main() -> None:
    with TemporaryDirectory() as folder:
        asyncio.run(measure(str(Path(folder) / "bench.db")))
    if server := os.environ.get("TEST_DATABASE_URL"):
        asyncio.run(measure(server))


if __name__ == "__main__":
    main()
