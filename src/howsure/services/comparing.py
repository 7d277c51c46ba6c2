"""`howsure compare`: runs, candidates or groups held against each other. What can be compared is checked first; then
the verdicts, graders, rules, components, tags and slices are paired case by case.

Loads numpy and scipy: import it where a comparison is asked for, not where a run starts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from howsure.errors import PlanRefused
from howsure.model.case import World
from howsure.model.comparison import Compared, Comparison
from howsure.model.noise import Noise
from howsure.model.run import Run
from howsure.services.comparison.changed import changed_between, changed_ids, unchanged
from howsure.services.comparison.differing import Asked, family, questions_of, verdict_difference
from howsure.services.comparison.flips import flaky, flips
from howsure.services.comparison.halves import Half, RunColumns, half
from howsure.services.comparison.likeness import same_rules, unlike
from howsure.services.comparison.pairing import Aligned, align, clusters, faces
from howsure.services.comparison.sides import Versus, Wanted, check, sides
from howsure.services.noise import noise_of
from howsure.services.workspace import Workspace
from howsure.store.store import Store

SCENARIO = "scenario_id"
"""Explain cases of one scenario resemble one another: they are one cluster unless something else is said."""

LARGE = 2000
MANY_TIMES = 4
"""A run that is larger than this, and so many times as large as the other, is read as far as the other goes."""

__all__ = ["Wanted", "compare", "compared"]


async def compare(work: Workspace, wanted: Wanted) -> Comparison:
    """Compare stored runs. `NotFound` or `PlanRefused` where there is nothing to compare."""
    check(wanted)
    async with await work.store(read_only=True) as store:
        return await compared(store, wanted)


async def compared(store: Store, wanted: Wanted) -> Comparison:
    """The same with a store that is open already."""
    check(wanted)
    found = [await store.find_run(name) for name in wanted.runs]
    _refuse_twice(found, wanted)
    # The cases are the first run's: only that one's tags and labels are read.
    runs = await asyncio.gather(*(_columns(store, found, place, wanted) for place in range(len(found))))
    chosen = sides(runs, wanted)
    label = _cluster(found, wanted)
    return Comparison(
        pairs=tuple([await _compared(store, runs, versus, wanted, label) for versus in chosen.versus]),
        unit=wanted.pair or "case",
        cluster=label,
        margin=wanted.margin,
        confidence=wanted.confidence,
        left_out=chosen.left_out,
    )


def _refuse_twice(found: Sequence[Run], wanted: Wanted) -> None:
    ids = [run.id for run in found]
    if len(set(ids)) < len(ids) and not wanted.candidates:
        twice = next(run for run in found if ids.count(run.id) > 1)
        raise PlanRefused(f"run {twice.name!r} ({twice.id[:8]}) is named twice: a run does not differ from itself")
    for run in found:
        if not run.counts.completed:
            raise PlanRefused(f"run {run.name!r} ({run.id[:8]}) has no results yet: `howsure resume {run.id[:8]}`")


async def _columns(store: Store, found: Sequence[Run], place: int, wanted: Wanted) -> RunColumns:
    run, faced = found[place], not place
    smaller = _much_smaller(found, place, wanted)
    if smaller is not None:
        own = await store.shared(run.id, smaller.id)
        known = {face.id: face for face in own.faces} if faced else {}
        return RunColumns(run=run, attempts=own.attempts, measured=own.measured, faces=known, unread=own.others)
    attempts, measured = await store.columns(run.id)
    known = {face.id: face for face in await store.faces(run.id)} if faced else {}
    return RunColumns(run=run, attempts=attempts, measured=measured, faces=known)


def _much_smaller(found: Sequence[Run], place: int, wanted: Wanted) -> Run | None:
    """The other of two runs, where it is so much smaller that only its cases need be read. Of repeats all are: which
    cases are flaky is told of every one."""
    if len(found) != 2 or wanted.grouped or any(run.pins.repeat > 1 for run in found):
        return None
    other = found[1 - place]
    return other if found[place].counts.total > max(LARGE, MANY_TIMES * other.counts.total) else None


def _cluster(found: Sequence[Run], wanted: Wanted) -> str:
    if wanted.cluster is not None:
        return wanted.cluster
    explain = all(pin.dialect == World.EXPLAIN for run in found for pin in run.pins.datasets)
    return SCENARIO if explain and not wanted.grouped else ""


async def _compared(store: Store, runs: Sequence[RunColumns], versus: Versus, wanted: Wanted, label: str) -> Compared:
    (one, first), (other, second) = versus.first, versus.second
    group_by = wanted.by[0] if wanted.grouped else ""
    aligned = align(
        half(runs[one], first, group_by=group_by, pair_by=wanted.pair),
        half(runs[other], second, group_by=group_by, pair_by=wanted.pair),
    )
    _refuse_strangers(aligned, wanted)
    changed = await changed_between(store, runs[one].run, runs[other].run)
    same = unchanged(aligned, changed_ids(changed))
    seen = faces(same)
    asked = Asked(margin=wanted.margin, confidence=wanted.confidence, clusters=clusters(same, seen, label))
    pins = runs[one].run.pins, runs[other].run.pins
    rules = same_rules(pins[0].rubric, pins[1].rubric)
    slices = () if wanted.grouped else wanted.by
    own = {False: aligned.first, True: aligned.second}
    repeated = (False, True) if any(pin.repeat > 1 for pin in pins) else ()
    return Compared(
        first=first,
        second=second,
        verdict=verdict_difference(same, asked),
        differences=family(same, questions_of(same, seen, slices, rules), asked),
        flips=await flips(store, aligned, changed_ids(changed)),
        unlike=(
            () if runs[one].run.id == runs[other].run.id else unlike(runs[one].run.pins, runs[other].run.pins, changed)
        ),
        flaky=tuple([each for one in repeated for each in await flaky(store, own[one], second=one)]),
        noise=tuple([each for one in repeated for each in await _noise(store, own[one], second=one)]),
        notes=tuple(_notes(runs[one].run, runs[other].run, aligned)),
    )


async def _noise(store: Store, own: Half, *, second: bool) -> list[Noise]:
    """Of the side's candidate; two groups of one run share their candidate, and its noise is told once."""
    if own.side.group and second:
        return []
    return await noise_of(store, own.side.run_id, own.side.candidate, second=second)


