"""Taking over what did not change: a new run of an edited dataset begins with the results of the run before for every
case that is still the same, so that only the others are tried again. For somebody who works on a dataset; a run that is
to be trusted by others tries everything."""

from __future__ import annotations

from msgspec.structs import replace

from howsure.model.result import Result
from howsure.model.run import Pins, Run, RunState
from howsure.model.verdict import Verdict
from howsure.services.run.plan import Plan
from howsure.store.store import Store

LOOKED_AT = 20
"""Recent runs among which one that is like the new one is looked for."""
HANDFUL = 500

Attempt = tuple[str, str, int]


async def carry_over(store: Store, run: Run, made: Plan) -> int:
    """Copy what is still true into a run that has just been made; how many results that were."""
    earlier = await _like(store, run)
    if earlier is None:
        return 0
    known: dict[Attempt, Result] = {}
    async for result in store.iterate(earlier.id):
        if result.verdict is not Verdict.ERRORED:
            known[result.case.id, result.candidate, result.repeat] = result
    kept = list(_kept(made, known))
    for begin in range(0, len(kept), HANDFUL):
        await store.save(run.id, kept[begin : begin + HANDFUL])
    return len(kept)


def _kept(made: Plan, known: dict[Attempt, Result]) -> list[Result]:
    kept: list[Result] = []
    for place, case in enumerate(made.cases.read()):
        for at, lane in enumerate(made.candidates):
            result = known.get((case.id, lane.candidate, lane.repeat))
            if result is not None and result.case == case:
                kept.append(replace(result, position=place * len(made.candidates) + at))
    return kept


async def _like(store: Store, run: Run) -> Run | None:
    """The newest finished run that differs from this one in nothing but what its files hold."""
    for each in await store.runs(limit=LOOKED_AT, states=(RunState.COMPLETED,)):
        if each.id != run.id and alike(each.pins, run.pins):
            return each
    return None


def alike(first: Pins, second: Pins) -> bool:
    """Whether two runs differ in nothing but what their files hold."""
    return replace(first, datasets=()) == replace(second, datasets=())
