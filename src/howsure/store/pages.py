"""Lists that are read page by page, newest first: the cursor that says where the next page begins, and the rows that a
caller may see. Pages of results, which have an order of their own, are in `result_lists.py`."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Any, Protocol

import msgspec
from sqlalchemy import Select, Table, Text, func, literal, select, tuple_

from howsure.errors import InputError
from howsure.model.access_scope import AccessScope
from howsure.store.schema import UtcTimestamp, as_text, runs


class TimedRecord(Protocol):
    """Anything that lists show newest first."""

    @property
    def created_at(self) -> datetime: ...

    @property
    def id(self) -> str: ...


def next_cursor(record: TimedRecord) -> str:
    """Where a list continues after this record."""
    return f"{as_text(record.created_at)}~{record.id}"


def read_cursor(text: str) -> tuple[datetime, str]:
    """The time and the id in a cursor."""
    at, _, key = text.partition("~")
    with suppress(msgspec.ValidationError):
        moment = msgspec.convert(at, datetime)
        if moment.tzinfo is not None and 1 < moment.year < 9999 and key.isprintable():
            return moment, key
    raise InputError(f"{text!r} is not a place in a list: use the cursor of the page before")


def is_number(text: str) -> bool:
    """Whether a cursor is a position or a version number; no list is longer than a billion."""
    return text.isascii() and text.isdecimal() and len(text) < 10


def newest_first(
    statement: Select[Any], table: Table, limit: int, before: str | None = None, at: str = "created_at"
) -> Select[Any]:
    """One page of a statement on a table; `before` is the cursor of the last record of the page before. Runs are in the
    order in which they were made; other records in that of their times."""
    if table is runs:
        return _newest_runs_first(statement, limit, before)
    order = (table.c[at], table.c.id)
    if before is not None:
        statement = statement.where(tuple_(*order) < tuple_(*read_cursor(before), types=[UtcTimestamp(), Text()]))
    return statement.order_by(*(column.desc() for column in order)).limit(limit)


def _newest_runs_first(statement: Select[Any], limit: int, before: str | None) -> Select[Any]:
    order = (runs.c.sequence, runs.c.id)
    if before is not None:
        moment, key = read_cursor(before)
        place = select(runs.c.sequence).where(runs.c.id == key).scalar_subquery()
        # The run may have been deleted since.
        older = select(func.max(runs.c.sequence) + 1).where(runs.c.created_at < moment).scalar_subquery()
        statement = statement.where(tuple_(*order) < tuple_(func.coalesce(place, older, 0), literal(key)))
    return statement.order_by(*(column.desc() for column in order)).limit(limit)


def visible(statement: Select[Any], table: Table, scope: AccessScope) -> Select[Any]:
    """Only the rows of the caller's organisation and, where the table names agents, of the caller's agents."""
    if scope.organization_id is not None:
        statement = statement.where(table.c.organization_id == scope.organization_id)
    if scope.agent_ids is not None and "agent_id" in table.c:
        statement = statement.where(table.c.agent_id.in_(scope.agent_ids))
    return statement
