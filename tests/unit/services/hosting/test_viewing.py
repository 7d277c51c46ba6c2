"""Runs as the API shows them, while they are worked on and after; who waits for a run whose worker was killed."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hosts import a_dataset, completed, hosted, in_state, ordered, question, working
from howsure.model.access_scope import EVERYWHERE
from howsure.model.job import Wish
from howsure.model.run import RunState
from howsure.services.hosting.viewing import Gallery
from howsure.store.lease import this_process

BOT = """
import asyncio

async def answer(text: str) -> str:
    await asyncio.sleep(0.02)
    return "Answer: A"
"""


async def test_a_run_adds_up_whenever_it_is_looked_at(tmp_path: Path) -> None:
    async with hosted(tmp_path, BOT) as host:
        gallery = Gallery(host.store)
        run = await ordered(host, await a_dataset(host, *map(question, range(60))), concurrency=4)
        seen: list[int] = []
        async with working(host):
            while True:
                shown = await gallery.run(run.id)
                for counts in (shown, *shown["candidates"].values()):
                    parts = [counts[name] for name in ("passed", "failed", "errored", "skipped", "pending")]
                    assert sum(parts) == counts["total"] == 60
                seen.append(shown["completed"])
                if shown["status"] == "completed":
                    break
                await asyncio.sleep(0.02)
        assert seen == sorted(seen)
        assert len(set(seen)) > 2


async def test_a_run_whose_worker_was_killed_is_still_running_for_whoever_waits(tmp_path: Path) -> None:
    async with hosted(tmp_path, BOT) as host:
        gallery = Gallery(host.store)
        run = await ordered(host, await a_dataset(host, question(1)))
        gone = this_process("worker-gone").split("/")
        gone[-3] = "999999999"
        await host.store.queue.claim("/".join(gone), per_agent=9, overall=9)
        assert (await host.store.run(run.id)).state is RunState.INTERRUPTED
        assert (await gallery.run(run.id))["status"] == "running"
        wanted = {"limit": 5, "before": None, "agent_id": None, "within": EVERYWHERE}
        for status, number in (("running", 1), ("failed", 0), ("pending", 0), ("completed", 0)):
            found, _ = await gallery.several(status=status, **wanted)  # type: ignore[arg-type]
            assert len(found) == number, status


async def test_a_run_that_is_worked_on_is_counted_once_however_many_look(tmp_path: Path) -> None:
    async with hosted(tmp_path, BOT) as host:
        gallery = Gallery(host.store)
        run = await ordered(host, await a_dataset(host, *map(question, range(200))), concurrency=2)
        counted = 0
        count = host.store.count

        async def counting(run_id: str) -> object:
            nonlocal counted
            counted += 1
            return await count(run_id)

        host.store.count = counting  # type: ignore[method-assign,assignment]
        async with working(host):
            await completed(host, run.id, 3)
            await asyncio.gather(*(gallery.run(run.id) for _ in range(50)))
            assert counted == 1
            await host.store.queue.wish(run.id, Wish.CANCEL)
            await in_state(host, run.id, RunState.CANCELLED)
        # What has ended was counted when it ended.
        await asyncio.gather(*(gallery.run(run.id) for _ in range(50)))
        assert counted == 1
