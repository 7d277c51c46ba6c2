"""Sends deliveries to webhooks: signed, to hosts that the operator listed and to no redirect, tried again after longer
and longer waits. The store holds what is to be sent, so that the next process sends what a killed one left; a receiver
may get an event twice, under the same id."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from functools import partial
from hashlib import sha256
from secrets import token_urlsafe
from time import time
from typing import Any
from urllib.parse import urlsplit

import msgspec
from aiohttp import ClientError
from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import Conflict, InputError, NotFound, PlanRefused
from howsure.llm.http import BodyTooLarge, HttpPool
from howsure.llm.transport import AddressRefused, HttpRequest
from howsure.model.access_scope import AccessScope
from howsure.model.run import GateOutcome
from howsure.model.webhook import DeliveryState, Webhook, WebhookDelivery, WebhookEvent
from howsure.reports.figures import iso_utc
from howsure.services.host.allowed_hosts import allows_host, may_connect
from howsure.services.host.document_files import hide_folders, service_folders
from howsure.services.host.labels import label_shape
from howsure.services.host.run_views import RunViews
from howsure.services.workspace import Host
from howsure.store.webhooks import DueDelivery
from howsure.version import __version__

SECRET_PREFIX = "whsec_"
MOST_WEBHOOKS = 100
"""How many one organisation may have: each event is a row for every one of them."""
SHARE = 4
"""One organisation is sent at most about this part of all that is sent at once."""
LARGEST_ANSWER = 64 * 1024
"""Only the status of an answer is stored."""
log = logging.getLogger("howsure.webhooks")


class DeliveryPace(Struct, frozen=True, kw_only=True):
    """How deliveries are tried, in seconds. The wait after the first try is `wait`, and each next one is `growth` times
    as long: with these numbers the last of eight tries is made after 15 hours. A try that has not ended when its
    `lease` is over is made again."""

    look: float = 1.0
    limit: float = 10.0
    lease: float = 15.0
    wait: float = 10.0
    growth: float = 4.0
    tries: int = 8
    at_once: int = 20


DEFAULT_PACE = DeliveryPace()


def new_secret() -> str:
    return SECRET_PREFIX + token_urlsafe(32)


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """The signature of a delivery. A receiver computes it too, and refuses a different one or an old timestamp."""
    return "v1=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, sha256).hexdigest()


def check_address(host: Host, url: str) -> None:
    """PlanRefused for an address that the service may not call. It is checked again at every connection."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise PlanRefused(f"url: {url!r} is not an address: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not url.isprintable():
        raise PlanRefused(f"url: expected an http or https address, found {url!r}")
    if parts.username is not None:
        raise PlanRefused("url: an address with a name or a password in it is not called; check the signature instead")
    if not allows_host(host.rules.hosts, parts.hostname, port):
        raise PlanRefused(f"url: the host {parts.hostname} is not among those this service may call")


async def check_number(host: Host, organization_id: str) -> None:
    """Conflict where an organisation has as many webhooks as it may."""
    own = await host.store.webhooks.several(limit=MOST_WEBHOOKS, within=AccessScope(organization_id=organization_id))
    if len(own) == MOST_WEBHOOKS:
        raise Conflict(f"an organisation has {MOST_WEBHOOKS} webhooks at most: delete one first")


