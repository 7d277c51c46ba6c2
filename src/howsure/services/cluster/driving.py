"""The driver of a run on a cluster: looks every node over, hands out shards, follows them, and writes down the end. It
holds no result: those go from the workers to the store, and a driver that dies is replaced by `howsure resume`."""

from __future__ import annotations

import asyncio
import os
from bisect import bisect_left, bisect_right
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any
from uuid import uuid4

import msgspec

from howsure.errors import ConfigInvalid, Conflict, HowsureError, PlanRefused, Unreachable
from howsure.model.case import Case, SingleTurn
from howsure.model.result import Result
from howsure.model.run import Run, RunState, Spent
from howsure.model.verdict import Verdict
from howsure.services.cluster import desk as desks
from howsure.services.cluster.actor import DeskActor
from howsure.services.cluster.joining import (
    NAMESPACE,
    environ_for,
    here,
    joined,
    needs_of,
    nodes,
    options_for,
    ray,
    usable_nodes,
)
from howsure.services.cluster.notes import Notebook
from howsure.services.cluster.readiness import Hired, asking, awaited, look_over, why
from howsure.services.cluster.room import Outcome
from howsure.services.cluster.shards import Shard, positions, shard_size, shards, sources_of, still_open
from howsure.services.cluster.site import Site, server_of
from howsure.services.cluster.tasks import Task, work_on
from howsure.services.engines import Execute, Manner
from howsure.services.planning import Plan
from howsure.services.running import Work, ended, utc_now
from howsure.services.workspace import Workspace
from howsure.store.lease import this_process
from howsure.store.store import Store

RETRIES = 5
"""How often a shard is started anew whose worker or node died."""
POLL_SECONDS = 0.5
KEPT_SECONDS = 5.0
"""How often what was spent is written down: a driver that is killed forgets no more than this."""
GRACE_SECONDS = 10.0
AHEAD = 2
"""Shards that are handed out for each that can be worked on: a worker that is done finds the next one there."""

BLANK = Case(id="", input=SingleTurn(message=""))
TOLD = {verdict.value: Result(case=BLANK, verdict=verdict) for verdict in Verdict}


@asynccontextmanager
async def cluster(work: Workspace, plan: Plan, run: Run, manner: Manner) -> AsyncIterator[Execute]:
    """Inside this block every node that will work on the run has been looked over, and nothing was spent yet."""
    settings = work.settings.cluster
    environ = environ_for(settings, server_of(work), os.environ)
    async with AsyncExitStack() as stack:
        stack.enter_context(joined(settings))
        needs = needs_of(settings, plan.lanes)
        found = usable_nodes(needs)
        files = Notebook(trace=manner.trace, record=manner.record)
        asked = {"traces": files.trace is not None, "records": files.record is not None}
        site = Site.of(work, plan, run, caches=manner.cache, **asked)
        desk = await stack.enter_async_context(_desk(work, site))
        hired = Hired(
            desk=desk,
            site=ray.put(site.packed()),
            token=uuid4().hex,
            needs=needs,
            options=options_for(needs, environ),
        )
        await look_over(asking(hired), found, site)
        driver = Driver(hired, plan, settings.shard, files)
        yield driver.execute


@asynccontextmanager
async def _desk(work: Workspace, site: Site) -> AsyncIterator[Any]:
    make = ray.remote(DeskActor).options(
        name=f"howsure-{site.run.id}-{uuid4().hex[:8]}", namespace=NAMESPACE, num_cpus=0, scheduling_strategy=here()
    )
    desk = make.remote(site.budget, site.run.spent, str(work.replies.resolve()) if site.caches else None)
    try:
        yield desk
    finally:
        with suppress(ray.exceptions.RayError, TimeoutError):
            await asyncio.wait_for(awaited(desk.close.remote()), GRACE_SECONDS)
        ray.kill(desk)


