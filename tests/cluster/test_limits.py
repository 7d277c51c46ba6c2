"""Rates and budgets hold over the whole cluster, not for each of its workers."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest

import postgres
from cluster.clusters import Program, cluster
from dialect_rows import write_rows
from house import mcq
from howsure.llm.specs import parse_model
from howsure.model.llm_settings import RateLimits
from howsure.services.cluster.coordinator import RateCoordinator, RateCoordinatorActor, WorkerLeases
from howsure.services.cluster.workers import RemoteCoordinator
from live_files import MODEL_SERVER, fetched, serving

pytestmark = pytest.mark.slow

PER_SECOND = 500
SECONDS = 30
WORKERS = 3
AT_ONCE = 64


class Start:
    """Lets all go at once, when the last has come: on a busy machine that takes its time."""

    def __init__(self) -> None:
        self._come = 0
        self._all_here = asyncio.Event()

    async def come(self) -> None:
        self._come += 1
        if self._come == WORKERS:
            self._all_here.set()
        await self._all_here.wait()


def calls_made(coordinator: Any, start: Any) -> dict[int, int]:
    """By second: the calls that one worker makes, as many as it may, of 20 ms each."""
    return asyncio.run(_calls_made(coordinator, start))


async def _calls_made(coordinator: Any, start: Any) -> dict[int, int]:
    made: Counter[int] = Counter()
    await start.come.remote()
    until = time.time() + SECONDS + 3
    spec = parse_model("openai:m", {"OPENAI_API_KEY": "k"})
    gate = WorkerLeases(cast(RateCoordinator, RemoteCoordinator(coordinator)), None).limiter(
        spec, AT_ONCE, RateLimits(requests_per_minute=PER_SECOND * 60)
    )

    async def caller() -> None:
        while time.time() < until:
            await gate.acquire()
            made[int(time.time())] += 1
            await asyncio.sleep(0.02)
            gate.release(False)

    await asyncio.gather(*(caller() for _ in range(AT_ONCE)))
    return dict(made)


def test_three_workers_hold_five_hundred_calls_a_second_together() -> None:
    ray = import_module("ray")
    # Workers do not see the tests.
    import_module("ray.cloudpickle").register_pickle_by_value(sys.modules[__name__])
    with cluster(num_cpus=1) as nodes:
        nodes.add(num_cpus=1)
        nodes.add(num_cpus=1)
        ray.init(address=nodes.address, log_to_driver=False)
        try:
            coordinator = ray.remote(RateCoordinatorActor).options(num_cpus=0).remote("", None, None)
            start = ray.remote(Start).options(num_cpus=0).remote()
            work = ray.remote(calls_made).options(num_cpus=1, scheduling_strategy="SPREAD")
            made = ray.get([work.remote(coordinator, start) for _ in range(WORKERS)])
        finally:
            ray.shutdown()
    # From the second in which the last of them had begun.
    first = max(min(seconds) for seconds in made) + 1
    assert first + SECONDS <= min(max(seconds) for seconds in made), "the workers did not begin together"
    each = [sum(seconds.get(first + number, 0) for number in range(SECONDS)) for seconds in made]
    total = sum(each)
    print(f"{total:,} calls in {SECONDS} s by three workers ({each}): {total / SECONDS:.1f}/s")
    assert all(each), "a worker stood aside"
    assert PER_SECOND * SECONDS * 0.95 <= total <= PER_SECOND * SECONDS * 1.05


def test_a_budget_is_exceeded_by_the_calls_in_flight_at_most_and_resumed(tmp_path: Path) -> None:
    dataset = write_rows(tmp_path / "house.jsonl", [mcq(number) for number in range(2_000)])
    (tmp_path / "howsure.yaml").write_text("cluster: {shard: 100}\nmax_concurrency: 8\n", encoding="utf-8")
    with serving(MODEL_SERVER, tmp_path) as base:
        model = {"OPENAI_BASE_URL": f"{base}/v1", "OPENAI_API_KEY": "sk-not-a-real-key"}
        # Here the workers have the key in their own environment.
        with cluster(model, num_cpus=1) as nodes:
            nodes.add(num_cpus=1)
            nodes.add(num_cpus=1)
            database = {"HOWSURE_DATABASE_URL": postgres.new_store(), "RAY_ADDRESS": nodes.address}
            howsure = Program(tmp_path, {**model, **database})
            asked = ["--target", "chat:openai:gpt-x", "--engine", "ray", "--budget", "60ktok", "--name", "dear"]
            done = howsure.run("run", dataset, *asked, "--json")
            assert done.returncode == 2, done.stderr
            calls = fetched(f"{base}/count")["calls"]
            print(f"{calls} calls of 120 tokens against a budget of 60,000 tokens")
            # 500 calls of 120 tokens are 60,000; three workers have eight in flight.
            assert 480 <= calls <= 500 + 3 * 8
            shown = howsure.json("show", "dear")
            assert shown["total"] == 2_000
            assert 0 < shown["skipped"] < 2_000
            again = howsure.json("resume", "dear", "--budget", "1Mtok")
            assert (again["passed"], again["skipped"], again["pending"]) == (2_000, 0, 0)
            # What was answered is kept: nobody is asked twice.
            assert fetched(f"{base}/count")["calls"] <= 2_000 + 3 * 8
