"""Executing a run: the engine yields Results, and the store saves them as they come; here or on a cluster, with the
targets open, within the budget of the organisation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from importlib import import_module
from importlib.util import find_spec
from secrets import randbits
from time import monotonic
from typing import TYPE_CHECKING
from uuid import uuid4

from msgspec import Struct, field
from msgspec.structs import replace

from howsure.config import ServiceSettings
from howsure.engine.candidates import CandidateRepeat
from howsure.engine.run import Clock, Mark, attempts_left, hear_nothing, mark_nothing, run_attempts, stopped_result
from howsure.errors import (
    CaseFailure,
    ConfigInvalid,
    Conflict,
    HowsureError,
    InputError,
    PlanRefused,
    TargetFailed,
    Unreachable,
    boundary,
    message_of,
)
from howsure.llm.budget import CommonBudget, parse_budget
from howsure.model.result import BUDGET, DECIDED_EARLY, Result
from howsure.model.run import Counts, DatasetPin, ModelSpending, Pins, Run, RunState
from howsure.model.verdict import Verdict
from howsure.services.files import clean_text
from howsure.services.run.plan import RAY, Plan
from howsure.services.workspace import Workspace
from howsure.store.leases import this_owner
from howsure.store.store import Store
from howsure.targets.base import CheckableTarget, StartableTarget, Target

if TYPE_CHECKING:
    from howsure.services.run.until_sure import SureRun

UNTIL_SURE = "howsure.services.run.until_sure"
"""Loaded for a run that stops when it is sure: numpy takes as long to import as a small run takes."""
BATCH_SECONDS = 0.1
"""Seconds in which Results gather before they are saved: a transaction for each would cost more than the case itself.
What a crash can lose is a tenth of a second's work."""
FULL_BATCH = 500
"""Results that are saved at once."""
SPENDING_SECONDS = 5.0
"""How often, in seconds, the spending of a running run is stored, so that a killed process does not lose it."""


def utc_now() -> datetime:
    return datetime.now(UTC)


def steady_clock() -> Clock:
    """The time of day, counted from now by a monotonic clock, so that times are in order even if the clock is set."""
    began, start = utc_now(), monotonic()
    return lambda: began + timedelta(seconds=monotonic() - start)


def new_run(plan: Plan, now: datetime) -> Run:
    files = [pin.path.rsplit("/", 1)[-1] for pin in plan.pins.datasets]
    default = "+".join(files[:3]) + (f"+{len(files) - 3}" if len(files) > 3 else "")
    return Run(
        id=str(uuid4()),
        name=clean_text(plan.request.name) or default,
        state=RunState.PENDING,
        pins=replace(plan.pins, order_seed=randbits(32)) if plan.request.until_sure else plan.pins,
        counts=Counts(total=plan.total),
        created_at=now,
    )


class RunClaim(Struct, frozen=True, kw_only=True):
    """Which process executes a run, and what happened in earlier ones. `owner` is the process that has claimed it
    already ("": none); `suspects` are the attempts that were under way when a process was lost; `stopped` are those
    that killed one, each with the reason. `mark` is told which attempt begins."""

    owner: str = ""
    suspects: Collection[int] = ()
    stopped: Mapping[int, str] = field(default_factory=dict)
    mark: Mark = mark_nothing


UNCLAIMED = RunClaim()


class RunHandle(Struct, frozen=True, kw_only=True):
    """A run that is ready to execute: its plan, and how many of its attempts have a Result. `again` are attempts to
    repeat."""

    run: Run
    plan: Plan
    done: int = 0
    again: Collection[int] = ()
    claim: RunClaim = UNCLAIMED


Progress = Callable[[Sequence[Result]], None]
"""Is told of Results as they are saved."""


