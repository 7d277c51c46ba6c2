"""The Store: everything the rest of Howsure asks of its database. Each call is one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import msgspec
from msgspec import structs
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
from howsure.store import summaries as summary_queries
from howsure.store.audit import AuditLog
from howsure.store.browse import BrowseQueries
from howsure.store.database import WAIT_SECONDS, Database
from howsure.store.documents import DatasetCaseIndex, DocumentStore
from howsure.store.erasure import UserErasure
from howsure.store.keys import KeyStore
from howsure.store.labels import LabelStore
from howsure.store.leases import claim_lease, renew_lease
from howsure.store.logs import IdempotencyLog, write_and_undo
from howsure.store.queue import ENDED_STATES, RunQueue, end_job
from howsure.store.result_batches import ResultBatch, write_results
from howsure.store.results import CostTotals, PartGrade, ResultGrades
from howsure.store.retention import Retention
from howsure.store.run_columns import (
    AttemptColumns,
    CasePreview,
    ClusteredRate,
    GradeColumn,
    SharedCases,
    clustered_rates,
)
from howsure.store.runs import RunQuery
from howsure.store.schema import scores
from howsure.store.sessions import SessionStore
from howsure.store.summaries import SummaryCounts, make_summary, store_counts
from howsure.store.upgrades import open_database
from howsure.store.webhooks import WebhookStore, announce_end

LIVE = (RunState.PENDING, RunState.RUNNING)


def utc_now() -> datetime:
    return datetime.now(UTC)


class Store:
    """`async with await Store.open(path) as store: …`"""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock
        self.documents = DocumentStore(database, clock)
        self.dataset_cases = DatasetCaseIndex(database, clock)
        self.queue = RunQueue(database, clock)
        self.keys = KeyStore(database, clock)
        self.sessions = SessionStore(database, clock)
        self.answers = IdempotencyLog(database, clock)
        self.audit = AuditLog(database, clock)
        self.retention = Retention(database, clock)
        self.erasure = UserErasure(database, clock)
        self.labels = LabelStore(database, clock)
        self.webhooks = WebhookStore(database, clock)

    @cached_property
    def browse(self) -> BrowseQueries:
        """The queries of the pages; commands and workers do not use them."""
        return BrowseQueries(self._database, self._clock)

    @classmethod
    async def open(
        cls,
        location: str | Path,
        *,
        read_only: bool = False,
        clock: Callable[[], datetime] = utc_now,
        wait: float = WAIT_SECONDS,
        integrity_key: str = "",
    ) -> Self:
        """The store at a path, a `sqlite:///` or a `postgresql://` address. It is created where there is
        none, and upgraded where it is older, unless it is only read. With an `integrity_key` its checksums can be made
        and checked with this key alone."""
        return cls(await open_database(location, read_only=read_only, wait=wait, integrity_key=integrity_key), clock)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._database.close()

    async def check_writable(self) -> None:
        """Write something and undo it: an InputError says why nothing can be stored."""
        await self._database.write(write_and_undo, self._clock())

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

    async def complete_pins(self, run: Run, owner: str) -> None:
        """Write the name, pins and total of a run whose results were being counted until now."""
        await self._database.write(run_queries.complete_pins, run, owner)

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
        clustered: list[ClusteredRate] = []
        times = {"started_at": started_at, "completed_at": completed_at, "error": error}
        changes: dict[str, Any] = {name: value for name, value in times.items() if value is not None}
        if spent is not None:
            changes["spent"] = msgspec.json.encode(spent)
        if state in LIVE:
            changes = {"heartbeat_at": self._clock(), "completed_at": None, "error": "", **changes}
        else:
            changes["owner"] = None
        # A run that is stopped must end at once.
        ended = state in (RunState.COMPLETED, RunState.OUT_OF_BUDGET)
        if ended and await self._database.read(run_queries.may_have_clusters, run_id):
            clusters = await self._database.read(column_queries.read_clusters, run_id)
            clustered = await asyncio.to_thread(clustered_rates, clusters) if clusters else []
        changes["state"] = state.value
        await self._database.write(_change, run_id, state, changes, owner, clustered, self._clock())

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
        ids: Sequence[str] | None = None,
        within: AccessScope = EVERYWHERE,
        matches: Callable[[Run], bool] | None = None,
    ) -> list[Run]:
        """Newest first; `before` is the `next_cursor` of the last run already seen, `ids` are the only ones to list.
        `matches` filters by what no column holds."""
        query = RunQuery(
            limit=limit, before=before, agent_id=agent_id, states=states, ids=ids, within=within, matches=matches
        )
        return await self._database.read(run_queries.list_runs, query, self._clock())

    async def spending(self, organization_id: str, since: datetime, apart_from: str = "") -> tuple[float, int]:
        """Dollars and tokens spent by an organisation's runs that were made `since` then."""
        return await self._database.read(run_queries.read_spending, organization_id, since, apart_from)

    async def edit_run(self, run_id: str, *, name: str | None = None, tags: Sequence[str] | None = None) -> None:
        """Give a run another name, or other tags; None leaves them."""
        await self._database.write(run_queries.edit_run, run_id, name, tags)

    async def add_note(self, run_id: str, note: str) -> None:
        """Add a sentence to the notes of a run."""
        await self._database.write(run_queries.add_note, run_id, note)

    async def change_pins(self, run_id: str, **changes: Any) -> None:
        """Write down what came to be known of a run after it was planned."""
        await self._database.write(run_queries.change_pins, run_id, lambda pins: structs.replace(pins, **changes))

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
            batch = ResultBatch(run_id, results, self._database.integrity_key)
            await self._database.write(write_results, run_id, batch, self._clock(), owner)

    async def finished_positions(self, run_id: str, near: tuple[int, int] | None = None) -> set[int]:
        """The positions that have a result; `near`: only between these two, both included."""
        return set(await self._database.read(result_queries.positions, run_id, None, near))

    async def positions(self, run_id: str, verdict: Verdict) -> list[int]:
        return await self._database.read(result_queries.positions, run_id, verdict)

    async def flagged_positions(self, run_id: str, kind: str) -> set[int]:
        """The positions of the results with a flag of this kind."""
        return set(await self._database.read(result_queries.flagged_positions, run_id, kind))

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

    async def number_of_results(
        self, run_id: str, *, verdict: Verdict | None = None, candidate: str | None = None
    ) -> int:
        """How many results there are by now."""
        filters = {"verdict": verdict and verdict.value, "candidate": candidate}
        return await self._database.read(result_queries.number_of, run_id, filters)

    async def results_digest(self, run_id: str, *, verdict: Verdict | None, candidate: str | None) -> bytes | None:
        """Another one whenever one of these results changed; None where that cannot be told."""
        filters = {"verdict": verdict and verdict.value, "candidate": candidate}
        return await self._database.read(result_queries.digest, run_id, filters)

    async def result(self, run_id: str, key: str, *, candidate: str | None = None, repeat: int | None = None) -> Result:
        """One result, by its id or by its case's."""
        filters = {"candidate": candidate, "repeat": repeat}
        return await self._database.read(result_queries.one, run_id, key, filters)

    async def iterate(
        self, run_id: str, *, verdict: Verdict | None = None, candidate: str | None = None, batch: int = 500
    ) -> AsyncIterator[Result]:
        """Every result in order, a page at a time, so memory does not grow with the run."""
        after: int | None = None
        while page := await self.results(run_id, after=after, limit=batch, verdict=verdict, candidate=candidate):
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
        return await self._database.read(summary_queries.read_summary, run_id, self._clock())

    async def slices(self, run: Run, label: str) -> tuple[SliceCounts, ...]:
        """The verdicts by the values of one label, or by `tag` or `file`."""
        return (await self._database.read(summary_queries.count_slices, run.id, run.pins, label)).slices

    async def summaries(self, runs: Sequence[Run]) -> list[Summary]:
        """The summaries of several runs, in their order; stored counts are read in one statement."""
        stored = await self.stored_counts([run.id for run in runs])
        return [make_summary(run, stored.get(run.id) or await self.count(run.id)) for run in runs]

    async def stored_counts(self, run_ids: Sequence[str]) -> dict[str, SummaryCounts]:
        """The counts that were stored when these runs ended; live runs are left out."""
        return await self._database.read(summary_queries.stored_counts, run_ids)

    async def count(self, run_id: str) -> SummaryCounts:
        """The counts of now, over every result."""
        return await self._database.read(summary_queries.count_run, run_id)

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
        return await self._database.read(column_queries.read_shared_cases, run_id, other_id)

    async def case_previews(self, run_id: str) -> list[CasePreview]:
        """The tags and labels of every case of a run."""
        return await self._database.read(column_queries.read_case_previews, run_id)

    async def scenario_clusters(self, run: Run) -> dict[str, str]:
        """The scenario of each case, where cases of one scenario are alike."""
        return await self._database.read(column_queries.scenario_clusters, run.id, run.pins)

    async def part_outcomes(self, run_id: str, positions: Sequence[int]) -> list[PartGrade]:
        """The outcomes of the criteria and rules of some results."""
        return await self._database.read(result_queries.part_grades_at, run_id, positions)

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
        return await self._database.read(result_queries.read_part_grades, run_id, scores.c.part_id.in_(ids))

    async def earlier_run(self, text: str, run: Run) -> Run:
        """The earlier run that an id, a name, `latest` or an agent's id stands for."""
        return await self._database.read(run_queries.find_earlier, text, run, self._clock())


def _change(
    connection: Connection,
    run_id: str,
    state: RunState,
    changes: dict[str, Any],
    owner: str,
    clustered: Sequence[ClusteredRate],
    now: datetime,
) -> None:
    announce_end(connection, run_id, state, now)
    run_queries.change_run(connection, run_id, changes, owner)
    if state not in LIVE:
        store_counts(connection, run_id, clustered)
    if state.value in ENDED_STATES:
        end_job(connection, run_id)
