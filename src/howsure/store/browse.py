"""Queries for the web pages: which runs, agents and results to list, and what a list says about each. They read columns
first and only the bodies that are shown: a hundred thousand positions take some hundredths of a second, bodies do not.
How results are filtered and paged is in `result_lists.py`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, func, select

from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.result import Result
from howsure.model.run import Run, RunState
from howsure.store.database import Database, fetch_rows, read_tuples
from howsure.store.leases import lease_is_stale
from howsure.store.pages import newest_first, visible
from howsure.store.result_lists import (
    ResultFilter,
    ResultNeighbors,
    ResultPage,
    all_positions,
    flaky_pairs,
    result_neighbors,
    result_page,
    tag_texts,
)
from howsure.store.results import load, page
from howsure.store.run_columns import count_case_tags
from howsure.store.runs import STATES, load_runs
from howsure.store.schema import results, runs, scores
from howsure.store.summaries import FailureCount, SummaryCounts, count_failures, stored_counts

MAX_RUNS = 5000
"""Only the newest runs can be chosen from."""
MAX_TAGS = 200
MAX_OTHER_RUNS = 30
"""Other runs that are searched for the same case."""
MAX_CACHED_TAGS = 500
"""Runs whose tags are remembered."""
CHUNK = 500


class RunPreview(Struct, frozen=True, kw_only=True):
    """What a run can be chosen by. `tests` are the paths and names of its datasets."""

    id: str
    name: str
    agent_id: str
    state: RunState
    created_at: str
    tests: tuple[tuple[str, str], ...]


class AgentPreview(Struct, frozen=True, kw_only=True):
    """An agent that runs name."""

    id: str
    runs: int
    latest: datetime


class RepeatVerdict(Struct, frozen=True):
    """The verdict of one repeat of a case."""

    repeat: int
    verdict: str
    position: int


class OtherRunResult(Struct, frozen=True):
    """A result of the same case in another run."""

    run_id: str
    run_name: str
    created_at: datetime
    position: int
    verdict: str
    candidate: str
    repeat: int


class TagCount(Struct, frozen=True):
    """A tag, or a label as `name: value`, and how many cases have it."""

    text: str
    cases: int


class CaseVerdict(Struct, frozen=True):
    """The verdict of one case in one run, once for each repeat."""

    run_id: str
    case_id: str
    verdict: str


class PartTally(Struct, frozen=True):
    """How often a rule or criterion had one outcome in one run."""

    run_id: str
    part_id: str
    outcome: str
    number: int


DatasetNames = dict[str, tuple[tuple[str, str], ...]]
"""The datasets of runs, by run id. Pins never change, so each is read once."""


class BrowseQueries:
    """`within` is the part of the store that the caller may see. Where there is none, the caller has already looked up
    the run and checked that it may be seen."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock
        self._datasets: DatasetNames = {}
        self._tags: dict[str, tuple[int, list[TagCount]]] = {}

    async def positions(self, run_id: str, filter: ResultFilter) -> list[int]:
        """The positions of all results that match, in order, however many must be searched."""
        return await self._database.read(all_positions, run_id, filter)

    async def result_page(self, run_id: str, filter: ResultFilter, after: int | None, limit: int) -> ResultPage:
        """A page of the results that match, after a position. A text search looks through a part of a large run at a
        time, and the page says which part."""
        return await self._database.read(result_page, run_id, filter, after, limit)

    async def neighbors(self, run_id: str, filter: ResultFilter, position: int) -> ResultNeighbors:
        """The results before and after a result among those that match."""
        return await self._database.read(result_neighbors, run_id, filter, position)

    async def results_at(self, run_id: str, positions: Sequence[int]) -> list[Result]:
        """The results at these positions, in their order."""
        return await self._database.read(_results_at, run_id, positions)

    async def tag_counts(self, run: Run) -> list[TagCount]:
        """The tags and labels of the cases, the most frequent first. They are counted again when there are more
        results."""
        known = self._tags.get(run.id)
        if known is None or known[0] != run.counts.completed:
            if len(self._tags) >= MAX_CACHED_TAGS:
                self._tags.pop(next(iter(self._tags)))
            counts: Counter[str] = Counter()
            for tags, number in await self._database.read(count_case_tags, run.id):
                counts.update(dict.fromkeys(tag_texts(tags.tags, tags.labels), number))
            most_frequent = [TagCount(text, number) for text, number in counts.most_common(MAX_TAGS)]
            known = self._tags[run.id] = (run.counts.completed, most_frequent)
        return known[1]

    async def count_flaky(self, run_id: str) -> int:
        """How many cases of a candidate have repeats with different verdicts."""
        counted = select(func.count()).select_from(flaky_pairs(run_id).subquery())
        return await self._database.read(lambda connection: connection.scalar(counted) or 0)

    async def failures(self, run_id: str) -> list[FailureCount]:
        """What failed or broke, by grader and part, the most frequent first; counted now."""
        return await self._database.read(count_failures, run_id)

    async def run_previews(self, within: AccessScope = EVERYWHERE) -> list[RunPreview]:
        """The runs to choose from, newest first."""
        return await self._database.read(_run_previews, within, self._clock(), self._datasets)

    async def runs_by_id(self, run_ids: Sequence[str]) -> list[Run]:
        """These runs, in this order; those that do not exist are left out."""
        return await self._database.read(_runs_by_id, run_ids, self._clock())

    async def runs_with_counts(self, run_ids: Sequence[str]) -> tuple[list[Run], dict[str, SummaryCounts]]:
        """The same, with the stored counts of those that have ended. Most pages need both, and each call of the store
        costs a change of threads."""
        now = self._clock()
        return await self._database.read(
            lambda connection: (_runs_by_id(connection, run_ids, now), stored_counts(connection, run_ids))
        )

    async def repeat_verdicts(self, run_id: str, case_ids: Sequence[str]) -> dict[tuple[str, str], list[RepeatVerdict]]:
        """Every attempt at these cases, by case and candidate."""
        columns = results.c
        statement = select(columns.case_id, columns.candidate, columns.repeat, columns.verdict, columns.position)
        statement = statement.where(columns.run_id == run_id, columns.case_id.in_(case_ids)).order_by(columns.position)
        verdicts: dict[tuple[str, str], list[RepeatVerdict]] = {}
        for case_id, candidate, *attempt in await self._database.read(fetch_rows, statement):
            verdicts.setdefault((case_id, candidate), []).append(RepeatVerdict(*attempt))
        return verdicts

    async def agent_previews(self, within: AccessScope = EVERYWHERE) -> list[AgentPreview]:
        """Every agent that has runs, the one with the newest run first."""
        latest = func.max(runs.c.created_at)
        statement = visible(select(runs.c.agent_id, func.count(), latest).where(runs.c.agent_id != ""), runs, within)
        agents = statement.group_by(runs.c.agent_id).order_by(latest.desc())
        rows = await self._database.read(fetch_rows, agents)
        return [AgentPreview(id=id, runs=number, latest=moment) for id, number, moment in rows]

    async def newest_runs(self, agent_ids: Sequence[str], within: AccessScope = EVERYWHERE) -> list[str]:
        """The id of the newest run of each of these agents."""
        return await self._database.read(_newest_runs, agent_ids, within)

    async def other_results(self, run: Run, case_id: str, within: AccessScope = EVERYWHERE) -> list[OtherRunResult]:
        """The same case in the newest other runs of the same agent, newest first."""
        others = select(runs.c.id).where(runs.c.agent_id == run.pins.agent_key, runs.c.id != run.id)
        newest = newest_first(visible(others, runs, within), runs, MAX_OTHER_RUNS).scalar_subquery()
        columns = results.c
        of_run = (runs.c.id, runs.c.name, runs.c.created_at)
        statement = select(*of_run, columns.position, columns.verdict, columns.candidate, columns.repeat)
        statement = statement.join_from(runs, results, columns.run_id == runs.c.id)
        statement = statement.where(runs.c.id.in_(newest), columns.case_id == case_id)
        ordered = statement.order_by(runs.c.created_at.desc(), runs.c.id.desc(), columns.position)
        rows = await self._database.read(fetch_rows, ordered.limit(MAX_OTHER_RUNS))
        return [OtherRunResult(*row) for row in rows]

    async def case_verdicts(self, run_ids: Sequence[str], case_ids: Sequence[str]) -> list[CaseVerdict]:
        """The verdicts of these cases in these runs."""
        if not run_ids or not case_ids:
            return []
        columns = results.c
        statement = select(columns.run_id, columns.case_id, columns.verdict).order_by(columns.position)
        statement = statement.where(columns.run_id.in_(run_ids), columns.case_id.in_(case_ids))
        return [CaseVerdict(*row) for row in await self._database.read(fetch_rows, statement)]

    async def part_tallies(self, run_ids: Sequence[str], part_ids: Sequence[str]) -> list[PartTally]:
        """The outcomes of these rules or criteria, run by run."""
        if not run_ids or not part_ids:
            return []
        key = (scores.c.run_id, scores.c.part_id, scores.c.outcome)
        statement = select(*key, func.count()).where(scores.c.run_id.in_(run_ids), scores.c.part_id.in_(part_ids))
        return [PartTally(*row) for row in await self._database.read(fetch_rows, statement.group_by(*key))]


