"""Two logs of requests: the answers to those that named a key of their own, so that sending one twice does it once; and
who wrote what, when."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Select, Text, delete, insert, select, tuple_, update
from sqlalchemy.exc import IntegrityError

from howsure.errors import Conflict
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.store.database import Database, once
from howsure.store.schema import Moment, as_text
from howsure.store.service.places import read_place
from howsure.store.service_schema import answered, audit

KEPT = timedelta(days=1)
"""How long an answer is given again."""
UNANSWERED = timedelta(minutes=2)
"""After this a request that has no answer is taken for one whose process was killed."""


class Answer(Struct, frozen=True):
    """What was answered."""

    status: int
    headers: bytes
    body: bytes


class Answers:
    """Requests that named a key of their own, and what was answered."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    async def begin(self, organization_id: str, key: str, request: str) -> Answer | None:
        """What was answered to this request before; None when it is new and is to be answered now. `request` is a hash
        of all it says. Conflict: the key belongs to another request, or the same one is being answered just now."""
        return await self._database.write(_begin, (organization_id, key), request, self._clock())

    async def end(self, organization_id: str, key: str, answer: Answer | None) -> None:
        """Keep the answer; None: it failed, and may be tried again."""
        await self._database.write(_end, (organization_id, key), answer)


def _is_begun(
    connection: Connection, before: Answer | None, place: tuple[str, str], request: str, now: datetime
) -> bool:
    """What was answered before is the same whenever it is asked for."""
    ours = (answered.c.sha256 == request, answered.c.created_at == now)
    return before is not None or connection.execute(_answer(place).where(*ours)).first() is not None


@once(_is_begun)
def _begin(connection: Connection, place: tuple[str, str], request: str, now: datetime) -> Answer | None:
    connection.execute(delete(answered).where(answered.c.created_at < now - KEPT))
    found = connection.execute(_answer(place).with_for_update()).first()
    if found is not None and found.sha256 != request:
        raise Conflict(f"the idempotency key {place[1]!r} was used for another request: take a new one")
    if found is not None and found.status is not None:
        return Answer(found.status, found.headers, found.body)
    if found is not None:
        if now - found.created_at < UNANSWERED:
            raise Conflict(f"a request with the idempotency key {place[1]!r} is being answered: try again later")
        connection.execute(delete(answered).where(*_at(place)))
    values = {"organization_id": place[0], "key": place[1], "sha256": request, "created_at": now}
    try:
        connection.execute(insert(answered).values(values))
    except IntegrityError as error:
        raise Conflict(f"a request with the idempotency key {place[1]!r} is being answered: try again later") from error
    return None


def _end(connection: Connection, place: tuple[str, str], answer: Answer | None) -> None:
    if answer is None:
        connection.execute(delete(answered).where(*_at(place)))
        return
    values = {"status": answer.status, "headers": answer.headers, "body": answer.body}
    connection.execute(update(answered).where(*_at(place)).values(values))


def _at(place: tuple[str, str]) -> tuple[Any, Any]:
    return answered.c.organization_id == place[0], answered.c.key == place[1]


def _answer(place: tuple[str, str]) -> Select[Any]:
    return select(answered).where(*_at(place))


class Deed(Struct, frozen=True, kw_only=True):
    """One write: who did what to what, and how it ended."""

    id: str
    organization_id: str
    at: datetime
    actor: str
    action: str
    subject: str
    status: int
    request_id: str


def cursor(deed: Deed) -> str:
    return f"{as_text(deed.at)}~{deed.id}"


class AuditLog:
    """Written with every change that came through the service; nothing is ever taken out of it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, deed: Deed) -> None:
        await self._database.write(_add, deed)

    async def several(
        self, *, limit: int = 50, before: str | None = None, within: AccessScope = EVERYWHERE
    ) -> list[Deed]:
        """Newest first."""
        wanted = select(audit).order_by(audit.c.at.desc(), audit.c.id.desc()).limit(limit)
        if within.organization_id is not None:
            wanted = wanted.where(audit.c.organization_id == within.organization_id)
        if before is not None:
            last = tuple_(*read_place(before), types=[Moment(), Text()])
            wanted = wanted.where(tuple_(audit.c.at, audit.c.id) < last)
        return await self._database.read(_several, wanted)


def _is_added(connection: Connection, _: None, deed: Deed) -> bool:
    return connection.execute(select(audit.c.id).where(audit.c.id == deed.id)).first() is not None


@once(_is_added)
def _add(connection: Connection, deed: Deed) -> None:
    connection.execute(insert(audit).values({name: getattr(deed, name) for name in deed.__struct_fields__}))


def _several(connection: Connection, statement: Select[Any]) -> list[Deed]:
    return [Deed(**each._mapping) for each in connection.execute(statement)]
