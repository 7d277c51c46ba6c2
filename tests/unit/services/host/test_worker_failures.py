"""What a worker does when things go wrong: its run is somebody else's, cases take for ever, runs break, the database is
away."""

from __future__ import annotations

import asyncio
import importlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from hosts import MODULE, QUICK, a_dataset, completed, hosted, in_state, ordered, question, until, working
from howsure.errors import Conflict, Unreachable
from howsure.model.document import DocumentKind
from howsure.model.job import JobState, JobTask, RequestedState
from howsure.model.run import RunState
from howsure.services.host.worker import WorkerPace
from howsure.services.workspace import Host
from howsure.store import leases
from howsure.store.documents import DocumentDraft
from howsure.store.leases import this_owner
from howsure.store.queue import MAX_TRIES

SLOW = """
import asyncio
asked, now, most, cancelled = [], 0, 0, 0

async def answer(text: str) -> str:
    global now, most, cancelled
    asked.append(text)
    now += 1
    most = max(most, now)
    try:
        await asyncio.sleep({seconds})
    except asyncio.CancelledError:
        cancelled += 1
        raise
    finally:
        now -= 1
    return "Answer: A"
"""
BREAKING = """
def answer(text: str) -> str:
    return "Answer: A"
"""
DEAF = WorkerPace(look=60.0, beat=60.0)
"""Looks once, and never says that it is there."""


def bot() -> Any:
    return importlib.import_module(MODULE)


async def test_whoever_lost_a_run_stores_nothing_more_of_it(tmp_path: Path) -> None:
    async with hosted(tmp_path, SLOW.format(seconds=0.02)) as host:
        run = await ordered(host, await a_dataset(host, *map(question, range(60))), concurrency=2)
        # Its heartbeat has stopped; the other does not know it, and takes the run for one that nobody works on.
        async with working(host, DEAF) as loser:
            await completed(host, run.id, 5)
            assert len(loser._tasks) == 1
            async with working(host, QUICK) as winner:
                await until(lambda: _is(lambda: len(winner._tasks) == 1 and not loser._tasks))
                owner = await _owner(host, run.id)
                assert owner in winner._tasks
                done = await in_state(host, run.id)
        assert (done.counts.completed, done.counts.passed, done.error) == (60, 60, "")
        assert [result.case.id for result in await host.store.results(run.id)] == [f"q{each}" for each in range(60)]
        assert len(bot().asked) < 60 + 20


async def test_whoever_hears_that_a_run_is_taken_over_lets_go_of_its_cases(tmp_path: Path) -> None:
    async with hosted(tmp_path, SLOW.format(seconds=120)) as host:
        run = await ordered(host, await a_dataset(host, *map(question, range(4))), concurrency=4)
        async with working(host) as worker:
            await until(lambda: _is(lambda: bot().now == 4))
            # Whoever started this process is alive, and works for nobody.
            machine, *_ = this_owner("x").rsplit("/", 3)
            other = f"{machine}/{os.getppid()}/{leases._started(os.getppid())}/worker-other"
            await _execute(host, f"UPDATE runs SET owner = '{other}' WHERE id = '{run.id}'")
            await until(lambda: _is(lambda: bot().cancelled == 4))
            await until(lambda: _is(lambda: not worker._tasks))
            assert await _owner(host, run.id) == other
            untouched = await host.store.run(run.id)
            assert (untouched.state, untouched.error) == (RunState.RUNNING, "")


async def test_a_run_is_not_written_or_ended_by_whom_it_does_not_belong_to(tmp_path: Path) -> None:
    async with hosted(tmp_path, BREAKING) as host:
        run = await ordered(host, await a_dataset(host, question(1)))
        job = await host.store.queue.claim("me", per_agent=9, overall=9)
        assert job is not None
        with pytest.raises(Conflict, match=f"run {run.id} was taken over by another process"):
            await host.store.set_state(run.id, RunState.FAILED, owner="you")
        await host.store.queue.give_back(run.id, "you")
        await host.store.queue.finish(run.id, "you", RequestedState.CANCEL)
        assert await _owner(host, run.id) == "me"
        assert await host.store.queue.beat(run.id, "you") is None
        assert await host.store.queue.beat(run.id, "me") is RequestedState.NONE


