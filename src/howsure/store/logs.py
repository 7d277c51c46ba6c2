"""The answers to requests with an idempotency key, so that sending one twice does it once."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from howsure.errors import Conflict
from howsure.store.database import StorePart, not_idempotent
from howsure.store.schema import answered

ANSWER_LIFETIME = timedelta(days=1)
"""How long an answer is given again."""
ABANDONED_AFTER = timedelta(minutes=2)
"""After this a request that has no answer is taken for one whose process was killed."""


class IdempotentAnswer(Struct, frozen=True):
    """What was answered."""

    status: int
    headers: bytes
    body: bytes


class IdempotencyLog(StorePart):
    """Requests that named a key of their own, and what was answered."""

    async def begin(self, organization_id: str, key: str, request: str) -> IdempotentAnswer | None:
        """What was answered to this request before; None when it is new and is to be answered now. `request` is a hash
        of all it says. Conflict: the key belongs to another request, or the same one is being answered just now."""
        return await self._database.write(_begin, (organization_id, key), request, self._clock())

    async def end(self, organization_id: str, key: str, answer: IdempotentAnswer | None) -> None:
        """Keep the answer; None: it failed, and may be tried again."""
        here = _at((organization_id, key))
        if answer is None:
            await self._database.write(Connection.execute, delete(answered).where(*here))
            return
        values = {"status": answer.status, "headers": answer.headers, "body": answer.body}
        await self._database.write(Connection.execute, update(answered).where(*here).values(values))


def _is_begun(
    connection: Connection, before: IdempotentAnswer | None, place: tuple[str, str], request: str, now: datetime
) -> bool:
    """What was answered before is the same whenever it is asked for."""
    ours = (answered.c.sha256 == request, answered.c.created_at == now)
    return before is not None or connection.execute(select(answered).where(*_at(place), *ours)).first() is not None


@not_idempotent(_is_begun)
def _begin(connection: Connection, place: tuple[str, str], request: str, now: datetime) -> IdempotentAnswer | None:
    connection.execute(delete(answered).where(answered.c.created_at < now - ANSWER_LIFETIME))
    before = connection.execute(select(answered).where(*_at(place)).with_for_update()).first()
    if before is not None and before.sha256 != request:
        raise Conflict(f"the idempotency key {place[1]!r} was used for another request: take a new one")
    if before is not None and before.status is not None:
        return IdempotentAnswer(before.status, before.headers, before.body)
    if before is not None:
        if now - before.created_at < ABANDONED_AFTER:
            raise Conflict(f"a request with the idempotency key {place[1]!r} is being answered: try again later")
        connection.execute(delete(answered).where(*_at(place)))
    values = {"organization_id": place[0], "key": place[1], "sha256": request, "created_at": now}
    try:
        connection.execute(insert(answered).values(values))
    except IntegrityError as error:
        raise Conflict(f"a request with the idempotency key {place[1]!r} is being answered: try again later") from error
    return None


def _at(place: tuple[str, str]) -> tuple[Any, Any]:
    return answered.c.organization_id == place[0], answered.c.key == place[1]


def write_and_undo(connection: Connection, now: datetime) -> None:
    """Write and undo: no request has an empty organisation and key."""
    connection.execute(insert(answered).values(organization_id="", key="", sha256="", created_at=now))
    connection.execute(delete(answered).where(*_at(("", ""))))
