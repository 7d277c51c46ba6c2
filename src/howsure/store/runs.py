"""Runs: create, read with live counts, list, find by what a person types, change, delete. Which process executes a run
is in `leases.py`; the queue of the service is in `queue.py`."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from datetime import datetime
from difflib import get_close_matches
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, Select, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from howsure.errors import Conflict, NotFound
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.result import FORMAT
from howsure.model.run import Counts, ModelSpending, Run, RunState
from howsure.model.verdict import Verdict
from howsure.store.codecs import decode_pins, encode
from howsure.store.leases import lease_is_stale
from howsure.store.pages import newest_first, next_cursor, visible
from howsure.store.schema import runs, scores

LATEST = "latest"
STATES = {state.value: state for state in RunState}
SHORTEST_PREFIX = 4
NEAREST_AMONG = 500
"""Recent runs that are searched for similar names when one is not found."""


def create_run(connection: Connection, run: Run) -> None:
    if str(UUID(run.id)) != run.id:
        raise ValueError(f"a run's id is a UUID in its usual form, not {run.id!r}")
    values = {
        "id": run.id,
        "name": run.name,
        "agent_id": run.pins.agent_key,
        "state": run.state.value,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "completed_at": run.completed_at,
        "total": run.counts.total,
        "error": run.error,
        "format": FORMAT,
        "body": encode(run.pins),
        "organization_id": run.organization_id,
    }
    try:
        connection.execute(insert(runs).values(values))
    except IntegrityError as error:
        raise Conflict(f"there is a run {run.id} already") from error


def change_run(connection: Connection, run_id: str, changes: dict[str, Any], owner: str = "") -> None:
    """With an owner, only while the run is theirs: a process that lost the lease must not change the run."""
    statement = update(runs).where(runs.c.id == run_id)
    ours = statement.where(runs.c.owner == owner) if owner else statement
    if connection.execute(ours.values(changes)).rowcount:
        return
    if connection.execute(select(runs.c.id).where(runs.c.id == run_id)).first() is None:
        raise NotFound(f"there is no run {run_id}; it may have been deleted")
    raise Conflict(f"run {run_id} was taken over by another process")


def delete_run(connection: Connection, run_id: str) -> None:
    connection.execute(delete(scores).where(scores.c.run_id == run_id))
    removed = connection.execute(delete(runs).where(runs.c.id == run_id))
    if not removed.rowcount:
        raise NotFound(f"there is no run {run_id}")


def load_runs(connection: Connection, statement: Select[Any], now: datetime) -> list[Run]:
    """The runs that a statement on `runs` selects, with their counts as they are now. Most pages list runs:
    plain tuples of the driver cost half of SQLAlchemy's rows."""
    with connection.execute(statement) as found:
        assert found.cursor is not None
        return [_run(_RunRow._make(each), now) for each in found.cursor.fetchall()]


def read_run(connection: Connection, run_id: str, now: datetime) -> Run:
    found = load_runs(connection, select(runs).where(runs.c.id == run_id), now)
    if not found:
        raise NotFound(f"there is no run {run_id}")
    return found[0]


class RunQuery(Struct, frozen=True, kw_only=True):
    """Which runs to list; None: any."""

    limit: int
    before: str | None = None
    agent_id: str | None = None
    states: tuple[RunState, ...] = ()
    within: AccessScope = EVERYWHERE


def read_visible_run(connection: Connection, run_id: str, within: AccessScope, now: datetime) -> Run:
    """NotFound also for a run that the caller may not see."""
    run = read_run(connection, run_id, now)
    if not within.sees(run.organization_id, run.pins.agent_key):
        raise NotFound(f"there is no run {run_id}")
    return run


def list_runs(connection: Connection, query: RunQuery, now: datetime) -> list[Run]:
    """Newest first. An interrupted run may still say `running` in its column, so the state is checked again here, and
    pages are read until enough runs are found."""
    found: list[Run] = []
    before = query.before
    while len(found) < query.limit:
        page = load_runs(connection, _page(query, before), now)
        found += [run for run in page if not query.states or run.state in query.states]
        if len(page) < query.limit:
            break
        before = next_cursor(page[-1])
    return found[: query.limit]


def _page(query: RunQuery, before: str | None) -> Select[Any]:
    statement = newest_first(visible(select(runs), runs, query.within), runs, query.limit, before)
    if query.agent_id is not None:
        statement = statement.where(runs.c.agent_id == query.agent_id)
    if query.states:
        stored = {*query.states, *((RunState.RUNNING,) if RunState.INTERRUPTED in query.states else ())}
        statement = statement.where(runs.c.state.in_(sorted(state.value for state in stored)))
    return statement


