"""Runs in processes of their own, so that no run can stop another: a worker starts them, assigns a run to each, and
gets a heartbeat every second. A process that is silent for too long, or dies, is replaced. The attempts that were under
way are then made one at a time, and one that kills its process again is stored as errored. A process that ended a run
cleanly is kept for the next one of the same organisation."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from tempfile import TemporaryFile
from threading import Thread
from threading import enumerate as running_threads
from time import sleep
from typing import IO

import msgspec
from msgspec import Struct, field

from howsure.config import ServiceSettings
from howsure.errors import ComputeTimeout, HowsureError, NotFound, PlanRefused, Unreachable
from howsure.model.job import Job, JobTask
from howsure.model.result import Result
from howsure.model.verdict import Verdict
from howsure.services.processes import end_process, kill_tree, limit_memory, peak_memory_mb
from howsure.services.run.execute import RunClaim, attempts_to_resume, is_out_of_budget
from howsure.services.run.start import carry_out, pinned_request
from howsure.services.workspace import Host, Workspace
from howsure.targets.function.calls import THREAD_NAME

START_SECONDS = 60.0
"""How long a process may take until its first heartbeat."""
TICK_SECONDS = 1.0
STOP_SECONDS = 1.5
"""How long a process that is told to stop may take, before it is killed."""
SLOTS, SLOT_BYTES = 1024, 8
LONGEST_REPORT = 1 << 20
LARGEST_KEPT_MB = 192
"""A process that has used more memory than this is not reused for another run."""
TICK, SAVED = b".\n", b"+\n"

log = logging.getLogger("howsure.worker")


class RunAssignment(Struct, frozen=True, kw_only=True):
    """The run that a process is to execute, as one line of JSON."""

    run_id: str
    owner: str
    memory_mb: int = 0
    suspects: tuple[int, ...] = ()
    stopped: dict[int, str] = field(default_factory=dict)


class RunOutcome(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a process ended a run. `error`: why the run could not be executed. `lost`: the process is silent or has
    ended. `reusable`: it may execute another run."""

    error: str = ""
    refused: bool = False
    unreachable: bool = False
    lost: str = ""
    reusable: bool = False

    def raise_error(self) -> None:
        if self.error:
            kind = Unreachable if self.unreachable else PlanRefused if self.refused else RuntimeError
            raise kind(self.error)


class AttemptSlots:
    """The attempts that a process has under way, in a file that outlives it. The process writes it, the worker reads
    it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def mark(self, slot: int, position: int | None) -> None:
        if slot < SLOTS:
            number = 0 if position is None else position + 1
            os.pwrite(self._descriptor, number.to_bytes(SLOT_BYTES, "little"), slot * SLOT_BYTES)

    def read(self) -> set[int]:
        raw = os.pread(self._descriptor, SLOTS * SLOT_BYTES, 0)
        numbers = (int.from_bytes(raw[at : at + SLOT_BYTES], "little") for at in range(0, len(raw), SLOT_BYTES))
        return {number - 1 for number in numbers if number}


class RunProcess:
    """A process that executes runs, seen from the worker. `file` holds the slots of its attempts; `under_way` are those
    that it had begun when it was lost."""

    def __init__(self, process: asyncio.subprocess.Process, file: IO[bytes], compute_seconds: float) -> None:
        self._process = process
        self._file = file
        self._slots = AttemptSlots(file.fileno())
        self._seconds = compute_seconds
        self._heard = False
        self.under_way: set[int] = set()

    @property
    def ended(self) -> bool:
        return self._process.returncode is not None

    async def execute(self, assignment: RunAssignment, got_on: asyncio.Event) -> RunOutcome:
        """Wait until the run is done, or the process is lost. `got_on` is set by the first result that stays."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(assignment) + b"\n")
        while True:
            try:
                async with asyncio.timeout(self._seconds if self._heard else max(START_SECONDS, self._seconds)):
                    line = await self._process.stdout.readline()
            except TimeoutError:
                self._kill()
                self.under_way = self._slots.read()
                return RunOutcome(lost=str(ComputeTimeout(self._seconds)))
            self._heard = True
            if not line:
                ended = await self._end_of_process()
                self.under_way = self._slots.read()
                return RunOutcome(lost=f"it ended the process that worked on it ({ended})")
            if line == SAVED:
                got_on.set()
            elif line != TICK:
                return msgspec.json.decode(line, type=RunOutcome)

    async def _end_of_process(self) -> str:
        code = await self._process.wait()
        names = {each.value: each.name for each in signal.Signals}
        return f"exit code {code}" if code >= 0 else f"signal {names.get(-code, str(-code))}"

    async def end(self) -> None:
        """Tell it to stop, by closing its stdin; after a moment it is killed, with all that it started."""
        await end_process(self._process, STOP_SECONDS, self._kill)
        self._file.close()

    def _kill(self) -> None:
        if not self.ended:
            kill_tree(self._process.pid)


