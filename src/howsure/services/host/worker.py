"""The worker: it takes runs from the queue and executes each in a process of its own, up to the limits of the operator.
Every few seconds it renews the lease of each run and reads what state is requested; runs that it cannot finish are
taken over by another worker."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from uuid import uuid4

from msgspec import Struct

from howsure.errors import ConfigInvalid, Conflict, HowsureError, InputError, NotFound, Unreachable, message_of
from howsure.model.job import Job, RequestedState
from howsure.model.run import RunState
from howsure.services.host.document_files import hide_folders, service_folders
from howsure.services.host.run_processes import RunProcesses, execute_job
from howsure.services.run.execute import RunClaim, check_budgets
from howsure.services.workspace import Host, Workspace
from howsure.store.leases import this_owner
from howsure.store.queue import MAX_TRIES

WRITE_TRIES = 120
"""How often a worker tries to store the end of a run while the database is unreachable."""
GC_THRESHOLD = (10_000, 10, 10)

log = logging.getLogger("howsure.worker")


class WorkerPace(Struct, frozen=True, kw_only=True):
    """Seconds between two looks into the queue, and between two heartbeats: a request to stop is seen after one of
    these at the latest."""

    look: float = 1.0
    beat: float = 2.0


DEFAULT_PACE = WorkerPace()

CarryJob = Callable[[Host, Job, str, asyncio.Event], Awaitable[None]]
"""Executes a job for an owner, and sets the event after the first result that is kept."""


async def carry_here(host: Host, job: Job, owner: str, got_on: asyncio.Event) -> None:
    """Execute a job in this process."""
    await execute_job(host, job.run_id, RunClaim(owner=owner), got_on.set)


class Worker:
    """`await Worker(host).run(stop)` works until `stop` is set; unfinished runs then go back into the queue."""

    def __init__(self, host: Host, pace: WorkerPace = DEFAULT_PACE, carry: CarryJob = carry_here) -> None:
        self._host = host
        self._pace = pace
        self._carry = carry
        self._process = this_owner("")
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def run(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            await self._claim_runs()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pace.look):
                    await stop.wait()
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _claim_runs(self) -> None:
        """Claim runs up to the limit. While the database is unreachable, the worker waits."""
        rules, queue = self._host.rules, self._host.store.queue
        try:
            for run_id in await queue.reclaim(self._process, list(self._tasks)):
                log.warning("run taken back: nobody works on it any more", extra={"run_id": run_id})
            while len(self._tasks) < rules.runs:
                owner = this_owner(f"worker-{uuid4().hex}")
                job = await queue.claim(
                    owner,
                    per_agent=rules.runs_per_agent,
                    overall=rules.runs,
                    per_organization=rules.runs_of,
                )
                if job is None:
                    return
                self._begin(job, owner)
        except InputError as error:
            log.error("the queue cannot be read: %s", error)

    def _begin(self, job: Job, owner: str) -> None:
        log.info("run taken up", extra={"run_id": job.run_id, "tries": job.tries + 1})
        self._tasks[owner] = asyncio.create_task(self._execute(job, owner))
        self._tasks[owner].add_done_callback(lambda _: self._tasks.pop(owner, None))

    async def _execute(self, job: Job, owner: str) -> None:
        """Execute a run until it ends, is stopped, or another worker has taken it over."""
        got_on = asyncio.Event()
        working = asyncio.ensure_future(self._carry(self._host, job, owner, got_on))
        beating = asyncio.create_task(self._heartbeat(job.run_id, owner, working, got_on))
        try:
            await asyncio.wait({working, beating}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # Also when this worker is stopped.
            stopped = not working.done()
            working.cancel()
            await asyncio.wait({working})
            beating.cancel()
            await asyncio.wait({beating})
            requested = RequestedState.NONE if beating.cancelled() or beating.exception() else beating.result()
            queue = self._host.store.queue
            broken = None if working.cancelled() else working.exception()
            if requested is None:
                log.warning("run let go: another worker has it", extra={"run_id": job.run_id})
            elif not stopped and not working.cancelled() and broken is None:
                log.info("run ended", extra={"run_id": job.run_id})
            elif requested is not RequestedState.NONE:
                await _store_end(lambda: queue.finish(job.run_id, owner, requested))
            elif broken is not None:
                await self._fail(job, owner, broken)
            else:
                await _store_end(lambda: queue.give_back(job.run_id, owner))

    async def _fail(self, job: Job, owner: str, broken: BaseException) -> None:
        """Mark a run as failed, with the reason. After a bug of ours, or while the database is unreachable, it goes
        back into the queue first."""
        store, unreachable = self._host.store, isinstance(broken, Unreachable)
        refused = isinstance(broken, HowsureError)
        log.error("run broke: %s", broken, extra={"run_id": job.run_id}, exc_info=None if refused else broken)
        if unreachable or (not refused and job.tries + 1 < MAX_TRIES):
            await _store_end(lambda: store.queue.give_back(job.run_id, owner, tried=not unreachable))
            return
        folders = service_folders(self._host.work)
        reason = (
            hide_folders(message_of(broken), folders)
            if refused
            else "the service broke while it worked on this run; its log says how"
        )
        await _store_end(lambda: store.set_state(job.run_id, RunState.FAILED, error=reason, owner=owner))

    async def _heartbeat(
        self, run_id: str, owner: str, working: asyncio.Future[None], got_on: asyncio.Event
    ) -> RequestedState | None:
        """Renew the lease until another state is requested, or until another worker has the run (None). The first
        finished result is reported at once."""
        reported = False
        while not working.done():
            if reported:
                await asyncio.sleep(self._pace.beat)
            else:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._pace.beat):
                        await got_on.wait()
            news = got_on.is_set() and not reported
            try:
                requested = await self._host.store.queue.beat(run_id, owner, got_on=news)
            except InputError as error:
                log.error("the run's heartbeat cannot be stored: %s", error, extra={"run_id": run_id})
                await asyncio.sleep(self._pace.look)
                continue
            reported = reported or news
            if requested is not RequestedState.NONE:
                return requested
        return RequestedState.NONE


async def _store_end(do: Callable[[], Awaitable[object]]) -> None:
    """Try until the database is reachable again: a run that is not released would wait until this process ends."""
    for _ in range(WRITE_TRIES):
        try:
            await do()
            return
        except (NotFound, Conflict) as error:
            log.warning("%s", error)
            return
        except ConfigInvalid as error:
            log.error("the queue cannot be written: %s", error)
            await asyncio.sleep(1.0)


def tune_garbage_collection() -> None:
    """Settings for a process that runs for weeks: commands hardly collect garbage, because they end soon. The objects
    that exist by now are never freed, so the collector skips them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLD)


async def work_until_stopped(work: Workspace, *, while_open: bool = False, flags: Sequence[str] = ()) -> None:
    """Execute runs until SIGTERM or SIGINT; with `while_open`, also until stdin is closed. `flags` are passed on to the
    processes of the runs."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError):
            loop.add_signal_handler(number, stop.set)
    watching = asyncio.create_task(_stop_when_closed(stop)) if while_open else None
    tune_garbage_collection()
    check_budgets(work.settings.service)
    async with await work.store() as store:
        processes = RunProcesses(work.settings.service, flags)
        try:
            await Worker(Host(work, store), carry=processes).run(stop)
        finally:
            await processes.close()
    if watching is not None:
        watching.cancel()


async def _stop_when_closed(stop: asyncio.Event) -> None:
    """Stop when stdin is closed: the process that started this one has ended, or wants it to end."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.read(1024):
        pass
    stop.set()