def _refuse_strangers(aligned: Aligned, wanted: Wanted) -> None:
    if len(aligned.in_first):
        return
    ours, theirs = aligned.first, aligned.second
    if wanted.grouped:
        raise PlanRefused(
            f"no {wanted.pair} is in both groups {ours.side.group!r} and {theirs.side.group!r}: nothing can be paired"
        )
    raise PlanRefused(
        f"runs {ours.side.run_name!r} ({ours.side.run_id[:8]}) and {theirs.side.run_name!r} "
        f"({theirs.side.run_id[:8]}) have no case in common: one has {ours.keys[0]!r}, the other {theirs.keys[0]!r}; "
        "compare runs of the same test set"
    )


def _notes(first: Run, second: Run, aligned: Aligned) -> list[str]:
    notes = [
        f"run {run.name!r} ({run.id[:8]}) is not finished: {run.counts.pending:,} are pending"
        for run in {first.id: first, second.id: second}.values()
        if run.counts.pending
    ]
    notes += [
        f"{own.side.group}: several cases share a pair; their values are averaged"
        for own in (aligned.first, aligned.second)
        if own.side.group and len(own.keys) < len(set(own.cases.tolist()))
    ]
    if first.pins.repeat != second.pins.repeat:
        notes.append(f"{first.pins.repeat} and {second.pins.repeat} repeats; a case's repeats are averaged")
    return notes
