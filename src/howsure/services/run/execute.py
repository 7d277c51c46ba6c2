"""Executing a run: the engine yields Results, and the store saves them as they come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from uuid import uuid4

from msgspec import Struct

from howsure.engine.run import attempts_left, run_attempts
from howsure.errors import Conflict, HowsureError, PlanRefused, Unreachable
from howsure.model.result import BUDGET, Result
from howsure.model.run import Counts, DatasetPin, ModelSpending, Pins, Run, RunState
from howsure.model.verdict import Verdict
from howsure.services.files import clean_text
from howsure.services.run.plan import Plan
from howsure.store.leases import this_owner
from howsure.store.store import Store

BATCH_SECONDS = 0.1
"""Seconds in which Results gather before they are saved: a transaction for each would cost more than the case itself.
What a crash can lose is a tenth of a second's work."""
FULL_BATCH = 500
"""Results that are saved at once."""


def utc_now() -> datetime:
    return datetime.now(UTC)


def new_run(plan: Plan, now: datetime) -> Run:
    files = [pin.path.rsplit("/", 1)[-1] for pin in plan.pins.datasets]
    default = "+".join(files[:3]) + (f"+{len(files) - 3}" if len(files) > 3 else "")
    return Run(
        id=str(uuid4()),
        name=clean_text(plan.request.name) or default,
        state=RunState.PENDING,
        pins=plan.pins,
        counts=Counts(total=plan.total),
        created_at=now,
    )


class RunHandle(Struct, frozen=True, kw_only=True):
    """A run that is about to work: its plan, and how many of its attempts have a Result. `again` are the attempts to
    make once more; `owner` is the process that has claimed it already ("" where none has)."""

    run: Run
    plan: Plan
    done: int = 0
    again: Collection[int] = ()
    owner: str = ""


Progress = Callable[[Sequence[Result]], None]
"""Is told of Results as they are saved."""


async def execute(store: Store, handle: RunHandle, progress: Progress) -> Run:
    """Make every attempt that has no Result yet (and those to make again), saving as they come; the run as it is."""
    run, plan, spent = handle.run, handle.plan, handle.plan.models.spent
    owner = handle.owner or this_owner(uuid4().hex)
    await store.claim(run.id, owner, utc_now())
    done = await store.finished_positions(run.id) - set(handle.again)
    attempts, left, unreached = attempts_left(plan.cases.read(), plan.candidates, done), plan.total - len(done), False
    await store.set_state(run.id, RunState.RUNNING, started_at=run.started_at or utc_now(), owner=owner)
    try:
        # Closed here, whatever happens: nobody may go on asking a target after the run has ended.
        async with aclosing(run_attempts(attempts, plan.rules, concurrency=plan.concurrency, clock=utc_now)) as stream:
            async for batch in stream:
                await store.save(run.id, batch, owner)
                unreached = unreached or any(map(is_out_of_budget, batch))
                progress(batch)
                left -= len(batch)
                if left > 0 and len(batch) < FULL_BATCH:
                    await asyncio.sleep(BATCH_SECONDS)
    except asyncio.CancelledError:
        with suppress(Conflict):
            await store.set_state(run.id, RunState.INTERRUPTED, spent=spent(), owner=owner)
        raise
    except Unreachable:
        # The run has not failed: it is interrupted, and can go on when its database is there again.
        raise
    except HowsureError as error:
        with suppress(Conflict):
            await store.set_state(run.id, RunState.FAILED, error=str(error), spent=spent(), owner=owner)
        raise
    return await finish_run(store, run, spent(), owner, unreached=unreached)


async def finish_run(store: Store, run: Run, spent: ModelSpending | None, owner: str, *, unreached: bool) -> Run:
    """The run with its end written down. `unreached`: the budget was reached before all of it was tried."""
    # A retry makes only what errored again: what the budget did not reach before it is still to be made.
    if not unreached and run.state is not RunState.PENDING:
        unreached = bool(await unreached_attempts(store, run))
    state = RunState.OUT_OF_BUDGET if unreached else RunState.COMPLETED
    await store.set_state(run.id, state, completed_at=utc_now(), spent=spent, owner=owner)
    return await store.run(run.id)


def is_out_of_budget(result: Result) -> bool:
    """Whether the budget was reached before the case was tried to its end."""
    return result.verdict is Verdict.SKIPPED and any(reason.startswith(f"{BUDGET}:") for reason in result.reasons)


def check_unchanged(run: Run, pins: Pins) -> None:
    """A run goes on only with what it began with."""
    changed = [
        f"{new.path} has changed"
        for old, new in zip(_files(run.pins), _files(pins), strict=True)
        if old.sha256 != new.sha256
    ]
    if run.pins.judge_sha256 != pins.judge_sha256:
        changed.append(f"the judge {run.pins.request.judge} has changed")
    brought = set(run.pins.plugins) ^ set(pins.plugins)
    changed += sorted({f"{each.rsplit(' ', 1)[0]} has changed, or is not there" for each in brought})
    if run.pins.target_sha256 != pins.target_sha256:
        changed.append(f"how the target {run.pins.target_text} is asked has changed")
    if run.pins.simulator_sha256 != pins.simulator_sha256:
        changed.append(f"the simulated user {run.pins.request.simulator} has changed")
    if run.pins.policy_sha256 != pins.policy_sha256:
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
