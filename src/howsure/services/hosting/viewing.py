"""Runs as a caller may see them, in the shape of the API. What was counted of a run that has ended is read; one that is
being worked on is counted at most once a second, however many are looking."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any

from msgspec.structs import replace

from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import DocumentKind
from howsure.model.job import JobState
from howsure.model.run import Run, RunState
from howsure.model.summary import Summary
from howsure.reports.wire import evaluation_run
from howsure.services.gating import gated
from howsure.services.hosting.materials import Reference, is_reference, read_reference
from howsure.store.counting import Counted, Failing
from howsure.store.store import Store
from howsure.store.summary import brief_summary, summary_from

LASTING_SECONDS = 1.0
STATES = {
    "pending": (RunState.PENDING, RunState.PAUSED),
    "running": (RunState.RUNNING, RunState.INTERRUPTED),
    "completed": (RunState.COMPLETED,),
    "failed": (RunState.FAILED, RunState.INTERRUPTED, RunState.OUT_OF_BUDGET, RunState.CANCELLED),
}
"""The states of each published status. A run of the service whose worker was just killed still runs: see `_live`."""


Names = Mapping[DocumentKind, Mapping[str, str]]
"""What documents are called, by kind and id."""


class Gallery:
    """The runs of a store, for showing."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._recent: dict[str, tuple[float, asyncio.Task[Counted]]] = {}

    async def run(self, run_id: str, within: AccessScope = EVERYWHERE) -> dict[str, Any]:
        """The EvaluationRun, with what its gates say."""
        summary = await self.summary(run_id, within)
        return (await self._shown([await gated(self._store, summary)], within))[0]

    async def summary(self, run_id: str, within: AccessScope = EVERYWHERE) -> Summary:
        run = await self._live(await self._store.run(run_id, within))
        kept = await self._store.counted([run.id])
        return summary_from(run, kept.get(run.id) or await self._count(run.id))

    async def failing(self, run_id: str) -> list[Failing]:
        """What failed most, as `summary` counted it."""
        kept = (await self._store.counted([run_id])).get(run_id) or await self._count(run_id)
        return await self._store.browsing.failing(run_id) if kept.failing is None else kept.failing

    async def several(
        self, *, limit: int, before: str | None, agent_id: str | None, status: str | None, within: AccessScope
    ) -> tuple[list[dict[str, Any]], Run | None]:
        """EvaluationRuns, newest first, and the last run of a full page."""
        summaries, last = await self.summaries(
            limit=limit, before=before, agent_id=agent_id, status=status, within=within
        )
        return await self._shown(summaries, within), last

    async def summaries(
        self, *, limit: int, before: str | None, agent_id: str | None, status: str | None, within: AccessScope
    ) -> tuple[list[Summary], Run | None]:
        """The same, before they are put into shape."""
        states = STATES[status] if status else ()
        found = await self._store.runs(limit=limit, before=before, agent_id=agent_id, states=states, within=within)
        live = [await self._live(run) for run in found]
        summaries = await self._summed([run for run in live if status is None or _is(run, status)])
        return summaries, found[-1] if len(found) == limit else None

    async def these(self, run_ids: Sequence[str]) -> list[Summary]:
        """Of runs that the caller may see, in this order: criteria and rules, without graders and components."""
        found, kept = await self._store.browsing.counted(run_ids)
        runs = [await self._live(run) for run in found]
        return [brief_summary(run, kept.get(run.id) or await self._count(run.id)) for run in runs]

    async def _summed(self, runs: Sequence[Run]) -> list[Summary]:
        kept = await self._store.counted([run.id for run in runs])
        return [summary_from(run, kept.get(run.id) or await self._count(run.id)) for run in runs]

    async def _live(self, run: Run) -> Run:
        """A run that was interrupted and is in the queue goes on by itself: for whoever waits for it, it is running."""
        if run.state is not RunState.INTERRUPTED:
            return run
        job = await self._store.queue.job(run.id)
        going_on = job is not None and job.state in (JobState.RUNNING, JobState.QUEUED)
        return replace(run, state=RunState.RUNNING) if going_on else run

    async def _count(self, run_id: str) -> Counted:
        """Counted now, or within the last second."""
        now = monotonic()
        known = self._recent.get(run_id)
        if known is None or now - known[0] > LASTING_SECONDS:
            self._recent = {key: value for key, value in self._recent.items() if now - value[0] <= LASTING_SECONDS}
            known = self._recent[run_id] = (now, asyncio.create_task(self._store.count(run_id)))
        return await asyncio.shield(known[1])

    async def _shown(self, summaries: Sequence[Summary], within: AccessScope) -> list[dict[str, Any]]:
        names = await self.names(summaries, within)
        return [_shape(summary, names) for summary in summaries]

    async def names(self, summaries: Sequence[Summary], within: AccessScope) -> Names:
        """What the documents of these runs are called now; "(deleted)" where they were."""
        wanted: dict[DocumentKind, set[str]] = {}
        for summary in summaries:
            for reference in _references(summary.run):
                wanted.setdefault(reference.kind, set()).add(reference.id)
        labels = self._store.documents.labels
        return {kind: await labels(kind, keys, within) for kind, keys in wanted.items()}


def _references(run: Run) -> list[Reference]:
    """The documents that a run was made of."""
    cases = [read_reference(pin.path) for pin in run.pins.datasets if is_reference(pin.path)]
    rubric = run.pins.rubric
    return [*cases, *([Reference(DocumentKind.RUBRIC, rubric.id, rubric.version)] if rubric else [])]


def _shape(summary: Summary, names: Names) -> dict[str, Any]:
    shape, rubric = evaluation_run(summary), summary.run.pins.rubric
    for dataset in shape["datasets"]:
        if is_reference(dataset["path"]):
            kept = read_reference(dataset["path"])
            dataset["name"] = names[kept.kind].get(kept.id, dataset["name"])
    cases = next((dataset["name"] for dataset in shape["datasets"]), None)
    rules = names[DocumentKind.RUBRIC].get(rubric.id, rubric.name) if rubric else None
    return {**shape, "test_set_name": cases, "rubric_name": rules}


def _is(run: Run, status: str) -> bool:
    return run.state in STATES[status] and not (status == "running" and run.state is RunState.INTERRUPTED)