async def execute(store: Store, handle: RunHandle, progress: Progress) -> Run:
    """Make every attempt that has no Result yet (and those to make again), saving as they come; the run as it is."""
    run, plan, spent = handle.run, handle.plan, handle.plan.models.spent
    owner, clock = handle.claim.owner or this_owner(uuid4().hex), steady_clock()
    await store.claim(run.id, owner, clock())
    done = await store.finished_positions(run.id) - set(handle.again)
    await store.set_state(run.id, RunState.RUNNING, started_at=run.started_at or clock(), owner=owner)
    if stopped := handle.claim.stopped:
        attempts = attempts_left(plan.cases.read(), plan.candidates, only=stopped)
        results = (stopped_result(each, stopped[each.position]) for each in attempts)
        await store.save(run.id, [replace(each, created_at=clock()) for each in results], owner)
        done |= set(stopped)
    sure: SureRun | None = None
    if plan.request.until_sure:
        sure = await import_module(UNTIL_SURE).open_sure_run(store, run, plan, handle.again)
    left, unreached, stored = plan.total - len(done), False, monotonic()
    # The batches are closed in any case: no target may be asked after the run has ended.
    async with (
        storing_end(store, run.id, owner, spent),
        aclosing(_batches(plan, handle.claim, done, clock, sure)) as stream,
    ):
        async for batch in stream:
            await store.save(run.id, batch, owner)
            unreached = unreached or any(map(is_out_of_budget, batch))
            progress(batch)
            left -= len(batch)
            if monotonic() - stored > SPENDING_SECONDS and (amount := spent()) is not None:
                await store.set_state(run.id, RunState.RUNNING, spent=amount, owner=owner)
                stored = monotonic()
            if left > 0 and len(batch) < FULL_BATCH:
                await asyncio.sleep(BATCH_SECONDS)
        if sure is not None:
            for batch in sure.unasked(done, clock()):
                await store.save(run.id, batch, owner)
                progress(batch)
            await store.change_pins(run.id, sure=sure.rulings())
            unreached = unreached and not sure.stops
    for note in await asyncio.to_thread(lambda: list(growth_notes(plan))):
        await store.add_note(run.id, note)
    return await finish_run(store, run, spent(), owner, clock(), unreached=unreached)


@asynccontextmanager
async def storing_end(
    store: Store, run_id: str, owner: str, spent: Callable[[], ModelSpending | None]
) -> AsyncIterator[None]:
    """Store that a run was interrupted or has failed, if the work inside ends that way."""
    try:
        yield
    except asyncio.CancelledError:
        with suppress(Conflict):
            await store.set_state(run_id, RunState.INTERRUPTED, spent=spent(), owner=owner)
        raise
    except Unreachable:
        # The run has not failed: it is interrupted, and can go on when its database is there again.
        raise
    except HowsureError as error:
        with suppress(Conflict):
            await store.set_state(run_id, RunState.FAILED, error=message_of(error), spent=spent(), owner=owner)
        raise


async def _batches(
    plan: Plan, claim: RunClaim, done: set[int], clock: Clock, sure: SureRun | None
) -> AsyncGenerator[list[Result]]:
    """Results as they finish: first the suspects, one at a time, so that one that kills its process is known; then all
    others, or as many as make the run `sure`."""
    hear = sure.watch.hear if sure else hear_nothing
    suspects = set(claim.suspects) - done
    rounds = [(done, suspects, 1)] if suspects else []
    for finished, only, concurrency in (*rounds, (done | suspects, None, plan.concurrency)):
        if sure is not None and only is None:
            attempts = sure.attempts(finished)
        else:
            attempts = attempts_left(plan.cases.read(), plan.candidates, finished, only)
        stream = run_attempts(attempts, plan.rules, concurrency=concurrency, clock=clock, mark=claim.mark, hear=hear)
        async with aclosing(stream) as batches:
            async for batch in batches:
                yield batch


