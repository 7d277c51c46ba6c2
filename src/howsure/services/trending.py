"""`howsure trend`: the runs of an agent, a run name or a dataset over time, with change points.

Loads numpy and scipy: import it where a trend is asked for, not where a run starts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import PurePath

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import NotFound, PlanRefused
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.comparison import Bearing
from howsure.model.history import History, Line, Point, Standing, Turning
from howsure.model.run import Run, RunState
from howsure.model.summary import Summary
from howsure.services.comparison.changed import changed_between
from howsure.services.comparison.likeness import unlike
from howsure.services.trend_clusters import PASS_RATE, clustered_rates
from howsure.services.workspace import Workspace
from howsure.stats.estimates import Estimate
from howsure.stats.rates import for_rate
from howsure.stats.trend import trend
from howsure.store.store import Store

ENOUGH = 50
"""So many runs are looked at unless told otherwise."""
LOOKED_AT = 5000
"""The newest so many runs are searched."""


class Asked(Struct, frozen=True, kw_only=True):
    """Whose runs: an agent's id or the name that runs share; or those over a dataset. `among` the newest so many.
    `graders`: with a line for each, besides the pass rate."""

    whose: str = ""
    dataset: str = ""
    candidate: str | None = None
    limit: int = ENOUGH
    among: int = LOOKED_AT
    graders: bool = True


async def history(work: Workspace, asked: Asked) -> History:
    if bool(asked.whose) == bool(asked.dataset):
        raise PlanRefused("a trend is that of one agent (or run name), or of a dataset: AGENT or --dataset NAME")
    async with await work.store(read_only=True) as store:
        return await history_in(store, asked)


async def history_in(store: Store, asked: Asked, within: AccessScope = EVERYWHERE) -> History:
    """The same with a store that is open already, of the runs that can be seen `within`."""
    found = await _runs(store, asked, within)
    done = [run for run in found if run.state is RunState.COMPLETED]
    if not done:
        raise NotFound(f"no run of {asked.whose or asked.dataset!r} is completed yet")
    kept = done[-asked.limit :]
    summaries = await store.summaries(kept)
    changes = await _unlike(store, kept)
    clustered = [await clustered_rates(store, run, asked.candidate) for run in kept]
    _check_candidate(summaries, asked)
    left_out = len(found) - len(kept)
    shown = summaries if asked.graders else [replace(each, graders=()) for each in summaries]
    return told(asked.whose or asked.dataset, shown, changes, asked.candidate, clustered, left_out=left_out)


async def _runs(store: Store, asked: Asked, within: AccessScope) -> list[Run]:
    """Oldest first."""
    if asked.whose:
        found = await store.runs(limit=asked.among, agent_id=asked.whose, within=within)
        if not found:
            found = [run for run in await store.runs(limit=asked.among, within=within) if run.name == asked.whose]
    else:
        found = [run for run in await store.runs(limit=asked.among, within=within) if _is_over(run, asked.dataset)]
    if not found:
        kind = "agent or run name" if asked.whose else "dataset"
        raise NotFound(f"there is no run of the {kind} {asked.whose or asked.dataset!r}; `howsure runs` lists them")
    return found[::-1]


def _is_over(run: Run, dataset: str) -> bool:
    names = {name for pin in run.pins.datasets for name in (pin.path, PurePath(pin.path).name, pin.name, pin.id)}
    return dataset in names - {""}


def _check_candidate(summaries: Sequence[Summary], asked: Asked) -> None:
    known = list(dict.fromkeys(name for summary in summaries for name in summary.candidates))
    if asked.candidate is not None and asked.candidate not in known:
        raise NotFound(f"no run has the candidate {asked.candidate!r}; there is {', '.join(map(repr, known))}")
    if asked.candidate is None and len(known) > 1 and any(len(each.candidates) > 1 for each in summaries):
        raise PlanRefused(f"these runs have several candidates ({', '.join(map(repr, known))}): say --candidate")


async def _unlike(store: Store, runs: Sequence[Run]) -> list[tuple[str, ...]]:
    """For each run, what it does not share with the one before it."""
    found: list[tuple[str, ...]] = [()] if runs else []
    for before, after in pairwise(runs):
        same = [pin.sha256 for pin in before.pins.datasets] == [pin.sha256 for pin in after.pins.datasets]
        changed = await changed_between(store, before, after)
        flags = [
            f"{each.what.value}: {each.said}"
            for each in unlike(before.pins, after.pins, changed)
            if each.bearing is not Bearing.EXPECTED
        ]
        if not same and before.counts.total != after.counts.total:
            flags.insert(0, f"test set: {before.counts.total:,} attempts before, {after.counts.total:,} now")
        found.append(tuple(flags))
    return found


def told(
    whose: str,
    summaries: Sequence[Summary],
    changes: Sequence[tuple[str, ...]],
    candidate: str | None = None,
    clustered: Sequence[Mapping[str, Estimate]] = (),
    *,
    left_out: int = 0,
) -> History:
    """Pure: the history of these runs, oldest first. `clustered` has each run's rates where its results belong
    together; without, they are those of the counts."""
    runs = tuple(
        Standing(
            run_id=each.run.id,
            name=each.run.name,
            at=each.run.started_at or each.run.created_at,
            errored=each.run.counts.errored,
            skipped=each.run.counts.skipped,
            unlike=flags,
        )
        for each, flags in zip(summaries, changes, strict=True)
    )
    rates = {PASS_RATE: [_verdicts(each, candidate) for each in summaries]}
    for name in dict.fromkeys(grader.name for each in summaries for grader in each.graders):
        marked = [_marked(each, name, candidate) for each in summaries]
        if any(judged for _, judged in marked):
            rates[name] = marked
    known = clustered or [{} for _ in summaries]
    lines = tuple(_line(name, counts, changes, [own.get(name) for own in known]) for name, counts in rates.items())
    return History(whose=whose, runs=runs, lines=lines, left_out=left_out)


def _verdicts(summary: Summary, candidate: str | None) -> tuple[int, int]:
    counts = summary.run.counts if candidate is None else summary.candidates.get(candidate)
    return (0, 0) if counts is None else _cases(counts.passed, counts.failed, summary.run.pins.repeat)


def _marked(summary: Summary, name: str, candidate: str | None) -> tuple[int, int]:
    own = [each for each in summary.graders if each.name == name and candidate in (None, each.candidate)]
    passed, failed = sum(each.passed for each in own), sum(each.failed for each in own)
    return _cases(passed, failed, summary.run.pins.repeat)


def _cases(passed: int, failed: int, repeat: int) -> tuple[int, int]:
    """Repeats of one case resemble each other: counted as cases, not as tries, they promise no more than they show."""
    judged = round((passed + failed) / repeat)
    return min(round(passed / repeat), judged), judged


def _line(
    name: str,
    counts: Sequence[tuple[int, int]],
    changes: Sequence[tuple[str, ...]],
    known: Sequence[Estimate | None],
) -> Line:
    found = trend(counts)
    return Line(
        name=name,
        points=tuple(_point(*each, rate) for each, rate in zip(counts, known, strict=True)),
        turnings=tuple(
            Turning(
                index=change.index,
                before=change.before,
                after=change.after,
                p_value=change.p_value,
                interval=change.interval,
                unlike=changes[change.index],
            )
            for change in found.changes
        ),
    )


def _point(passed: int, judged: int, known: Estimate | None) -> Point:
    found = known or (for_rate(passed, judged) if judged else None)
    return Point(
        passed=passed,
        judged=judged,
        rate=found.value if found else None,
        interval=found.interval if found else None,
    )