@pytest.mark.parametrize(
    ("wish", "state"),
    [(RequestedState.PAUSE, RunState.PAUSED), (RequestedState.CANCEL, RunState.CANCELLED)],
    ids=["pause", "cancel"],
)
async def test_slow_cases_do_not_keep_a_run_from_stopping(
    tmp_path: Path, wish: RequestedState, state: RunState
) -> None:
    async with hosted(tmp_path, SLOW.format(seconds=300)) as host, working(host):
        run = await ordered(host, await a_dataset(host, *map(question, range(8))), concurrency=4)
        await until(lambda: _is(lambda: bot().now == 4))
        began = time.monotonic()
        assert await host.store.queue.wish(run.id, wish) is RunState.RUNNING
        await in_state(host, run.id, state)
        assert time.monotonic() - began < 60
        assert (bot().now, bot().cancelled) == (0, 4)


async def test_a_bot_that_blocks_its_thread_does_not_keep_a_run_from_stopping(tmp_path: Path) -> None:
    blocking = "import time\n\ndef answer(text: str) -> str:\n    time.sleep(4)\n    return 'Answer: A'\n"
    async with hosted(tmp_path, blocking) as host, working(host):
        run = await ordered(host, await a_dataset(host, *map(question, range(40))), concurrency=2)
        await in_state(host, run.id, RunState.RUNNING)
        await asyncio.sleep(0.3)
        began = time.monotonic()
        await host.store.queue.wish(run.id, RequestedState.CANCEL)
        await in_state(host, run.id, RunState.CANCELLED)
        assert time.monotonic() - began < 60


async def test_a_run_has_no_more_cases_at_once_than_it_may(tmp_path: Path) -> None:
    async with hosted(tmp_path, SLOW.format(seconds=0.02)) as host, working(host):
        run = await ordered(host, await a_dataset(host, *map(question, range(30))), concurrency=3)
        await in_state(host, run.id)
        assert bot().most == 3


async def test_no_more_runs_are_worked_on_at_once_than_allowed_by_two_workers(tmp_path: Path) -> None:
    rules: dict[str, Any] = {"runs": 3, "runs_per_agent": 1, "bots": {"a1": "bot", "a2": "bot"}}
    async with hosted(tmp_path, SLOW.format(seconds=0.05), **rules) as host:
        document = await a_dataset(host, *map(question, range(4)))
        for agent in ("a1", "a2"):
            draft = DocumentDraft(body=b'{"system_prompt": "Be kind."}', name=agent, agent_id=agent)
            await host.store.documents.create(DocumentKind.AGENT, agent, draft)
        agents = ["a1", "a1", "a1", "a2", "a2", ""]
        runs = [await ordered(host, document, agent_id=agent, concurrency=1) for agent in agents]
        seen: set[tuple[str, ...]] = set()
        async with working(host):

            async def over() -> bool:
                found = [await host.store.run(run.id) for run in runs]
                at_it = [run.pins.agent_key for run in found if run.state is RunState.RUNNING]
                seen.add(tuple(sorted(at_it)))
                return all(run.state is RunState.COMPLETED for run in found)

            await until(over)
        assert max(map(len, seen)) <= 3
        assert all(at_it.count("a1") <= 1 and at_it.count("a2") <= 1 for at_it in seen)
        assert ("", "a1", "a2") in seen


async def test_a_run_that_brings_its_worker_down_is_not_taken_up_for_ever(tmp_path: Path) -> None:
    async with hosted(tmp_path, BREAKING) as host:
        run = await ordered(host, await a_dataset(host, question(1)))
        queue = host.store.queue
        for number in range(MAX_TRIES):
            job = await queue.claim(_gone(number), per_agent=9, overall=9)
            assert job is not None and job.tries == number
            assert await queue.reclaim("nobody/") == [run.id]
        assert await queue.claim("me", per_agent=9, overall=9) is None
        failed = await host.store.run(run.id)
        assert failed.state is RunState.FAILED
        assert failed.error.startswith("the process of this run died 5 times in a row")
        # Whoever has put it right may have it tried again, as often.
        await queue.again(run.id, JobTask.ATTEMPT)
        async with working(host):
            done = await in_state(host, run.id)
        assert (done.counts.passed, done.error) == (1, "")


