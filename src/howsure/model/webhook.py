"""Webhooks: addresses that receive events, and the deliveries of these events."""

from __future__ import annotations

from datetime import datetime
from enum import Enum

from msgspec import Struct


class WebhookEvent(Enum):
    """The events that a webhook can receive. Only the test button sends `TEST`."""

    RUN_COMPLETED = "run.completed"
    RUN_FAILED = "run.failed"
    GATE_FAILED = "gate.failed"
    LABEL_ADDED = "label.added"
    TEST = "webhook.test"


class DeliveryState(Enum):
    """`WAITING` for its first try or the next one."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"


class Webhook(Struct, frozen=True, kw_only=True):
    """An address of an organisation, the events that it receives, and the secret that signs deliveries."""

    id: str
    organization_id: str
    url: str
    events: tuple[WebhookEvent, ...]
    secret: str
    active: bool
    created_at: datetime

    def __repr__(self) -> str:
        return f"Webhook(id={self.id!r}, url={self.url!r}, secret='…')"


class WebhookDelivery(Struct, frozen=True, kw_only=True):
    """One event for one webhook. `subject` is the run, `part` the label. `body` is what is sent: made before the first
    try, the same in each, and gone afterwards. `status` and `error` are those of the last try."""

    id: str
    webhook_id: str
    event: WebhookEvent
    subject: str
    part: str
    state: DeliveryState
    tries: int
    created_at: datetime
    next_at: datetime
    ended_at: datetime | None = None
    status: int | None = None
    error: str = ""
    body: bytes | None = None