class RunProcesses:
    """Executes jobs, each in a process of its own. The next process is started before it is needed; the one that was
    used last is kept for the same organisation."""

    def __init__(self, rules: ServiceSettings, flags: Sequence[str] = ()) -> None:
        self._rules = rules
        self._flags = tuple(flags)
        self._next = asyncio.create_task(self._start())
        self._used: tuple[str, RunProcess] | None = None

    async def __call__(self, host: Host, job: Job, owner: str, got_on: asyncio.Event) -> None:
        """Execute a job. When cancelled, its process is stopped."""
        suspects: set[int] = set()
        stopped: dict[int, str] = {}
        memory = self._rules.memory_of(job.organization_id)
        while True:
            assignment = RunAssignment(
                run_id=job.run_id, owner=owner, memory_mb=memory, suspects=tuple(sorted(suspects)), stopped=stopped
            )
            process = await self._take(job.organization_id)
            outcome = RunOutcome()
            try:
                outcome = await process.execute(assignment, got_on)
            finally:
                unused = self._keep(job.organization_id, process) if outcome.reusable else process
                if unused is not None:
                    await unused.end()
            outcome.raise_error()
            if not outcome.lost:
                return
            under_way = process.under_way
            log.warning("run process lost: %s", outcome.lost, extra={"run_id": job.run_id, "under_way": len(under_way)})
            if not under_way:
                raise RuntimeError(f"before any case was begun: {outcome.lost}")
            if len(under_way) == 1 and under_way <= suspects:
                stopped |= dict.fromkeys(under_way, outcome.lost)
                suspects -= under_way
            else:
                suspects = under_way

    async def _take(self, organization_id: str) -> RunProcess:
        if self._used and self._used[0] == organization_id and not self._used[1].ended:
            (_, process), self._used = self._used, None
            return process
        starting, self._next = self._next, asyncio.create_task(self._start())
        process = await starting
        return await self._start() if process.ended else process

    def _keep(self, organization_id: str, process: RunProcess) -> RunProcess | None:
        """Keep a process for another run of the organisation; returns the one that it replaces."""
        before, self._used = self._used, (organization_id, process)
        return before[1] if before else None

    async def _start(self) -> RunProcess:
        file = TemporaryFile()  # noqa: SIM115 (closed with the process)
        command = (sys.executable, "-m", "howsure", "worker", "--run-process", str(file.fileno()), *self._flags)
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LONGEST_REPORT,
            process_group=0,
            pass_fds=(file.fileno(),),
        )
        return RunProcess(process, file, self._rules.compute_seconds)

    async def close(self) -> None:
        await (await self._next).end()
        if self._used:
            await self._used[1].end()


