"""Runs, agents and results as a caller may see them: runs in the shape of the API, the status of each agent by its
newest complete run, and results over many runs. The counts of a run that has ended are read from the store; a run in
progress is counted at most once a second, whatever the number of viewers."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from time import monotonic
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import InputError, NotFound
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import DocumentKind
from howsure.model.job import JobState
from howsure.model.result import Result
from howsure.model.run import Run, RunState
from howsure.model.summary import Summary
from howsure.model.verdict import Verdict
from howsure.reports.evaluations import evaluation_run
from howsure.reports.headlines import field_words
from howsure.reports.run_facts import asked_judge
from howsure.services.gate.gate import rule_on_gates
from howsure.services.host.document_files import is_reference, read_reference
from howsure.store.browse import RunPageContent, RunPageQuery
from howsure.store.pages import is_number, next_cursor
from howsure.store.store import Store
from howsure.store.summaries import SummaryCounts, brief_summary, make_summary

LASTING_SECONDS = 1.0
LIVE = (RunState.PENDING, RunState.RUNNING)
LIVE_PAGES = 8
"""How many views of runs in progress are cached."""
STATES = {
    "pending": (RunState.PENDING, RunState.PAUSED),
    "running": (RunState.RUNNING, RunState.INTERRUPTED),
    "completed": (RunState.COMPLETED,),
    "failed": (RunState.FAILED, RunState.INTERRUPTED, RunState.OUT_OF_BUDGET, RunState.CANCELLED),
}
"""The states of each published status. A run of the service whose worker was just killed still runs: see `_live`."""
RUNS_PER_PAGE = 50
"""How many runs one page of `results_across_runs` searches. The next page goes on from there."""
Json = dict[str, Any]
DocumentNames = Mapping[DocumentKind, Mapping[str, str]]
"""The names of documents, by kind and id."""


class RunListFilter(Struct, frozen=True, kw_only=True):
    """Which runs to list; None: any. `status` is one of the four published words, `state` our own. `name` is a part of
    the name; `test_set_id` any document that the cases are from."""

    agent_id: str | None = None
    status: str | None = None
    state: RunState | None = None
    test_set_id: str | None = None
    rubric_id: str | None = None
    name: str | None = None
    tag: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def looks_closer(self) -> bool:
        """Whether a run must be read to know if it matches."""
        looked_at = (self.test_set_id, self.rubric_id, self.name, self.tag, self.since, self.until)
        return any(each is not None for each in looked_at)

    def matches(self, run: Run) -> bool:
        """Checks the conditions that no index of the database covers."""
        pins = run.pins
        sources = (*(pin.path for pin in pins.datasets), pins.request.criteria_from)
        ids = {read_reference(path).id for path in sources if is_reference(path)}
        used = map(read_reference, pins.documents)
        rubrics = (
            {pins.rubric.id, *(each.id for each in used if each.kind is DocumentKind.RUBRIC)} if pins.rubric else ()
        )
        return (
            (self.test_set_id is None or self.test_set_id in ids)
            and (self.rubric_id is None or self.rubric_id in rubrics)
            and (self.name is None or self.name.casefold() in run.name.casefold())
            and (self.tag is None or self.tag in run.tags)
            and (self.since is None or run.created_at >= self.since)
            and (self.until is None or run.created_at < self.until)
        )


class RunViews:
    """The runs of a store, ready to show."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._recent: dict[str, tuple[float, asyncio.Task[SummaryCounts]]] = {}
        self._pages: dict[Hashable, asyncio.Task[RunPageContent]] = {}

    async def run(self, run_id: str, scope: AccessScope = EVERYWHERE) -> dict[str, Any]:
        """The EvaluationRun, with the outcomes of its gates."""
        summary = await self.summary(run_id, scope)
        return (await self._evaluation_runs([await rule_on_gates(self._store, summary)], scope))[0]

    async def summary(self, run_id: str, scope: AccessScope = EVERYWHERE) -> Summary:
        run = await self._live(await self._store.run(run_id, scope))
        counted = await self._store.stored_counts([run.id])
        return make_summary(run, counted.get(run.id) or await self._count(run.id))

    async def page_content(
        self, run_id: str, query: RunPageQuery, scope: AccessScope, view: Hashable
    ) -> tuple[Summary, RunPageContent]:
        """The content of a run's page, read at one moment. While a run goes on, it is read once for all viewers of the
        same `view` of the same state."""
        run = await self._store.run(run_id, scope)
        key = (run.id, run.state, run.counts, scope, view)
        reading = self._pages.get(key)
        if reading is None or (reading.done() and (reading.cancelled() or reading.exception())):
            reading = asyncio.create_task(self._store.browse.run_page(run_id, query, scope))
            if run.state in LIVE:
                kept = list(self._pages.items())[1 - LIVE_PAGES :]
                self._pages = {**dict(kept), key: reading}
        content = await asyncio.shield(reading)
        return make_summary(await self._live(content.run), content.counts), content

    async def page(
        self, *, limit: int, before: str | None, chosen: RunListFilter, scope: AccessScope
    ) -> tuple[list[dict[str, Any]], Run | None]:
        """EvaluationRuns, newest first, and the last run of a full page."""
        states = STATES[chosen.status] if chosen.status else (chosen.state,) if chosen.state else ()
        found = await self._store.runs(
            limit=limit,
            before=before,
            agent_id=chosen.agent_id,
            states=states,
            within=scope,
            matches=chosen.matches if chosen.looks_closer else None,
        )
        live = [await self._live(run) for run in found]
        # One that is still interrupted here does not go on by itself, so it does not count as running.
        stopped = RunState.INTERRUPTED if chosen.status == "running" else None
        runs = [run for run in live if not states or (run.state in states and run.state is not stopped)]
        counted = await self._store.stored_counts([run.id for run in runs])
        summaries = [make_summary(run, counted.get(run.id) or await self._count(run.id)) for run in runs]
        return await self._evaluation_runs(summaries, scope), found[-1] if len(found) == limit else None

    async def brief_summaries(self, run_ids: Sequence[str]) -> list[Summary]:
        """Summaries without graders and components, in the order of the ids. The caller must be allowed to see them."""
        found, counted = await self._store.browse.runs_with_counts(run_ids)
        runs = [await self._live(run) for run in found]
        return [brief_summary(run, counted.get(run.id) or await self._count(run.id)) for run in runs]

    async def judged_runs(self, runs: Sequence[Run]) -> list[Run]:
        """Those in which a judge was asked, where that is counted already; of those that were imported, the ones with
        grades that a tool gave."""
        counted = await self._store.stored_counts([run.id for run in runs])
        summaries = [make_summary(run, counted[run.id]) for run in runs if run.id in counted]
        without = {
            each.run.id
            for each in summaries
            if not asked_judge(each)
            or (each.run.pins.imported and all(grader.pass_mark is None for grader in each.graders))
        }
        return [run for run in runs if run.id not in without]

    async def _live(self, run: Run) -> Run:
        """An interrupted run that is in the queue goes on by itself, so it is shown as running."""
        if run.state is not RunState.INTERRUPTED:
            return run
        job = await self._store.queue.job(run.id)
        if job is None:
            return run
        if job.state in (JobState.RUNNING, JobState.QUEUED):
            return replace(run, state=RunState.RUNNING)
        # Its worker may have released it between the two readings.
        return await self._store.run(run.id)

    async def _count(self, run_id: str) -> SummaryCounts:
        """The counts of now, or of at most a second ago."""
        now = monotonic()
        known = self._recent.get(run_id)
        if known is None or now - known[0] > LASTING_SECONDS:
            self._recent = {key: value for key, value in self._recent.items() if now - value[0] <= LASTING_SECONDS}
            known = self._recent[run_id] = (now, asyncio.create_task(self._store.count(run_id)))
        return await asyncio.shield(known[1])

    async def _evaluation_runs(self, summaries: Sequence[Summary], scope: AccessScope) -> list[dict[str, Any]]:
        names = await self.document_names(summaries, scope)
        return [_evaluation_run(summary, names) for summary in summaries]

    async def document_names(self, summaries: Sequence[Summary], scope: AccessScope) -> DocumentNames:
        """The current names of the documents of these runs; deleted documents are marked "(deleted)"."""
        ids: dict[DocumentKind, set[str]] = {}
        for pins in (summary.run.pins for summary in summaries):
            used = (*pins.datasets, *((pins.criteria_from,) if pins.criteria_from else ()))
            for reference in (read_reference(pin.path) for pin in used if is_reference(pin.path)):
                ids.setdefault(reference.kind, set()).add(reference.id)
            if pins.rubric:
                ids.setdefault(DocumentKind.RUBRIC, set()).add(pins.rubric.id)
        labels = self._store.documents.labels
        return {kind: await labels(kind, keys, scope) for kind, keys in ids.items()}


