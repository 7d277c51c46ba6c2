"""`howsure trend`: the pass rates of an agent's runs over time, with the points where they changed, and with the
intervals that the runs themselves show. Changes are found in the results: runs are paired by case, and repeats of one
case or Explain cases of one scenario count as one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import PurePath
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict, replace

from howsure.errors import NotFound, PlanRefused
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.run import Run, RunState
from howsure.model.run_history import History, HistoryLine, HistoryPoint, HistoryRun, RateChange
from howsure.model.run_request import ANCHORS_OF
from howsure.model.summary import Summary
from howsure.model.verdict import Verdict
from howsure.reports.figures import Rate, pass_rate_of
from howsure.services.compare.comparability import changed_between, mismatch_texts
from howsure.services.workspace import Workspace
from howsure.stats.trend import RunRates, count_rates, paired_rates_of_runs, trend
from howsure.store.run_columns import OUTCOMES, VERDICTS
from howsure.store.store import Store

PASS_RATE = "pass rate"
PASSED, FAILED = "passed", "failed"


class TrendVerdict(NamedTuple):
    """One result: whether it passed, its case, and its cluster."""

    passed: bool
    case: str
    cluster: str


async def run_outcomes(store: Store, run: Run, candidate: str | None = None) -> dict[str, list[TrendVerdict]]:
    """The results behind the pass rate, and behind the rate of each grader with a pass mark, by name. A case belongs to
    its scenario, any other case is a cluster of its own repeats."""
    grouped = await store.scenario_clusters(run)
    attempts, measured = await store.columns(run.id)
    own = {
        position: attempts.case_ids[case]
        for position, case, name in zip(attempts.positions, attempts.cases, attempts.candidates, strict=True)
        if candidate in (None, attempts.candidate_names[name])
    }
    found: defaultdict[str, list[TrendVerdict]] = defaultdict(list)
    for position, code in zip(attempts.positions, attempts.verdicts, strict=True):
        verdict, case = VERDICTS[code], own.get(position)
        if case is not None and verdict in (Verdict.PASSED, Verdict.FAILED):
            found[PASS_RATE].append(TrendVerdict(verdict is Verdict.PASSED, case, grouped.get(case, case)))
    for each in measured:
        if each.part_id is None and candidate in (None, each.candidate):
            for position, code in zip(each.positions, each.outcomes, strict=True):
                if (case := own.get(position)) is not None and OUTCOMES[code] in (PASSED, FAILED):
                    found[each.name].append(TrendVerdict(OUTCOMES[code] == PASSED, case, grouped.get(case, case)))
    return dict(found)


def paired_by_case(runs: Sequence[Sequence[TrendVerdict]]) -> RunRates | None:
    """The rates of runs over the same cases; None where they share too few, or belong to one run only."""
    places = {case: place for place, case in enumerate(dict.fromkeys(one.case for own in runs for one in own))}
    passed, judged = np.zeros((len(runs), len(places))), np.zeros((len(runs), len(places)))
    clusters = {one.case: one.cluster for own in runs for one in own}
    for row, own in enumerate(runs):
        np.add.at(passed[row], [places[one.case] for one in own], [one.passed for one in own])
        np.add.at(judged[row], [places[one.case] for one in own], 1)
    values = np.where(judged > 0, passed / np.maximum(judged, 1), np.nan)
    return paired_rates_of_runs(values, [clusters[case] for case in places]) if places else None


ENOUGH = 50
"""Runs that are shown by default."""
LOOKED_AT = 5000
"""The newest runs that are searched."""
MOST_READ = 200_000
"""Results that are read at most; runs with more of them together are compared by their counts."""


class TrendQuery(Struct, frozen=True, kw_only=True):
    """Whose runs: an agent's id or the name that the runs share (`whose`), or the dataset they are over. `among`: how
    many of the newest runs are searched. `graders`: show a line for each grader besides the pass rate."""

    whose: str = ""
    dataset: str = ""
    candidate: str | None = None
    limit: int = ENOUGH
    among: int = LOOKED_AT
    graders: bool = True


async def run_history(work: Workspace, query: TrendQuery) -> History:
    """The history of the runs that the query selects."""
    if bool(query.whose) == bool(query.dataset):
        raise PlanRefused("a trend is that of one agent (or run name), or of a dataset: AGENT or --dataset NAME")
    async with await work.store(read_only=True) as store:
        return await stored_history(store, query)


async def stored_history(store: Store, query: TrendQuery, within: AccessScope = EVERYWHERE) -> History:
    """The same as `run_history`, with a store that is open already and only the runs visible `within` this scope."""
    # The runs, oldest first.
    if query.whose:
        found = await store.runs(limit=query.among, agent_id=query.whose, within=within)
        if not found:
            found = [run for run in await store.runs(limit=query.among, within=within) if run.name == query.whose]
    else:
        found = [run for run in await store.runs(limit=query.among, within=within) if _is_over(run, query.dataset)]
    if not found:
        kind = "agent or run name" if query.whose else "dataset"
        raise NotFound(f"there is no run of the {kind} {query.whose or query.dataset!r}; `howsure runs` lists them")
    found = found[::-1]
    done = [run for run in found if run.state is RunState.COMPLETED and not run.name.startswith(ANCHORS_OF)]
    if not done:
        raise NotFound(f"no run of {query.whose or query.dataset!r} is completed yet")
    latest = done[-query.limit :]
    summaries = await store.summaries(latest)
    changes = await _mismatches(store, latest)
    outcomes: list[dict[str, list[TrendVerdict]]] = []
    if sum(run.counts.total for run in latest) <= MOST_READ:
        outcomes = [await run_outcomes(store, run, query.candidate) for run in latest]
    known = list(dict.fromkeys(name for summary in summaries for name in summary.candidates))
    if query.candidate is not None and query.candidate not in known:
        raise NotFound(f"no run has the candidate {query.candidate!r}; there is {', '.join(map(repr, known))}")
    if query.candidate is None and len(known) > 1 and any(len(each.candidates) > 1 for each in summaries):
        raise PlanRefused(f"these runs have several candidates ({', '.join(map(repr, known))}): say --candidate")
    left_out = len(found) - len(latest)
    shown = summaries if query.graders else [replace(each, graders=()) for each in summaries]
    return build_history(query.whose or query.dataset, shown, changes, query.candidate, outcomes, left_out=left_out)


def _is_over(run: Run, dataset: str) -> bool:
    names = {name for pin in run.pins.datasets for name in (pin.path, PurePath(pin.path).name, pin.name, pin.id)}
    return dataset in names - {""}


async def _mismatches(store: Store, runs: Sequence[Run]) -> list[tuple[str, ...]]:
    """For each run, what it does not share with the run before it."""
    found: list[tuple[str, ...]] = [()] if runs else []
    for before, after in pairwise(runs):
        same = [pin.sha256 for pin in before.pins.datasets] == [pin.sha256 for pin in after.pins.datasets]
        changed = await changed_between(store, before, after)
        flags = mismatch_texts(before.pins, after.pins, changed)
        if not same and before.counts.total != after.counts.total:
            flags.insert(0, f"test set: {before.counts.total:,} attempts before, {after.counts.total:,} now")
        found.append(tuple(flags))
    return found


def build_history(
    whose: str,
    summaries: Sequence[Summary],
    changes: Sequence[tuple[str, ...]],
    candidate: str | None = None,
    outcomes: Sequence[Mapping[str, Sequence[TrendVerdict]]] = (),
    *,
    left_out: int = 0,
) -> History:
    """The history of these runs, oldest first. Without the `outcomes` of each run, changes are found in the counts."""
    runs = tuple(
        HistoryRun(
            run_id=each.run.id,
            name=each.run.name,
            at=each.run.started_at or each.run.created_at,
            errored=each.run.counts.errored,
            skipped=each.run.counts.skipped,
            unlike=flags,
        )
        for each, flags in zip(summaries, changes, strict=True)
    )
    chosen = [each.run.counts if candidate is None else each.candidates.get(candidate) for each in summaries]
    repeats = [each.run.pins.request.repeat for each in summaries]
    rates = {PASS_RATE: [pass_rate_of(counts) if counts else Rate(0, 0) for counts in chosen]}
    for name in dict.fromkeys(grader.name for each in summaries for grader in each.graders):
        own = [[one for one in each.graders if one.name == name] for each in summaries]
        own = [[one for one in graders if candidate in (None, one.candidate)] for graders in own]
        # One candidate: several are refused.
        marked = [pass_rate_of(graders[0]) if graders else Rate(0, 0) for graders in own]
        if any(rate.judged for rate in marked):
            rates[name] = marked
    lines = tuple(
        _line(name, own_rates, repeats, changes, [own.get(name, ()) for own in outcomes])
        for name, own_rates in rates.items()
    )
    return History(whose=whose, runs=runs, lines=lines, left_out=left_out)


def _line(
    name: str,
    rates: Sequence[Rate],
    repeats: Sequence[int],
    changes: Sequence[tuple[str, ...]],
    outcomes: Sequence[Sequence[TrendVerdict]],
) -> HistoryLine:
    """Every rate with the interval that the run itself shows. Passed and judged are numbers of cases, not of tries:
    repeats of one case resemble each other, and must not promise more than they show."""
    judged = [round(rate.judged / repeat) for rate, repeat in zip(rates, repeats, strict=True)]
    passed = [round(rate.passed / repeat) for rate, repeat in zip(rates, repeats, strict=True)]
    counts = [(min(pair), pair[1]) for pair in zip(passed, judged, strict=True)]
    runs = (paired_by_case(outcomes) if outcomes else None) or count_rates(counts)
    return HistoryLine(
        name=name,
        points=tuple(
            HistoryPoint(passed=cases, judged=of, rate=rate.value, interval=rate.interval)
            for (cases, of), rate in zip(counts, rates, strict=True)
        ),
        turnings=tuple(RateChange(**asdict(each), unlike=changes[each.index]) for each in trend(runs)),
    )