class WebhookSender:
    """Sends what is due: to each webhook one delivery at a time, and to those of one organisation a part of all that is
    sent at once, so that what hangs holds up no other."""

    def __init__(self, host: Host, pace: DeliveryPace = DEFAULT_PACE) -> None:
        self._host = host
        self._pace = pace
        self._run_views = RunViews(host.store)
        self._pool = HttpPool({}, guard=partial(may_connect, tuple(host.rules.hosts)))
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._owners: dict[str, str] = {}
        self._freed = asyncio.Event()

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        await self._pool.close()

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            self._freed.clear()
            try:
                await self._begin_due()
            except InputError as error:
                log.error("deliveries to webhooks cannot be read: %s", error)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pace.look):
                    await self._freed.wait()

    async def _begin_due(self) -> None:
        lease, share = timedelta(seconds=self._pace.lease), max(1, self._pace.at_once // SHARE)
        while room := self._pace.at_once - len(self._tasks):
            full = [each for each, under_way in Counter(self._owners.values()).items() if under_way >= share]
            claimed = await self._host.store.webhooks.claim(self._tasks, min(room, share), lease, full)
            for due in claimed:
                self._owners[due.webhook.id] = due.webhook.organization_id
                self._tasks[due.webhook.id] = asyncio.create_task(self._send_due(due))
                self._tasks[due.webhook.id].add_done_callback(partial(self._end, due.webhook.id))
            if not claimed:
                return

    def _end(self, webhook_id: str, task: asyncio.Task[None]) -> None:
        self._tasks.pop(webhook_id, None)
        self._owners.pop(webhook_id, None)
        self._freed.set()
        if not task.cancelled() and (broken := task.exception()) is not None:
            log.error("a delivery broke: %s", broken, exc_info=None if isinstance(broken, InputError) else broken)

    async def _send_due(self, due: DueDelivery) -> None:
        """Make one try, and store its outcome."""
        delivery = due.delivery
        try:
            delivery = await self._with_body(due)
        except NotFound:
            # The run or the label is gone, or no gate has failed.
            await self._host.store.webhooks.drop(delivery.id)
            return
        except InputError as error:
            status, error_text = None, hide_folders(str(error), service_folders(self._host.work))
        else:
            status, error_text = await self.send(due.webhook, delivery)
        await self._write_end(delivery, status, error_text)

    async def _write_end(self, delivery: WebhookDelivery, status: int | None, error: str) -> None:
        wait = timedelta(0)
        state = DeliveryState.FAILED if error else DeliveryState.DELIVERED
        if error and delivery.event is not WebhookEvent.TEST and delivery.tries < self._pace.tries:
            state = DeliveryState.WAITING
            wait = timedelta(seconds=self._pace.wait * self._pace.growth ** (delivery.tries - 1))
        await self._host.store.webhooks.end_try(delivery.id, state, status=status, error=error, wait=wait)

    async def send_test(self, webhook: Webhook) -> WebhookDelivery:
        """One try, now, for the test button."""
        store = self._host.store.webhooks
        delivery = await store.add_test(webhook.id, timedelta(seconds=self._pace.lease))
        await self._send_due(DueDelivery(webhook, delivery))
        return (await store.deliveries(webhook.id, only=delivery.id))[0]

    async def send(self, webhook: Webhook, delivery: WebhookDelivery) -> tuple[int | None, str]:
        """One try: the status, and why it failed ("": it did not)."""
        body, timestamp = delivery.body or b"", str(int(time()))
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"howsure/{__version__}",
            "Howsure-Event": delivery.event.value,
            "Howsure-Delivery": delivery.id,
            "Howsure-Timestamp": timestamp,
            "Howsure-Signature": sign(webhook.secret, timestamp, body),
        }
        request = HttpRequest(method="POST", url=webhook.url, headers=headers, body=body, largest=LARGEST_ANSWER)
        try:
            answer = await self._pool.send(request, self._pace.limit)
        except TimeoutError:
            return None, f"no answer within {self._pace.limit:g} s"
        except BodyTooLarge as error:
            return None, f"it answered {error}"
        except (ClientError, OSError, ValueError) as error:
            refused = isinstance(getattr(error, "os_error", error), AddressRefused)
            return None, "this host leads to an address that the service may not call" if refused else "no connection"
        if 300 <= answer.status < 400:
            return answer.status, "it answered with a redirect, which is not followed"
        return answer.status, "" if 200 <= answer.status < 300 else f"it answered {answer.status}"

    async def _with_body(self, due: DueDelivery) -> WebhookDelivery:
        """The delivery with its body, which is the same for each try; NotFound if there is nothing to send."""
        webhook, delivery = due.webhook, due.delivery
        if delivery.body is not None:
            return delivery
        body = msgspec.json.encode(
            {
                "id": delivery.id,
                "event": delivery.event.value,
                "created_at": iso_utc(delivery.created_at),
                "organization_id": webhook.organization_id,
                "data": await self._data(webhook, delivery),
            }
        )
        await self._host.store.webhooks.keep_body(delivery.id, body)
        return replace(delivery, body=body)

    async def _data(self, webhook: Webhook, delivery: WebhookDelivery) -> dict[str, Any]:
        within = AccessScope(organization_id=webhook.organization_id)
        match delivery.event:
            case WebhookEvent.TEST:
                return {}
            case WebhookEvent.LABEL_ADDED:
                label = await self._host.store.labels.one(delivery.subject, delivery.part, within)
                return {"label": label_shape(label)}
            case WebhookEvent.GATE_FAILED:
                run = await self._run_views.run(delivery.subject, within)
                failed = [gate for gate in run["gates"] if gate["outcome"] == GateOutcome.FAILED.value]
                if not failed:
                    raise NotFound(f"no gate of run {delivery.subject} has failed")
                return {"run": run, "gates": failed}
            case WebhookEvent.RUN_COMPLETED | WebhookEvent.RUN_FAILED:
                return {"run": await self._run_views.run(delivery.subject, within)}


@asynccontextmanager
async def sending_webhooks(host: Host, pace: DeliveryPace = DEFAULT_PACE) -> AsyncIterator[WebhookSender]:
    """Inside this block what is due is sent."""
    sender = WebhookSender(host, pace)
    task = asyncio.create_task(sender.run())
    try:
        yield sender
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await sender.close()
