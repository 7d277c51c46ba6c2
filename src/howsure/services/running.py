"""Running, resuming and retrying: the engine yields Results, the store keeps them as they come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from uuid import uuid4

from msgspec import Struct

from howsure.engine.run import results, todos
from howsure.errors import Conflict, HowsureError, PlanRefused, Unreachable
from howsure.model.result import BUDGET, Result
from howsure.model.run import Counts, DatasetPin, Pins, Run, RunState, Spent
from howsure.model.verdict import Verdict
from howsure.services.paths import lasting
from howsure.services.planning import Plan
from howsure.store.lease import this_process
from howsure.store.store import Store

Progress = Callable[[Sequence[Result]], None]

GATHERING = 0.1
"""Seconds in which Results gather before they are saved: a transaction for each would cost more than the case itself.
What a crash can lose is a tenth of a second's work."""
ENOUGH = 500
"""Results that are worth a transaction at once."""


def utc_now() -> datetime:
    return datetime.now(UTC)


def new_run(plan: Plan, name: str, now: datetime) -> Run:
    names = [pin.path.rsplit("/", 1)[-1] for pin in plan.pins.datasets]
    return Run(
        id=str(uuid4()),
        name=lasting(name) or "+".join(names[:3]) + (f"+{len(names) - 3}" if len(names) > 3 else ""),
        state=RunState.PENDING,
        pins=plan.pins,
        counts=Counts(total=plan.total),
        created_at=now,
    )


class Work(Struct, frozen=True, kw_only=True):
    """A run to execute: its plan, who is told of its Results, what it has spent, which attempts to make
    again, and who has taken it already ("" where nobody has)."""

    plan: Plan
    progress: Progress
    spent: Callable[[], Spent | None] = lambda: None
    again: Collection[int] = ()
    owner: str = ""


async def execute(store: Store, run: Run, work: Work) -> Run:
    """Make every attempt that has no Result yet (and those to make again), saving as they come; the run as it is."""
    owner = work.owner or this_process(uuid4().hex)
    await store.claim(run.id, owner, utc_now())
    plan, unreached = work.plan, False
    done = await store.finished(run.id) - set(work.again)
    todo, left = todos(plan.survey.cases(), plan.lanes, done), plan.total - len(done)
    await store.set_state(run.id, RunState.RUNNING, started_at=run.started_at or utc_now(), owner=owner)
    try:
        # Closed here, whatever happens: nobody may go on asking a target after the run has ended.
        async with aclosing(results(todo, plan.rules, concurrency=plan.pins.concurrency, clock=utc_now)) as stream:
            async for handful in stream:
                await store.save(run.id, handful, owner)
                unreached = unreached or any(map(is_left_out, handful))
                work.progress(handful)
                left -= len(handful)
                if left > 0 and len(handful) < ENOUGH:
                    await asyncio.sleep(GATHERING)
    except asyncio.CancelledError:
        with suppress(Conflict):
            await store.set_state(run.id, RunState.INTERRUPTED, spent=work.spent(), owner=owner)
        raise
    except Unreachable:
        # The run has not failed: it is interrupted, and can go on when its database is there again.
        raise
    except HowsureError as error:
        with suppress(Conflict):
            await store.set_state(run.id, RunState.FAILED, error=str(error), spent=work.spent(), owner=owner)
        raise
    return await ended(store, run, work.spent(), owner, unreached=unreached)


async def ended(store: Store, run: Run, spent: Spent | None, owner: str, *, unreached: bool) -> Run:
    """The run with its end written down. `unreached`: the budget was reached before all of it was tried."""
    # A retry makes only what errored again: what the budget did not reach before it is still to be made.
    if not unreached and run.state is not RunState.PENDING:
        unreached = bool(await left_out(store, run))
    state = RunState.OUT_OF_BUDGET if unreached else RunState.COMPLETED
    await store.set_state(run.id, state, completed_at=utc_now(), spent=spent, owner=owner)
    return await store.run(run.id)


def is_left_out(result: Result) -> bool:
    """Whether the budget was reached before the case was tried to its end."""
    return result.verdict is Verdict.SKIPPED and any(reason.startswith(f"{BUDGET}:") for reason in result.reasons)


def check_same(run: Run, pins: Pins) -> None:
    """A run goes on only with what it began with."""
    changed = [
        f"{new.path} has changed"
        for old, new in zip(_files(run.pins), _files(pins), strict=True)
        if old.sha256 != new.sha256
    ]
    if run.pins.judge_sha256 != pins.judge_sha256:
        changed.append(f"the judge {run.pins.judge} has changed")
    brought = set(run.pins.plugins) ^ set(pins.plugins)
    changed += sorted({f"{each.rsplit(' ', 1)[0]} has changed, or is not there" for each in brought})
    if run.pins.target_sha256 != pins.target_sha256:
        changed.append(f"how the target {run.pins.target} is asked has changed")
    if run.pins.simulator_sha256 != pins.simulator_sha256:
        changed.append(f"the simulated user {run.pins.simulator} has changed")
    if run.pins.policy_sha256 != pins.policy_sha256:
        changed.append("the profiles have changed")
    if changed:
        raise Conflict(f"run {run.id} began with other data: {'; '.join(changed)}. Start a new run.")


def _files(pins: Pins) -> tuple[DatasetPin, ...]:
    pooled = (pins.criteria_from,) if pins.criteria_from else ()
    return (*pins.datasets, *pins.responses, *pins.evals, *pooled)


async def errored(store: Store, run: Run) -> set[int]:
    """The attempts that `retry` makes again."""
    positions = set(await store.positions(run.id, Verdict.ERRORED))
    if not positions:
        raise PlanRefused(f"run {run.name!r} has no errored case to retry")
    return positions


async def left_out(store: Store, run: Run) -> set[int]:
    """The attempts that the budget did not reach: they are made when the run is resumed."""
    return {result.position async for result in store.iterate(run.id, verdict=Verdict.SKIPPED) if is_left_out(result)}
