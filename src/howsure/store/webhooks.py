"""Webhooks and their deliveries. A delivery is written in the transaction of its event, so that the next process sends
what a killed one left. Its id follows from webhook, event and time: a repeated transaction makes no second one."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, Select, delete, select, update
from sqlalchemy import insert as plain_insert

from howsure.errors import NotFound
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.run import RunState
from howsure.model.webhook import DeliveryState, Webhook, WebhookDelivery, WebhookEvent
from howsure.store.database import StorePart, fetch_rows, insert, inserted_into, not_idempotent
from howsure.store.pages import newest_first, visible
from howsure.store.schema import as_text, deliveries, runs, webhooks

DELIVERIES = UUID("6a0c7f0e-54c4-5b0b-8f0a-3a9c2f1f6d42")
LOG_LIFETIME = timedelta(days=30)
"""How long a delivery that has ended stays in the log."""
NO_LEASE = timedelta(0)
END_EVENTS = {
    RunState.COMPLETED: (WebhookEvent.RUN_COMPLETED, WebhookEvent.GATE_FAILED),
    RunState.OUT_OF_BUDGET: (WebhookEvent.RUN_FAILED, WebhookEvent.GATE_FAILED),
    RunState.FAILED: (WebhookEvent.RUN_FAILED,),
}
"""The events that the end of a run may cause. Whether a gate has failed is decided when the delivery is sent."""


class DueDelivery(Struct, frozen=True):
    """A delivery whose time has come, and its webhook."""

    webhook: Webhook
    delivery: WebhookDelivery


class WebhookStore(StorePart):
    """The webhooks of a store; `within` is what the caller may see."""

    async def add(self, webhook: Webhook) -> None:
        await self._database.write(_add, webhook)

    async def get(self, webhook_id: str, within: AccessScope = EVERYWHERE) -> Webhook:
        found = await self._database.read(fetch_rows, _one(webhook_id, within))
        if not found:
            raise NotFound(f"there is no webhook {webhook_id}")
        return _webhook(found[0])

    async def several(
        self, *, limit: int = 50, before: str | None = None, within: AccessScope = EVERYWHERE
    ) -> list[Webhook]:
        """Newest first."""
        page = newest_first(visible(select(webhooks), webhooks, within), webhooks, limit, before)
        return [_webhook(row) for row in await self._database.read(fetch_rows, page)]

    async def change(self, webhook: Webhook) -> None:
        """Store a webhook's address, events, and whether it is active."""
        values = {name: value for name, value in _values(webhook).items() if name in ("url", "events", "active")}
        here = update(webhooks).where(webhooks.c.id == webhook.id)
        await self._database.write(Connection.execute, here.values(values))

    async def remove(self, webhook_id: str, within: AccessScope = EVERYWHERE) -> None:
        """Remove a webhook with its deliveries; those that wait are not sent."""
        webhook = await self.get(webhook_id, within)
        await self._database.write(Connection.execute, delete(webhooks).where(webhooks.c.id == webhook.id))

    async def deliveries(
        self, webhook_id: str, *, limit: int = 50, before: str | None = None, only: str | None = None
    ) -> list[WebhookDelivery]:
        """The log of a webhook, newest first; `only` one of them, by its id."""
        own = select(deliveries).where(deliveries.c.webhook_id == webhook_id)
        own = own if only is None else own.where(deliveries.c.id == only)
        page = newest_first(own, deliveries, limit, before)
        return [_delivery(row) for row in await self._database.read(fetch_rows, page)]

    async def add_test(self, webhook_id: str, lease: timedelta) -> WebhookDelivery:
        """Add a delivery for the test button, which the caller sends at once."""
        now = self._clock()
        added = await self._database.write(_deliver, webhook_id, WebhookEvent.TEST, ("", ""), now, lease)
        return (await self.deliveries(webhook_id, only=added))[0]

    async def claim(
        self, busy: Collection[str], most: int, lease: timedelta, full: Collection[str] = ()
    ) -> list[DueDelivery]:
        """Lease the deliveries that are due, one for each webhook that is not `busy`, and of no organisation that is
        `full`. If their sender is killed, they are due again when the `lease` ends."""
        now = self._clock()
        due = _due(now, busy, most).where(webhooks.c.organization_id.not_in(sorted(full)))
        if not await self._database.read(fetch_rows, due.with_only_columns(deliveries.c.id)):
            return []
        return await self._database.write(_claim, due, now, lease)

    async def keep_body(self, delivery_id: str, body: bytes) -> None:
        await self._database.write(Connection.execute, _here(delivery_id).values(body=body))

    async def drop(self, delivery_id: str) -> None:
        """Delete a delivery that has nothing to send."""
        await self._database.write(Connection.execute, delete(deliveries).where(deliveries.c.id == delivery_id))

    async def end_try(
        self, delivery_id: str, state: DeliveryState, *, status: int | None, error: str, wait: timedelta
    ) -> None:
        """Store the outcome of a try. A delivery that is `WAITING` is tried again after `wait`."""
        now = self._clock()
        values: dict[str, Any] = {"state": state.value, "status": status, "error": error, "next_at": now + wait}
        if state is not DeliveryState.WAITING:
            values |= {"ended_at": now, "body": None}
        await self._database.write(Connection.execute, _here(delivery_id).values(values))


