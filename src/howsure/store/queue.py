"""The queue of runs that workers execute. A run is stored before it is work; which worker has it, and its heartbeat,
are in `runs` (see `leases.py`). Claiming is one transaction and costs the same however many runs there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from math import inf
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from howsure.errors import Conflict, NotFound
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.job import Job, JobState, JobTask, QueueLengths, RequestedState
from howsure.model.run import Run, RunState
from howsure.store import runs as run_queries
from howsure.store.database import StorePart, fetch_rows, not_idempotent, take_lock
from howsure.store.leases import lease_is_held, renew_lease
from howsure.store.schema import jobs, runs
from howsure.store.summaries import store_counts
from howsure.store.webhooks import announce_end

ENDED_STATES = (RunState.COMPLETED.value, RunState.FAILED.value, RunState.OUT_OF_BUDGET.value)
CLAIM_LOCK = 1
MAX_TRIES = 5
"""How often a run is tried whose worker dies before anything more of it is finished."""
WORKERS_DIED = (
    "the process of this run died {} times in a row before it finished another case; "
    "the worker's log may say why, and resuming the run tries again"
)
TASKS = [task.value for task in JobTask]
STATES = {RequestedState.PAUSE: RunState.PAUSED, RequestedState.CANCEL: RunState.CANCELLED}


OrganizationLimit = Callable[[str], float]
"""How many runs of an organisation may be worked on at a time."""


class RunQueue(StorePart):
    """Runs that wait for a worker, and those that one has taken."""

    async def add(self, run: Run, request: bytes = b"{}") -> None:
        """Create a run, and queue it: both or neither."""
        await self._database.write(_add, run, request, self._clock())

    async def job(self, run_id: str) -> Job | None:
        """None for a run that is not the service's own."""
        return await self._database.read(_job, run_id)

    async def own(self, run_ids: Sequence[str]) -> set[str]:
        """Those of these runs that are the service's own."""
        own = select(jobs.c.run_id).where(jobs.c.run_id.in_(run_ids))
        return {row.run_id for row in await self._database.read(fetch_rows, own)} if run_ids else set()

    async def claim(
        self, owner: str, *, per_agent: int, overall: int, per_organization: OrganizationLimit = lambda _: inf
    ) -> Job | None:
        """Take the run that has waited longest and whose agent and organisation are below their limits; None if there
        is none. Runs without an agent or an organisation are limited by the other numbers alone."""
        return await self._database.write(_claim, owner, (per_agent, overall, per_organization), self._clock())

    async def reclaim(self, process: str, working: Collection[str] = (), most: int = MAX_TRIES) -> list[str]:
        """Requeue runs whose worker was killed or sent no heartbeat for too long. Of the runs that this `process`
        claimed, only the owners in `working` are still at work. A run that was tried `most` times fails."""
        return await self._database.write(_reclaim, (process, frozenset(working)), most, self._clock())

    async def beat(self, run_id: str, owner: str, *, got_on: bool = False) -> RequestedState | None:
        """Renew the lease and return what was requested meanwhile; None: another worker has the run now, so leave it
        alone. `got_on`: something more was finished, so the count of tries starts again."""
        return await self._database.write(_beat, run_id, owner, got_on, self._clock())

    async def finish(self, run_id: str, owner: str, wish: RequestedState) -> None:
        """Release a run, as was requested. A run that ends is released by itself."""
        await self._database.write(_finish, run_id, owner, wish, self._clock())

    async def give_back(self, run_id: str, owner: str, *, tried: bool = False) -> None:
        """Put it back: because this worker is stopping, or because it `tried`, and broke."""
        await self._database.write(_give_back, run_id, owner, tried, self._clock())

    async def wish(self, run_id: str, wish: RequestedState) -> RunState:
        """Request a pause or an end, and return the state of now: a run without a worker stops at once."""
        return await self._database.write(_wish, run_id, wish, self._clock())

    async def again(self, run_id: str, task: JobTask) -> None:
        """Queue a run that has ended, was paused or was interrupted; Conflict where it waits or is worked on."""
        await self._database.write(_again, run_id, task, self._clock())

    async def lengths(self, within: AccessScope = EVERYWHERE) -> QueueLengths:
        live_states = (JobState.QUEUED.value, JobState.RUNNING.value)
        live = select(jobs.c.state, func.count()).where(jobs.c.state.in_(live_states))
        if within.organization_id is not None:
            live = live.where(jobs.c.organization_id == within.organization_id)
        numbers: dict[str, int] = dict(await self._database.read(fetch_rows, live.group_by(jobs.c.state)))
        return QueueLengths(*(numbers.get(state, 0) for state in live_states))


