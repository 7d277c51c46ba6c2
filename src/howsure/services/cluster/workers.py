"""The worker's side of a run on a cluster: its configuration, the context in which it works on shards with the ordinary
engine (the run planned once more from its pins, with store, judge, targets and leases open), and the two functions that
Ray calls. A process keeps its context and its event loop from one shard to the next. Ray is not imported here: handles
are passed in."""

from __future__ import annotations

import asyncio
import atexit
import gc
import os
from collections import Counter
from collections.abc import Collection, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self, TypeVar, cast
from uuid import uuid4

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from howsure.config import ServiceSettings, Settings
from howsure.dialects.datasets import digest
from howsure.engine.run import Attempt, run_attempts
from howsure.errors import ConfigInvalid, HowsureError, InputError
from howsure.model.result import Result
from howsure.model.run import DatasetPin, Run
from howsure.model.run_request import RUN_PREFIX
from howsure.services.cluster.coordinator import LeasedBudget, RateCoordinator, SharedCache, WorkerLeases, WorkerReport
from howsure.services.cluster.shards import Shard, is_cuttable, shard_cases, shard_positions
from howsure.services.files import address_problem, is_address, native_path
from howsure.services.host.document_files import is_reference
from howsure.services.run.execute import BATCH_SECONDS, FULL_BATCH, is_out_of_budget, open_targets, utc_now
from howsure.services.run.model_access import SharedAccess
from howsure.services.run.plan import Plan
from howsure.services.run.start import pinned_request, replan
from howsure.services.workspace import INTEGRITY_KEY, Workspace
from howsure.store.database import PostgresAddress, parse_address
from howsure.store.leases import machine_id
from howsure.store.store import Store

ADDRESS = "HOWSURE_DATABASE_URL"
SENT = -1


class WorkerConfig(Struct, frozen=True, kw_only=True):
    """What a worker needs to know: the run with its pins, the settings, and where things lie. It holds no secret: keys
    and the address of a database server come from the worker's own environment. `location` is the file that holds the
    runs, "" where a server does. `budget` is the current one, `cases` the number that the driver found. `traces`,
    `records`: calls, and replies of judges, are logged. `sizes`: the bytes of every dataset that workers read
    themselves, `SENT` for one whose cases are sent along."""

    run: Run
    settings: Settings
    folder: str
    beside: str
    plugins: tuple[str, ...]
    location: str
    budget: str
    cases: int
    caches: bool
    asks_anew: bool = False
    traces: bool = False
    records: bool = False
    sizes: tuple[int, ...] = ()

    @classmethod
    def of(cls, work: Workspace, plan: Plan, run: Run) -> Self:
        request = plan.request
        return cls(
            run=run,
            settings=replace(work.settings, database="", service=ServiceSettings(hosts=work.settings.service.hosts)),
            folder=str(work.folder.resolve()),
            beside=str(work.beside.resolve()),
            plugins=tuple(str(Path(file).resolve()) for file in work.plugins),
            location="" if database_server(work) else str(Path(str(parse_address(work.location))).resolve()),
            budget=request.budget,
            cases=plan.cases.total,
            caches=request.cache,
            asks_anew=request.asks_anew,
            traces=bool(request.trace),
            records=bool(request.record_judge),
            sizes=tuple((each.path.stat().st_size if is_cuttable(each) else SENT) for each in plan.cases.datasets),
        )

    def workplace(self) -> Workspace:
        """The run's workplace, on this machine. Plug-ins and evals are those that lie here."""
        database = self.location or os.environ.get(ADDRESS, "")
        if not database:
            raise ConfigInvalid(f"{ADDRESS} is not set there: it names the PostgreSQL that keeps the run")
        settings = replace(self.settings, database=database)
        work = Workspace.made(settings, Path(self.folder), Path(self.beside), self.plugins)
        work.integrity_key = os.environ.get(INTEGRITY_KEY, "")
        return work


def database_server(work: Workspace) -> str:
    """The address of the server that holds the runs; "" where a file does."""
    return str(work.location) if isinstance(parse_address(work.location), PostgresAddress) else ""


AttemptKey = tuple[str, str, int]
"""Case id, candidate and repeat."""


class _ReplyHead(Struct):
    case_id: str
    candidate: str = ""
    repeat: int = 1


_read_head = msgspec.json.Decoder(_ReplyHead).decode


