"""A worker: takes runs from the queue and carries them out, as many at a time as it may. It says every few seconds that
it is alive and hears what is wished of its runs; what it cannot finish, somebody else takes over."""

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

from howsure.errors import ConfigInvalid, Conflict, HowsureError, InputError, NotFound, Unreachable
from howsure.model.job import Job, JobTask, RequestedState
from howsure.model.result import Result
from howsure.model.run import Run, RunState
from howsure.model.verdict import Verdict
from howsure.services.host.context import Host
from howsure.services.host.document_files import hide_folders, service_folders
from howsure.services.run.execute import is_out_of_budget, unreached_attempts
from howsure.services.run.start import carry_out
from howsure.services.workspace import Workspace
from howsure.store.leases import this_owner
from howsure.store.queue import MAX_TRIES

BEAT_SECONDS = 5.0
LOOK_SECONDS = 1.0
PATIENCE = 120
"""How often a worker tries to write down the end of a run while the database is away."""

log = logging.getLogger("howsure.worker")


class WorkerPace(Struct, frozen=True, kw_only=True):
    """How often a worker looks for runs, and says that it is there."""

    look: float = LOOK_SECONDS
    beat: float = BEAT_SECONDS


DEFAULT_PACE = WorkerPace()


class Worker:
    """`await Worker(host).run(stop)`, until `stop` is set: then its runs go back into the queue."""

    def __init__(self, host: Host, pace: WorkerPace = DEFAULT_PACE) -> None:
        self._host = host
        self._pace = pace
        self._process = this_owner("")
        self._working: dict[str, asyncio.Task[None]] = {}

    async def run(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            await self._look()
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), self._pace.look)
        for working in self._working.values():
            working.cancel()
        await asyncio.gather(*self._working.values(), return_exceptions=True)

    async def _look(self) -> None:
        """Take up what can be taken. A database that is away comes back: nothing is lost but time."""
        rules, queue = self._host.rules, self._host.store.queue
        try:
            for run_id in await queue.reclaim(self._process, list(self._working)):
                log.warning("run taken back: nobody works on it any more", extra={"run_id": run_id})
            while len(self._working) < rules.runs:
                owner = this_owner(f"worker-{uuid4().hex}")
                job = await queue.claim(owner, per_agent=rules.runs_per_agent, overall=rules.runs)
                if job is None:
                    return
                self._begin(job, owner)
        except InputError as error:
            log.error("the queue cannot be read: %s", error)

    def _begin(self, job: Job, owner: str) -> None:
        log.info("run taken up", extra={"run_id": job.run_id, "tries": job.tries + 1})
        working = asyncio.create_task(self._carry(job, owner))
        self._working[owner] = working
        working.add_done_callback(lambda _: self._working.pop(owner, None))

    async def _carry(self, job: Job, owner: str) -> None:
        """Work on a run until it ends, is stopped, or is somebody else's."""
        got_on = asyncio.Event()
        working = asyncio.create_task(self._work_on(job, owner, got_on))
        beating = asyncio.create_task(self._beat(job.run_id, owner, working, got_on))
        try:
            await asyncio.wait({working, beating}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # Also when this worker is told to stop.
            stopped = not working.done()
            working.cancel()
            await asyncio.wait({working})
            beating.cancel()
            await asyncio.wait({beating})
            wish = RequestedState.NONE if beating.cancelled() or beating.exception() else beating.result()
            await self._let_go(job, owner, working, wish, stopped=stopped)

    async def _let_go(
        self, job: Job, owner: str, working: asyncio.Task[None], wish: RequestedState | None, *, stopped: bool
    ) -> None:
        queue = self._host.store.queue
        broken = None if working.cancelled() else working.exception()
        if wish is None:
            log.warning("run let go: another worker has it", extra={"run_id": job.run_id})
        elif not stopped and not working.cancelled() and broken is None:
            log.info("run ended", extra={"run_id": job.run_id})
        elif wish is not RequestedState.NONE:
            await _stored(lambda: queue.finish(job.run_id, owner, wish))
        elif broken is not None:
            await self._broke(job, owner, broken)
        else:
            await _stored(lambda: queue.give_back(job.run_id, owner))

    async def _broke(self, job: Job, owner: str, broken: BaseException) -> None:
        """A run that cannot be carried out has failed, with the reason; what is our own fault is tried again first."""
        store, away = self._host.store, isinstance(broken, Unreachable)
        refused = isinstance(broken, HowsureError)
        log.error("run broke: %s", broken, extra={"run_id": job.run_id}, exc_info=None if refused else broken)
        if away or (not refused and job.tries + 1 < MAX_TRIES):
            await _stored(lambda: store.queue.give_back(job.run_id, owner, tried=not away))
            return
        folders = service_folders(self._host.work)
        said = (
            hide_folders(str(broken), folders)
            if refused
            else "the service broke while it worked on this run; its log says how"
        )
        await _stored(lambda: store.set_state(job.run_id, RunState.FAILED, error=said, owner=owner))

    async def _work_on(self, job: Job, owner: str, got_on: asyncio.Event) -> None:
        store = self._host.store
        run = await store.run(job.run_id)
        again = await self._positions(job.task, run)

        def note(saved: Sequence[Result]) -> None:
            if not got_on.is_set() and any(_is_done(job.task, result) for result in saved):
                got_on.set()

        await carry_out(self._host.work, store, run, owner, again, lambda _: note)

    async def _positions(self, task: JobTask, run: Run) -> set[int]:
        """The attempts to make again: those that errored, or those that the budget did not reach."""
        if task is JobTask.RETRY:
            return set(await self._host.store.positions(run.id, Verdict.ERRORED))
        return await unreached_attempts(self._host.store, run)

    async def _beat(
        self, run_id: str, owner: str, working: asyncio.Task[None], got_on: asyncio.Event
    ) -> RequestedState | None:
        """Until somebody wishes something, or the run is not ours any more (None). That it got on is said at once."""
        told = False
        while not working.done():
            await (asyncio.sleep(self._pace.beat) if told else _either(got_on, self._pace.beat))
            news = got_on.is_set() and not told
            try:
                wish = await self._host.store.queue.beat(run_id, owner, got_on=news)
            except InputError as error:
                log.error("the run's heartbeat cannot be stored: %s", error, extra={"run_id": run_id})
                await asyncio.sleep(self._pace.look)
                continue
            told = told or news
            if wish is not RequestedState.NONE:
                return wish
        return RequestedState.NONE


async def _either(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)


def _is_done(task: JobTask, result: Result) -> bool:
    """Whether nobody will try this case again when the run is taken up once more."""
    if task is JobTask.RETRY:
        return result.verdict is not Verdict.ERRORED
    return not is_out_of_budget(result)


async def _stored(do: Callable[[], Awaitable[object]]) -> None:
    """Do it, though the database be away for a while: a run that nobody lets go of would wait until we end."""
    for _ in range(PATIENCE):
        try:
            await do()
            return
        except (NotFound, Conflict) as error:
            log.warning("%s", error)
            return
        except ConfigInvalid as error:
            log.error("the queue cannot be written: %s", error)
            await asyncio.sleep(1.0)


GC_THRESHOLD = (10_000, 10, 10)


def tune_garbage_collection() -> None:
    """A command ends before what it left lying about matters, and looks for it hardly ever; a process that stays must.
    What is there by now stays with it: nobody need look at that again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLD)


async def work_until_stopped(work: Workspace, *, while_open: bool = False, pace: WorkerPace = DEFAULT_PACE) -> None:
    """Carry out runs until SIGTERM or SIGINT; with `while_open`, also until stdin is closed."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError):
            loop.add_signal_handler(number, stop.set)
    watching = asyncio.create_task(_closed(stop)) if while_open else None
    tune_garbage_collection()
    async with await work.store() as store:
        await Worker(Host(work, store), pace).run(stop)
    if watching is not None:
        watching.cancel()


async def _closed(stop: asyncio.Event) -> None:
    """Whoever holds the other end of our stdin was killed, or lets us go."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.read(1024):
        pass
    stop.set()
