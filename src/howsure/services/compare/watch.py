"""`howsure compare --watch`: compares a run in progress with another one, case by case in the random order of its
cases, with an interval that holds at every look."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

import numpy as np
from msgspec import Struct

from howsure.errors import PlanRefused
from howsure.model.comparison import Conclusion
from howsure.model.run import Run, RunState
from howsure.policies.gates import Gate, NoRegression
from howsure.services.compare.compare import CompareRequest, check_request
from howsure.services.gate.anytime import AnytimeGate
from howsure.services.run.until_sure import FILE_ORDER, attempts_of_case, look_again, same_files
from howsure.services.workspace import Workspace
from howsure.stats.confidence_sequences import anytime_interval, first_decision
from howsure.store.store import Store

LIVE = (RunState.PENDING, RunState.RUNNING)
POLL_SECONDS = 2.0
WORDS = {
    Conclusion.BETTER: "the second is better",
    Conclusion.WORSE: "the second is worse",
    Conclusion.EQUAL: "as good as equal",
    Conclusion.CANNOT_TELL: "cannot tell yet",
}


class WatchedDifference(Struct, frozen=True, kw_only=True):
    """How much more often a candidate passes than in the first run: over the `pairs` of cases that decided it, or while
    nothing is decided over all that are finished. `interval` holds at every look; `fair_order` is False where cases
    come in the order of their files."""

    candidate: str
    conclusion: Conclusion
    pairs: int
    cases: int
    difference: float | None
    interval: tuple[float, float]
    fair_order: bool

    def __str__(self) -> str:
        low, high = (f"{100 * end:+.1f}" for end in self.interval)
        change = "nothing known" if self.difference is None else f"{100 * self.difference:+.1f} points"
        text = f"after {self.pairs:,} pairs of {self.cases:,} cases: {change} ({low} to {high} at every look)"
        named = f"{self.candidate}: " if self.candidate else ""
        return f"{named}{text}: {WORDS[self.conclusion]}." + ("" if self.fair_order else FILE_ORDER)


async def watch_difference(
    work: Workspace, request: CompareRequest, tell: Callable[[WatchedDifference], None]
) -> list[WatchedDifference]:
    """Look every two seconds until everything is decided or both runs have ended; `tell` gets each new difference."""
    check_request(request)
    if len(request.runs) != 2 or request.by or request.cluster or request.candidates:
        raise PlanRefused("--watch compares the pass rates of two runs: without --by, --cluster and --candidate")
    shown: list[WatchedDifference] = []
    async with await work.store(read_only=True) as store:
        while True:
            first, second = [await store.find_run(name) for name in request.runs]
            found = await look_at_difference(store, first, second, request)
            ended = first.state not in LIVE and second.state not in LIVE
            if ended or all(each.conclusion is not Conclusion.CANNOT_TELL for each in found):
                return found
            for each in found if found != shown else ():
                tell(each)
            shown = found
            await asyncio.sleep(POLL_SECONDS)


async def look_at_difference(store: Store, first: Run, second: Run, request: CompareRequest) -> list[WatchedDifference]:
    """The differences so far, in the random order of the first run if it has one, so that the moment of its stop does
    not choose the pairs. An unfinished case holds up those after it, so that fast cases do not decide."""
    gate = Gate(expression="difference", condition=NoRegression(versus=first.id, by=request.margin))
    seed, blocked = first.pins.order_seed, frozenset[int]()
    if first.state in LIVE:
        if not same_files(first, second):
            raise PlanRefused(f"--watch: run {first.name!r} still goes on, and over other files than {second.name!r}")
        seed, tries = second.pins.order_seed if seed is None else seed, attempts_of_case(first)
        done = Counter(position // tries for position in await store.finished_positions(first.id))
        blocked = frozenset(place for place in range(first.counts.total // tries) if done[place] < tries)
    watch, fair = await look_again(store, second, gate, seed, to_the_end=True, blocked=blocked)
    return [_conclude(each, second, request, fair=fair) for each in watch.gates]


def _conclude(gate: AnytimeGate, run: Run, request: CompareRequest, *, fair: bool) -> WatchedDifference:
    lows, highs, weights = np.array(gate.lows), np.array(gate.highs), np.array(gate.weights)
    zero, upper, lower = (
        first_decision(lows, highs, (1 + limit) / 2, weights, request.confidence)
        for limit in (0.0, request.margin, -request.margin)
    )
    found: list[tuple[int, Conclusion]] = []
    if zero is not None:
        found.append((zero.look, Conclusion.BETTER if zero.above else Conclusion.WORSE))
    if upper is not None and lower is not None and not upper.above and lower.above:
        found.append((max(upper.look, lower.look), Conclusion.EQUAL))
    look, conclusion = min(found, default=(len(lows), Conclusion.CANNOT_TELL), key=lambda each: each[0])
    low, high = anytime_interval(lows[:look], highs[:look], weights[:look], request.confidence)
    known = (lows == highs)[:look]
    value = float(np.average(lows[:look][known], weights=weights[:look][known])) if known.any() else None
    return WatchedDifference(
        candidate=gate.candidate if len(run.pins.request.candidates) > 1 else "",
        conclusion=conclusion,
        pairs=look,
        cases=gate.cases,
        difference=None if value is None else 2 * value - 1,
        interval=(2 * low - 1, 2 * high - 1),
        fair_order=fair,
    )