def _results_at(connection: Connection, run_id: str, positions: Sequence[int]) -> list[Result]:
    by_position: dict[int, Result] = {}
    for start in range(0, len(positions), CHUNK):
        chunk = page(run_id, after=None, limit=CHUNK, filters={})
        chunk = chunk.where(results.c.position.in_(positions[start : start + CHUNK]))
        by_position |= {result.position: result for result in load(connection, chunk)}
    return [by_position[position] for position in positions if position in by_position]


def _run_previews(
    connection: Connection, within: AccessScope, now: datetime, datasets: DatasetNames
) -> list[RunPreview]:
    columns = [runs.c[name] for name in ("id", "name", "agent_id", "state", "created_at", "owner", "heartbeat_at")]
    rows = read_tuples(connection, newest_first(visible(select(*columns), runs, within), runs, MAX_RUNS))
    unread = [row[0] for row in rows if row[0] not in datasets]
    for start in range(0, len(unread), CHUNK):
        chunk = select(runs.c.id, runs.c.body).where(runs.c.id.in_(unread[start : start + CHUNK]))
        for id, body in read_tuples(connection, chunk):
            datasets[id] = tuple((pin.path, pin.name) for pin in _decode_datasets(body).datasets)
    return [
        RunPreview(
            id=id,
            name=name,
            agent_id=agent_id,
            state=_current_state(STATES[state], owner, heartbeat_at, now),
            created_at=created_at,
            tests=datasets.get(id, ()),
        )
        for id, name, agent_id, state, created_at, owner, heartbeat_at in rows
    ]