async def serve_runs(work: Workspace, descriptor: int) -> None:
    """The main function of a run process: it executes the runs that its stdin names, one after the other, until stdin
    is closed. `descriptor` is the file with the slots of its attempts."""
    # What user code prints goes to the log, not among the reports.
    reports = os.dup(1)
    os.dup2(2, 1)
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    assigned: asyncio.Queue[bytes] = asyncio.Queue()
    Thread(target=_watch_stdin, args=(loop, assigned, task), daemon=True).start()
    ticking = asyncio.create_task(_tick(reports, work.settings.service.compute_seconds))
    with suppress(asyncio.CancelledError):
        async with await work.store() as store:
            while True:
                assignment = msgspec.json.decode(await assigned.get(), type=RunAssignment)
                outcome = await _carry_out(Host(work, store), assignment, AttemptSlots(descriptor), reports)
                os.write(reports, msgspec.json.encode(outcome) + b"\n")
    ticking.cancel()


def _watch_stdin(loop: asyncio.AbstractEventLoop, assigned: asyncio.Queue[bytes], task: asyncio.Task[None]) -> None:
    """In a thread, because the loop may be busy when stdin is closed: the process then ends, soon, whatever it does."""
    with open(0, "rb", closefd=False) as stdin, suppress(RuntimeError):  # the loop may be closed
        for line in stdin:
            loop.call_soon_threadsafe(assigned.put_nowait, line)
        loop.call_soon_threadsafe(task.cancel)
    sleep(STOP_SECONDS)
    kill_tree(os.getpid())


async def _tick(reports: int, compute_seconds: float) -> None:
    """Report that the event loop turns. If it does not, and the worker is gone, the system ends the process."""
    with suppress(BrokenPipeError):
        while True:
            os.write(reports, TICK)
            if hasattr(signal, "setitimer"):
                signal.setitimer(signal.ITIMER_REAL, compute_seconds + START_SECONDS)
            await asyncio.sleep(min(TICK_SECONDS, compute_seconds / 4))


async def _carry_out(host: Host, assignment: RunAssignment, slots: AttemptSlots, reports: int) -> RunOutcome:
    claim = RunClaim(owner=assignment.owner, suspects=assignment.suspects, stopped=assignment.stopped, mark=slots.mark)
    limit_memory(assignment.memory_mb)
    working = asyncio.create_task(execute_job(host, assignment.run_id, claim, lambda: os.write(reports, SAVED)))
    try:
        await asyncio.wait({working})
    finally:
        working.cancel()
        await asyncio.wait({working})
    error = working.exception()
    if isinstance(error, MemoryError):
        raise error
    if error is not None and not isinstance(error, HowsureError):
        log.error("run broke: %s", error, extra={"run_id": assignment.run_id}, exc_info=error)
    left_behind = any(thread.name.startswith(THREAD_NAME) for thread in running_threads())
    return RunOutcome(
        error="" if error is None else str(error) or type(error).__name__,
        refused=isinstance(error, HowsureError),
        unreachable=isinstance(error, Unreachable),
        reusable=error is None and not left_behind and peak_memory_mb() < LARGEST_KEPT_MB,
    )


async def execute_job(host: Host, run_id: str, claim: RunClaim, got_on: Callable[[], object]) -> None:
    """Make the missing attempts, those that the budget did not reach and, if requested, those that errored. `got_on` is
    called after the first result that is kept."""
    store = host.store
    job = await store.queue.job(run_id)
    if job is None:
        raise NotFound(f"run {run_id} is not in the queue")
    run = await store.run(run_id)
    retries, noted = job.task is JobTask.RETRY, False
    again = set(await store.positions(run.id, Verdict.ERRORED)) if retries else await attempts_to_resume(store, run)

    def note(saved: Sequence[Result]) -> None:
        nonlocal noted
        if not noted and any(
            result.verdict is not Verdict.ERRORED if retries else not is_out_of_budget(result) for result in saved
        ):
            noted = True
            got_on()

    again, request = again - set(claim.stopped), pinned_request(run, asks_anew=retries)
    await carry_out(host.work, store, run, claim, again, lambda _: note, request=request)
