"""The queue: a run is in it before it is work, is taken by one, put back when nobody works on it, and stopped as was
wished."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from howsure.errors import Conflict, NotFound
from howsure.model.access_scope import AccessScope
from howsure.model.job import Job, JobState, JobTask, QueueLengths, RequestedState
from howsure.model.run import Run, RunState
from howsure.store.leases import this_owner
from howsure.store.queue import MAX_TRIES
from howsure.store.store import Store
from store.conftest import Clock
from store.making import RUN, a_result, a_run, asked, numbered

ELSEWHERE = "another-machine/boot/pid:[1]/77/1234/worker-1"
"""Its process cannot be seen from here: only its heartbeat says that it is alive."""


def run(number: int = 1, agent: str = "a1", **fields: Any) -> Run:
    return a_run(numbered(number), agent=agent, **fields)


async def queued(store: Store, clock: Clock, *agents: str) -> list[str]:
    """Runs, one a second, for these agents."""
    ids: list[str] = []
    for number, agent in enumerate(agents, 1):
        clock.on(seconds=1)
        await store.queue.add(run(number, agent))
        ids.append(numbered(number))
    return ids


async def taken(store: Store, owner: str = "me", per_agent: int = 9, overall: int = 9) -> str | None:
    job = await store.queue.claim(owner, per_agent=per_agent, overall=overall)
    return None if job is None else job.run_id


async def job_of(store: Store, run_id: str) -> Job:
    job = await store.queue.job(run_id)
    assert job is not None
    return job


async def test_a_run_is_in_the_queue_before_it_is_work(kept: Store, clock: Clock) -> None:
    await kept.queue.add(replace(run(), organization_id="acme"), b'{"test_set_id": "ts"}')
    job = await job_of(kept, numbered(1))
    assert (job.state, job.wish, job.task, job.tries) == (JobState.QUEUED, RequestedState.NONE, JobTask.ATTEMPT, 0)
    assert (job.agent_id, job.organization_id, job.request) == ("a1", "acme", b'{"test_set_id": "ts"}')
    assert job.queued_at == clock.now
    assert (await kept.run(numbered(1))).state is RunState.PENDING
    with pytest.raises(Conflict, match=f"there is a run {numbered(1)} already"):
        await kept.queue.add(run())
    assert await kept.queue.lengths() == QueueLengths(1, 0)


async def test_own_runs_are_told_from_those_of_others(kept: Store) -> None:
    await kept.queue.add(run(1))
    await kept.create_run(run(2))
    assert await kept.queue.own([numbered(1), numbered(2), numbered(3)]) == {numbered(1)}
    assert await kept.queue.own([]) == set()


async def test_runs_are_taken_in_the_order_in_which_they_came(kept: Store, clock: Clock) -> None:
    ids = await queued(kept, clock, "a1", "a1", "a2")
    assert [await taken(kept) for _ in range(4)] == [*ids, None]
    assert await kept.queue.lengths() == QueueLengths(0, 3)


@pytest.mark.parametrize(
    ("per_agent", "overall", "wanted"),
    [
        (9, 9, [1, 2, 3, 4, 5, None]),
        (1, 9, [1, 3, 4, 5, None, None]),
        (2, 9, [1, 2, 3, 4, 5, None]),
        (9, 2, [1, 2, None, None, None, None]),
        (1, 3, [1, 3, 4, None, None, None]),
    ],
    ids=["all", "one of each agent", "two of each", "two in all", "both"],
)
async def test_no_more_are_taken_than_allowed(
    kept: Store, clock: Clock, per_agent: int, overall: int, wanted: list[int | None]
) -> None:
    """Runs of no agent are held back by nothing but the limit on all."""
    ids = [None, *await queued(kept, clock, "a1", "a1", "a2", "", "")]
    found = [await taken(kept, f"w{number}", per_agent, overall) for number in range(6)]
    assert found == [None if place is None else ids[place] for place in wanted]


async def test_of_many_workers_one_takes_a_run(location: str) -> None:
    async with await Store.open(location) as one, await Store.open(location) as two:
        for number in range(1, 5):
            await one.queue.add(run(number, ""))
        claims = [store.queue.claim(f"{n}", per_agent=9, overall=3) for n in range(6) for store in (one, two)]
        found = [job.run_id for job in await asyncio.gather(*claims) if job is not None]
        assert len(found) == len(set(found)) == 3
        assert await two.queue.lengths() == QueueLengths(1, 3)


@pytest.mark.parametrize(
    ("owner", "seconds", "lost"),
    [
        (ELSEWHERE, 59, False),
        (ELSEWHERE, 61, True),
        (this_owner("worker-me"), 6000, False),
        (this_owner("worker-me").replace(f"/{this_owner('').split('/')[-3]}/", "/999999999/"), 0, True),
    ],
    ids=["heard of lately", "not heard of", "seen to be alive", "seen to be dead"],
)
async def test_what_nobody_works_on_is_put_back(
    kept: Store, clock: Clock, owner: str, seconds: int, lost: bool
) -> None:
    (run_id,) = await queued(kept, clock, "a1")
    assert await taken(kept, owner) == run_id
    clock.on(seconds=seconds)
    assert await kept.queue.reclaim("somebody/") == ([run_id] if lost else [])
    assert (await job_of(kept, run_id)).state is (JobState.QUEUED if lost else JobState.RUNNING)
    assert await kept.queue.reclaim("somebody/") == []


async def test_of_what_a_process_took_only_what_it_knows_of_is_being_worked_on(kept: Store, clock: Clock) -> None:
    known, forgotten = await queued(kept, clock, "a1", "a2")
    process = this_owner("")
    assert await taken(kept, f"{process}w1") == known
    assert await taken(kept, f"{process}w2") == forgotten
    assert await kept.queue.reclaim(process, [f"{process}w1"]) == [forgotten]


async def test_a_heartbeat_keeps_a_run_and_hears_what_is_wished(kept: Store, clock: Clock) -> None:
    (run_id,) = await queued(kept, clock, "a1")
    await taken(kept, ELSEWHERE)
    for _ in range(4):
        clock.on(seconds=50)
        assert await kept.queue.beat(run_id, ELSEWHERE) is RequestedState.NONE
        assert await kept.queue.reclaim("somebody/") == []
    assert await kept.queue.wish(run_id, RequestedState.PAUSE) is RunState.RUNNING
    assert await kept.queue.beat(run_id, ELSEWHERE) is RequestedState.PAUSE
    assert await kept.queue.beat(run_id, "another") is None
    await kept.queue.finish(run_id, ELSEWHERE, RequestedState.PAUSE)
    assert (await kept.run(run_id)).state is RunState.PAUSED
    assert (await job_of(kept, run_id)).state is JobState.HELD
    assert await kept.queue.beat(run_id, ELSEWHERE) is None


@pytest.mark.parametrize(
    ("wish", "state"),
    [(RequestedState.PAUSE, RunState.PAUSED), (RequestedState.CANCEL, RunState.CANCELLED)],
    ids=["pause", "cancel"],
)
async def test_a_wish_outlives_the_worker_that_was_killed(
    kept: Store, clock: Clock, wish: RequestedState, state: RunState
) -> None:
    (run_id,) = await queued(kept, clock, "a1")
    await taken(kept, ELSEWHERE)
    await kept.queue.wish(run_id, wish)
    clock.on(minutes=5)
    assert await kept.queue.reclaim("somebody/") == [run_id]
    run = await kept.run(run_id)
    assert (run.state, run.completed_at) == (state, clock() if wish is RequestedState.CANCEL else None)
    assert await taken(kept) is None


@pytest.mark.parametrize(
    ("before", "wish", "after"),
    [
        ("queued", RequestedState.PAUSE, RunState.PAUSED),
        ("queued", RequestedState.CANCEL, RunState.CANCELLED),
        ("paused", RequestedState.CANCEL, RunState.CANCELLED),
        ("paused", RequestedState.PAUSE, "there is nothing to pause"),
        ("ended", RequestedState.PAUSE, "has ended: there is nothing to pause"),
        ("ended", RequestedState.CANCEL, "has ended: there is nothing to cancel"),
    ],
)
async def test_what_nobody_works_on_is_stopped_at_once(
    kept: Store, clock: Clock, before: str, wish: RequestedState, after: RunState | str
) -> None:
    (run_id,) = await queued(kept, clock, "a1")
    if before == "paused":
        await kept.queue.wish(run_id, RequestedState.PAUSE)
    elif before == "ended":
        await kept.set_state(run_id, RunState.COMPLETED, completed_at=clock.now)
    if isinstance(after, str):
        with pytest.raises(Conflict, match=after):
            await kept.queue.wish(run_id, wish)
        return
    assert await kept.queue.wish(run_id, wish) is after
    assert (await kept.run(run_id)).state is after


async def test_a_run_that_ends_is_done_in_the_same_moment(kept: Store, clock: Clock) -> None:
    (run_id,) = await queued(kept, clock, "a1")
    await taken(kept)
    await kept.queue.wish(run_id, RequestedState.PAUSE)
    await kept.set_state(run_id, RunState.COMPLETED, completed_at=clock.now, owner="me")
    job = await job_of(kept, run_id)
    assert (job.state, job.wish) == (JobState.DONE, RequestedState.NONE)
    # Whoever comes too late with a wish changes nothing.
    await kept.queue.finish(run_id, "me", RequestedState.PAUSE)
    await kept.queue.give_back(run_id, "me")
    assert await kept.queue.beat(run_id, "me") is RequestedState.NONE
    assert (await kept.run(run_id)).state is RunState.COMPLETED
    assert (await job_of(kept, run_id)).state is JobState.DONE


async def test_a_run_that_ended_can_be_queued_again(kept: Store, clock: Clock) -> None:
    (run_id,) = await queued(kept, clock, "a1")
    for state in ("queued", "running"):
        with pytest.raises(Conflict, match=f"is {state}: wait for its end, or cancel it"):
            await kept.queue.again(run_id, JobTask.RETRY)
        await taken(kept)
    await kept.set_state(run_id, RunState.FAILED, error="it broke", owner="me")
    clock.on(minutes=1)
    await kept.queue.again(run_id, JobTask.RETRY)
    job, again = await job_of(kept, run_id), await kept.run(run_id)
    assert (job.state, job.task, job.tries, job.queued_at) == (JobState.QUEUED, JobTask.RETRY, 0, clock.now)
    assert (again.state, again.error, again.completed_at) == (RunState.PENDING, "", None)


async def test_a_run_of_the_command_line_is_not_in_the_queue(kept: Store) -> None:
    await kept.create_run(a_run())
    assert await kept.queue.job(RUN) is None
    for call in (kept.queue.wish(RUN, RequestedState.CANCEL), kept.queue.again(RUN, JobTask.ATTEMPT)):
        with pytest.raises(NotFound, match="is not one of the service's own: it was started by `howsure run`"):
            await call
    await kept.set_state(RUN, RunState.COMPLETED)
    assert await taken(kept) is None


async def test_what_brings_its_workers_down_fails_unless_it_gets_on(kept: Store, clock: Clock) -> None:
    stuck, going = await queued(kept, clock, "a1", "a2")
    for _ in range(MAX_TRIES):
        assert await taken(kept, ELSEWHERE) == stuck
        assert await taken(kept, ELSEWHERE) == going
        assert await kept.queue.beat(going, ELSEWHERE, got_on=True) is RequestedState.NONE
        clock.on(minutes=2)
        assert sorted(await kept.queue.reclaim("somebody/")) == [stuck, going]
    failed = await kept.run(stuck)
    assert (failed.state, (await job_of(kept, stuck)).state) == (RunState.FAILED, JobState.DONE)
    assert failed.error.startswith("the process of this run died 5 times in a row")
    assert (await job_of(kept, going)).tries == 1
    assert await taken(kept) == going


async def test_only_the_owner_of_a_run_writes_it(kept: Store, clock: Clock) -> None:
    (run_id,) = await queued(kept, clock, "a1")
    await taken(kept, ELSEWHERE)
    await kept.save(run_id, [a_result(0)], ELSEWHERE)
    clock.on(minutes=5)
    await kept.queue.reclaim("somebody/")
    with pytest.raises(Conflict, match=f"run {run_id} was taken over by another process"):
        await kept.save(run_id, [a_result(1)], ELSEWHERE)
    await taken(kept, "winner")
    for call in (
        kept.save(run_id, [a_result(1)], ELSEWHERE),
        kept.set_state(run_id, RunState.INTERRUPTED, owner=ELSEWHERE),
        kept.set_state(run_id, RunState.COMPLETED, owner=ELSEWHERE),
    ):
        with pytest.raises(Conflict, match="was taken over by another process"):
            await call
    await kept.save(run_id, [a_result(1)], "winner")
    assert await kept.finished_positions(run_id) == {0, 1}
    assert (await kept.run(run_id)).counts.passed == 2
    await kept.delete_run(run_id)
    with pytest.raises(NotFound, match="it may have been deleted"):
        await kept.save(run_id, [a_result(2)], "winner")
    assert await kept.queue.job(run_id) is None


async def test_a_task_that_nobody_here_knows_is_left_to_those_who_do(kept: Store, clock: Clock) -> None:
    odd, plain = await queued(kept, clock, "a1", "a1")
    await asked(kept, f"UPDATE jobs SET task = 'dream' WHERE run_id = '{odd}'")
    assert await taken(kept) == plain
    assert await taken(kept) is None


async def test_an_organisation_sees_its_own_queue(kept: Store) -> None:
    await kept.queue.add(replace(run(1), organization_id="acme"))
    await kept.queue.add(replace(run(2), organization_id="other"))
    await taken(kept)
    assert await kept.queue.lengths(AccessScope(organization_id="acme")) == QueueLengths(0, 1)
    assert await kept.queue.lengths(AccessScope(organization_id="other")) == QueueLengths(1, 0)
    assert await kept.queue.lengths() == QueueLengths(1, 1)
