"""The sessions of browsers that signed in. The cookie of a browser holds a random token; only its hash is stored. A
session has an end, and ends before it when nobody uses it, when somebody signs out, or when its key is revoked."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Select, delete, insert, select, update

from howsure.errors import NotFound
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.store.database import StorePart, fetch_rows, inserted_into, not_idempotent
from howsure.store.keys import KeyScope, access_columns, hash_secret, read_access
from howsure.store.pages import newest_first, visible
from howsure.store.schema import sessions

KEPT = timedelta(days=7)
"""How long a session stays in the table after its end."""


class SignInSession(Struct, frozen=True, kw_only=True):
    """A session, without its token. `owner` is the id of a key, or an identity at a sign-in provider (`issuer`). For
    the latter `scopes` and `within` are its rights; a key has its own."""

    id: str
    owner: str
    name: str
    created_at: datetime
    used_at: datetime
    ends_at: datetime
    key_id: str = ""
    issuer: str = ""
    scopes: tuple[KeyScope, ...] = ()
    within: AccessScope = EVERYWHERE
    ended_at: datetime | None = None
    address: str = ""
    browser: str = ""

    def is_open(self, now: datetime, idle: timedelta) -> bool:
        return self.ended_at is None and now < self.ends_at and now - self.used_at < idle


COLUMNS = [column.name for column in sessions.c if column.name in SignInSession.__struct_fields__]


class SessionStore(StorePart):
    """The sessions of a store."""

    async def add(self, session: SignInSession, token: str) -> None:
        """Store a new session, and delete those that ended long ago."""
        await self._database.write(_add, session, hash_secret(token), self._clock() - KEPT)

    async def by_token(self, token: str) -> SignInSession | None:
        """None where there is no such session; the caller checks whether it is still open."""
        return await self._one(select(sessions).where(sessions.c.sha256 == hash_secret(token)))

    async def by_id(self, session_id: str) -> SignInSession | None:
        return await self._one(select(sessions).where(sessions.c.id == session_id))

    async def several(
        self, idle: timedelta, *, limit: int = 100, owner: str | None = None, within: AccessScope = EVERYWHERE
    ) -> list[SignInSession]:
        """The open ones, newest first; `owner`: only theirs."""
        now = self._clock()
        statement = select(sessions).where(
            sessions.c.ended_at.is_(None), sessions.c.ends_at > now, sessions.c.used_at > now - idle
        )
        if owner is not None:
            statement = statement.where(sessions.c.owner == owner)
        page = newest_first(visible(statement, sessions, within), sessions, limit)
        return [_session(row) for row in await self._database.read(fetch_rows, page)]

    async def used(self, session_id: str) -> None:
        used = update(sessions).where(sessions.c.id == session_id).values(used_at=self._clock())
        await self._database.write(Connection.execute, used)

    async def end(
        self, *, session_id: str | None = None, owner: str | None = None, within: AccessScope = EVERYWHERE
    ) -> None:
        """End the session with this id, or all of this owner. NotFound where there is none; ending one twice changes
        nothing."""
        wanted = {"id": session_id, "owner": owner, "organization_id": within.organization_id}
        here = [sessions.c[name] == value for name, value in wanted.items() if value is not None]
        await self._database.write(_end, here, self._clock())

    async def _one(self, statement: Select[Any]) -> SignInSession | None:
        rows = await self._database.read(fetch_rows, statement)
        return _session(rows[0]) if rows else None


@not_idempotent(inserted_into(sessions))
def _add(connection: Connection, session: SignInSession, token_hash: str, before: datetime) -> None:
    connection.execute(delete(sessions).where(sessions.c.ends_at < before))
    values = {name: getattr(session, name) for name in COLUMNS}
    access = access_columns(session.scopes, session.within)
    connection.execute(insert(sessions).values({**values, **access, "sha256": token_hash}))


def _end(connection: Connection, here: list[ColumnElement[bool]], now: datetime) -> None:
    if connection.execute(select(sessions.c.id).where(*here).limit(1)).first() is None:
        raise NotFound("there is no such session")
    connection.execute(update(sessions).where(*here, sessions.c.ended_at.is_(None)).values(ended_at=now))


def _session(row: Any) -> SignInSession:
    scopes, within = read_access(row)
    return SignInSession(**{**{name: getattr(row, name) for name in COLUMNS}, "scopes": scopes, "within": within})
