"""A run that is made case by case, in whatever order somebody else calls for them (pytest, say), perhaps by several
processes at once: all of them write into one run, and an attempt that is made twice is stored once."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from howsure.engine.plan import CandidateRepeat
from howsure.engine.run import Attempt, results
from howsure.errors import Conflict
from howsure.model.case import Case
from howsure.model.result import Result
from howsure.model.run import Counts, RunState, Spent
from howsure.model.summary import Summary
from howsure.services.answers import read_answers
from howsure.services.gating import gated
from howsure.services.given import GivenFunctions
from howsure.services.judging import Judging, judging
from howsure.services.options import RunOptions
from howsure.services.planning import Plan, plan, read_given
from howsure.services.readying import ready
from howsure.services.running import new_run, utc_now
from howsure.services.runs import ground, wanted
from howsure.services.survey import survey
from howsure.services.workspace import Workspace
from howsure.targets.making import Wish


class Chosen(Struct, frozen=True):
    """A case and its place in the dataset."""

    place: int
    case: Case


class Shared(Struct, frozen=True, kw_only=True):
    """A run that several processes make together: they agree on its id beforehand. `total` counts the cases that will
    be called for."""

    run_id: str
    total: int
    title: str = ""


def chosen_cases(work: Workspace, options: RunOptions) -> list[Chosen]:
    """Every case of the options, each with its place; DatasetInvalid with every problem."""
    found = survey(
        options.datasets,
        work.kit,
        lambda _: None,
        dialect=options.dialect,
        filters=options.filters,
        limit=options.limit,
    )
    return [Chosen(place, case) for place, case in enumerate(found.cases())]


class Stepwise:
    """An open run. `lanes` are its candidates and repeats: `attempt` takes a case through all of them."""

    def __init__(self, work: Workspace, run_id: str, made: Plan, judge: Judging) -> None:
        self._work = work
        self._made = made
        self._judge = judge
        self.run_id = run_id

    async def attempt(self, chosen: Chosen, bot: Any = None) -> list[Result]:
        """The case through every lane, kept and in their order. `bot`: whom to ask instead of the planned target."""
        lanes = self._made.lanes if bot is None else tuple(self._asking(bot, lane) for lane in self._made.lanes)
        first = chosen.place * len(lanes)
        todo = iter([Attempt(first + at, chosen.case, lane) for at, lane in enumerate(lanes)])
        rules, most = self._made.rules, self._made.pins.concurrency
        done: list[Result] = []
        async with AsyncExitStack() as stack:
            if bot is not None:
                await stack.enter_async_context(ready(lanes))
            stream = results(todo, rules, concurrency=most, clock=utc_now)
            async with aclosing(stream):
                async for handful in stream:
                    done += handful
        # Opened for each: a process that holds one SQLite file open twice loses its locks on it when one is closed.
        async with await self._work.store() as store:
            await store.save(self.run_id, done)
        return sorted(done, key=lambda result: result.position)

    def _asking(self, bot: Any, lane: CandidateRepeat) -> CandidateRepeat:
        functions = GivenFunctions()
        spec = functions.add(bot).partition(":")[2]
        wish = Wish(
            name=functions.name,
            rest=spec,
            environ=os.environ,
            state=self._made.pins.state,
            agent=self._made.pins.agent,
            candidate=lane.candidate,
            repeat=lane.repeat,
        )
        return replace(lane, target=functions.make(wish))

    @property
    def spent(self) -> Spent | None:
        return self._judge.spent()


@asynccontextmanager
async def opened_run(work: Workspace, options: RunOptions, shared: Shared) -> AsyncIterator[Stepwise]:
    """Plan the run, make it where nobody has yet, and hold it open. Nothing is stored when the plan is refused."""
    async with AsyncExitStack() as stack:
        judge = await stack.enter_async_context(judging(wanted(work, options)))
        began = utc_now()
        answers = read_answers(options.responses, work.kit.dialects["simulation"]) if options.responses else None
        given = replace(read_given(options, answers), judging=judge, ground=ground(work), now=lambda: began)
        made = plan(options, work.kit, given)
        await stack.enter_async_context(ready(made.lanes))
        run = replace(
            new_run(made, shared.title, began),
            id=shared.run_id,
            state=RunState.RUNNING,
            counts=Counts(total=shared.total * len(made.lanes)),
            started_at=began,
        )
        async with await work.store() as store:
            with suppress(Conflict):  # another process has made it
                await store.create_run(run)
            await store.heartbeat(run.id)
        yield Stepwise(work, run.id, made, judge)


async def ended_run(work: Workspace, run_id: str, spent: Sequence[Spent] = ()) -> Summary:
    """When everybody has ended: the run is complete, or interrupted where attempts are missing; its gates decided."""
    async with await work.store() as store:
        run = await store.run(run_id)
        state = RunState.INTERRUPTED if run.counts.pending else RunState.COMPLETED
        await store.set_state(run_id, state, completed_at=utc_now(), spent=_sum(spent))
        return await gated(store, await store.summary(run_id))


def _sum(spent: Sequence[Spent]) -> Spent | None:
    if not spent:
        return None
    return Spent(
        usd=sum(each.usd for each in spent),
        tokens=sum(each.tokens for each in spent),
        seconds=max(each.seconds for each in spent),
        calls=sum(each.calls for each in spent),
        cached=sum(each.cached for each in spent),
        unpriced=sum(each.unpriced for each in spent),
    )
