"""A worker's room: the run planned once more from its pins, with store, judge, targets and leases open, in which one
shard after the other is worked on by the ordinary engine."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, Self

from msgspec import Struct

from howsure.engine.run import Attempt, results
from howsure.model.access_scope import AccessScope
from howsure.model.case import Case
from howsure.model.result import Result
from howsure.model.run import Spent
from howsure.services.cluster.desk import Report
from howsure.services.cluster.leases import FarDesk, LeasedSpending, Leases, SharedCache
from howsure.services.cluster.notes import Notes
from howsure.services.cluster.reading import shard_cases
from howsure.services.cluster.shards import Shard, positions
from howsure.services.cluster.site import Site
from howsure.services.hosting.materials import written_down
from howsure.services.options import options_of
from howsure.services.planning import Plan
from howsure.services.readying import ready
from howsure.services.running import ENOUGH, GATHERING, is_left_out, utc_now
from howsure.services.runs import Again, Elsewhere, replanned
from howsure.services.way import Among
from howsure.store.store import Store


class RunDesk(FarDesk, Protocol):
    """The desk as a room uses it."""

    async def report(self, given: Report) -> None: ...


class Outcome(Struct, frozen=True, kw_only=True):
    """What came of a shard: how many attempts were made, and whether the budget left some out. `error`: it could not
    be worked on, for a reason that the user can mend."""

    made: int = 0
    left_out: bool = False
    error: str = ""


class Room(Struct, frozen=True, kw_only=True):
    """Open from the first shard that a process works on to its end. `worker` names it at the desk."""

    site: Site
    worker: str
    desk: RunDesk
    store: Store
    plan: Plan
    spent: Callable[[], Spent | None]
    cache: SharedCache | None
    leases: Leases
    notes: Notes
    stack: AsyncExitStack

    @classmethod
    async def opened(cls, site: Site, desk: RunDesk, worker: str) -> Self:
        async with AsyncExitStack() as stack:
            work, run = site.workplace(), site.run
            store = await stack.enter_async_context(await work.store())
            budget = LeasedSpending(desk, worker) if site.budget else None
            leases, cache = Leases(desk, budget), SharedCache(desk) if site.caches else None
            whose = AccessScope(organization_id=run.organization_id or None)
            documents = work.data_folder / "documents"
            options, _ = await written_down(store, options_of(run.pins, run.name), documents, whose, fetch=False)
            there = Elsewhere(
                found=site.survey(work.kit, options), among=Among(cache=cache, budget=budget, gates=leases.gate)
            )
            notes = Notes(_folder(stack, site), traces=site.traces, records=site.records)
            again = Again(budget=site.budget, cache=False, trace=notes.trace, record_judge=notes.record)
            plan, judge = await replanned(work, store, run, again, stack, there)
            await stack.enter_async_context(ready(plan.lanes))
            return cls(
                site=site,
                worker=worker,
                desk=desk,
                store=store,
                plan=plan,
                spent=judge.spent,
                cache=cache,
                leases=leases,
                notes=notes,
                stack=stack.pop_all(),
            )
        raise AssertionError("unreachable")

    async def close(self) -> None:
        await self.stack.aclose()

    async def work_on(self, shard: Shard, owner: str, again: Collection[int] = ()) -> Outcome:
        """Make the attempts of a shard that have no Result yet, and those to make again. Where the run is not the
        owner's any more, nothing is stored."""
        plan, run = self.plan, self.site.run
        near = positions(shard, len(plan.lanes))
        done = await self.store.finished(run.id, near) - set(again)
        todo = _todos(shard_cases(plan.survey, shard), plan, near[0], done)
        left, made, unreached = near[1] - near[0] + 1 - len(done), 0, False
        async with aclosing(results(todo, plan.rules, concurrency=run.pins.concurrency, clock=utc_now)) as stream:
            async for handful in stream:
                await self._saved(handful, owner)
                made += len(handful)
                unreached = unreached or any(map(is_left_out, handful))
                if made < left and len(handful) < ENOUGH:
                    await asyncio.sleep(GATHERING)
        await self._handed_in()
        return Outcome(made=made, left_out=unreached)

    async def _handed_in(self) -> None:
        """There may be no other shard for this worker: what it holds is there for the others."""
        if self.cache is not None:
            await self.cache.flush()
        await self.leases.give_back()
        if traced := self.notes.traced():
            await self.desk.report(Report(worker=self.worker, verdicts={}, traced=traced))

    async def _saved(self, handful: Sequence[Result], owner: str) -> None:
        await self.store.save(self.site.run.id, handful, owner)
        done = Report(
            worker=self.worker,
            verdicts=Counter(result.verdict.value for result in handful),
            spent=self.spent(),
            traced=self.notes.traced(),
            recorded=self.notes.recorded(handful),
        )
        await self.desk.report(done)


def _folder(stack: AsyncExitStack, site: Site) -> Path:
    """Where notes are kept until the desk has them, where there are any: Ray ends workers without a word."""
    wanted = site.traces or site.records
    return Path(stack.enter_context(TemporaryDirectory(prefix="howsure-notes-"))) if wanted else Path()


def _todos(cases: Sequence[Case], plan: Plan, first: int, done: Collection[int]) -> Iterator[Attempt]:
    position = first
    for case in cases:
        for lane in plan.lanes:
            if position not in done:
                yield Attempt(position, case, lane)
            position += 1