async def test_a_run_that_gets_on_is_taken_up_as_often_as_it_takes(tmp_path: Path) -> None:
    async with hosted(tmp_path, BREAKING) as host:
        run = await ordered(host, await a_dataset(host, question(1)))
        queue = host.store.queue
        for number in range(3 * MAX_TRIES):
            owner = _gone(number)
            assert await queue.claim(owner, per_agent=9, overall=9) is not None
            assert await queue.beat(run.id, owner, got_on=True) is RequestedState.NONE
            assert await queue.reclaim("nobody/") == [run.id]
        assert (await host.store.run(run.id)).state is RunState.PENDING


async def test_a_worker_that_stops_is_not_held_against_its_run(tmp_path: Path) -> None:
    async with hosted(tmp_path, BREAKING) as host:
        run = await ordered(host, await a_dataset(host, question(1)))
        for _ in range(2 * MAX_TRIES):
            assert await host.store.queue.claim("me", per_agent=9, overall=9) is not None
            await host.store.queue.give_back(run.id, "me")
        job = await host.store.queue.job(run.id)
        assert job is not None and (job.tries, job.state) == (0, JobState.QUEUED)


async def test_a_run_that_cannot_be_read_fails_and_others_go_on(tmp_path: Path) -> None:
    async with hosted(tmp_path, BREAKING) as host:
        document = await a_dataset(host, question(1))
        bad, odd, good = [await ordered(host, document) for _ in range(3)]
        await _execute(host, f"UPDATE runs SET body = x'7b' WHERE id = '{bad.id}'")
        await _execute(host, f"UPDATE jobs SET task = 'unheard-of' WHERE run_id = '{odd.id}'")
        async with working(host):
            await in_state(host, good.id)

            async def failed() -> bool:
                found = await _fetch(host, f"SELECT state, error FROM runs WHERE id = '{bad.id}'")
                return bool(found[0][0] == "failed" and found[0][1])

            await until(failed)
        assert (await host.store.run(odd.id)).state is RunState.PENDING


async def test_a_database_that_is_locked_for_a_while_stops_no_run(tmp_path: Path) -> None:
    async with hosted(tmp_path, SLOW.format(seconds=0.02)) as host:
        # Every transaction gives up at once, as it would after half a minute.
        run = await ordered(host, await a_dataset(host, *map(question, range(40))), concurrency=2)
        database = host.store._database
        write = database.write
        away = asyncio.Event()

        async def refusing(do: Any, *args: Any, **kwargs: Any) -> Any:
            if away.is_set():
                raise Unreachable("the database is locked by another program")
            return await write(do, *args, **kwargs)

        database.write = refusing  # type: ignore[method-assign]
        async with working(host):
            await completed(host, run.id, 3)
            away.set()
            await asyncio.sleep(1.5)
            assert (await host.store.run(run.id)).error == ""
            away.clear()
            done = await in_state(host, run.id)
        job = await host.store.queue.job(run.id)
        assert (done.counts.passed, done.error) == (40, "")
        assert job is not None and job.tries == 1


async def _is(true: Any) -> bool:
    return bool(true())


def _gone(number: int) -> str:
    """The owner text of a process that was killed."""
    machine, _, started, _ = this_owner("x").rsplit("/", 3)
    return f"{machine}/99999{number:04}/{started}/worker-{number}"


async def _owner(host: Host, run_id: str) -> str | None:
    found: str | None = (await _fetch(host, f"SELECT owner FROM runs WHERE id = '{run_id}'"))[0][0]
    return found


async def _execute(host: Host, statement: str) -> None:
    def do(connection: Connection) -> None:
        connection.execute(text(statement))

    await host.store._database.write(do)


async def _fetch(host: Host, statement: str) -> list[Any]:
    def do(connection: Connection) -> list[Any]:
        return list(connection.execute(text(statement)))

    return await host.store._database.read(do)


def test_a_process_that_stays_looks_for_what_lies_about() -> None:
    """Commands look hardly ever, and end before it matters; a service that did the same grew with every request."""
    code = (
        "import gc; from howsure.main import GC_THRESHOLD; gc.set_threshold(*GC_THRESHOLD)\n"
        "from howsure.services.host.worker import tune_garbage_collection; tune_garbage_collection()\n"
        "print(*gc.get_threshold(), gc.get_freeze_count() > 1000)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert said.split() == ["10000", "10", "10", "True"]
