"""A run that is made case by case, in whatever order somebody else calls for them (pytest, say), perhaps by several
processes at once: all of them write into one run, and an attempt that is made twice is stored once."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from howsure.engine.candidates import CandidateRepeat
from howsure.engine.run import Attempt, run_attempts
from howsure.errors import Conflict, PlanRefused
from howsure.model.case import Case
from howsure.model.result import Result
from howsure.model.run import Counts, ModelSpending, RunState
from howsure.model.run_request import RunRequest
from howsure.model.summary import Summary
from howsure.services.gate.gate import rule_on_gates
from howsure.services.python.objects import FunctionTargets
from howsure.services.run.execute import new_run, open_targets, utc_now
from howsure.services.run.judges import open_models
from howsure.services.run.model_access import sum_spending
from howsure.services.run.plan import Plan, plan_run, read_materials
from howsure.services.run.preflight import preflight
from howsure.services.run.recorded_answers import read_answers
from howsure.services.workspace import Workspace
from howsure.targets.base import TargetRequest


class SelectedCase(Struct, frozen=True):
    """A case and its place in the dataset."""

    place: int
    case: Case


def select_cases(work: Workspace, request: RunRequest) -> list[SelectedCase]:
    """Every case of the request, each with its place; DatasetInvalid with every problem."""
    selection = preflight(request, work.kit, lambda _: None)
    return [SelectedCase(place, case) for place, case in enumerate(selection.read())]


class CaseByCaseRun(Struct, frozen=True):
    """An open run: `attempt` takes one case through all its candidates and repeats."""

    work: Workspace
    run_id: str
    plan: Plan

    async def attempt(self, chosen: SelectedCase, bot: Any = None) -> list[Result]:
        """The results of one case, saved, in the order of the candidates. `bot` is asked instead of the planned
        target."""
        plan, candidates = self.plan, self.plan.candidates
        if bot is not None:
            candidates = tuple(self._with_bot(bot, each) for each in candidates)
        first = chosen.place * len(candidates)
        attempts = iter([Attempt(first + at, chosen.case, each) for at, each in enumerate(candidates)])
        done: list[Result] = []
        async with AsyncExitStack() as stack:
            if bot is not None:
                await stack.enter_async_context(open_targets(candidates))
            stream = run_attempts(attempts, plan.rules, concurrency=plan.concurrency, clock=utc_now)
            async with aclosing(stream):
                async for batch in stream:
                    done += batch
        # Opened for each: a process that holds one SQLite file open twice loses its locks on it when one is closed.
        async with await self.work.store() as store:
            await store.save(self.run_id, done)
        return sorted(done, key=lambda result: result.position)

    def _with_bot(self, bot: Any, candidate: CandidateRepeat) -> CandidateRepeat:
        functions = FunctionTargets()
        spec = functions.add(bot).partition(":")[2]
        request = TargetRequest(
            name=functions.name,
            rest=spec,
            environ=os.environ,
            state=self.plan.request.state,
            agent=self.plan.pins.agent,
            candidate=candidate.candidate,
            repeat=candidate.repeat,
            documents=self.plan.models.documents,
        )
        return replace(candidate, target=functions.make(request))

    @property
    def spent(self) -> ModelSpending | None:
        return self.plan.models.spent()


@asynccontextmanager
async def open_shared_run(
    work: Workspace, request: RunRequest, run_id: str, cases: int
) -> AsyncIterator[CaseByCaseRun]:
    """Plan the run, create it unless another process has, and keep it open. Nothing is stored when the plan is refused.
    The processes that share the run agree on its id beforehand; `cases` is the number of cases that will be
    requested."""
    if request.until_sure:
        raise PlanRefused("until_sure: tests of single cases are asked one by one; use howsure_run in one test")
    async with AsyncExitStack() as stack:
        models = await stack.enter_async_context(open_models(work, request))
        began = utc_now()
        answers = read_answers(request.responses, work.kit.dialects["simulation"]) if request.responses else None
        materials = read_materials(request, work.kit, answers)
        plan = plan_run(work, request, materials, models, now=lambda: began)
        await stack.enter_async_context(open_targets(plan.candidates))
        run = replace(
            new_run(plan, began),
            id=run_id,
            state=RunState.RUNNING,
            counts=Counts(total=cases * len(plan.candidates)),
            started_at=began,
        )
        async with await work.store() as store:
            with suppress(Conflict):  # another process has made it
                await store.create_run(run)
            await store.heartbeat(run.id)
        yield CaseByCaseRun(work, run.id, plan)


async def close_shared_run(work: Workspace, run_id: str, spent: Sequence[ModelSpending] = ()) -> Summary:
    """When everybody has ended: the run is complete, or interrupted where attempts are missing; its gates decided."""
    async with await work.store() as store:
        run = await store.run(run_id)
        state = RunState.INTERRUPTED if run.counts.pending else RunState.COMPLETED
        total = sum_spending(spent, max(each.seconds for each in spent)) if spent else None
        await store.set_state(run_id, state, completed_at=utc_now(), spent=total)
        return await rule_on_gates(store, await store.summary(run_id))
