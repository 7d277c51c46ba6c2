"""Runs: reading them with live counts, finding one by what a person types, the lease, deleting."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from datetime import datetime
from difflib import get_close_matches
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, Select, Text, delete, insert, select, tuple_, update
from sqlalchemy.exc import IntegrityError

from howsure.errors import Conflict, NotFound
from howsure.model.access_scope import AccessScope
from howsure.model.result import FORMAT
from howsure.model.run import Counts, Run, RunState, Spent
from howsure.model.verdict import Verdict
from howsure.store.bodies import encode, read_pins
from howsure.store.lease import held, stale
from howsure.store.schema import Moment, as_text, runs, scores
from howsure.store.service.places import read_place

LATEST = "latest"
STATES = {state.value: state for state in RunState}
SHORTEST_PREFIX = 4
NEAREST_AMONG = 500
"""How many recent runs are looked at for names like one that was not found."""

newest_first = (runs.c.created_at.desc(), runs.c.id.desc())


def cursor(run: Run) -> str:
    """Where a list of runs goes on after this one."""
    return f"{as_text(run.created_at)}~{run.id}"


def create(connection: Connection, run: Run) -> None:
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


def change(connection: Connection, run_id: str, changes: dict[str, Any], owner: str = "") -> None:
    """Where an owner is named, only while the run is theirs: whoever lost it must not speak for it any more."""
    wanted = update(runs).where(runs.c.id == run_id)
    ours = wanted.where(runs.c.owner == owner) if owner else wanted
    if connection.execute(ours.values(changes)).rowcount:
        return
    if connection.execute(select(runs.c.id).where(runs.c.id == run_id)).first() is None:
        raise NotFound(f"there is no run {run_id}; it may have been deleted")
    raise Conflict(f"run {run_id} was taken over by another process")


def remove(connection: Connection, run_id: str) -> None:
    connection.execute(delete(scores).where(scores.c.run_id == run_id))
    removed = connection.execute(delete(runs).where(runs.c.id == run_id))
    if not removed.rowcount:
        raise NotFound(f"there is no run {run_id}")


def claim(connection: Connection, run_id: str, owner: str, now: datetime) -> None:
    """Take the lease, or say who has it."""
    found = connection.execute(select(runs.c.owner, runs.c.heartbeat_at).where(runs.c.id == run_id)).first()
    if found is None:
        raise NotFound(f"there is no run {run_id}")
    if found.owner != owner and held(found.owner, found.heartbeat_at, now):
        raise Conflict(f"run {run_id} is being run by another process ({found.owner}); wait for it, or stop it")
    same = runs.c.owner.is_not_distinct_from(found.owner)
    taken = update(runs).where(runs.c.id == run_id, same).values(owner=owner, heartbeat_at=now)
    if not (connection.execute(taken)).rowcount:
        raise Conflict(f"run {run_id} was taken by another process just now")


def load(connection: Connection, statement: Select[Any], now: datetime) -> list[Run]:
    """The runs that a statement on `runs` selects, with their counts as they are now. Lists of them are on most pages:
    as the driver gives them, they cost half of SQLAlchemy's own."""
    with connection.execute(statement) as found:
        assert found.cursor is not None
        return [_run(_Found._make(each), now) for each in found.cursor.fetchall()]


def one(connection: Connection, run_id: str, now: datetime) -> Run:
    found = load(connection, select(runs).where(runs.c.id == run_id), now)
    if not found:
        raise NotFound(f"there is no run {run_id}")
    return found[0]


class Wanted(Struct, frozen=True, kw_only=True):
    """Which runs to list; None: any."""

    limit: int
    before: str | None = None
    agent_id: str | None = None
    states: tuple[RunState, ...] = ()
    organization_id: str | None = None
    agent_ids: tuple[str, ...] | None = None


def one_seen(connection: Connection, run_id: str, within: AccessScope, now: datetime) -> Run:
    """NotFound for one that the caller may not see, as for one that is not there."""
    run = one(connection, run_id, now)
    if not within.sees(run.organization_id, run.pins.agent_key):
        raise NotFound(f"there is no run {run_id}")
    return run