def _current_state(state: RunState, owner: str | None, heartbeat_at: str | None, now: datetime) -> RunState:
    if state is not RunState.RUNNING:
        return state
    heartbeat = datetime.fromisoformat(heartbeat_at) if heartbeat_at else None
    return RunState.INTERRUPTED if lease_is_stale(state, owner, heartbeat, now) else state


class _DatasetName(Struct, frozen=True):
    path: str
    name: str = ""


class _PinnedDatasets(Struct, frozen=True):
    """The part of a run's pins that names its datasets."""

    datasets: tuple[_DatasetName, ...] = ()


_decode_datasets = msgspec.json.Decoder(_PinnedDatasets).decode


def _runs_by_id(connection: Connection, run_ids: Sequence[str], now: datetime) -> list[Run]:
    by_id = {run.id: run for run in load_runs(connection, select(runs).where(runs.c.id.in_(run_ids)), now)}
    return [by_id[id] for id in run_ids if id in by_id]


def _newest_runs(connection: Connection, agent_ids: Sequence[str], within: AccessScope) -> list[str]:
    own = visible(select(runs.c.id), runs, within)
    newest = (connection.scalar(newest_first(own.where(runs.c.agent_id == id), runs, 1)) for id in agent_ids)
    return [id for id in newest if id is not None]