def announce(
    connection: Connection, organization_id: str, event: WebhookEvent, subject: str, at: datetime, part: str = ""
) -> None:
    """Write a delivery of an event for every webhook of the organisation that subscribes to it."""
    own = (webhooks.c.organization_id == organization_id, webhooks.c.active == 1)
    for row in connection.execute(select(webhooks.c.id, webhooks.c.events).where(*own)):
        if event.value in row.events.split():
            _deliver(connection, row.id, event, (subject, part), at)


def announce_end(connection: Connection, run_id: str, state: RunState, at: datetime) -> None:
    """The same for the end of a run, unless it is in this state already. Called before its state is changed."""
    run = connection.execute(select(runs.c.organization_id, runs.c.state).where(runs.c.id == run_id)).first()
    if run is None or run.state == state.value:
        return
    for event in END_EVENTS.get(state, ()):
        announce(connection, run.organization_id, event, run_id, at)


def _deliver(
    connection: Connection,
    webhook_id: str,
    event: WebhookEvent,
    about: tuple[str, str],
    at: datetime,
    lease: timedelta = NO_LEASE,
) -> str:
    """With a `lease` the caller makes the first try itself."""
    key = str(uuid5(DELIVERIES, "\n".join((webhook_id, event.value, *about, as_text(at)))))
    values = {"id": key, "webhook_id": webhook_id, "event": event.value, "subject": about[0], "part": about[1]}
    begun = {"state": DeliveryState.WAITING.value, "tries": int(lease > NO_LEASE), "error": ""}
    times = {"created_at": at, "next_at": at + lease}
    statement = insert(connection.dialect.name, deliveries).values({**values, **begun, **times})
    connection.execute(statement.on_conflict_do_nothing(index_elements=["id"]))
    return key


def _due(now: datetime, busy: Collection[str], most: int) -> Select[Any]:
    waiting = (deliveries.c.state == DeliveryState.WAITING.value, deliveries.c.next_at <= now, webhooks.c.active == 1)
    joined = select(deliveries).join(webhooks, webhooks.c.id == deliveries.c.webhook_id).where(*waiting)
    oldest = joined.order_by(deliveries.c.next_at, deliveries.c.id).limit(most)
    return oldest.where(deliveries.c.webhook_id.not_in(sorted(busy)))


def _claim(connection: Connection, due: Select[Any], now: datetime, lease: timedelta) -> list[DueDelivery]:
    ended = (deliveries.c.state != DeliveryState.WAITING.value, deliveries.c.created_at < now - LOG_LIFETIME)
    connection.execute(delete(deliveries).where(*ended))
    first: dict[str, WebhookDelivery] = {}
    # Another service sends those that are locked.
    for row in connection.execute(due.with_for_update(skip_locked=True, of=deliveries)):
        first.setdefault(row.webhook_id, _delivery(row))
    claimed = []
    for each in first.values():
        connection.execute(_here(each.id).values(next_at=now + lease, tries=each.tries + 1))
        webhook = _webhook(connection.execute(_one(each.webhook_id, EVERYWHERE)).one())
        claimed.append(DueDelivery(webhook, replace(each, tries=each.tries + 1)))
    return claimed


def _here(delivery_id: str) -> Any:
    return update(deliveries).where(deliveries.c.id == delivery_id)


def _one(webhook_id: str, within: AccessScope) -> Select[Any]:
    return visible(select(webhooks).where(webhooks.c.id == webhook_id), webhooks, within)


@not_idempotent(inserted_into(webhooks))
def _add(connection: Connection, webhook: Webhook) -> None:
    connection.execute(plain_insert(webhooks).values(_values(webhook)))


def _values(webhook: Webhook) -> dict[str, Any]:
    values = {name: getattr(webhook, name) for name in webhook.__struct_fields__}
    return {**values, "events": " ".join(event.value for event in webhook.events), "active": int(webhook.active)}


def _webhook(row: Any) -> Webhook:
    events = tuple(WebhookEvent(word) for word in row.events.split())
    return Webhook(**{**row._mapping, "events": events, "active": bool(row.active)})


def _delivery(row: Any) -> WebhookDelivery:
    kinds = {"event": WebhookEvent(row.event), "state": DeliveryState(row.state)}
    return WebhookDelivery(**{**row._mapping, **kinds})
