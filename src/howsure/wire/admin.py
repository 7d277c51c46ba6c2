"""API keys, the log of writes, health, and documents as entries of an export file."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta, field

from howsure.wire.base import Json, WireShape, documented_as

KeyScopeName = Annotated[str, Meta(extra_json_schema={"enum": ["read", "label", "write", "run", "admin"]})]
RoleName = Annotated[str, Meta(extra_json_schema={"enum": ["viewer", "labeller", "editor", "runner", "admin"]})]
ImportStatus = Annotated[str, Meta(extra_json_schema={"enum": ["created", "kept", "refused"]})]


class ApiKey(WireShape, frozen=True, kw_only=True):
    """A key, without its secret."""

    id: str
    name: str
    scopes: list[KeyScopeName]
    role: RoleName | None
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
    """One write, refusal, export or sign-in. `repeats`: how many refusals alike it stands for. `sequence`, `previous`
    and `hash` chain the entries: docs/audit.md."""

    id: str
    organization_id: str
    at: datetime
    actor: str
    action: Annotated[str, Meta(examples=["PUT /api/v1/rubrics/{id}"])]
    subject: str
    status: int
    request_id: str
    key_id: str = ""
    address: str = ""
    repeats: int = 1
    sequence: int = 0
    previous: str = ""
    hash: str = ""


class Erasure(WireShape, frozen=True, kw_only=True):
    """The erased results by run, or those that would be. `documents` hold the id, too, and were left as they are."""

    dry_run: bool
    runs: dict[str, int]
    cases: int
    results: int
    documents: list[str]


EventName = Annotated[
    str, Meta(extra_json_schema={"enum": ["run.completed", "run.failed", "gate.failed", "label.added", "webhook.test"]})
]
DeliveryStateName = Annotated[str, Meta(extra_json_schema={"enum": ["waiting", "delivered", "failed"]})]


class Webhook(WireShape, frozen=True, kw_only=True):
    """An address that receives events, without its secret."""

    id: str
    organization_id: str
    url: str
    events: list[EventName]
    active: bool
    created_at: datetime


class NewWebhook(Webhook, frozen=True, kw_only=True):
    """A webhook that was just made; the secret that its deliveries are signed with is shown this once."""

    secret: Annotated[str, SECRET]

    def __repr__(self) -> str:
        return f"NewWebhook(id={self.id!r}, url={self.url!r}, secret='…')"


class WebhookDelivery(WireShape, frozen=True, kw_only=True):
    """One event for one webhook, and its outcome. `status` and `error` are those of the last try."""

    id: Annotated[str, Meta(description="Sent as `Howsure-Delivery`, the same in every try")]
    webhook_id: str
    event: EventName
    run_id: str | None
    label_id: str | None
    state: DeliveryStateName
    tries: int
    status: int | None
    error: str | None
    created_at: datetime
    next_at: Annotated[datetime | None, Meta(description="When it is tried next; null: not again")]
    ended_at: datetime | None


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