def find_run(connection: Connection, text: str, now: datetime) -> Run:
    """The run a person means: `latest`, an id, a name (its newest run), an agent (its latest completed run) or the
    beginning of an id."""
    newest = newest_first(select(runs), runs, 1)
    completed = runs.c.state == RunState.COMPLETED.value
    meanings = (
        [newest]
        if text == LATEST
        else [
            newest.where(runs.c.id == text.lower()),
            newest.where(runs.c.name == text),
            newest.where(runs.c.agent_id == text, completed),
        ]
    )
    for meaning in meanings if text else ():
        if found := load_runs(connection, meaning, now):
            return found[0]
    return _by_prefix(connection, text, now)


def _by_prefix(connection: Connection, text: str, now: datetime) -> Run:
    begin = text.lower()
    if len(begin) >= SHORTEST_PREFIX:
        among = runs.c.id.between(begin, begin + "\uffff")
        found = load_runs(connection, newest_first(select(runs).where(among), runs, 6), now)
        if len(found) == 1:
            return found[0]
        if found:
            listed = "; ".join(f"{run.id} ({run.name})" for run in found[:5]) + ("; …" if len(found) > 5 else "")
            raise Conflict(f"{text!r} begins the id of several runs: {listed}")
    raise NotFound(_missing(connection, text))


def _missing(connection: Connection, text: str) -> str:
    recent = connection.execute(newest_first(select(runs.c.id, runs.c.name, runs.c.agent_id), runs, NEAREST_AMONG))
    known = list(dict.fromkeys(name for each in recent for name in (each.name, each.agent_id, each.id) if name))
    if not known:
        return "there are no runs yet; `howsure run` makes one"
    if text in known:
        return f"agent {text!r} has no completed run yet"
    short = f" (an id needs {SHORTEST_PREFIX} characters at least)" if len(text) < SHORTEST_PREFIX else ""
    near = get_close_matches(text, known, n=3, cutoff=0.5)
    hint = f"; did you mean {', '.join(map(repr, near))}?" if near else "; `howsure runs` lists them"
    return f"there is no run, run name or agent {text!r}{short}{hint}"


def count_verdicts(total: int, numbers: Mapping[Verdict, int]) -> Counts:
    return Counts(
        total=max(total, sum(numbers.values())),
        passed=numbers.get(Verdict.PASSED, 0),
        failed=numbers.get(Verdict.FAILED, 0),
        errored=numbers.get(Verdict.ERRORED, 0),
        skipped=numbers.get(Verdict.SKIPPED, 0),
    )


_RunRow = namedtuple("_RunRow", runs.columns.keys())  # type: ignore[misc]


def _run(row: Any, now: datetime) -> Run:
    state, beat = STATES[row.state], _moment(row.heartbeat_at)
    numbers = {verdict: getattr(row, verdict.value) for verdict in Verdict}
    return Run(
        id=row.id,
        name=row.name,
        state=RunState.INTERRUPTED if lease_is_stale(state, row.owner, beat, now) else state,
        pins=decode_pins(row.format, row.body),
        counts=count_verdicts(row.total, numbers),
        created_at=datetime.fromisoformat(row.created_at),
        started_at=_moment(row.started_at),
        completed_at=_moment(row.completed_at),
        error=row.error,
        spent=None if row.spent is None else msgspec.json.decode(row.spent, type=ModelSpending),
        organization_id=row.organization_id,
    )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def find_earlier(connection: Connection, text: str, run: Run, now: datetime) -> Run:
    """`latest` is the newest completed run before this one; a name or an agent, its newest completed run before this
    one; an id or the beginning of one, that run."""
    before = (runs.c.created_at < run.created_at, runs.c.state == RunState.COMPLETED.value)
    newest = newest_first(select(runs).where(*before), runs, 1)
    meanings = (
        [newest] if text == LATEST else [newest.where(runs.c.name == text), newest.where(runs.c.agent_id == text)]
    )
    for meaning in meanings:
        if found := load_runs(connection, meaning, now):
            return found[0]
    if text == LATEST:
        raise NotFound("there is no completed run before this one")
    meant = find_run(connection, text, now)
    if meant.id == run.id or text in (meant.name, meant.pins.agent_key):
        raise NotFound(f"there is no completed run {text!r} before this one")
    return meant
