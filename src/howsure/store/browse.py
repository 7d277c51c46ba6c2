"""Queries for the web pages: which runs, agents and results to list, and what a list says about each. They read columns
first and only the bodies that are shown: a hundred thousand positions take some hundredths of a second, bodies do not.
How results are filtered and paged is in `result_lists.py`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, func, select

from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.result import Result
from howsure.model.run import Run, RunState
from howsure.model.verdict import Verdict
from howsure.store.database import Database, StorePart, chunks, fetch_rows, read_tuples
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
from howsure.store.runs import current_state, load_runs, read_visible_run
from howsure.store.schema import results, runs, scores
from howsure.store.summaries import FailureCount, SummaryCounts, count_failures, count_run, stored_counts

MAX_RUNS = 5000
"""Only the newest runs can be chosen from."""
MAX_TAGS = 200
MAX_OTHER_RUNS = 30
"""Other runs that are searched for the same case."""
MAX_CACHED_TAGS = 500
"""Runs whose tags are remembered."""


class RunPreview(Struct, frozen=True, kw_only=True):
    """What lists show of a run. `tests` are the paths and names of its datasets; `agent_name` is "" if the run names
    none."""

    id: str
    name: str
    agent_id: str
    state: RunState
    created_at: str
    tests: tuple[tuple[str, str], ...]
    agent_name: str = ""


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


class RunPageQuery(Struct, frozen=True, kw_only=True):
    """What the page of a run asks for. `filter` and `examples` depend on what is there at that moment: which results
    are listed, and the positions of results that show what a failure is about."""

    filter: Callable[[Run], ResultFilter]
    examples: Callable[[Sequence[FailureCount]], Sequence[int]]
    after: int | None
    limit: int
    errored: int


class RunPageContent(Struct, frozen=True, kw_only=True):
    """What the page of a run shows, all of it read at one moment: while a run goes on, no two numbers contradict each
    other. `errored` are the first results that errored, `tries` every repeat of the listed cases."""

    run: Run
    counts: SummaryCounts
    failing: list[FailureCount]
    examples: Mapping[int, Result]
    errored: list[Result]
    listed: ResultPage
    results: list[Result]
    tries: Mapping[tuple[str, str], Sequence[RepeatVerdict]]
    flaky: int
    tags: list[TagCount]


PinnedNames = dict[str, tuple[tuple[tuple[str, str], ...], str]]
"""The datasets of runs and the name of the agent, by run id. Pins never change, so each is read once."""


class BrowseQueries(StorePart):
    """`within` is the part of the store that the caller may see. Where there is none, the caller has already looked up
    the run and checked that it may be seen."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        super().__init__(database, clock)
        self._pinned: PinnedNames = {}
        self._tags: dict[str, tuple[int, list[TagCount]]] = {}

    async def positions(self, run_id: str, filter: ResultFilter) -> list[int]:
        """The positions of all results that match, in order, however many must be searched."""
        return await self._database.read(all_positions, run_id, filter)

    async def result_page(self, run_id: str, filter: ResultFilter, after: int | None, limit: int) -> ResultPage:
        """A page of the results that match, after a position. A text search looks through a part of a large run at a
        time, and the page says which part."""
        return await self._database.read(result_page, run_id, filter, after, limit)

    async def neighbors(self, run_id: str, filter: ResultFilter, position: int, limit: int) -> ResultNeighbors:
        """The results before and after a result among those that match, and the page of `limit` that lists it."""
        return await self._database.read(result_neighbors, run_id, filter, position, limit)

    async def results_at(self, run_id: str, positions: Sequence[int]) -> list[Result]:
        """The results at these positions, in their order."""
        return await self._database.read(_results_at, run_id, positions)

    async def run_page(self, run_id: str, query: RunPageQuery, within: AccessScope) -> RunPageContent:
        """Everything on the page of a run, in one transaction. Tags are counted again when there are more results."""
        known = self._tags.get(run_id)
        content = await self._database.read(_run_page, run_id, query, within, self._clock(), known)
        if len(self._tags) >= MAX_CACHED_TAGS:
            self._tags.pop(next(iter(self._tags)))
        self._tags[run_id] = (content.run.counts.completed, content.tags)
        return content

    async def run_previews(self, within: AccessScope = EVERYWHERE) -> list[RunPreview]:
        """The runs to choose from, newest first."""
        return await self._database.read(_run_previews, within, self._clock(), self._pinned)

    async def runs_with_counts(self, run_ids: Sequence[str]) -> tuple[list[Run], dict[str, SummaryCounts]]:
        """These runs, in this order, and the stored counts of those that have ended; those that do not exist are left
        out. Most pages need both, and each call of the store costs a change of threads."""
        now = self._clock()
        return await self._database.read(
            lambda connection: (_runs_by_id(connection, run_ids, now), stored_counts(connection, run_ids))
        )

    async def agent_previews(self, within: AccessScope = EVERYWHERE) -> list[AgentPreview]:
        """Every agent that has runs, the one with the newest run first."""
        latest, newest = func.max(runs.c.created_at), func.max(runs.c.sequence)
        statement = visible(select(runs.c.agent_id, func.count(), latest).where(runs.c.agent_id != ""), runs, within)
        agents = statement.group_by(runs.c.agent_id).order_by(newest.desc())
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
        ordered = statement.order_by(runs.c.sequence.desc(), runs.c.id.desc(), columns.position)
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


