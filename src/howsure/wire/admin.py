"""API keys, the log of writes, health, and documents as entries of an export file."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta, field

from howsure.wire.base import Json, WireShape, documented_as

KeyScopeName = Annotated[str, Meta(extra_json_schema={"enum": ["read", "write", "run", "admin"]})]
ImportStatus = Annotated[str, Meta(extra_json_schema={"enum": ["created", "kept", "refused"]})]


class ApiKey(WireShape, frozen=True, kw_only=True):
    """A key, without its secret."""

    id: str
    name: str
    scopes: list[KeyScopeName]
    organization_id: str | None
    agent_ids: list[str] | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None


SECRET = documented_as(str | None, "Null where a repeated request is answered: it was shown before")


class NewApiKey(ApiKey, frozen=True, kw_only=True):
    """A key that was just made; its secret is shown this once."""

    secret: Annotated[str, SECRET]

    def __repr__(self) -> str:
        return f"NewApiKey(id={self.id!r}, name={self.name!r}, scopes={self.scopes!r}, secret='…')"


class AuditEntry(WireShape, frozen=True, kw_only=True):
    """One write."""

    id: str
    organization_id: str
    at: datetime
    actor: str
    action: Annotated[str, Meta(examples=["PUT /api/v1/rubrics/{id}"])]
    subject: str
    status: int
    request_id: str


class ServiceHealth(WireShape, frozen=True, kw_only=True):
    """The process is there."""

    status: Annotated[str, Meta(examples=["ok"])]
    version: str


class DocumentEntry(WireShape, frozen=True, kw_only=True):
    """One document of an export at its newest version. A dataset has its `dialect`, and its file as `content`."""

    kind: str
    id: str
    document: Json


class ImportedDocument(WireShape, frozen=True, kw_only=True):
    """What became of one line."""

    line: int
    kind: str
    id: str
    status: ImportStatus
    detail: str = ""
    problems: list[Json] = field(default_factory=list)