class WorkerLogs:
    """A worker's own files for `--trace` and `--record-judge`; None if they were not requested. New lines go to the
    coordinator with the worker's reports, and from there to the driver."""

    def __init__(self, folder: Path, *, traces: bool, records: bool) -> None:
        self.trace = folder / "trace.jsonl" if traces else None
        self.record = folder / "record.jsonl" if records else None
        self._waiting: dict[AttemptKey, list[bytes]] = {}

    def traced(self) -> bytes:
        """The new lines about calls."""
        return _drained(self.trace)

    def recorded(self, stored: Iterable[Result]) -> bytes:
        """The judge replies that these results were made of. Other replies wait until their result is stored: an
        attempt that is lost with its worker is made again, and a recording must not hold two replies to one question.
        """
        for line in BytesIO(_drained(self.record)):
            head = _read_head(line)
            self._waiting.setdefault((head.case_id, head.candidate, head.repeat), []).append(line)
        attempts = [(result.case.id, result.candidate, result.repeat) for result in stored]
        return b"".join(line for each in attempts for line in self._waiting.pop(each, ()))


def _drained(path: Path | None) -> bytes:
    """Read the file and empty it. The writer appends whole lines."""
    if path is None or not path.is_file():
        return b""
    found = path.read_bytes()
    os.truncate(path, 0)
    return found


class ShardOutcome(Struct, frozen=True, kw_only=True):
    """The result of a shard: the number of attempts made, and whether the budget left some out. `error`: it could not
    be worked on, for a reason that the user can fix."""

    made: int = 0
    left_out: bool = False
    error: str = ""


class WorkerContext(Struct, frozen=True):
    """Everything that a worker process holds open for a run. `worker` is its name at the coordinator."""

    config: WorkerConfig
    worker: str
    coordinator: RateCoordinator
    store: Store
    plan: Plan
    cache: SharedCache | None
    leases: WorkerLeases
    notes: WorkerLogs
    stack: AsyncExitStack

    @classmethod
    async def opened(cls, config: WorkerConfig, coordinator: RateCoordinator, worker: str) -> Self:
        async with AsyncExitStack() as stack:
            work, run = config.workplace(), config.run
            store = await stack.enter_async_context(await work.store())
            budget = LeasedBudget(coordinator, worker) if config.budget else None
            leases, cache = WorkerLeases(coordinator, budget), SharedCache(coordinator) if config.caches else None
            # The folder of the logs until the coordinator has them: Ray ends workers without a warning.
            logs = config.traces or config.records
            folder = stack.enter_context(TemporaryDirectory(prefix="howsure-notes-")) if logs else ""
            notes = WorkerLogs(Path(folder), traces=config.traces, records=config.records)
            trace, record = str(notes.trace or ""), str(notes.record or "")
            request = pinned_request(run, budget=config.budget, cache=False, trace=trace, record_judge=record)
            shared = SharedAccess(cache=cache, budget=budget, limiters=leases.limiter)
            plan = await replan(work, store, run, request, stack, known_cases=config.cases, shared=shared)
            await stack.enter_async_context(open_targets(plan.candidates))
            return cls(config, worker, coordinator, store, plan, cache, leases, notes, stack.pop_all())
        raise AssertionError("unreachable")

    async def work_on(self, shard: Shard, owner: str, again: Collection[int] = ()) -> ShardOutcome:
        """Make the attempts of a shard that have no Result yet, and those to make again. Nothing is stored if the run
        belongs to another owner by now."""
        plan, run = self.plan, self.config.run
        near = shard_positions(shard, len(plan.candidates))
        done = await self.store.finished_positions(run.id, near) - set(again)
        every = ((case, candidate) for case in shard_cases(plan.cases, shard) for candidate in plan.candidates)
        todo = (Attempt(at, *each) for at, each in enumerate(every, start=near[0]) if at not in done)
        left, made, unreached = near[1] - near[0] + 1 - len(done), 0, False
        async with aclosing(run_attempts(todo, plan.rules, concurrency=plan.concurrency, clock=utc_now)) as stream:
            async for batch in stream:
                await self._saved(batch, owner)
                made += len(batch)
                unreached = unreached or any(map(is_out_of_budget, batch))
                if made < left and len(batch) < FULL_BATCH:
                    await asyncio.sleep(BATCH_SECONDS)
        # Return what is held: there may be no other shard for this worker.
        if self.cache is not None:
            await self.cache.flush()
        await self.leases.give_back()
        if traced := self.notes.traced():
            await self.coordinator.report(WorkerReport(worker=self.worker, verdicts={}, traced=traced))
        return ShardOutcome(made=made, left_out=unreached)

    async def _saved(self, batch: Sequence[Result], owner: str) -> None:
        await self.store.save(self.config.run.id, batch, owner)
        done = WorkerReport(
            worker=self.worker,
            verdicts=Counter(result.verdict.value for result in batch),
            spent=self.plan.models.spent(),
            traced=self.notes.traced(),
            recorded=self.notes.recorded(batch),
        )
        await self.coordinator.report(done)