@not_idempotent(lambda connection, _, run, *rest: _job(connection, run.id) is not None)
def _add(connection: Connection, run: Run, request: bytes, now: datetime) -> None:
    run_queries.create_run(connection, run)
    values = {
        "run_id": run.id,
        "organization_id": run.organization_id,
        "agent_id": run.pins.agent_key,
        "state": JobState.QUEUED.value,
        "wish": RequestedState.NONE.value,
        "task": JobTask.ATTEMPT.value,
        "tries": 0,
        "queued_at": now,
        "request": request,
    }
    connection.execute(insert(jobs).values(values))


def _job(connection: Connection, run_id: str) -> Job | None:
    row = connection.execute(select(jobs).where(jobs.c.run_id == run_id)).first()
    return None if row is None else _read(row)


def _read(row: Any) -> Job:
    kinds = {"state": JobState(row.state), "wish": RequestedState(row.wish), "task": JobTask(row.task)}
    return Job(**{**row._mapping, **kinds})


def _is_claimed(connection: Connection, job: Job, owner: str, _: object, now: datetime) -> bool:
    """Whether it is as we left it; another worker may have claimed it since."""
    ours = (runs.c.id == job.run_id, runs.c.owner == owner, runs.c.heartbeat_at == now)
    return connection.execute(select(runs.c.id).where(*ours)).first() is not None


@not_idempotent(_is_claimed)
def _claim(connection: Connection, owner: str, limits: tuple[int, int, OrganizationLimit], now: datetime) -> Job | None:
    per_agent, overall, per_organization = limits
    # Two workers that count at the same time would claim one run too many.
    take_lock(connection, CLAIM_LOCK)
    running = select(jobs.c.agent_id, jobs.c.organization_id).where(jobs.c.state == JobState.RUNNING.value)
    busy = connection.execute(running).all()
    if len(busy) >= overall:
        return None
    agents, organizations = Counter(job.agent_id for job in busy), Counter(job.organization_id for job in busy)
    full = [name for name, number in agents.items() if name and number >= per_agent]
    waits = [name for name, number in organizations.items() if name and number >= per_organization(name)]
    # Tasks of a newer Howsure are left to workers that know them.
    known = (jobs.c.state == JobState.QUEUED.value, jobs.c.task.in_(TASKS))
    waiting = select(jobs).where(*known, jobs.c.agent_id.not_in(full), jobs.c.organization_id.not_in(waits))
    oldest = waiting.order_by(jobs.c.queued_at, jobs.c.run_id).limit(1)
    # Another worker is claiming the ones that are locked.
    job = connection.execute(oldest.with_for_update(skip_locked=True)).first()
    if job is None:
        return None
    _change(connection, job.run_id, {"state": JobState.RUNNING.value, "tries": jobs.c.tries + 1})
    taken = {"owner": owner, "heartbeat_at": now, "state": RunState.RUNNING.value}
    run_queries.change_run(connection, job.run_id, taken)
    return _read(job)


def _reclaim(connection: Connection, ours: tuple[str, frozenset[str]], most: int, now: datetime) -> list[str]:
    """Few runs are worked on at a time, so each is checked."""
    known = (jobs.c.run_id, jobs.c.wish, jobs.c.tries, runs.c.owner, runs.c.heartbeat_at, runs.c.state)
    worked_on = select(*known).join(runs, runs.c.id == jobs.c.run_id).where(jobs.c.state == JobState.RUNNING.value)
    # Locked until we are done, so that no other process requeues it after it was claimed again. A row that is locked
    # now belongs to a worker that is alive.
    locked = worked_on.with_for_update(skip_locked=True)
    lost = [job for job in connection.execute(locked) if _is_lost(job, ours, now)]
    for job in lost:
        wish, ended = RequestedState(job.wish), job.state in ENDED_STATES
        if wish is RequestedState.NONE and not ended and job.tries >= most:
            announce_end(connection, job.run_id, RunState.FAILED, now)
            failed = {"state": RunState.FAILED.value, "owner": None, "error": WORKERS_DIED.format(job.tries)}
            run_queries.change_run(connection, job.run_id, failed)
            store_counts(connection, job.run_id)
            end_job(connection, job.run_id)
        else:
            # It may have ended, and its worker was killed before it could store that here.
            _stop(connection, job.run_id, wish, {"state": (JobState.DONE if ended else JobState.QUEUED).value}, now)
    return [job.run_id for job in lost]


def _is_lost(job: Any, ours: tuple[str, frozenset[str]], now: datetime) -> bool:
    process, working = ours
    if job.owner is not None and job.owner.startswith(process):
        return job.owner not in working
    return not lease_is_held(job.owner, job.heartbeat_at, now)


