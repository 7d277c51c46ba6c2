"""Which results, runs and agents pages list. Positions are cheap (a hundred thousand are read in some hundredths of a
second) and bodies are not: results are chosen by columns first, and only those that are shown are read whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, Select, func, select

from howsure.model.access_scope import AccessScope
from howsure.model.result import Result
from howsure.model.run import Run, RunState
from howsure.store.counting import Counted, kept_counts
from howsure.store.lease import stale
from howsure.store.queries.choosing import flaky, said
from howsure.store.queries.columns import tuples
from howsure.store.queries.faces import marked
from howsure.store.queries.results import load, page
from howsure.store.queries.runs import STATES, newest_first
from howsure.store.queries.runs import load as load_runs
from howsure.store.schema import results, runs

LOOKED_AT = 5000
"""The newest so many runs can be chosen from."""
CHUNK = 500
MOST_TAGS = 200
NEAREST = 30
"""So many other runs are looked at for the same case."""


class RunFace(Struct, frozen=True, kw_only=True):
    """What a run can be chosen by. `tests` are the paths and names of its datasets."""

    id: str
    name: str
    agent_id: str
    state: RunState
    created_at: str
    tests: tuple[tuple[str, str], ...]


class AgentFace(Struct, frozen=True, kw_only=True):
    """An agent that runs name."""

    id: str
    runs: int
    latest: datetime


class Try(Struct, frozen=True):
    """One attempt at a case."""

    repeat: int
    verdict: str
    position: int


class Elsewhere(Struct, frozen=True):
    """A result of the same case in another run."""

    run_id: str
    run_name: str
    created_at: datetime
    position: int
    verdict: str
    candidate: str
    repeat: int


class Tag(Struct, frozen=True):
    """A tag, or a label as `name: value`."""

    text: str
    cases: int


def flaky_cases(connection: Connection, run_id: str) -> int:
    """How many cases of a candidate ended in different ways."""
    return connection.scalar(select(func.count()).select_from(flaky(run_id).subquery())) or 0


def tags(connection: Connection, run_id: str) -> list[Tag]:
    known: Counter[str] = Counter()
    for marks, number in marked(connection, run_id):
        known.update(dict.fromkeys(said(marks.tags, marks.labels), number))
    return [Tag(text, number) for text, number in known.most_common(MOST_TAGS)]


def at(connection: Connection, run_id: str, wanted: Sequence[int]) -> list[Result]:
    found: dict[int, Result] = {}
    for start in range(0, len(wanted), CHUNK):
        some = page(run_id, after=None, limit=CHUNK, filters={})
        some = some.where(results.c.position.in_(wanted[start : start + CHUNK]))
        found |= {result.position: result for result in load(connection, some)}
    return [found[position] for position in wanted if position in found]


class _Dataset(Struct, frozen=True):
    path: str
    name: str = ""


class _Pinned(Struct, frozen=True):
    """What of a run's pins is looked at."""

    datasets: tuple[_Dataset, ...] = ()


_pinned = msgspec.json.Decoder(_Pinned).decode


Tests = dict[str, tuple[tuple[str, str], ...]]
"""The datasets of runs, by the runs' ids: pins never change, so they need be read but once."""


def run_faces(connection: Connection, within: AccessScope, now: datetime, known: Tests) -> list[RunFace]:
    columns = runs.c
    wanted = select(
        columns.id,
        columns.name,
        columns.agent_id,
        columns.state,
        columns.created_at,
        columns.owner,
        columns.heartbeat_at,
    )
    found = tuples(connection, _seen(wanted, within).order_by(*newest_first).limit(LOOKED_AT))
    _learn(connection, [each[0] for each in found if each[0] not in known], known)
    return [
        RunFace(
            id=id,
            name=name,
            agent_id=agent_id,
            state=_state(state, owner, beat, now),
            created_at=created_at,
            tests=known.get(id, ()),
        )
        for id, name, agent_id, state, created_at, owner, beat in found
    ]