T = TypeVar("T")
LARGE = 4 << 30
"""Bytes from which a file is too large to hash on every node."""
GC_THRESHOLD = (100_000, 50, 100)
"""The same as in the program itself: cases and results hold no cycles."""


class MachineReport(Struct, frozen=True, kw_only=True):
    """The result of checking one machine. `problems`: what is missing there. `silent`: it gave no answer, which is no
    problem if it is dead."""

    machine: str = ""
    problems: tuple[str, ...] = ()
    silent: bool = False


class RemoteCoordinator:
    """The coordinator behind its Ray handle: each method is called there."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handle, name).remote


class WorkerProcess:
    """What this process holds open: one event loop, and the context of the run it last worked on."""

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None
        self._context: WorkerContext | None = None
        self._key: tuple[bytes, str] | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        if self._runner is None:
            gc.set_threshold(*GC_THRESHOLD)
            self._runner = asyncio.Runner()
            atexit.register(self.end)
        return self._runner.run(work)

    async def context(self, packed: bytes, coordinator: Any, token: str) -> WorkerContext:
        """The context of this run. A driver that was restarted has another token, and so another context."""
        if self._context is None or self._key != (packed, token):
            await self.leave()
            config = msgspec.json.decode(packed, type=WorkerConfig)
            there = cast(RateCoordinator, RemoteCoordinator(coordinator))
            self._context = await WorkerContext.opened(config, there, f"{os.getpid()}-{uuid4().hex}")
            self._key = (packed, token)
        return self._context

    async def leave(self) -> None:
        context, self._context, self._key = self._context, None, None
        if context is not None:
            # A failure to close what an earlier run left open must not break the next run.
            with suppress(HowsureError, OSError):
                await context.stack.aclose()

    def end(self) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            runner.close()


PROCESS = WorkerProcess()


class ShardTask(Struct, frozen=True, kw_only=True):
    """A shard to work on, the owner of the run, and the attempts to make again."""

    shard: Shard
    owner: str
    again: tuple[int, ...] = ()


def work_on_shard(packed: bytes, coordinator: Any, token: str, task: bytes) -> ShardOutcome:
    """Work on one shard. What the user can fix comes back as data; anything else is raised, through Ray, as our
    fault."""

    async def work() -> ShardOutcome:
        found = msgspec.json.decode(task, type=ShardTask)
        try:
            context = await PROCESS.context(packed, coordinator, token)
            return await context.work_on(found.shard, found.owner, found.again)
        except InputError as error:
            return ShardOutcome(error=str(error))

    return PROCESS.run(work())


def check_machine(packed: bytes, coordinator: Any, token: str) -> MachineReport:
    """Whether this machine has what the run needs: the pinned files, plug-ins, keys, the store, the target."""
    problems: list[str] = []
    try:
        PROCESS.run(PROCESS.context(packed, coordinator, token))
    except InputError as error:
        problems.append(str(error))
    config = msgspec.json.decode(packed, type=WorkerConfig)
    pins = config.run.pins
    sizes = dict(zip(pins.datasets, config.sizes, strict=True)) if config.sizes else {}
    files = (*pins.datasets, *pins.responses, *pins.evals, *filter(None, [pins.criteria_from]))
    problems += filter(None, (_file_problem(pin, sizes.get(pin, 0)) for pin in files))
    return MachineReport(machine=machine_id(), problems=tuple(dict.fromkeys(problems)))


def _file_problem(pin: DatasetPin, size: int) -> str:
    """The problem with one file. `size`: its bytes on the driver; 0 where unknown."""
    if size == SENT or is_reference(pin.path) or pin.path.startswith(RUN_PREFIX):
        return ""
    if is_address(pin.path):
        return address_problem(pin.path)
    path = Path(native_path(pin.path))
    if not path.is_file():
        return f"no such file: {path}"
    try:
        # Of a very large file the bytes of each shard are hashed when they are read, which is soon enough.
        same = path.stat().st_size == size if size >= LARGE else digest(path) == pin.sha256
        return "" if same else f"{path} is another file than the driver's"
    except InputError as error:
        return str(error)