def _run_page(
    connection: Connection,
    run_id: str,
    query: RunPageQuery,
    within: AccessScope,
    now: datetime,
    known_tags: tuple[int, list[TagCount]] | None,
) -> RunPageContent:
    run = read_visible_run(connection, run_id, within, now)
    counts = stored_counts(connection, [run_id]).get(run_id) or count_run(connection, run_id)
    failing = count_failures(connection, run_id) if counts.failing is None else counts.failing
    listed = result_page(connection, run_id, query.filter(run), query.after, query.limit)
    shown = _results_at(connection, run_id, listed.positions)
    positions = sorted(query.examples(failing))
    broken = page(run_id, after=None, limit=query.errored, filters={"verdict": Verdict.ERRORED.value})
    repeated = run.pins.request.repeat > 1
    fresh = known_tags and known_tags[0] == run.counts.completed
    return RunPageContent(
        run=run,
        counts=counts,
        failing=failing,
        examples={result.position: result for result in _results_at(connection, run_id, positions)},
        errored=load(connection, broken) if run.counts.errored else [],
        listed=listed,
        results=shown,
        tries=_repeat_verdicts(connection, run_id, [each.case.id for each in shown]) if repeated else {},
        flaky=_count_flaky(connection, run_id) if repeated else 0,
        tags=known_tags[1] if known_tags and fresh else _tag_counts(connection, run_id),
    )


def _repeat_verdicts(
    connection: Connection, run_id: str, case_ids: Sequence[str]
) -> dict[tuple[str, str], list[RepeatVerdict]]:
    """Every attempt at these cases, by case and candidate."""
    columns = results.c
    statement = select(columns.case_id, columns.candidate, columns.repeat, columns.verdict, columns.position)
    statement = statement.where(columns.run_id == run_id, columns.case_id.in_(case_ids)).order_by(columns.position)
    verdicts: dict[tuple[str, str], list[RepeatVerdict]] = {}
    for case_id, candidate, *attempt in fetch_rows(connection, statement):
        verdicts.setdefault((case_id, candidate), []).append(RepeatVerdict(*attempt))
    return verdicts


def _count_flaky(connection: Connection, run_id: str) -> int:
    """How many cases of a candidate have repeats with different verdicts."""
    return connection.scalar(select(func.count()).select_from(flaky_pairs(run_id).subquery())) or 0


def _tag_counts(connection: Connection, run_id: str) -> list[TagCount]:
    """The tags and labels of the cases, the most frequent first."""
    counts: Counter[str] = Counter()
    for tags, number in count_case_tags(connection, run_id):
        counts.update(dict.fromkeys(tag_texts(tags.tags, tags.labels), number))
    return [TagCount(text, number) for text, number in counts.most_common(MAX_TAGS)]


def _results_at(connection: Connection, run_id: str, positions: Sequence[int]) -> list[Result]:
    by_position: dict[int, Result] = {}
    for some in chunks(positions):
        there = page(run_id, after=None, limit=len(some), filters={}).where(results.c.position.in_(some))
        by_position |= {result.position: result for result in load(connection, there)}
    return [by_position[position] for position in positions if position in by_position]


def _run_previews(connection: Connection, within: AccessScope, now: datetime, pinned: PinnedNames) -> list[RunPreview]:
    columns = [runs.c[name] for name in ("id", "name", "agent_id", "state", "created_at", "owner", "heartbeat_at")]
    rows = read_tuples(connection, newest_first(visible(select(*columns), runs, within), runs, MAX_RUNS))
    unread = [row[0] for row in rows if row[0] not in pinned]
    for some in chunks(unread):
        for id, body in read_tuples(connection, select(runs.c.id, runs.c.body).where(runs.c.id.in_(some))):
            with suppress(msgspec.DecodeError, UnicodeDecodeError):  # of a damaged run, none
                pins = _decode_names(body)
                agent = pins.agent.name if pins.agent else ""
                pinned[id] = tuple((pin.path, pin.name) for pin in pins.datasets), agent
    return [
        RunPreview(
            id=id,
            name=name,
            agent_id=agent_id,
            state=current_state(state, owner, heartbeat_at, now),
            created_at=created_at,
            tests=pinned.get(id, NOTHING_PINNED)[0],
            agent_name=pinned.get(id, NOTHING_PINNED)[1],
        )
        for id, name, agent_id, state, created_at, owner, heartbeat_at in rows
    ]


class _DatasetName(Struct, frozen=True):
    path: str
    name: str = ""


class _AgentName(Struct, frozen=True):
    name: str = ""


class _PinnedNames(Struct, frozen=True):
    """The part of a run's pins that names its datasets and its agent."""

    datasets: tuple[_DatasetName, ...] = ()
    agent: _AgentName | None = None


_decode_names = msgspec.json.Decoder(_PinnedNames).decode
NOTHING_PINNED: tuple[tuple[tuple[str, str], ...], str] = ((), "")


def _runs_by_id(connection: Connection, run_ids: Sequence[str], now: datetime) -> list[Run]:
    by_id = {run.id: run for run in load_runs(connection, select(runs).where(runs.c.id.in_(run_ids)), now)}
    return [by_id[id] for id in run_ids if id in by_id]


def _newest_runs(connection: Connection, agent_ids: Sequence[str], within: AccessScope) -> list[str]:
    own = visible(select(runs.c.id), runs, within)
    newest = (connection.scalar(newest_first(own.where(runs.c.agent_id == id), runs, 1)) for id in agent_ids)
    return [id for id in newest if id is not None]
