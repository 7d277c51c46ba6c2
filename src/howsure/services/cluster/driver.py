"""The driver of a run on a cluster: checks every node, hands out shards, follows them, and writes down the end. It
holds no result: results go from the workers to the store, and a driver that dies is replaced by `howsure resume`."""

from __future__ import annotations

import asyncio
import os
from bisect import bisect_left, bisect_right
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any
from uuid import uuid4

import msgspec

from howsure.errors import ConfigInvalid, PlanRefused
from howsure.model.case import Case, SingleTurn
from howsure.model.result import Result
from howsure.model.run import ModelSpending, Run, RunState
from howsure.model.verdict import Verdict
from howsure.services.cluster.coordinator import ClusterProgress, RateCoordinatorActor
from howsure.services.cluster.ray_cluster import (
    NAMESPACE,
    ClusterHandle,
    await_ref,
    check_nodes,
    error_text,
    join_cluster,
    living_nodes,
    node_checker,
    on_node,
    ray,
    shard_needs,
    task_options,
    usable_nodes,
    worker_environ,
)
from howsure.services.cluster.shards import (
    Shard,
    cut_shards,
    has_open_attempts,
    shard_positions,
    shard_size,
    shard_sources,
)
from howsure.services.cluster.workers import ShardOutcome, ShardTask, WorkerConfig, database_server, work_on_shard
from howsure.services.run.execute import Execute, Progress, RunHandle, finish_run, steady_clock, storing_end
from howsure.services.run.plan import Plan
from howsure.services.workspace import Workspace
from howsure.store.leases import this_owner
from howsure.store.store import Store

RETRIES = 5
"""How often a shard is restarted when its worker or node died."""
POLL_SECONDS = 0.5
KEPT_SECONDS = 5.0
"""How often the spending is saved: a driver that is killed forgets no more than this."""
GRACE_SECONDS = 10.0
AHEAD = 2
"""Shards that are handed out for each slot: a worker that is done finds the next one waiting."""

BLANK = Case(id="", input=SingleTurn(message=""))
TOLD = {verdict.value: Result(case=BLANK, verdict=verdict) for verdict in Verdict}


@asynccontextmanager
async def open_cluster(work: Workspace, plan: Plan, run: Run) -> AsyncIterator[Execute]:
    """Inside this block every node that will work on the run has been checked, and nothing is spent yet."""
    settings = work.settings.cluster
    environ = worker_environ(settings, database_server(work), os.environ)
    async with AsyncExitStack() as stack:
        stack.enter_context(join_cluster(settings))
        needs = shard_needs(settings, plan.candidates)
        found = usable_nodes(needs)
        config = WorkerConfig.of(work, plan, run)
        coordinator = await stack.enter_async_context(_coordinator(work, config))
        cluster = ClusterHandle(
            coordinator=coordinator,
            config=ray.put(msgspec.json.encode(config)),
            token=uuid4().hex,
            needs=needs,
            options=task_options(needs, environ),
        )
        await check_nodes(node_checker(cluster), found, config)
        yield ClusterDriver(cluster, plan, settings.shard).execute


@asynccontextmanager
async def _coordinator(work: Workspace, config: WorkerConfig) -> AsyncIterator[Any]:
    make = ray.remote(RateCoordinatorActor).options(
        name=f"howsure-{config.run.id}-{uuid4().hex[:8]}",
        namespace=NAMESPACE,
        num_cpus=0,
        scheduling_strategy=on_node(ray.get_runtime_context().get_node_id()),
    )
    replies = str(work.replies.resolve()) if config.caches else None
    coordinator = make.remote(config.budget, config.run.spent, replies, config.asks_anew)
    try:
        yield coordinator
    finally:
        with suppress(ray.exceptions.RayError, TimeoutError):
            async with asyncio.timeout(GRACE_SECONDS):
                await await_ref(coordinator.close.remote())
        ray.kill(coordinator)


