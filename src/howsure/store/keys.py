"""API keys: who may do what, within which organisation. Only a hash of the secret is stored; the secret is shown
once. A password is a key too: its stored hash names the method, and a request never matches it as a secret."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from enum import Enum
from hashlib import sha256
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Select, insert, or_, select, update

from howsure.errors import NotFound
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.store.database import StorePart, fetch_rows, inserted_into, not_idempotent
from howsure.store.pages import newest_first, visible
from howsure.store.schema import api_keys, sessions

PASSWORD = "scrypt$"
"""The prefix of a stored password hash."""


class KeyScope(Enum):
    """What a key opens. `admin` opens everything, keys and the log of writes too."""

    READ = "read"
    LABEL = "label"
    WRITE = "write"
    RUN = "run"
    ADMIN = "admin"


class ApiKey(Struct, frozen=True, kw_only=True):
    """A key, without its secret. `organization_id` None: every organisation; `agent_ids` None: every agent.
    `is_password`: its name and a password open the pages, and nothing opens the API."""

    id: str
    name: str
    scopes: tuple[KeyScope, ...]
    created_at: datetime
    organization_id: str | None = None
    agent_ids: tuple[str, ...] | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    used_at: datetime | None = None
    is_password: bool = False

    def is_open(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    @property
    def within(self) -> AccessScope:
        return AccessScope(organization_id=self.organization_id, agent_ids=self.agent_ids)


def hash_secret(secret: str) -> str:
    """A secret is 256 random bits: nothing slower than one hash is needed to keep it from being guessed."""
    return sha256(secret.encode()).hexdigest()


class KeyStore(StorePart):
    """The keys of a store."""

    async def add(self, key: ApiKey, secret: str) -> None:
        await self._database.write(_add, key, hash_secret(secret))

    async def add_password(self, key: ApiKey, password_hash: str) -> None:
        """The hash begins with PASSWORD."""
        await self._database.write(_add, key, password_hash)

    async def with_password(self, name: str) -> list[tuple[ApiKey, str]]:
        """The passwords under this name, newest first, each with its stored hash."""
        named = select(api_keys).where(api_keys.c.name == name, api_keys.c.sha256.startswith(PASSWORD))
        newest = named.order_by(api_keys.c.created_at.desc(), api_keys.c.id.desc())
        return [(_key(row), row.sha256) for row in await self._database.read(fetch_rows, newest)]

    async def by_secret(self, secret: str) -> ApiKey | None:
        """None where there is no such key; the caller checks whether it is still open."""
        return next(iter(await self._read(select(api_keys).where(api_keys.c.sha256 == hash_secret(secret)))), None)

    async def by_id(self, key_id: str) -> ApiKey | None:
        return next(iter(await self._read(select(api_keys).where(api_keys.c.id == key_id))), None)

    async def names(self, key_ids: Collection[str]) -> dict[str, str]:
        """What these keys are called, by id; those that do not exist are left out."""
        named = select(api_keys.c.id, api_keys.c.name).where(api_keys.c.id.in_(sorted(key_ids)))
        return {row.id: row.name for row in await self._database.read(fetch_rows, named) if row.name}

    async def several(
        self, *, limit: int = 50, before: str | None = None, within: AccessScope = EVERYWHERE
    ) -> list[ApiKey]:
        """Newest first."""
        return await self._read(newest_first(visible(select(api_keys), api_keys, within), api_keys, limit, before))

    async def revoke(self, key_id: str, within: AccessScope = EVERYWHERE) -> ApiKey:
        """The key opens nothing from now on and stays in the list; its sessions end. Revoking it twice changes
        nothing."""
        await self._database.write(_revoke, key_id, within, self._clock())
        return (await self._read(select(api_keys).where(api_keys.c.id == key_id)))[0]

    async def used(self, key_id: str) -> None:
        used = update(api_keys).where(api_keys.c.id == key_id).values(used_at=self._clock())
        await self._database.write(Connection.execute, used)

    async def any(self) -> bool:
        """Whether some key could open something."""
        lasting = or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > self._clock())
        open_ones = select(api_keys).where(api_keys.c.revoked_at.is_(None), lasting).limit(1)
        return bool(await self._read(open_ones))

    async def _read(self, statement: Select[Any]) -> list[ApiKey]:
        return [_key(row) for row in await self._database.read(fetch_rows, statement)]


@not_idempotent(inserted_into(api_keys))
def _add(connection: Connection, key: ApiKey, secret: str) -> None:
    values = {name: getattr(key, name) for name in ("id", "name", "created_at", "expires_at")}
    access = access_columns(key.scopes, key.within)
    connection.execute(insert(api_keys).values(**values, **access, sha256=secret))


def _key(row: Any) -> ApiKey:
    values = {name: getattr(row, name) for name in ApiKey.__struct_fields__ if name in api_keys.c}
    scopes, within = read_access(row)
    values |= {"scopes": scopes, "agent_ids": within.agent_ids, "is_password": row.sha256.startswith(PASSWORD)}
    return ApiKey(**values)


def access_columns(scopes: Sequence[KeyScope], within: AccessScope) -> dict[str, str | None]:
    """What a key or a session may do, and with what, as it is stored."""
    return {
        "scopes": " ".join(scope.value for scope in scopes),
        "organization_id": within.organization_id,
        "agent_ids": None if within.agent_ids is None else "\n".join(within.agent_ids),
    }


def read_access(row: Any) -> tuple[tuple[KeyScope, ...], AccessScope]:
    # Not `splitlines`: to it, characters that an id may hold end a line, too.
    agents = None if row.agent_ids is None else tuple(filter(None, row.agent_ids.split("\n")))
    scopes = tuple(KeyScope(word) for word in row.scopes.split())
    return scopes, AccessScope(organization_id=row.organization_id, agent_ids=agents)


def _revoke(connection: Connection, key_id: str, within: AccessScope, now: datetime) -> None:
    own = select(api_keys.c.revoked_at).where(api_keys.c.id == key_id)
    key = connection.execute(visible(own, api_keys, within)).first()
    if key is None:
        raise NotFound(f"there is no key {key_id}")
    if key.revoked_at is None:
        connection.execute(update(api_keys).where(api_keys.c.id == key_id).values(revoked_at=now))
        theirs = (sessions.c.key_id == key_id, sessions.c.ended_at.is_(None))
        connection.execute(update(sessions).where(*theirs).values(ended_at=now))
