"""The Store: everything the rest of Howsure asks of its database. Each call is one transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import msgspec
from sqlalchemy import Connection

from howsure.errors import NotFound
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.case import Case
from howsure.model.result import Result
from howsure.model.run import ModelSpending, Run, RunState
from howsure.model.summary import SliceCounts, Summary
from howsure.model.verdict import Verdict
from howsure.store import results as result_queries
from howsure.store import run_columns as column_queries
from howsure.store import runs as run_queries
from howsure.store.browse import BrowseQueries
from howsure.store.database import WAIT_SECONDS, Database
from howsure.store.dataset_cases import DatasetCaseIndex
from howsure.store.documents import DocumentStore
from howsure.store.keys import KeyStore
from howsure.store.labels import LabelStore
from howsure.store.leases import claim_lease, renew_lease
from howsure.store.logs import AuditLog, IdempotencyLog
from howsure.store.queue import ENDED_STATES, RunQueue, end_job
from howsure.store.result_batches import ResultBatch, write_results
from howsure.store.results import CostTotals, PartGrade, ResultGrades
from howsure.store.run_columns import (
    AttemptColumns,
    CasePreview,
    GradeColumn,
    PartOutcome,
    SharedCases,
    read_case_previews,
    read_shared_cases,
)
from howsure.store.runs import find_earlier
from howsure.store.summaries import (
    SummaryCounts,
    count_run,
    count_slices,
    make_summary,
    read_summary,
    store_counts,
    stored_counts,
)
from howsure.store.upgrades import open_database

LIVE = (RunState.PENDING, RunState.RUNNING)


def utc_now() -> datetime:
    return datetime.now(UTC)


class Store:
    """`async with await Store.open(path) as store: …`"""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    @cached_property
    def documents(self) -> DocumentStore:
        return DocumentStore(self._database, self._clock)

    @cached_property
    def dataset_cases(self) -> DatasetCaseIndex:
        return DatasetCaseIndex(self._database)

    @cached_property
    def queue(self) -> RunQueue:
        return RunQueue(self._database, self._clock)

    @cached_property
    def keys(self) -> KeyStore:
        return KeyStore(self._database, self._clock)

    @cached_property
    def answers(self) -> IdempotencyLog:
        return IdempotencyLog(self._database, self._clock)

    @cached_property
    def audit(self) -> AuditLog:
        return AuditLog(self._database)

    @cached_property
    def labels(self) -> LabelStore:
        return LabelStore(self._database)

    @cached_property
    def browse(self) -> BrowseQueries:
        return BrowseQueries(self._database, self._clock)

    @classmethod
    async def open(
        cls,
        location: str | Path,
        *,
        read_only: bool = False,
        clock: Callable[[], datetime] = utc_now,
        wait: float = WAIT_SECONDS,
    ) -> Self:
        """The store at a path, a `sqlite:///` or a `postgresql://` address. It is created where there is
        none, and upgraded where it is older, unless it is only read."""
        return cls(await open_database(location, read_only=read_only, wait=wait), clock)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._database.close()

    @property
    def path(self) -> Path | None:
        """The file; None where the store is on a server."""
        return self._database.path

    @property
    def where(self) -> str:
        """The location, without its password."""
        return self._database.where

    async def create_run(self, run: Run) -> None:
        await self._database.write(run_queries.create_run, run)

    async def set_state(
        self,
        run_id: str,
        state: RunState,
        *,
        started_at: datetime | None = None,
        completed_at: datetime | None = None,
        error: str | None = None,
        spent: ModelSpending | None = None,
        owner: str = "",
    ) -> None:
        """None leaves a field unchanged. A live run has no end and no error; a run that ends has no owner. With an
        `owner`, Conflict where the run has another one by now."""
        times = {"started_at": started_at, "completed_at": completed_at, "error": error}
        changes: dict[str, Any] = {name: value for name, value in times.items() if value is not None}
        if spent is not None:
            changes["spent"] = msgspec.json.encode(spent)
        if state in LIVE:
            changes = {"heartbeat_at": self._clock(), "completed_at": None, "error": "", **changes}
        else:
            changes["owner"] = None
        await self._database.write(_change, run_id, state, {"state": state.value, **changes}, owner)

    async def run(self, run_id: str, within: AccessScope = EVERYWHERE) -> Run:
        return await self._database.read(run_queries.read_visible_run, run_id, within, self._clock())

    async def find_run(self, text: str) -> Run:
        """The run meant by an id, the beginning of one, a name, `latest`, or an agent's id (its latest completed)."""
        return await self._database.read(run_queries.find_run, text, self._clock())

    async def runs(
        self,
        *,
        limit: int = 20,
        before: str | None = None,
        agent_id: str | None = None,
        states: Sequence[RunState] = (),
        within: AccessScope = EVERYWHERE,
    ) -> list[Run]:
        """Newest first; `before` is the `next_cursor` of the last run already seen."""
        states = tuple(states)
        query = run_queries.RunQuery(limit=limit, before=before, agent_id=agent_id, states=states, within=within)
        return await self._database.read(run_queries.list_runs, query, self._clock())

    async def delete_run(self, run_id: str) -> None:
        await self._database.write(run_queries.delete_run, run_id)

    async def claim(self, run_id: str, owner: str, now: datetime) -> None:
        """Take the lease of a run (`leases.this_owner` names the owner); Conflict while another process holds it."""
        await self._database.write(claim_lease, run_id, owner, now)

    async def heartbeat(self, run_id: str) -> None:
        """Renew the lease of a run; `save` does so too."""
        if not await self._database.write(renew_lease, run_id, self._clock()):
            raise NotFound(f"there is no run {run_id}; it may have been deleted")

    async def save(self, run_id: str, results: Sequence[Result], owner: str = "") -> None:
        """Store results with their cases and scores: all of them, or none. Saving one again replaces it. With an
        `owner`, Conflict where the run has another one by now."""
        if results:
            await self._database.write(write_results, run_id, ResultBatch(run_id, results), self._clock(), owner)

    async def finished_positions(self, run_id: str, near: tuple[int, int] | None = None) -> set[int]:
        """The positions that have a result; `near`: only between these two, both included."""
        return set(await self._database.read(result_queries.positions, run_id, None, near))

    async def positions(self, run_id: str, verdict: Verdict) -> list[int]:
        return await self._database.read(result_queries.positions, run_id, verdict)

    async def results(
        self,
        run_id: str,
        *,
        after: int | None = None,
        limit: int = 100,
        verdict: Verdict | None = None,
        candidate: str | None = None,
        case_id: str | None = None,
    ) -> list[Result]:
        """A page of results in the order of their positions; `after` is the last position already seen."""
        filters = {"verdict": verdict and verdict.value, "candidate": candidate, "case_id": case_id}
        page = result_queries.page(run_id, after=after, limit=limit, filters=filters)
        return await self._database.read(result_queries.load, page)

    async def result(self, run_id: str, key: str, *, candidate: str | None = None, repeat: int | None = None) -> Result:
        """One result, by its id or by its case's."""
        filters = {"candidate": candidate, "repeat": repeat}
        return await self._database.read(result_queries.one, run_id, key, filters)

    async def iterate(self, run_id: str, *, verdict: Verdict | None = None, batch: int = 500) -> AsyncIterator[Result]:
        """Every result in order, a page at a time, so memory does not grow with the run."""
        after: int | None = None
        while page := await self.results(run_id, after=after, limit=batch, verdict=verdict):
            for result in page:
                yield result
            after = page[-1].position

    async def cases(self, run_id: str, *, batch: int = 500) -> AsyncIterator[Case]:
        """Every case that has a result, once, in the order of the plan."""
        after: int | None = None
        while page := await self._database.read(result_queries.cases_after, run_id, after, batch):
            for _, case in page:
                yield case
            after = page[-1][0]

    async def summary(self, run_id: str) -> Summary:
        return await self._database.read(read_summary, run_id, self._clock())

    async def slices(self, run: Run, label: str) -> tuple[SliceCounts, ...]:
        """The verdicts by the values of one label, or by `tag` or `file`."""
        return (await self._database.read(count_slices, run.id, run.pins, label)).slices

    async def summaries(self, runs: Sequence[Run]) -> list[Summary]:
        """The summaries of several runs, in their order; stored counts are read in one statement."""
        stored = await self.stored_counts([run.id for run in runs])
        return [make_summary(run, stored.get(run.id) or await self.count(run.id)) for run in runs]

    async def stored_counts(self, run_ids: Sequence[str]) -> dict[str, SummaryCounts]:
        """The counts that were stored when these runs ended; live runs are left out."""
        return await self._database.read(stored_counts, run_ids)

    async def count(self, run_id: str) -> SummaryCounts:
        """The counts of now, over every result."""
        return await self._database.read(count_run, run_id)

    async def results_by_id(self, result_ids: Sequence[str]) -> list[tuple[str, Result]]:
        """Results of any run, each with the id of its run; those that do not exist are left out."""
        return await self._database.read(result_queries.by_ids, result_ids)

    async def result_grades(self, run_id: str, positions: Sequence[int]) -> list[ResultGrades]:
        """The grades of some results, without their conversations."""
        return await self._database.read(result_queries.read_result_grades, run_id, positions)

    async def columns(self, run_id: str) -> tuple[AttemptColumns, list[GradeColumn]]:
        """Every result of a run, and every grader's and rule's grades, in columns; no body is read."""
        return await self._database.read(
            lambda it: (column_queries.read_attempts(it, run_id), column_queries.read_grade_columns(it, run_id))
        )

    async def shared_cases(self, run_id: str, other_id: str) -> SharedCases:
        """The same for the cases that another run has too, with tags and labels; the other cases are only counted."""
        return await self._database.read(read_shared_cases, run_id, other_id)

    async def case_previews(self, run_id: str) -> list[CasePreview]:
        """The tags and labels of every case of a run."""
        return await self._database.read(read_case_previews, run_id)

    async def part_outcomes(self, run_id: str, positions: Sequence[int]) -> list[PartOutcome]:
        """The outcomes of the criteria and rules of some results."""
        return await self._database.read(column_queries.part_outcomes, run_id, positions)

    async def changed_cases(self, first: str, second: str) -> list[tuple[Case, Case]]:
        """The cases with the same id in two runs whose input or expectations differ."""
        return await self._database.read(column_queries.changed_cases, first, second)

    async def costs(self, run_id: str, among: Sequence[int] | None = None) -> list[CostTotals]:
        """Seconds, dollars and tokens of each answer, or of those at these positions."""
        return await self._database.read(result_queries.read_costs, run_id, among)

    async def part_ids(self, run_id: str) -> list[str]:
        """The ids of every rule and criterion that was judged."""
        return await self._database.read(result_queries.read_part_ids, run_id)

    async def part_grades(self, run_id: str, ids: Sequence[str]) -> list[PartGrade]:
        """The outcomes of these rules or criteria in every result."""
        return await self._database.read(result_queries.read_part_grades, run_id, ids)

    async def earlier_run(self, text: str, run: Run) -> Run:
        """The earlier run that an id, a name, `latest` or an agent's id stands for."""
        return await self._database.read(find_earlier, text, run, self._clock())


def _change(connection: Connection, run_id: str, state: RunState, changes: dict[str, Any], owner: str) -> None:
    run_queries.change_run(connection, run_id, changes, owner)
    if state not in LIVE:
        store_counts(connection, run_id)
    if state.value in ENDED_STATES:
        end_job(connection, run_id)
