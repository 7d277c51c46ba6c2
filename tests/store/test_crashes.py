"""A process killed in the middle of saving leaves whole batches; two processes that write one run do not disturb."""

from __future__ import annotations

import asyncio
import random
import signal
import sqlite3
import sys
from asyncio.subprocess import Process
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from howsure.errors import Conflict
from howsure.model.run import RunState
from howsure.store.leases import this_owner
from howsure.store.store import Store
from store.making import RUN, a_result, a_run

BATCH = 50
WRITER = """
import asyncio, sys
from datetime import UTC, datetime
from store.making import RUN, a_result
from howsure.model.run import RunState
from howsure.store.leases import this_owner
from howsure.store.store import Store

async def main(path: str, start: int, stop: int) -> None:
    async with await Store.open(path) as store:
        await store.claim(RUN, this_owner("writer"), datetime.now(UTC)) if stop > 900 else None
        await store.set_state(RUN, RunState.RUNNING)
        print("ready", flush=True)
        for first in range(start, stop, 50):
            await store.save(RUN, [a_result(position) for position in range(first, first + 50)])
            print(first, flush=True)

asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
"""


async def writer(location: str, start: int, stop: int) -> Process:
    folder = str(Path(__file__).parent.parent)
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", WRITER, location, str(start), str(stop)),
        stdout=asyncio.subprocess.PIPE,
        env={"PYTHONPATH": folder},
    )


async def ready(process: Process) -> None:
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"


def intact(location: str) -> bool:
    """A server sees to that itself."""
    if "://" in location:
        return True
    with closing(sqlite3.connect(location)) as connection:
        return bool(connection.execute("PRAGMA integrity_check").fetchone() == ("ok",))


@pytest.mark.slow
@pytest.mark.thorough
async def test_a_killed_process_leaves_whole_batches_and_the_run_can_be_taken_at_once(location: str) -> None:
    async with await Store.open(location) as store:
        await store.create_run(a_run(total=100_000))
    chance = random.Random(7)
    saved: set[int] = set()
    for _ in range(5):
        process = await writer(location, len(saved), 100_000)
        await ready(process)
        first = await process.stdout.readline() if process.stdout else b""
        await asyncio.sleep(chance.uniform(0.0, 0.2))
        process.send_signal(signal.SIGKILL)
        said = first + (await process.communicate())[0]
        async with await Store.open(location) as store:
            found = await store.finished_positions(RUN)
            # What was reported as saved is there; at most one batch more was saved and not yet reported.
            reported = saved | {int(line) + offset for line in said.split(b"\n")[:-1] for offset in range(BATCH)}
            assert reported <= found
            assert len(found - reported) in (0, BATCH)
            assert found == set(range(len(found)))
            assert len(found) % BATCH == 0
            summary = await store.summary(RUN)
            assert sum(grader.passed for grader in summary.graders) == len(found)
            assert summary.run.state is RunState.INTERRUPTED
            saved = found
    assert saved
    assert intact(location)


async def test_a_living_process_keeps_its_run(location: str) -> None:
    async with await Store.open(location) as store:
        await store.create_run(a_run(total=100_000))
        process = await writer(location, 0, 100_000)
        await ready(process)
        with pytest.raises(Conflict, match="is being run by another process"):
            await store.claim(RUN, this_owner("me"), datetime.now(UTC))
        assert (await store.run(RUN)).state is RunState.RUNNING
        process.kill()
        await process.communicate()
        await store.claim(RUN, this_owner("me"), datetime.now(UTC))


async def test_two_processes_can_write_one_run(location: str) -> None:
    async with await Store.open(location) as store:
        await store.create_run(a_run(total=900))
        both = [await writer(location, 0, 600), await writer(location, 300, 900)]
        for process in both:
            await process.communicate()
            assert process.returncode == 0
        assert await store.finished_positions(RUN) == set(range(900))
        summary = await store.summary(RUN)
        assert summary.run.counts.passed == 900
        assert summary.graders[0].scored == 900
        assert [result.case.id async for result in store.iterate(RUN)] == [f"case-{number}" for number in range(900)]
    assert intact(location)
    assert a_result(0).position == 0