class ClusterDriver:
    """Hands out the shards of one run."""

    def __init__(self, cluster: ClusterHandle, plan: Plan, wished: int) -> None:
        self._cluster = cluster
        self._plan = plan
        self._wished = wished
        self._spent: ModelSpending | None = None
        self._kept_at = 0.0
        self._slots = _slots(cluster)
        # Once: Ray sends a function to the workers each time it is made a remote one.
        self._work_on = ray.remote(work_on_shard).options(
            **cluster.options, max_retries=RETRIES, scheduling_strategy="SPREAD"
        )
        self._refs: dict[asyncio.Future[ShardOutcome], tuple[Any, Shard]] = {}

    async def execute(self, store: Store, handle: RunHandle, progress: Progress) -> Run:
        """As `run.execute.execute`, but the workers of the cluster make the attempts."""
        run = handle.run
        owner, clock = handle.claim.owner or this_owner(uuid4().hex), steady_clock()
        await store.claim(run.id, owner, clock())
        await store.set_state(run.id, RunState.RUNNING, started_at=run.started_at or clock(), owner=owner)
        async with storing_end(store, run.id, owner, lambda: self._spent):
            try:
                unreached = await self._all(store, handle, progress, owner)
            finally:
                await self._stopped()
        return await finish_run(store, run, self._spent, owner, clock(), unreached=unreached)

    async def _all(self, store: Store, handle: RunHandle, progress: Progress, owner: str) -> bool:
        """Whether the budget left some out."""
        tasks, unreached = self._tasks(store, handle.run, owner, handle.again), False
        while await self._hand_out(tasks):
            ready, _ = await asyncio.wait(self._refs, timeout=POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            for future in ready:
                unreached = self._taken(future).left_out or unreached
            await self._tell(store, handle.run, progress, owner)
        await self._tell(store, handle.run, progress, owner)
        return unreached

    async def _tasks(self, store: Store, run: Run, owner: str, again: Collection[int]) -> AsyncIterator[ShardTask]:
        """What is left to do. What is done is asked for shard by shard: a run may have more attempts than fit here."""
        plan, candidates = self._plan, len(self._plan.candidates)
        size = shard_size(plan.cases.total, candidates, self._slots, self._wished)
        repeated, begun = sorted(again), (await store.run(run.id)).counts.completed > 0
        cuts = cut_shards(plan.cases, size, shard_sources(plan.pins.datasets))
        while (shard := await _next(cuts, store, run)) is not None:
            near = shard_positions(shard, candidates)
            own = tuple(repeated[bisect_left(repeated, near[0]) : bisect_right(repeated, near[1])])
            if own or not begun or has_open_attempts(shard, candidates, await store.finished_positions(run.id, near)):
                yield ShardTask(shard=shard, owner=owner, again=own)

    async def _hand_out(self, tasks: AsyncIterator[ShardTask]) -> bool:
        """Whether anything is being worked on."""
        cluster = self._cluster
        while len(self._refs) < self._slots * AHEAD and (task := await anext(tasks, None)):
            ref = self._work_on.remote(cluster.config, cluster.coordinator, cluster.token, msgspec.json.encode(task))
            self._refs[asyncio.ensure_future(await_ref(ref))] = (ref, task.shard)
        return bool(self._refs)

    def _taken(self, future: asyncio.Future[ShardOutcome]) -> ShardOutcome:
        _, shard = self._refs.pop(future)
        try:
            outcome = future.result()
        except ray.exceptions.RayError as error:
            first, last = shard_positions(shard, len(self._plan.candidates))
            raise ConfigInvalid(f"attempts {first + 1} to {last + 1} cannot be made: {error_text(error)}") from error
        if outcome.error:
            raise PlanRefused(outcome.error)
        return outcome

    async def _tell(self, store: Store, run: Run, progress: Progress, owner: str) -> None:
        """How far it is, to whoever watches; and now and then, what was spent, to the store."""
        try:
            news: ClusterProgress = await await_ref(self._cluster.coordinator.progress.remote())
        except ray.exceptions.RayError as error:
            raise ConfigInvalid(
                f"the run's limits and budget are lost with their actor: {error_text(error)}"
            ) from error
        if self._plan.pins.request.judge or news.spent != ModelSpending():
            self._spent = news.spent
        news.write_logs(self._plan.request.trace, self._plan.request.record_judge)
        if told := [TOLD[verdict] for verdict, number in news.verdicts.items() for _ in range(number)]:
            progress(told)
        now = asyncio.get_running_loop().time()
        if now - self._kept_at >= KEPT_SECONDS:
            self._kept_at, self._slots = now, _slots(self._cluster)
            await store.set_state(run.id, RunState.RUNNING, spent=self._spent, owner=owner)

    async def _stopped(self) -> None:
        """Stop all workers, first by request and then by force: no target may be asked after the run has ended."""
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
    """The next shard. Finding it may take minutes where a filter skips most of a large file: the run's lease is renewed
    meanwhile."""
    looking = asyncio.ensure_future(asyncio.to_thread(next, cuts, None))
    while not (await asyncio.wait({looking}, timeout=KEPT_SECONDS))[0]:
        await store.heartbeat(run.id)
    return looking.result()


def _slots(cluster: ClusterHandle) -> int:
    """Shards that can be worked on at once, on the nodes that are alive now."""
    return max(1, sum(node.holds(cluster.needs) for node in living_nodes()))
