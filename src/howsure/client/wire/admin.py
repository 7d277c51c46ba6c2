"""Keys, the log of writes, and whether the service is there."""

from __future__ import annotations

from datetime import datetime

from howsure.client.wire.base import Shape


class Key(Shape, frozen=True, kw_only=True):
    """An API key, without its secret."""

    id: str
    name: str
    scopes: list[str]
    organization_id: str | None
    agent_ids: list[str] | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None


class NewKey(Key, frozen=True, kw_only=True):
    """A key that was just made. Its secret is shown this once, and not when the key is printed."""

    secret: str

    def __repr__(self) -> str:
        return f"NewKey(id={self.id!r}, name={self.name!r}, scopes={self.scopes!r}, secret='…')"


class Deed(Shape, frozen=True, kw_only=True):
    """One write, as the log of writes has it."""

    id: str
    organization_id: str
    at: datetime
    actor: str
    action: str
    subject: str
    status: int
    request_id: str


class Health(Shape, frozen=True, kw_only=True):
    """The service is there."""

    status: str
    version: str
