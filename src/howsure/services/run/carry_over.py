"""Carrying over what did not change: a new run of an edited dataset starts with the earlier results of every case that
is still the same, so that only the others are tried again. It is meant for working on a dataset; a run that others are
to trust tries everything."""

from __future__ import annotations

from msgspec.structs import replace

from howsure.model.result import Result
from howsure.model.run import Pins, Run, RunState
from howsure.model.verdict import Verdict
from howsure.services.run.plan import Plan
from howsure.store.store import Store

RECENT_RUNS = 20
"""How many runs are searched for one that is like the new one."""
BATCH = 500

AttemptKey = tuple[str, str, int]
"""Case, candidate and repeat."""


async def carry_over(store: Store, run: Run, plan: Plan) -> int:
    """Copy the results that still hold into a new run; returns how many they are."""
    earlier = await _earlier_run(store, run)
    if earlier is None:
        return 0
    known: dict[AttemptKey, Result] = {}
    async for result in store.iterate(earlier.id):
        if result.verdict is not Verdict.ERRORED:
            known[result.case.id, result.candidate, result.repeat] = result
    kept = _unchanged_results(plan, known)
    for begin in range(0, len(kept), BATCH):
        await store.save(run.id, kept[begin : begin + BATCH])
    return len(kept)


def _unchanged_results(plan: Plan, known: dict[AttemptKey, Result]) -> list[Result]:
    kept: list[Result] = []
    for place, case in enumerate(plan.cases.read()):
        for at, each in enumerate(plan.candidates):
            result = known.get((case.id, each.candidate, each.repeat))
            if result is not None and result.case == case:
                kept.append(replace(result, position=place * len(plan.candidates) + at))
    return kept


async def _earlier_run(store: Store, run: Run) -> Run | None:
    """The newest finished run that differs from this one in nothing but what its files hold."""
    for each in await store.runs(limit=RECENT_RUNS, states=(RunState.COMPLETED,)):
        if each.id != run.id and alike(each.pins, run.pins):
            return each
    return None


def alike(first: Pins, second: Pins) -> bool:
    """Whether two runs differ in nothing but what their files hold."""
    return replace(first, datasets=()) == replace(second, datasets=())
