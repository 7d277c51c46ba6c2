"""`howsure trend`: the pass rates of an agent's runs over time, with the points where they changed. Where the results
of a run belong together (repeats of one case, Explain cases of one scenario), the results themselves are read, not only
the counts, so that the interval can allow for it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePath

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import NotFound, PlanRefused
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.comparison import MismatchEffect
from howsure.model.run import Run, RunState
from howsure.model.run_history import History, HistoryLine, HistoryPoint, HistoryRun, RateChange
from howsure.model.summary import Summary
from howsure.model.verdict import Verdict
from howsure.services.compare.comparability import changed_between, run_mismatches
from howsure.services.gate.evidence import scenario_clusters
from howsure.services.workspace import Workspace
from howsure.stats.estimates import estimate_rate
from howsure.stats.intervals import Estimate
from howsure.stats.trend import trend
from howsure.store.run_columns import OUTCOMES, VERDICTS, AttemptColumns, GradeColumn
from howsure.store.store import Store

PASS_RATE = "pass rate"
PASSED, FAILED = "passed", "failed"

Verdicts = tuple[list[bool], list[Hashable]]
"""Whether each result passed, and the cluster it belongs to."""


async def clustered_rates(store: Store, run: Run, candidate: str | None = None) -> dict[str, Estimate]:
    """The pass rate and the rate of each grader with a pass mark, by name; empty where every result stands for
    itself."""
    grouped = await scenario_clusters(store, run)
    if run.pins.request.repeat == 1 and not grouped:
        return {}
    attempts, measured = await store.columns(run.id)
    return cluster_rates(attempts, measured, grouped, candidate)


def cluster_rates(
    attempts: AttemptColumns, measured: Sequence[GradeColumn], grouped: Mapping[str, str], candidate: str | None = None
) -> dict[str, Estimate]:
    """The rates with intervals that allow for clusters: `grouped` names the scenario of a case; any other case is a
    cluster of its own repeats."""
    own = {
        position: grouped.get(attempts.case_ids[case], attempts.case_ids[case])
        for position, case, name in zip(attempts.positions, attempts.cases, attempts.candidates, strict=True)
        if candidate in (None, attempts.candidate_names[name])
    }
    found: dict[str, Verdicts] = {PASS_RATE: ([], [])}
    for position, code in zip(attempts.positions, attempts.verdicts, strict=True):
        verdict = VERDICTS[code]
        if position in own and verdict in (Verdict.PASSED, Verdict.FAILED):
            _add(found, PASS_RATE, own[position], passed=verdict is Verdict.PASSED)
    for each in measured:
        if each.part_id is None and candidate in (None, each.candidate):
            for position, code in zip(each.positions, each.outcomes, strict=True):
                if position in own and OUTCOMES[code] in (PASSED, FAILED):
                    _add(found, each.name, own[position], passed=OUTCOMES[code] == PASSED)
    rates = {
        name: estimate_rate(verdicts, clusters=clusters) for name, (verdicts, clusters) in found.items() if verdicts
    }
    return {name: rate for name, rate in rates.items() if rate is not None}


def _add(found: dict[str, Verdicts], name: str, cluster: str, *, passed: bool) -> None:
    verdicts, clusters = found.setdefault(name, ([], []))
    verdicts.append(passed)
    clusters.append(cluster)


ENOUGH = 50
"""Runs that are shown by default."""
LOOKED_AT = 5000
"""The newest runs that are searched."""


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
    done = [run for run in found if run.state is RunState.COMPLETED]
    if not done:
        raise NotFound(f"no run of {query.whose or query.dataset!r} is completed yet")
    latest = done[-query.limit :]
    summaries = await store.summaries(latest)
    changes = await _mismatches(store, latest)
    clustered = [await clustered_rates(store, run, query.candidate) for run in latest]
    known = list(dict.fromkeys(name for summary in summaries for name in summary.candidates))
    if query.candidate is not None and query.candidate not in known:
        raise NotFound(f"no run has the candidate {query.candidate!r}; there is {', '.join(map(repr, known))}")
    if query.candidate is None and len(known) > 1 and any(len(each.candidates) > 1 for each in summaries):
        raise PlanRefused(f"these runs have several candidates ({', '.join(map(repr, known))}): say --candidate")
    left_out = len(found) - len(latest)
    shown = summaries if query.graders else [replace(each, graders=()) for each in summaries]
    return build_history(query.whose or query.dataset, shown, changes, query.candidate, clustered, left_out=left_out)


def _is_over(run: Run, dataset: str) -> bool:
    names = {name for pin in run.pins.datasets for name in (pin.path, PurePath(pin.path).name, pin.name, pin.id)}
    return dataset in names - {""}


async def _mismatches(store: Store, runs: Sequence[Run]) -> list[tuple[str, ...]]:
    """For each run, what it does not share with the run before it."""
    found: list[tuple[str, ...]] = [()] if runs else []
    for before, after in pairwise(runs):
        same = [pin.sha256 for pin in before.pins.datasets] == [pin.sha256 for pin in after.pins.datasets]
        changed = await changed_between(store, before, after)
        flags = [
            f"{each.what.value}: {each.said}"
            for each in run_mismatches(before.pins, after.pins, changed)
            if each.bearing is not MismatchEffect.EXPECTED
        ]
        if not same and before.counts.total != after.counts.total:
            flags.insert(0, f"test set: {before.counts.total:,} attempts before, {after.counts.total:,} now")
        found.append(tuple(flags))
    return found


def build_history(
    whose: str,
    summaries: Sequence[Summary],
    changes: Sequence[tuple[str, ...]],
    candidate: str | None = None,
    clustered: Sequence[Mapping[str, Estimate]] = (),
    *,
    left_out: int = 0,
) -> History:
    """The history of these runs, oldest first. `clustered` has the rates of each run whose results belong together;
    other rates are made of the counts."""
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
    rates = {
        PASS_RATE: [
            _cases(counts.passed, counts.failed, repeat) if counts else (0, 0)
            for counts, repeat in zip(chosen, repeats, strict=True)
        ]
    }
    for name in dict.fromkeys(grader.name for each in summaries for grader in each.graders):
        own = [[one for one in each.graders if one.name == name] for each in summaries]
        own = [[one for one in graders if candidate in (None, one.candidate)] for graders in own]
        marked = [
            _cases(sum(one.passed for one in graders), sum(one.failed for one in graders), repeat)
            for graders, repeat in zip(own, repeats, strict=True)
        ]
        if any(judged for _, judged in marked):
            rates[name] = marked
    known = clustered or [{} for _ in summaries]
    lines = tuple(_line(name, counts, changes, [own.get(name) for own in known]) for name, counts in rates.items())
    return History(whose=whose, runs=runs, lines=lines, left_out=left_out)


def _cases(passed: int, failed: int, repeat: int) -> tuple[int, int]:
    """Passed and judged as numbers of cases, not of tries: repeats of one case resemble each other, and must not
    promise more than they show."""
    judged = round((passed + failed) / repeat)
    return min(round(passed / repeat), judged), judged


def _line(
    name: str,
    counts: Sequence[tuple[int, int]],
    changes: Sequence[tuple[str, ...]],
    known: Sequence[Estimate | None],
) -> HistoryLine:
    found = trend(counts)
    return HistoryLine(
        name=name,
        points=tuple(_point(*each, rate) for each, rate in zip(counts, known, strict=True)),
        turnings=tuple(
            RateChange(
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


def _point(passed: int, judged: int, known: Estimate | None) -> HistoryPoint:
    found = known or (estimate_rate(passed, judged) if judged else None)
    return HistoryPoint(
        passed=passed,
        judged=judged,
        rate=found.value if found else None,
        interval=found.interval if found else None,
    )
