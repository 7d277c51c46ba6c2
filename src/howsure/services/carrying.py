"""Taking over what did not change: a new run of an edited dataset begins with the results of the run before for every
case that is still the same, so that only the others are tried again. For somebody who works on a dataset; a run that is
to be trusted by others tries everything."""

from __future__ import annotations

from msgspec.structs import replace

from howsure.model.result import Result
from howsure.model.run import Pins, Run, RunState
from howsure.model.verdict import Verdict
from howsure.services.planning import Plan
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
    for place, case in enumerate(made.survey.cases()):
        for at, lane in enumerate(made.lanes):
            result = known.get((case.id, lane.candidate, lane.repeat))
            if result is not None and result.case == case:
                kept.append(replace(result, position=place * len(made.lanes) + at))
    return kept


async def _like(store: Store, run: Run) -> Run | None:
    """The newest finished run that differs from this one in nothing but what its files hold."""
    for each in await store.runs(limit=LOOKED_AT, states=(RunState.COMPLETED,)):
        if each.id != run.id and alike(each.pins, run.pins):
            return each
    return None


def alike(first: Pins, second: Pins) -> bool:
    paths = [[pin.path for pin in pins.datasets] for pins in (first, second)]
    return paths[0] == paths[1] and replace(first, datasets=()) == replace(second, datasets=())