def _state(state: str, owner: str | None, beat: str | None, now: datetime) -> RunState:
    stored = STATES[state]
    if stored is not RunState.RUNNING:
        return stored
    return RunState.INTERRUPTED if stale(stored, owner, datetime.fromisoformat(beat) if beat else None, now) else stored


def _learn(connection: Connection, ids: Sequence[str], known: Tests) -> None:
    for start in range(0, len(ids), CHUNK):
        some = select(runs.c.id, runs.c.body).where(runs.c.id.in_(ids[start : start + CHUNK]))
        for id, body in tuples(connection, some):
            known[id] = tuple((pin.path, pin.name) for pin in _pinned(body).datasets)


def several_runs(connection: Connection, run_ids: Sequence[str], now: datetime) -> list[Run]:
    """These runs, in this order; what is not there is missing."""
    found = {run.id: run for run in load_runs(connection, select(runs).where(runs.c.id.in_(run_ids)), now)}
    return [found[id] for id in run_ids if id in found]


def runs_and_counts(
    connection: Connection, run_ids: Sequence[str], now: datetime
) -> tuple[list[Run], dict[str, Counted]]:
    """Both at once: most pages need both, and each call of the store costs a change of threads."""
    return several_runs(connection, run_ids, now), kept_counts(connection, run_ids)


def tries(connection: Connection, run_id: str, case_ids: Sequence[str]) -> dict[tuple[str, str], list[Try]]:
    """Every attempt at these cases, by case and candidate."""
    columns = results.c
    wanted = select(columns.case_id, columns.candidate, columns.repeat, columns.verdict, columns.position)
    found: dict[tuple[str, str], list[Try]] = {}
    chosen = wanted.where(columns.run_id == run_id, columns.case_id.in_(case_ids)).order_by(columns.position)
    for case_id, candidate, *tried in connection.execute(chosen):
        found.setdefault((case_id, candidate), []).append(Try(*tried))
    return found


def agents(connection: Connection, within: AccessScope) -> list[AgentFace]:
    latest = func.max(runs.c.created_at)
    wanted = select(runs.c.agent_id, func.count(), latest).where(runs.c.agent_id != "")
    found = connection.execute(_seen(wanted, within).group_by(runs.c.agent_id).order_by(latest.desc()))
    return [AgentFace(id=id, runs=number, latest=moment) for id, number, moment in found]


def newest(connection: Connection, agent_ids: Sequence[str], within: AccessScope) -> list[str]:
    """The newest run of each of these agents."""
    found = [
        connection.scalar(
            _seen(select(runs.c.id), within).where(runs.c.agent_id == each).order_by(*newest_first).limit(1)
        )
        for each in agent_ids
    ]
    return [id for id in found if id is not None]


def _seen(wanted: Select[Any], within: AccessScope) -> Select[Any]:
    if within.organization_id is not None:
        wanted = wanted.where(runs.c.organization_id == within.organization_id)
    return wanted if within.agent_ids is None else wanted.where(runs.c.agent_id.in_(within.agent_ids))


def elsewhere(connection: Connection, run: Run, case_id: str, within: AccessScope) -> list[Elsewhere]:
    """In the newest other runs of the same agent."""
    others = _seen(select(runs.c.id), within).where(runs.c.agent_id == run.pins.agent_key, runs.c.id != run.id)
    newest = others.order_by(*newest_first).limit(NEAREST).scalar_subquery()
    columns = results.c
    told = (
        runs.c.id,
        runs.c.name,
        runs.c.created_at,
        columns.position,
        columns.verdict,
        columns.candidate,
        columns.repeat,
    )
    joined = select(*told).join_from(runs, results, columns.run_id == runs.c.id)
    wanted = joined.where(runs.c.id.in_(newest), columns.case_id == case_id)
    found = connection.execute(wanted.order_by(*newest_first, columns.position).limit(NEAREST))
    return [Elsewhere(*each) for each in found]
