"""Runs: create, read with live counts, list, find by what a person types, change, delete. Which process executes a run
is in `leases.py`; the queue of the service is in `queue.py`."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from difflib import get_close_matches
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct, structs
from sqlalchemy import Connection, Select, and_, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from howsure.errors import Conflict, NotFound
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.case import World
from howsure.model.result import FORMAT
from howsure.model.run import Counts, ModelSpending, Pins, Run, RunState
from howsure.model.run_request import ANCHORS_OF
from howsure.model.verdict import Verdict
from howsure.store.codecs import END_COLUMNS, RUN_COLUMNS, decode_pins, encode, row_checksum
from howsure.store.database import raw_rows, read_tuples
from howsure.store.leases import lease_is_stale
from howsure.store.pages import newest_first, next_cursor, visible
from howsure.store.schema import as_text, read_time, runs, scores

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
    pinned = row_checksum(connection, {**values, "created_at": as_text(run.created_at)}, RUN_COLUMNS)
    try:
        place = select(func.coalesce(func.max(runs.c.sequence), 0) + 1).scalar_subquery()
        connection.execute(insert(runs).values(**values, checksum=pinned, sequence=place))
    except IntegrityError as error:
        raise Conflict(f"there is a run {run.id} already") from error


def complete_pins(connection: Connection, run: Run, owner: str) -> None:
    """Write the name, pins and total of a run that were not known when it was made: results of another tool are
    counted as they are read."""
    (row,) = raw_rows(connection, runs, runs.c.id == run.id, order="id")
    values = {"name": run.name, "total": run.counts.total, "body": encode(run.pins)}
    checked = row_checksum(connection, {**row, **values}, RUN_COLUMNS)
    change_run(connection, run.id, {**values, "checksum": checked}, owner)


def change_run(connection: Connection, run_id: str, changes: dict[str, Any], owner: str = "") -> None:
    """With an owner, only while the run is theirs: a process that lost the lease must not change the run. The seal of
    a run that had ended is broken; `store_counts` makes the next."""
    statement = update(runs).where(runs.c.id == run_id)
    ours = statement.where(runs.c.owner == owner) if owner else statement
    if connection.execute(ours.values({**changes, "seal": None})).rowcount:
        return
    if connection.execute(select(runs.c.id).where(runs.c.id == run_id)).first() is None:
        raise NotFound(f"there is no run {run_id}; it may have been deleted")
    raise Conflict(f"run {run_id} was taken over by another process")


def edit_run(connection: Connection, run_id: str, name: str | None, tags: Sequence[str] | None) -> None:
    """Change the name or the tags of a run, which may happen at any time; None leaves them. They are not sealed."""
    changes: dict[str, Any] = {}
    if tags is not None:
        changes["tags"] = msgspec.json.encode(tags)
    for row in raw_rows(connection, runs, runs.c.id == run_id, order="id") if name is not None else ():
        changes |= {"name": name, "checksum": row_checksum(connection, {**row, "name": name}, RUN_COLUMNS)}
    if changes and not connection.execute(update(runs).where(runs.c.id == run_id).values(changes)).rowcount:
        raise NotFound(f"there is no run {run_id}; it may have been deleted")


def seal_run(connection: Connection, run_id: str) -> None:
    """Note the checksum of how a run ended, with its counts."""
    (row,) = raw_rows(connection, runs, runs.c.id == run_id, order="id")
    seal = row_checksum(connection, row, END_COLUMNS)
    connection.execute(update(runs).where(runs.c.id == run_id).values(seal=seal))


def read_spending(connection: Connection, organization_id: str, since: datetime, apart_from: str) -> tuple[float, int]:
    """Dollars and tokens spent by an organisation's runs that were made since then, except one."""
    known = (runs.c.organization_id == organization_id, runs.c.created_at >= since, runs.c.spent.is_not(None))
    found = connection.execute(select(runs.c.spent).where(*known, runs.c.id != apart_from))
    spent = [msgspec.json.decode(row.spent, type=ModelSpending) for row in found]
    return sum(each.usd for each in spent), sum(each.tokens for each in spent)


def change_pins(connection: Connection, run_id: str, change: Callable[[Pins], Pins]) -> None:
    """Update the pins of a run with what became known after it was planned."""
    found = connection.execute(select(runs).where(runs.c.id == run_id)).first()
    if found is None:
        raise NotFound(f"there is no run {run_id}")
    pins = decode_pins(found.format, found.body)
    if (changed := change(pins)) != pins:
        body = encode(changed)
        row = {**found._mapping, "created_at": as_text(found.created_at), "body": body}
        change_run(connection, run_id, {"body": body, "checksum": row_checksum(connection, row, RUN_COLUMNS)})


def add_note(connection: Connection, run_id: str, note: str) -> None:
    """Add a sentence to the notes of a run, once."""

    def noted(pins: Pins) -> Pins:
        return pins if note in pins.notes else structs.replace(pins, notes=(*pins.notes, note))

    change_pins(connection, run_id, noted)


def delete_run(connection: Connection, run_id: str) -> None:
    connection.execute(delete(scores).where(scores.c.run_id == run_id))
    removed = connection.execute(delete(runs).where(runs.c.id == run_id))
    if not removed.rowcount:
        raise NotFound(f"there is no run {run_id}")