def growth_notes(plan: Plan) -> Iterator[str]:
    """What was added to the datasets while the run went on, in a sentence for each."""
    for dataset in plan.cases.datasets:
        path, report = dataset.path, dataset.report
        with suppress(OSError):
            if report.size and (added := path.stat().st_size - report.size) > 0:
                yield (
                    f"{path.name} has grown by {added:,} bytes since the run was planned: the {report.cases:,} cases"
                    " that it held then were run, and what was added was not"
                )


async def finish_run(
    store: Store, run: Run, spent: ModelSpending | None, owner: str, now: datetime, *, unreached: bool
) -> Run:
    """The run with its end written down. `unreached`: the budget was reached before all of it was tried."""
    # A retry makes only what errored again: what the budget did not reach before it is still to be made.
    if not unreached and run.state is not RunState.PENDING:
        unreached = bool(await unreached_attempts(store, run))
    state = RunState.OUT_OF_BUDGET if unreached else RunState.COMPLETED
    await store.set_state(run.id, state, completed_at=now, spent=spent, owner=owner)
    return await store.run(run.id)


def is_out_of_budget(result: Result) -> bool:
    """Whether the budget was reached before the case was tried to its end."""
    return result.verdict is Verdict.SKIPPED and any(reason.startswith(f"{BUDGET}:") for reason in result.reasons)


def check_unchanged(run: Run, pins: Pins) -> None:
    """A run goes on only with what it began with."""
    before = run.pins
    files = zip(_files(before), _files(pins), strict=True)
    changed = [f"{new.path} has changed" for old, new in files if old.sha256 != new.sha256]
    if before.judge_sha256 != pins.judge_sha256:
        changed.append(f"the judge {before.request.judge} has changed")
    brought = set(before.plugins) ^ set(pins.plugins)
    changed += sorted({f"{each.rsplit(' ', 1)[0]} has changed, or is not there" for each in brought})
    if before.target_sha256 != pins.target_sha256:
        changed.append(f"how the target {before.target_text} is asked has changed")
    if before.simulator_sha256 != pins.simulator_sha256:
        changed.append(f"the simulated user {before.request.simulator} has changed")
    if before.policy_sha256 != pins.policy_sha256:
        changed.append("the profiles have changed")
    if changed:
        raise Conflict(f"run {run.id} began with other data: {'; '.join(changed)}. Start a new run.")


def _files(pins: Pins) -> tuple[DatasetPin, ...]:
    pooled = (pins.criteria_from,) if pins.criteria_from else ()
    return (*pins.datasets, *pins.responses, *pins.evals, *pooled)


async def errored_attempts(store: Store, run: Run) -> set[int]:
    """The attempts that `retry` makes again."""
    positions = set(await store.positions(run.id, Verdict.ERRORED))
    if not positions:
        raise PlanRefused(f"run {run.name!r} has no errored case to retry")
    return positions


async def unreached_attempts(store: Store, run: Run) -> set[int]:
    """The attempts that the budget did not reach: they are made when the run is resumed."""
    return {
        result.position async for result in store.iterate(run.id, verdict=Verdict.SKIPPED) if is_out_of_budget(result)
    }


async def attempts_to_resume(store: Store, run: Run) -> set[int]:
    """The attempts that the budget did not reach; of a run that stopped because it was sure, also those that were not
    asked."""
    unasked = await store.flagged_positions(run.id, DECIDED_EARLY) if run.pins.stopped_early else set()
    return await unreached_attempts(store, run) | unasked


Execute = Callable[[Store, RunHandle, Progress], Awaitable[Run]]


def check_engine(engine: str) -> None:
    """ConfigInvalid for a cluster where Ray is not installed."""
    if engine == RAY and find_spec("ray") is None:
        raise ConfigInvalid("--engine ray needs Ray, on every machine: pip install 'howsure[ray]'")


@asynccontextmanager
async def open_engine(work: Workspace, plan: Plan, run: Run) -> AsyncIterator[Execute]:
    """Who makes the attempts: this process, with the targets open, or a Ray cluster whose nodes were checked."""
    if plan.request.engine != RAY:
        async with open_targets(plan.candidates):
            yield execute
        return
    check_engine(RAY)
    driver = import_module("howsure.services.cluster.driver")
    async with driver.open_cluster(work, plan, run) as execute_there:
        yield execute_there


