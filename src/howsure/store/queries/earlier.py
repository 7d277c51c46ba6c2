"""The earlier run that a run is held against, found by what a person types."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, select

from howsure.errors import NotFound
from howsure.model.run import Run, RunState
from howsure.store.queries.runs import LATEST, find, load, newest_first
from howsure.store.schema import runs


def earlier(connection: Connection, text: str, run: Run, now: datetime) -> Run:
    """`latest` is the newest completed run before this one; a name or an agent, its newest completed run before this
    one; an id or the beginning of one, that run."""
    before = (runs.c.created_at < run.created_at, runs.c.state == RunState.COMPLETED.value)
    newest = select(runs).where(*before).order_by(*newest_first).limit(1)
    meanings = (
        [newest] if text == LATEST else [newest.where(runs.c.name == text), newest.where(runs.c.agent_id == text)]
    )
    for meaning in meanings:
        if found := load(connection, meaning, now):
            return found[0]
    if text == LATEST:
        raise NotFound("there is no completed run before this one")
    meant = find(connection, text, now)
    if meant.id == run.id or text in (meant.name, meant.pins.agent_key):
        raise NotFound(f"there is no completed run {text!r} before this one")
    return meant
