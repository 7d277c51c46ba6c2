"""The service under clients: fifty of them list runs and page through results, on a store of 200,000 results, while
nothing else happens and while a run is being written. How long the slowest percent took, what a request costs, memory,
and the first page beside the last; on SQLite and on PostgreSQL. Then MLflow's tracking server beside it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

from aiohttp import ClientSession

from bench import serving_mlflow
from bench.serving_load import CLIENTS, Ask, Process, Took, asked, fill, listing_and_paging, load, service

LARGE = 100_000
SMALL = 10_000
SMALL_RUNS = 10
SECONDS = float(os.environ.get("BENCH_SERVING_SECONDS", "15"))
ROUNDS = int(os.environ.get("BENCH_SERVING_ROUNDS", "3"))
WRITTEN = 20_000
PAGES = 60


async def upload(session: ClientSession) -> str:
    """The dataset that is run while the clients ask."""
    choices = [{"id": "A", "text": "yes"}, {"id": "B", "text": "no"}]
    fixed = {"schema_version": "legal_eval_v1", "dataset": "bench", "task_type": "mcq", "correct_choice_ids": ["A"]}
    lines = "".join(
        json.dumps({**fixed, "id": f"w{number}", "prompt": f"Question {number}?", "choices": choices}) + "\n"
        for number in range(WRITTEN)
    )
    async with session.post("datasets", json={"name": "written.jsonl", "content": lines}) as made:
        dataset: str = (await made.json())["dataset_id"]
        return dataset


async def begin_run(session: ClientSession, dataset: str) -> str:
    """A run that writes some hundred results a second."""
    async with session.post("runs", json={"dataset_id": dataset, "concurrency": 10}) as begun:
        run_id: str = (await begun.json())["run_id"]
    while (await shown(session, run_id))["completed"] == 0:
        await asyncio.sleep(0.2)
    return run_id


async def shown(session: ClientSession, run_id: str) -> Any:
    async with asked(session, f"runs/{run_id}") as (_, run, _):
        return run


async def stop_run(session: ClientSession, run_id: str) -> int:
    """How many results it has written; it is stopped for good."""
    async with session.post(f"runs/{run_id}/cancel"):
        pass
    while (run := await shown(session, run_id))["status"] == "running":
        await asyncio.sleep(0.2)
    async with session.delete(f"runs/{run_id}"):
        return int(run["completed"])


async def measure(process: Process, runs: Sequence[str]) -> None:
    ask = listing_and_paging(runs, lambda _: 7)
    ratios: list[float] = []
    rates: list[float] = []
    quiet, pressed = Took([]), Took([])
    async with ClientSession(base_url=f"{process.base}/") as session:
        dataset = await upload(session)
        await while_a_run_writes(process, session, dataset, ask, 3.0)
        before = process.megabytes()
        for _ in range(ROUNDS):
            idle = await load(process, ask, SECONDS)
            busy, written = await while_a_run_writes(process, session, dataset, ask, SECONDS)
            quiet, pressed = quiet + idle, pressed + busy
            ratios.append(busy.p99 / idle.p99)
            rates.append(written)
    print(f"  nothing else    {quiet}")
    print(f"  a run writes    {pressed}   ({fmean(rates):.0f} results/s written)")
    print(f"  p99 ratio       {pressed.p99 / quiet.p99:.2f} (in single rounds {_listed(ratios)}); wanted: ≤ 3")
    print(f"  memory          {before:.0f} MB after the first round, {process.megabytes():.0f} MB at the end")


async def while_a_run_writes(
    process: Process, session: ClientSession, dataset: str, ask: Ask, seconds: float
) -> tuple[Took, float]:
    """What the clients met with, and how many results a second were written meanwhile."""
    run_id = await begin_run(session, dataset)
    start, began = (await shown(session, run_id))["completed"], time.perf_counter()
    took = await load(process, ask, seconds)
    taken = time.perf_counter() - began
    return took, (await stop_run(session, run_id) - start) / taken


def _listed(ratios: Sequence[float]) -> str:
    return ", ".join(f"{ratio:.2f}" for ratio in ratios)


async def pages(process: Process, run_id: str, size: int) -> None:
    """The first page and the last, one after the other."""
    first, last = Took([]), Took([])
    async with ClientSession(base_url=f"{process.base}/") as session:
        place = urlsafe_b64encode(str(size - 101).encode()).decode()
        for took, further in [(first, ""), (last, f"&cursor={place}")] * PAGES:
            before = process.cpu()
            async with asked(session, f"runs/{run_id}/results?limit=100{further}") as (seconds, found, _):
                assert len(found) == 100
                took.times.append(seconds * 1e3)
            took.cpu += process.cpu() - before
    print(f"  page of 100     {first.p50:.1f} ms the first, {last.p50:.1f} ms the last of {size:,} (medians)")


@contextmanager
def databases() -> Iterator[list[tuple[str, str]]]:
    """A file, and a PostgreSQL: that at TEST_DATABASE_URL, or one that the tests would use."""
    with TemporaryDirectory() as folder:
        found = [("SQLite", str(Path(folder) / "bench.db"))]
        sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
        postgres = import_module("postgres")
        try:
            found.append(("PostgreSQL", postgres.new_store()))
        except postgres.Unavailable as reason:
            print(f"PostgreSQL is not measured: {reason}")
        yield found
        for _, url in found[1:]:
            postgres.drop_database(url)


def main() -> None:
    total = LARGE + SMALL_RUNS * SMALL
    with databases() as places:
        for name, location in places:
            runs = asyncio.run(fill(location, (LARGE, *[SMALL] * SMALL_RUNS)))
            with TemporaryDirectory() as folder, service(Path(folder), location) as process:
                print(
                    f"{name}: {CLIENTS} clients, {total:,} results in {len(runs)} runs, load {os.getloadavg()[0]:.1f}"
                )
                asyncio.run(measure(process, runs))
                asyncio.run(pages(process, runs[0], LARGE))
    serving_mlflow.main()


if __name__ == "__main__":
    main()