class Driver:
    """Hands out the shards of one run."""

    def __init__(self, hired: Hired, plan: Plan, wished: int, files: Notebook) -> None:
        self._hired = hired
        self._plan = plan
        self._files = files
        self._wished = wished
        self._spent: Spent | None = None
        self._kept_at = 0.0
        self._slots = _slots(hired)
        # Once: Ray sends a function to the workers each time it is made a remote one.
        self._work_on = ray.remote(work_on).options(**hired.options, max_retries=RETRIES, scheduling_strategy="SPREAD")
        self._refs: dict[asyncio.Future[Outcome], tuple[Any, Shard]] = {}

    async def execute(self, store: Store, run: Run, work: Work) -> Run:
        """As `running.execute`, by other hands."""
        owner = work.owner or this_process(uuid4().hex)
        await store.claim(run.id, owner, utc_now())
        await store.set_state(run.id, RunState.RUNNING, started_at=run.started_at or utc_now(), owner=owner)
        try:
            unreached = await self._all(store, run, work, owner)
        except asyncio.CancelledError:
            await self._stopped()
            with suppress(Conflict):
                await store.set_state(run.id, RunState.INTERRUPTED, spent=self._spent, owner=owner)
            raise
        except Unreachable:
            await self._stopped()
            raise
        except HowsureError as error:
            await self._stopped()
            with suppress(Conflict):
                await store.set_state(run.id, RunState.FAILED, error=str(error), spent=self._spent, owner=owner)
            raise
        return await ended(store, run, self._spent, owner, unreached=unreached)

    async def _all(self, store: Store, run: Run, work: Work, owner: str) -> bool:
        """Whether the budget left some out."""
        tasks, unreached = self._tasks(store, run, owner, work.again), False
        while await self._hand_out(tasks):
            ready, _ = await asyncio.wait(self._refs, timeout=POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            for future in ready:
                unreached = self._taken(future).left_out or unreached
            await self._tell(store, run, work, owner)
        await self._tell(store, run, work, owner)
        return unreached

    async def _tasks(self, store: Store, run: Run, owner: str, again: Collection[int]) -> AsyncIterator[Task]:
        """What is left to do. What is done is asked for shard by shard: a run may have more attempts than fit here."""
        plan, lanes = self._plan, len(self._plan.lanes)
        size = shard_size(plan.survey.total, lanes, self._slots, self._wished)
        repeated, begun = sorted(again), (await store.run(run.id)).counts.completed > 0
        cuts = shards(plan.survey, size, sources_of(plan.pins.datasets))
        while (shard := await _next(cuts, store, run)) is not None:
            near = positions(shard, lanes)
            own = tuple(repeated[bisect_left(repeated, near[0]) : bisect_right(repeated, near[1])])
            if own or not begun or still_open(shard, lanes, await store.finished(run.id, near)):
                yield Task(shard=shard, owner=owner, again=own)

    async def _hand_out(self, tasks: AsyncIterator[Task]) -> bool:
        """Whether anything is being worked on."""
        hired = self._hired
        while len(self._refs) < self._slots * AHEAD and (task := await anext(tasks, None)):
            ref = self._work_on.remote(hired.site, hired.desk, hired.token, msgspec.json.encode(task))
            self._refs[asyncio.ensure_future(awaited(ref))] = (ref, task.shard)
        return bool(self._refs)

    def _taken(self, future: asyncio.Future[Outcome]) -> Outcome:
        _, shard = self._refs.pop(future)
        try:
            outcome = future.result()
        except ray.exceptions.RayError as error:
            first, last = positions(shard, len(self._plan.lanes))
            raise ConfigInvalid(f"attempts {first + 1} to {last + 1} cannot be made: {why(error)}") from error
        if outcome.error:
            raise PlanRefused(outcome.error)
        return outcome

    async def _tell(self, store: Store, run: Run, work: Work, owner: str) -> None:
        """How far it is, to whoever watches; and now and then, what was spent, to the store."""
        try:
            progress: desks.Progress = await awaited(self._hired.desk.progress.remote())
        except ray.exceptions.RayError as error:
            raise ConfigInvalid(f"the run's limits and budget are lost with their actor: {why(error)}") from error
        if self._plan.pins.judge or progress.spent != Spent():
            self._spent = progress.spent
        self._files.write(progress.traced, progress.recorded)
        if told := [TOLD[verdict] for verdict, number in progress.verdicts.items() for _ in range(number)]:
            work.progress(told)
        now = asyncio.get_running_loop().time()
        if now - self._kept_at >= KEPT_SECONDS:
            self._kept_at, self._slots = now, _slots(self._hired)
            await store.set_state(run.id, RunState.RUNNING, spent=self._spent, owner=owner)

    async def _stopped(self) -> None:
        """Nobody goes on asking a target after the run has ended: workers are asked to stop, then made to."""
        for force in (False, True):
            for ref, _ in self._refs.values():
                with suppress(ray.exceptions.RayError, ValueError):
                    ray.cancel(ref, force=force)
            if self._refs:
                _, pending = await asyncio.wait(self._refs, timeout=GRACE_SECONDS)
                if not pending:
                    break
        for future in self._refs:
            future.cancel()
        self._refs.clear()


async def _next(cuts: Iterator[Shard], store: Store, run: Run) -> Shard | None:
    """The next shard. Looking for it may take minutes, where a filter passes over most of a large file: the run is ours
    meanwhile."""
    looking = asyncio.ensure_future(asyncio.to_thread(next, cuts, None))
    while not (await asyncio.wait({looking}, timeout=KEPT_SECONDS))[0]:
        await store.heartbeat(run.id)
    return looking.result()


def _slots(hired: Hired) -> int:
    """Shards that can be worked on at once, on the nodes that are there now."""
    return max(1, sum(node.holds(hired.needs) for node in nodes()))
