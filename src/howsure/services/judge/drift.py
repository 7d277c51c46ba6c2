"""`howsure judge drift`: has the judge changed, or the agent? Anchors are the answers of a stored run. Today's judge
judges them again: a change on the same answers comes from the judge, and a new run compared with the anchors as judged
today shows the agent alone. Loads numpy and scipy: imported only when needed."""

from __future__ import annotations

from contextlib import suppress

from msgspec import Struct

from howsure.errors import InputError, PlanRefused
from howsure.model.comparison import Conclusion, DifferenceKind, PairComparison
from howsure.model.leaderboard import DriftedCandidate, JudgeDrift
from howsure.model.run import Run
from howsure.model.run_request import ANCHORS_OF
from howsure.services.compare.compare import CompareRequest, compare_stored
from howsure.services.run.judges import NONE
from howsure.services.run.start import ProgressFactory, pinned_request, regrade_request, start
from howsure.services.workspace import Workspace
from howsure.store.store import Store


class DriftRequest(Struct, frozen=True, kw_only=True):
    """The run with the anchors, and the run to compare with them, if any. `judge` "": that of `run`, else that of the
    anchors."""

    anchors: str
    run: str = ""
    judge: str = ""
    limit: int | None = None
    budget: str = ""


async def judge_drift(work: Workspace, request: DriftRequest, watch: ProgressFactory) -> JudgeDrift:
    """Judge the anchors again, which makes a run, and report what changed."""
    async with await work.store(read_only=True) as store:
        anchors = await store.find_run(request.anchors)
        newest = await store.find_run(request.run) if request.run else None
    again = await _judge_anchors(work, anchors, newest or anchors, request, watch)
    async with await work.store(read_only=True) as store:
        return await _measure_drift(store, anchors, again, newest)


async def add_drift(work: Workspace, run: Run, watch: ProgressFactory) -> JudgeDrift | None:
    """Judge the anchors of a run that has ended, and store the result with it. If that fails, the run stays as it is,
    with a note that says why."""
    request = DriftRequest(anchors=run.pins.request.anchors, run=run.id, budget=run.pins.request.budget)
    try:
        drift = await judge_drift(work, request, watch)
    except InputError as error:
        async with await work.store() as store:
            await store.add_note(run.id, f"The anchors could not be judged again: {error}.")
        return None
    async with await work.store() as store:
        await store.change_pins(run.id, drift=drift)
    return drift


async def _judge_anchors(
    work: Workspace, anchors: Run, newest: Run, request: DriftRequest, watch: ProgressFactory
) -> Run:
    """The anchors, judged again without the cache."""
    judge = request.judge or newest.pins.request.judge
    if judge in ("", NONE):
        raise PlanRefused(f"run {newest.name!r} ({newest.id[:8]}) has no judge: name one with --judge")
    pinned = pinned_request(anchors)
    again = regrade_request(
        anchors,
        pinned,
        judge,
        cache=False,
        budget=request.budget,
        limit=request.limit or pinned.limit,
        gates=(),
        name=f"{ANCHORS_OF}{anchors.name or anchors.id[:8]}",
    )
    return (await start(work, again, watch)).run


async def _measure_drift(store: Store, anchors: Run, again: Run, newest: Run | None) -> JudgeDrift:
    """The judge's change on the anchors, and the agent's beside it."""
    judged = await _compared(store, anchors, again)
    whole: dict[str, PairComparison] = {}
    agent: dict[str, PairComparison] = {}
    with suppress(PlanRefused):  # they may have no case in common
        whole = await _compared(store, anchors, newest) if newest else {}
        agent = await _compared(store, again, newest) if newest else {}
    return JudgeDrift(
        anchors=anchors.id,
        judged_again=again.id,
        run=newest.id if newest else "",
        judge_before=anchors.pins.request.judge,
        judge_now=again.pins.request.judge,
        candidates=tuple(
            DriftedCandidate(
                candidate=name,
                judge=pair.verdict,
                graders=tuple(
                    each
                    for each in pair.differences
                    if each.kind is DifferenceKind.GRADER and each.conclusion in (Conclusion.BETTER, Conclusion.WORSE)
                ),
                agent=agent[name].verdict if name in agent else None,
                whole=whole[name].verdict if name in whole else None,
            )
            for name, pair in judged.items()
        ),
    )


async def _compared(store: Store, first: Run, second: Run) -> dict[str, PairComparison]:
    """Both runs, by the first one's candidate."""
    found = await compare_stored(store, CompareRequest(runs=(first.id, second.id)))
    return {pair.first.candidate: pair for pair in found.pairs}