def _stop(connection: Connection, run_id: str, wish: RequestedState, otherwise: dict[str, Any], now: datetime) -> None:
    """Stop a run as was requested; apply `otherwise` where nothing was."""
    if wish is RequestedState.NONE:
        _change(connection, run_id, otherwise)
        if otherwise["state"] == JobState.QUEUED.value:
            run_queries.change_run(connection, run_id, {"owner": None, "state": RunState.PENDING.value})
        return
    _change(connection, run_id, {"state": JobState.HELD.value, "wish": RequestedState.NONE.value})
    ended = {"completed_at": now} if wish is RequestedState.CANCEL else {}
    run_queries.change_run(connection, run_id, {"owner": None, "state": STATES[wish].value, **ended})


def _beat(connection: Connection, run_id: str, owner: str, got_on: bool, now: datetime) -> RequestedState | None:
    if not renew_lease(connection, run_id, now, owner):
        # We may have released it just now, at its end.
        ended = select(runs.c.id).where(runs.c.id == run_id, runs.c.owner.is_(None), runs.c.state.in_(ENDED_STATES))
        return None if connection.execute(ended).first() is None else RequestedState.NONE
    if got_on:
        _change(connection, run_id, {"tries": 1})
    return RequestedState(connection.scalar(select(jobs.c.wish).where(jobs.c.run_id == run_id)) or "")


def end_job(connection: Connection, run_id: str) -> None:
    """The run has ended: it is done, in the same transaction. Nothing happens to a run that is not the service's."""
    done = {"state": JobState.DONE.value, "wish": RequestedState.NONE.value, "task": JobTask.ATTEMPT.value}
    _change(connection, run_id, done)


def _finish(connection: Connection, run_id: str, owner: str, wish: RequestedState, now: datetime) -> None:
    if _is_mine(connection, run_id, owner):
        _stop(connection, run_id, wish, {"state": JobState.DONE.value}, now)


def _give_back(connection: Connection, run_id: str, owner: str, tried: bool, now: datetime) -> None:
    if _is_mine(connection, run_id, owner):
        tries = jobs.c.tries if tried else jobs.c.tries - 1
        _stop(connection, run_id, RequestedState.NONE, {"state": JobState.QUEUED.value, "tries": tries}, now)


def _is_mine(connection: Connection, run_id: str, owner: str) -> bool:
    """Whether the run is ours to release: running, with us or nobody as its owner. Locked until the transaction
    ends."""
    who = connection.execute(select(runs.c.owner, runs.c.state).where(runs.c.id == run_id).with_for_update()).first()
    state = connection.scalar(select(jobs.c.state).where(jobs.c.run_id == run_id))
    ours = who is not None and who.owner in (owner, None) and who.state not in ENDED_STATES
    return ours and state == JobState.RUNNING.value


def _wish(connection: Connection, run_id: str, wish: RequestedState, now: datetime) -> RunState:
    job = _lock_job(connection, run_id)
    if job.state == JobState.DONE.value:
        raise Conflict(f"run {run_id} has ended: there is nothing to {wish.value}")
    if job.state == JobState.HELD.value and wish is RequestedState.PAUSE:
        raise Conflict(f"run {run_id} is not in the queue: there is nothing to pause")
    if job.state == JobState.RUNNING.value:
        _change(connection, run_id, {"wish": wish.value})
        return RunState.RUNNING
    _stop(connection, run_id, wish, {}, now)
    return STATES[wish]


def _again(connection: Connection, run_id: str, task: JobTask, now: datetime) -> None:
    job = _lock_job(connection, run_id)
    if job.state in (JobState.QUEUED.value, JobState.RUNNING.value):
        raise Conflict(f"run {run_id} is {job.state}: wait for its end, or cancel it")
    queued = {"state": JobState.QUEUED.value, "task": task.value, "queued_at": now, "wish": RequestedState.NONE.value}
    _change(connection, run_id, {**queued, "tries": 0})
    run_queries.change_run(connection, run_id, {"state": RunState.PENDING.value, "error": "", "completed_at": None})


def _lock_job(connection: Connection, run_id: str) -> Any:
    job = connection.execute(select(jobs).where(jobs.c.run_id == run_id).with_for_update()).first()
    if job is None:
        raise NotFound(f"run {run_id} is not one of the service's own: it was started by `howsure run`")
    return job


def _change(connection: Connection, run_id: str, values: dict[str, Any]) -> None:
    connection.execute(update(jobs).where(jobs.c.run_id == run_id).values(values))