def load_runs(connection: Connection, statement: Select[Any], now: datetime) -> list[Run]:
    """The runs that a statement on `runs` selects, with their counts as they are now. Most pages list runs:
    plain tuples of the driver cost half of SQLAlchemy's rows."""
    return [_run(_RunRow._make(each), now) for each in read_tuples(connection, statement)]


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
    states: Sequence[RunState] = ()
    ids: Sequence[str] | None = None
    within: AccessScope = EVERYWHERE
    matches: Callable[[Run], bool] | None = None

    @property
    def page_size(self) -> int:
        """How many to read at a time: if each must be read to know if it matches, most may not."""
        return self.limit if self.matches is None else max(self.limit, 200)


def may_have_clusters(connection: Connection, run_id: str) -> bool:
    """Whether results of this run may belong together: by its pins alone. False where they cannot be read."""
    stored = connection.execute(select(runs.c.format, runs.c.body).where(runs.c.id == run_id)).first()
    with suppress(msgspec.DecodeError):
        pins = decode_pins(*stored) if stored else None
        return pins is not None and (
            pins.request.repeat > 1
            or pins.imported is not None
            or all(pin.dialect == World.EXPLAIN for pin in pins.datasets)
        )
    return False


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
        fitting = [run for run in page if not query.states or run.state in query.states]
        found += [run for run in fitting if query.matches is None or query.matches(run)]
        if len(page) < query.page_size:
            break
        before = next_cursor(page[-1])
    return found[: query.limit]


def _page(query: RunQuery, before: str | None) -> Select[Any]:
    statement = newest_first(visible(select(runs), runs, query.within), runs, query.page_size, before)
    if query.agent_id is not None:
        statement = statement.where(runs.c.agent_id == query.agent_id)
    if query.ids is not None:
        statement = statement.where(runs.c.id.in_(query.ids))
    if query.states:
        stored = {*query.states, *((RunState.RUNNING,) if RunState.INTERRUPTED in query.states else ())}
        statement = statement.where(runs.c.state.in_(sorted(state.value for state in stored)))
    return statement


_OF_AGENTS = ~runs.c.name.startswith(ANCHORS_OF)
"""The runs about an agent; runs that judge anchors again are not."""


def find_run(connection: Connection, text: str, now: datetime) -> Run:
    """The run a person means: `latest`, an id, a name (its newest run), an agent (its latest completed run) or the
    beginning of an id."""
    newest = newest_first(select(runs), runs, 1)
    completed = and_(runs.c.agent_id == text, runs.c.state == RunState.COMPLETED.value, _OF_AGENTS)
    named = (runs.c.id == text.lower(), runs.c.name == text, completed)
    meanings = [newest.where(_OF_AGENTS)] if text == LATEST else [newest.where(each) for each in named]
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
    counts = Counts(**{verdict.value: number for verdict, number in numbers.items()})  # type: ignore[arg-type]
    return structs.replace(counts, total=max(total, counts.completed))


_RunRow = namedtuple("_RunRow", runs.columns.keys())  # type: ignore[misc]


def _run(row: Any, now: datetime) -> Run:
    error, spent = row.error, None
    try:
        pins = decode_pins(row.format, row.body)
        spent = None if row.spent is None else msgspec.json.decode(row.spent, type=ModelSpending)
    except (msgspec.DecodeError, UnicodeDecodeError) as damage:
        # A list of runs goes on: only this one cannot be used.
        pins = Pins(agent_id=row.agent_id)
        error = f"damaged: it cannot be read ({damage}); `howsure db check` says more"
    numbers = {verdict: getattr(row, verdict.value) for verdict in Verdict}
    return Run(
        id=row.id,
        name=row.name,
        state=current_state(row.state, row.owner, row.heartbeat_at, now),
        pins=pins,
        counts=count_verdicts(row.total, numbers),
        created_at=read_time(row.created_at),
        started_at=_moment(row.started_at),
        completed_at=_moment(row.completed_at),
        error=error,
        spent=spent,
        organization_id=row.organization_id,
        tags=msgspec.json.decode(row.tags, type=tuple[str, ...]) if row.tags else (),
    )


def current_state(state: str, owner: str | None, heartbeat_at: str | None, now: datetime) -> RunState:
    """The state according to the columns as the driver returns them; `interrupted` if the process of the run was
    killed."""
    stored = STATES.get(state, RunState.FAILED)
    return RunState.INTERRUPTED if lease_is_stale(stored, owner, _moment(heartbeat_at), now) else stored


def _moment(text: str | None) -> datetime | None:
    return None if text is None else read_time(text)


def find_earlier(connection: Connection, text: str, run: Run, now: datetime) -> Run:
    """`latest` is the newest completed run before this one; a name or an agent, its newest completed run before this
    one; an id or the beginning of one, that run."""
    of_run = select(runs.c.sequence).where(runs.c.id == run.id).scalar_subquery()
    before = (runs.c.sequence < of_run, runs.c.state == RunState.COMPLETED.value)
    newest = newest_first(select(runs).where(*before), runs, 1)
    named = (runs.c.name == text, and_(runs.c.agent_id == text, _OF_AGENTS))
    for meaning in [newest.where(_OF_AGENTS)] if text == LATEST else [newest.where(each) for each in named]:
        if found := load_runs(connection, meaning, now):
            return found[0]
    if text == LATEST:
        raise NotFound("there is no completed run before this one")
    meant = find_run(connection, text, now)
    if meant.id == run.id or text in (meant.name, meant.pins.agent_key):
        raise NotFound(f"there is no completed run {text!r} before this one")
    return meant