def _evaluation_run(summary: Summary, names: DocumentNames) -> dict[str, Any]:
    shape, rubric = evaluation_run(summary), summary.run.pins.rubric
    for dataset in shape["datasets"]:
        if is_reference(dataset["path"]):
            reference = read_reference(dataset["path"])
            dataset["name"] = names[reference.kind].get(reference.id, dataset["name"])
    cases, pool = next((dataset["name"] for dataset in shape["datasets"]), None), summary.run.pins.criteria_from
    if pool is not None:
        cases = pool.name or cases
        if is_reference(pool.path):
            held_against = read_reference(pool.path)
            cases = names[held_against.kind].get(held_against.id, cases)
    current = names.get(DocumentKind.RUBRIC, {}) if len(shape["rubrics"]) < 2 else {}
    rules = current.get(rubric.id, rubric.name) if rubric else None
    notes = [field_words(note) for note in shape["notes"]]
    error = shape["error"] and field_words(shape["error"])
    named = {"test_set_name": cases, "rubric_name": rules, "tags": list(summary.run.tags)}
    return {**shape, "notes": notes, "error": error, **named}


class AgentStatus(Struct, frozen=True, kw_only=True):
    """The status of an agent by its newest complete run: `run` is the EvaluationRun, None where no run is complete. The
    scores are shares of what was judged, None where nothing was. `agent_name` is None where nobody has described it."""

    agent_id: str
    agent_name: str | None
    runs: int
    criteria_score: float | None
    rubric_score: float | None
    run: Json | None


