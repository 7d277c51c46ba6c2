"""`howsure compare`: runs, candidates or groups against each other. The request is checked first and the sides are
chosen: runs by the candidates they share, two candidates, or two groups of one run. Then verdicts, graders, rules,
components, tags and slices are paired case by case. Loads numpy and scipy: import it where a comparison is asked for,
not where a run starts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import NotFound, PlanRefused
from howsure.model.case import World
from howsure.model.comparison import Comparison, PairComparison, Side
from howsure.model.run import Run
from howsure.reports.figures import format_percent, pluralize
from howsure.reports.run_facts import points_text
from howsure.services.compare.comparability import changed_between, drop_changed, run_mismatches, same_rules
from howsure.services.compare.differences import DifferenceOptions, compared_quantities, test_family, verdict_difference
from howsure.services.compare.flips import find_flaky, find_flips
from howsure.services.compare.pairs import PairedUnits, RunColumns, pair_clusters, pair_faces, pair_units, side_columns
from howsure.services.compare.variance import read_noise
from howsure.services.workspace import Workspace
from howsure.store.store import Store

LISTED = 8


class CompareRequest(Struct, frozen=True, kw_only=True):
    """What to compare. Several runs: each with the first; `by` are labels to slice by. One run: two of its candidates
    (`candidates`), or, with `pair`, the cases of each value of the label `by`, paired by the label `pair`, each value
    against `base` (default: the first value). `cluster` None: what the datasets suggest; "": none. A difference below
    `margin`, a share of the scale, counts as none."""

    runs: tuple[str, ...]
    by: tuple[str, ...] = ()
    pair: str = ""
    base: str = ""
    candidates: tuple[tuple[str, str], ...] = ()
    cluster: str | None = None
    margin: float = 0.05
    confidence: float = 0.95

    @property
    def grouped(self) -> bool:
        return bool(self.pair)


SidePair = tuple[Side, Side]


class SidePairs(Struct, frozen=True, kw_only=True):
    """All pairs of sides to compare; `left_out` says what is not compared, and why."""

    versus: tuple[SidePair, ...]
    left_out: tuple[str, ...] = ()


def check_request(request: CompareRequest) -> None:
    """Refuse a request that makes no sense before anything is read."""
    if not 0 <= request.margin < 1:
        raise PlanRefused(f"--margin is a share of the scale, such as 0.05, not {request.margin:g}")
    if not 0.5 < request.confidence < 1:
        raise PlanRefused(f"--confidence lies between 0.5 and 1, such as 0.95, not {request.confidence:g}")
    if request.grouped and (len(request.runs) != 1 or len(request.by) != 1):
        raise PlanRefused("--pair compares groups inside one run: name one RUN and one --by LABEL")
    if len(request.runs) == 1 and not request.grouped and not request.candidates:
        raise PlanRefused(
            "one run alone has nothing to be compared with: name a second RUN, two of its candidates "
            "(--candidate A=B), or two groups of its cases (--by LABEL --pair LABEL)"
        )
    if request.base and not request.grouped:
        raise PlanRefused("--base names the group to start from: it goes with --by and --pair")


def choose_sides(runs: Sequence[RunColumns], request: CompareRequest) -> SidePairs:
    """The pairs of sides that the request asks for."""
    if request.grouped:
        return _groups(runs[0], request)
    pairs = [_candidates(runs[0], other, request) for other in runs[1:] or runs]
    return SidePairs(
        versus=_named([each for one in pairs for each in one.versus]),
        left_out=tuple(dict.fromkeys(each for one in pairs for each in one.left_out)),
    )


def _candidates(first: RunColumns, second: RunColumns, request: CompareRequest) -> SidePairs:
    ours, theirs = first.attempts.candidate_names, second.attempts.candidate_names
    named = request.candidates or tuple((name, name) for name in ours if name in theirs)
    if not request.candidates and len(ours) == len(theirs) == 1:
        named = ((ours[0], theirs[0]),)  # whatever their names are
    if not named:
        raise PlanRefused(
            f"{_called(first)} has the candidates {_listed(ours)}, {_called(second)} has {_listed(theirs)}: "
            "none in common; say which to compare with --candidate A=B"
        )
    for name, known, run in [(pair[0], ours, first) for pair in named] + [(pair[1], theirs, second) for pair in named]:
        if name not in known:
            raise NotFound(f"{_called(run)} has no candidate {name!r}; it has {_listed(known)}")
    left_out = [
        f"candidate {name!r} of {_called(columns)} has no counterpart"
        for place, columns in enumerate(() if request.candidates else (first, second))
        for name in columns.attempts.candidate_names
        if name not in {pair[place] for pair in named}
    ]
    pairs = [(_side(first, one), _side(second, other)) for one, other in named]
    return SidePairs(versus=tuple(pairs), left_out=tuple(left_out))


def _groups(columns: RunColumns, request: CompareRequest) -> SidePairs:
    (label,) = request.by
    faces = [columns.faces[case] for case in columns.attempts.case_ids if case in columns.faces]
    known = list(dict.fromkeys(face.labels[label] for face in faces if label in face.labels))
    if len(known) < 2:
        raise PlanRefused(f"all cases of {_called(columns)} have {label}={known[0]}: there is nothing to compare")
    base = request.base or known[0]
    if base not in known:
        raise NotFound(f"no case of {_called(columns)} has {label}={base}; there is {_listed(known)}")
    names = columns.attempts.candidate_names
    chosen = {name for pair in request.candidates for name in pair} or set(names)
    if len(chosen) != 1 or not chosen <= set(names):
        raise PlanRefused(f"groups are compared for one candidate: --candidate NAME=NAME with one of {_listed(names)}")
    candidate = chosen.pop()
    first = _side(columns, candidate, base)
    pairs = [(first, _side(columns, candidate, value)) for value in known if value != base]
    lacking = sum(label not in face.labels or request.pair not in face.labels for face in faces)
    left_out = (f"{pluralize(lacking, 'case')} without {label} or {request.pair}",) if lacking else ()
    return SidePairs(versus=tuple(pairs), left_out=left_out)


def _side(columns: RunColumns, candidate: str, group: str = "") -> Side:
    return Side(name=group, run_id=columns.run.id, run_name=columns.run.name, candidate=candidate, group=group)


def _named(found: Sequence[SidePair]) -> tuple[SidePair, ...]:
    """Give the sides the shortest names that tell them apart: the run's name, with its id where two runs share it, and
    with the candidate where a run takes part with several."""
    every = [side for pair in found for side in pair]
    runs = {side.run_id: side.run_name for side in every}
    ambiguous = {name for name in runs.values() if not name or list(runs.values()).count(name) > 1}
    several = len({(side.run_id, side.candidate) for side in every}) > len(runs)

    def name(side: Side) -> Side:
        run = f"{side.run_name or 'run'} ({side.run_id[:8]})" if side.run_name in ambiguous else side.run_name
        candidate = side.candidate or "unnamed"
        return replace(side, name=candidate if several and len(runs) == 1 else f"{run}/{candidate}" if several else run)

    return tuple((name(first), name(second)) for first, second in found)


def _called(columns: RunColumns) -> str:
    return f"run {columns.run.name!r} ({columns.run.id[:8]})"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:LISTED])
    return f"{shown}, …" if len(names) > LISTED else shown or "none"


SCENARIO = "scenario_id"
"""Explain cases of one scenario resemble one another: they are one cluster unless the request says otherwise."""

LARGE = 2000
MANY_TIMES = 4
"""A run with more than LARGE attempts, and MANY_TIMES as many as the other, is read only as far as the other goes."""


async def compare_runs(work: Workspace, request: CompareRequest) -> Comparison:
    """Compare stored runs. Raises `NotFound` or `PlanRefused` where there is nothing to compare."""
    check_request(request)
    async with await work.store(read_only=True) as store:
        return await compare_stored(store, request)


async def compare_stored(store: Store, request: CompareRequest) -> Comparison:
    """The same as `compare_runs`, with a store that is open already."""
    check_request(request)
    runs_found = [await store.find_run(name) for name in request.runs]
    ids = [run.id for run in runs_found]
    if len(set(ids)) < len(ids) and not request.candidates:
        twice = next(run for run in runs_found if ids.count(run.id) > 1)
        raise PlanRefused(f"run {twice.name!r} ({twice.id[:8]}) is named twice: a run does not differ from itself")
    for run in runs_found:
        if not run.counts.completed:
            raise PlanRefused(f"run {run.name!r} ({run.id[:8]}) has no results yet: `howsure resume {run.id[:8]}`")
    # Slices are by the first run's cases: only its tags and labels are read.
    runs = await asyncio.gather(*(_columns(store, runs_found, place, request) for place in range(len(runs_found))))
    _check_labels(runs[0], request)
    chosen = choose_sides(runs, request)
    # Reversed: of a run that is named twice, the first has the labels.
    by_id = {columns.run.id: columns for columns in reversed(runs)}
    label = request.cluster
    if label is None:
        explain = all(pin.dialect == World.EXPLAIN for run in runs_found for pin in run.pins.datasets)
        label = SCENARIO if explain and not request.grouped else ""
    return Comparison(
        pairs=tuple([await _compared(store, by_id, versus, request, label) for versus in chosen.versus]),
        unit=request.pair or "case",
        cluster=label,
        margin=request.margin,
        confidence=request.confidence,
        left_out=chosen.left_out,
    )


def _check_labels(columns: RunColumns, request: CompareRequest) -> None:
    """Refuse a label that no case has, rather than show nothing for it."""
    known = sorted({name for face in columns.faces.values() for name in face.labels})
    for name in filter(None, (*request.by, request.pair, request.cluster)):
        if name not in known:
            raise NotFound(f"no case of {_called(columns)} has the label {name!r}; they have {_listed(known)}")


async def _columns(store: Store, runs: Sequence[Run], place: int, request: CompareRequest) -> RunColumns:
    run, faced = runs[place], not place
    # Where the other of two runs is much smaller, only its cases are read. Runs with repeats are read whole: flaky
    # cases are listed for all of them.
    if len(runs) == 2 and not request.grouped and all(each.pins.request.repeat == 1 for each in runs):
        other = runs[1 - place]
        if run.counts.total > max(LARGE, MANY_TIMES * other.counts.total):
            own = await store.shared_cases(run.id, other.id)
            faces = {face.id: face for face in own.faces} if faced else {}
            return RunColumns(run=run, attempts=own.attempts, measured=own.measured, faces=faces, unread=own.others)
    attempts, measured = await store.columns(run.id)
    faces = {face.id: face for face in await store.case_previews(run.id)} if faced else {}
    return RunColumns(run=run, attempts=attempts, measured=measured, faces=faces)


async def _compared(
    store: Store, runs: Mapping[str, RunColumns], versus: SidePair, request: CompareRequest, label: str
) -> PairComparison:
    first, second = versus
    ours, theirs = runs[first.run_id], runs[second.run_id]
    group_by = request.by[0] if request.grouped else ""
    aligned = pair_units(
        side_columns(ours, first, group_by=group_by, pair_by=request.pair),
        side_columns(theirs, second, group_by=group_by, pair_by=request.pair),
    )
    _refuse_strangers(aligned, request)
    changed = await changed_between(store, ours.run, theirs.run)
    changed_ids = frozenset(before.id for before, _ in changed)
    same = drop_changed(aligned, changed_ids)
    seen = pair_faces(same)
    options = DifferenceOptions(
        margin=request.margin, confidence=request.confidence, clusters=pair_clusters(same, seen, label)
    )
    pins = ours.run.pins, theirs.run.pins
    rules = same_rules(pins[0].rubric, pins[1].rubric)
    slices = () if request.grouped else request.by
    repeated = ((aligned.first, False), (aligned.second, True)) if any(pin.request.repeat > 1 for pin in pins) else ()
    # Two groups of one run share their candidate: its noise is told once.
    noisy = [(own.side, is_second) for own, is_second in repeated if not (own.side.group and is_second)]
    noise = [await read_noise(store, side.run_id, side.candidate, second=is_second) for side, is_second in noisy]
    flaky = [await find_flaky(store, own, second=is_second) for own, is_second in repeated]
    # Of large runs this takes seconds: the service answers others meanwhile.
    verdict = await asyncio.to_thread(verdict_difference, same, options)
    quantities = await asyncio.to_thread(compared_quantities, same, seen, slices, rules)
    return PairComparison(
        first=first,
        second=second,
        verdict=verdict,
        differences=await asyncio.to_thread(test_family, same, quantities, options),
        flips=await find_flips(store, aligned, changed_ids),
        unlike=() if first.run_id == second.run_id else run_mismatches(*pins, changed),
        flaky=tuple(chain.from_iterable(flaky)),
        noise=tuple(chain.from_iterable(noise)),
        notes=(
            *_notes(ours.run, theirs.run, aligned),
            *await _drift_notes(store, ours.run, theirs.run, first.candidate),
        ),
    )


async def _drift_notes(store: Store, first: Run, second: Run, candidate: str) -> list[str]:
    """How much of the difference comes from a changed judge: by anchors that were judged again with both runs, or by
    the first run itself if its answers are the anchors of the second."""
    before, after = first.pins.drift, second.pins.drift
    if after is None or first.id == second.id:
        return []
    if after.anchors == first.id:
        changes = [
            f"judge: {points_text(each.judge)} on the same answers; agent, by today's judge: {points_text(each.agent)}"
            for each in after.candidates
            if each.agent and each.candidate == candidate
        ]
        return [f"by anchors, {change}" for change in changes]
    if before is None or before.anchors != after.anchors:
        return []
    with suppress(NotFound, PlanRefused):  # the anchors' runs may be erased
        found = await compare_stored(store, CompareRequest(runs=(before.judged_again, after.judged_again)))
        own = [each for each in found.pairs if len(found.pairs) == 1 or each.first.candidate == candidate]
        changes = [points_text(each.verdict) for each in own]
        return [
            f"by anchors judged with both runs, the judge changed by {each}; it is part of this" for each in changes
        ]
    return []


def _refuse_strangers(aligned: PairedUnits, request: CompareRequest) -> None:
    if len(aligned.in_first):
        return
    ours, theirs = aligned.first, aligned.second
    if request.grouped:
        raise PlanRefused(
            f"no {request.pair} is in both groups {ours.side.group!r} and {theirs.side.group!r}: nothing can be paired"
        )
    raise PlanRefused(
        f"runs {ours.side.run_name!r} ({ours.side.run_id[:8]}) and {theirs.side.run_name!r} "
        f"({theirs.side.run_id[:8]}) have no case in common: one has {ours.keys[0]!r}, the other {theirs.keys[0]!r}; "
        "compare runs of the same test set"
    )


def _unpaired_notes(aligned: PairedUnits) -> Iterator[str]:
    """Names the few cases that one side lacks, and gives the rate of each run as a whole."""
    sides = (
        (aligned.first, aligned.in_first, aligned.only_first),
        (aligned.second, aligned.in_second, aligned.only_second),
    )
    if not any(alone for _, _, alone in sides):
        return
    for word, (own, paired, alone) in zip(("first", "second"), sides, strict=True):
        if 0 < alone <= LISTED:
            there = set(paired.tolist())
            yield f"only on the {word} side: {', '.join(key for at, key in enumerate(own.keys) if at not in there)}"
    runs = [own.columns for own, _, _ in sides]
    if all(len(each.attempts.candidate_names) == 1 and each.run.counts.pass_rate is not None for each in runs):
        counts = [each.run.counts for each in runs]
        shares = [f"{format_percent(each.pass_rate or 0.0)} of {each.passed + each.failed:,}" for each in counts]
        yield f"of all results, {shares[0]} passed in the first run and {shares[1]} in the second"


def _notes(first: Run, second: Run, aligned: PairedUnits) -> list[str]:
    notes = [] if aligned.first.side.group else list(_unpaired_notes(aligned))
    notes += [
        f"run {run.name!r} ({run.id[:8]}) is not finished: {run.counts.pending:,} are pending"
        for run in {first.id: first, second.id: second}.values()
        if run.counts.pending
    ]
    notes += [
        f"{own.side.group}: several cases share a pair; their values are averaged"
        for own in (aligned.first, aligned.second)
        if own.side.group and len(own.keys) < len(set(own.cases.tolist()))
    ]
    if first.pins.request.repeat != second.pins.request.repeat:
        notes.append(
            f"{first.pins.request.repeat} and {second.pins.request.repeat} repeats; a case's repeats are averaged"
        )
    return notes