def several(connection: Connection, wanted: Wanted, now: datetime) -> list[Run]:
    """Newest first. An interrupted run may still say `running` in its column, so the state is looked at again here,
    and pages are read until enough are found."""
    found: list[Run] = []
    before = wanted.before
    while len(found) < wanted.limit:
        page = load(connection, _page(wanted, before), now)
        found += [run for run in page if not wanted.states or run.state in wanted.states]
        if len(page) < wanted.limit:
            break
        before = cursor(page[-1])
    return found[: wanted.limit]


def _page(wanted: Wanted, before: str | None) -> Select[Any]:
    statement = select(runs).order_by(*newest_first).limit(wanted.limit)
    if before is not None:
        last = tuple_(*read_place(before), types=[Moment(), Text()])
        statement = statement.where(tuple_(runs.c.created_at, runs.c.id) < last)
    if wanted.agent_id is not None:
        statement = statement.where(runs.c.agent_id == wanted.agent_id)
    if wanted.organization_id is not None:
        statement = statement.where(runs.c.organization_id == wanted.organization_id)
    if wanted.agent_ids is not None:
        statement = statement.where(runs.c.agent_id.in_(wanted.agent_ids))
    if wanted.states:
        stored = {*wanted.states, *((RunState.RUNNING,) if RunState.INTERRUPTED in wanted.states else ())}
        statement = statement.where(runs.c.state.in_(sorted(state.value for state in stored)))
    return statement


def find(connection: Connection, text: str, now: datetime) -> Run:
    """The run a person means: `latest`, an id, a name (its newest run), an agent (its latest completed run) or the
    beginning of an id."""
    newest = select(runs).order_by(*newest_first).limit(1)
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
        if found := load(connection, meaning, now):
            return found[0]
    return _by_prefix(connection, text, now)


def _by_prefix(connection: Connection, text: str, now: datetime) -> Run:
    begin = text.lower()
    if len(begin) >= SHORTEST_PREFIX:
        among = runs.c.id.between(begin, begin + "\uffff")
        found = load(connection, select(runs).where(among).order_by(*newest_first).limit(6), now)
        if len(found) == 1:
            return found[0]
        if found:
            listed = "; ".join(f"{run.id} ({run.name})" for run in found[:5]) + ("; …" if len(found) > 5 else "")
            raise Conflict(f"{text!r} begins the id of several runs: {listed}")
    raise NotFound(_missing(connection, text))


def _missing(connection: Connection, text: str) -> str:
    recent = connection.execute(
        select(runs.c.id, runs.c.name, runs.c.agent_id).order_by(*newest_first).limit(NEAREST_AMONG)
    )
    known = list(dict.fromkeys(name for each in recent for name in (each.name, each.agent_id, each.id) if name))
    if not known:
        return "there are no runs yet; `howsure run` makes one"
    if text in known:
        return f"agent {text!r} has no completed run yet"
    short = f" (an id needs {SHORTEST_PREFIX} characters at least)" if len(text) < SHORTEST_PREFIX else ""
    near = get_close_matches(text, known, n=3, cutoff=0.5)
    hint = f"; did you mean {', '.join(map(repr, near))}?" if near else "; `howsure runs` lists them"
    return f"there is no run, run name or agent {text!r}{short}{hint}"


def tally(total: int, numbers: Mapping[Verdict, int]) -> Counts:
    return Counts(
        total=max(total, sum(numbers.values())),
        passed=numbers.get(Verdict.PASSED, 0),
        failed=numbers.get(Verdict.FAILED, 0),
        errored=numbers.get(Verdict.ERRORED, 0),
        skipped=numbers.get(Verdict.SKIPPED, 0),
    )


_Found = namedtuple("_Found", runs.columns.keys())  # type: ignore[misc]


def _run(found: Any, now: datetime) -> Run:
    state, beat = STATES[found.state], _moment(found.heartbeat_at)
    numbers = {verdict: getattr(found, verdict.value) for verdict in Verdict}
    return Run(
        id=found.id,
        name=found.name,
        state=RunState.INTERRUPTED if stale(state, found.owner, beat, now) else state,
        pins=read_pins(found.format, found.body),
        counts=tally(found.total, numbers),
        created_at=datetime.fromisoformat(found.created_at),
        started_at=_moment(found.started_at),
        completed_at=_moment(found.completed_at),
        error=found.error,
        spent=None if found.spent is None else msgspec.json.decode(found.spent, type=Spent),
        organization_id=found.organization_id,
    )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