@asynccontextmanager
async def open_targets(candidates: Sequence[CandidateRepeat]) -> AsyncIterator[None]:
    """Inside this block the targets of all candidates are open. The first is asked whether it is there."""
    targets = list({id(each.target): each.target for each in candidates}.values())
    async with AsyncExitStack() as stack:
        for target in targets:
            await _start_target(target, stack)
        with _refusing_run(targets[0]):
            await check(targets[0])
        yield


async def visit(target: Target) -> str:
    """Started, asked whether it is there, and stopped."""
    async with AsyncExitStack() as stack:
        await _start_target(target, stack)
        return await check(target)


async def check(target: Target) -> str:
    """What it says of itself; nothing where it cannot be asked."""
    if not isinstance(target, CheckableTarget):
        return ""
    with boundary(TargetFailed, f"target {target.name!r}"):
        return await target.check()


async def _start_target(target: Target, stack: AsyncExitStack) -> None:
    if isinstance(target, StartableTarget):
        with _refusing_run(target), boundary(TargetFailed, f"target {target.name!r}"):
            await target.start()
        stack.push_async_callback(target.stop)


@contextmanager
def _refusing_run(target: Target) -> Iterator[None]:
    """PlanRefused where the target is not ready."""
    try:
        yield
    except CaseFailure as failure:
        who = f"target {target.name!r}"
        reason = str(failure).removeprefix(f"{who}: ").rstrip()
        end = "" if reason.endswith((".", "?", "!")) else "."
        raise PlanRefused(f"{who} is not ready: {reason}{end} Nothing was run.") from failure


def check_budgets(rules: ServiceSettings) -> None:
    """ConfigInvalid for a budget that cannot be read."""
    for name, own in rules.organizations.items():
        if own.budget and parse_budget(own.budget).seconds is not None:
            raise ConfigInvalid(
                f"service.organizations.{name}.budget: expected money or tokens, found the time {own.budget!r}"
            )


async def read_budget(
    rules: ServiceSettings, store: Store, organization_id: str, run_id: str = ""
) -> CommonBudget | None:
    """The budget of an organisation, with the spending of its other runs this month; None if it has no budget."""
    own = rules.organizations.get(organization_id)
    if own is None or not own.budget:
        return None
    budget = CommonBudget(whose=organization_id, allowance=parse_budget(own.budget))
    await _update(budget, store, run_id)
    return budget


async def open_budget(
    rules: ServiceSettings, store: Store, organization_id: str, run_id: str, stack: AsyncExitStack
) -> CommonBudget | None:
    """The same for a run, and kept up to date as long as `stack` is open."""
    budget = await read_budget(rules, store, organization_id, run_id)
    if budget is not None:
        renewing = asyncio.create_task(_renew(budget, store, run_id))
        stack.callback(renewing.cancel)
    return budget


async def refuse_spent_budget(rules: ServiceSettings, store: Store, organization_id: str) -> None:
    """PlanRefused for a new run that asks models, if the organisation's budget is spent."""
    budget = await read_budget(rules, store, organization_id)
    if budget is not None and (reached := budget.reached(0.0, 0)):
        raise PlanRefused(
            f"{reached}: runs that ask models start again next month, or when the operator raises"
            f" service.organizations.{organization_id}.budget"
        )


async def _renew(budget: CommonBudget, store: Store, run_id: str) -> None:
    while True:
        await asyncio.sleep(SPENDING_SECONDS)
        with suppress(InputError):  # the database cannot be reached: the last numbers stay
            await _update(budget, store, run_id)


async def _update(budget: CommonBudget, store: Store, run_id: str) -> None:
    month = utc_now().replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    budget.usd, budget.tokens = await store.spending(budget.whose, month, run_id)