async def agent_statuses(
    store: Store, run_views: RunViews, after: str, limit: int, scope: AccessScope
) -> list[AgentStatus]:
    """The agents with an id after `after`, ordered by id."""
    previews = [preview for preview in await store.browse.agent_previews(scope) if preview.id > after]
    shown = sorted(previews, key=lambda preview: preview.id)[:limit]
    names = await store.documents.labels(DocumentKind.AGENT, [preview.id for preview in shown], scope)
    statuses: list[AgentStatus] = []
    for preview in shown:
        newest = RunListFilter(agent_id=preview.id, status="completed")
        runs, _ = await run_views.page(limit=1, before=None, chosen=newest, scope=scope)
        run = runs[0] if runs else None
        statuses.append(
            AgentStatus(
                agent_id=preview.id,
                agent_name=names.get(preview.id) or None,
                runs=preview.runs,
                criteria_score=_pass_share(run and run["criteria"]),
                rubric_score=_pass_share(run and run["rubric_rules"]),
                run=run,
            )
        )
    return statuses


def _pass_share(tally: Json | None) -> float | None:
    judged = tally["passed"] + tally["failed"] if tally else 0
    return tally["passed"] / judged if tally and judged else None


class CrossRunFilter(Struct, frozen=True, kw_only=True):
    """Which results to find; None: any."""

    agent_id: str | None = None
    failed_only: bool = False
    rule_id: str | None = None
    since: str | None = None


async def results_across_runs(
    store: Store, criteria: CrossRunFilter, place: str | None, limit: int, scope: AccessScope
) -> tuple[list[tuple[Run, Result]], str | None]:
    """A page of results with their runs, newest run first, and the cursor of the next page; None after the last one."""
    since = parse_time("since", criteria.since)
    run_id, position, before = _parse_cursor(place)
    found: list[tuple[Run, Result]] = []
    if run_id:
        # The run may have been deleted since: then the page begins with the next one.
        with suppress(NotFound):
            run = await store.run(run_id, scope)
            found += [(run, result) for result in await _matching(store, run, criteria, position, limit)]
        if len(found) == limit:
            return found, _cursor(found[-1][0], found[-1][1].position)
    runs = await store.runs(limit=RUNS_PER_PAGE, before=before, agent_id=criteria.agent_id, within=scope)
    for run in runs:
        if since is not None and run.created_at < since:
            return found, None
        found += [(run, result) for result in await _matching(store, run, criteria, None, limit - len(found))]
        if len(found) == limit:
            return found, _cursor(found[-1][0], found[-1][1].position)
    return found, _cursor(runs[-1], None) if len(runs) == RUNS_PER_PAGE else None


async def _matching(store: Store, run: Run, criteria: CrossRunFilter, after: int | None, limit: int) -> list[Result]:
    verdict = Verdict.FAILED if criteria.failed_only else None
    if criteria.rule_id is None:
        return await store.results(run.id, after=after, limit=limit, verdict=verdict)
    failed = sorted(
        each.position for each in await store.part_grades(run.id, [criteria.rule_id]) if each.outcome == "failed"
    )
    later = [position for position in dict.fromkeys(failed) if after is None or position > after]
    found: list[Result] = []
    for position in later:
        page = await store.results(run.id, after=position - 1, limit=1)
        found += [result for result in page if verdict is None or result.verdict is verdict]
        if len(found) == limit:
            break
    return found


def _cursor(run: Run, position: int | None) -> str:
    return f"{'' if position is None else position}|{next_cursor(run)}"


def _parse_cursor(place: str | None) -> tuple[str, int | None, str | None]:
    """The run to continue in, the position after which to continue, and the cursor in the list of runs."""
    if place is None:
        return "", None, None
    position, _, before = place.partition("|")
    if (position and not is_number(position)) or "~" not in before:
        raise InputError("cursor: this one is of another list")
    return (before.partition("~")[2] if position else ""), int(position) if position else None, before


def parse_time(name: str, text: str | None) -> datetime | None:
    """InputError where it is no time with a zone."""
    if text is None:
        return None
    try:
        moment = msgspec.convert(text, datetime)
    except msgspec.ValidationError:
        raise InputError(f"{name}: {text!r} is not a time; expected such as 2026-11-15T09:30:00Z") from None
    if moment.tzinfo is None:
        raise InputError(f"{name}: {text!r} has no time zone; add Z for UTC")
    return moment
