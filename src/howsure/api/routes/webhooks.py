"""Webhooks of an organisation: list, create, change, delete, test, and the log of their deliveries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from msgspec import to_builtins
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.responses import Response

from howsure.api.access import Hosted, WebhookAdmin
from howsure.api.bodies import Key, WebhookChange, WebhookGiven
from howsure.api.counters import PREFIX
from howsure.api.errors import JsonAnswer
from howsure.api.pages import PAGE_HEADERS, Cursor, Limit, page, read_cursor
from howsure.api.requests import StrictRoute, also_checked, new_id, store_instead
from howsure.api.schemas import answer, errors, list_answer
from howsure.model.webhook import Webhook, WebhookDelivery, WebhookEvent
from howsure.reports.figures import iso_utc
from howsure.services.host.request_checks import RequestFaults
from howsure.services.host.webhooks import WebhookSender, check_address, check_number, new_secret
from howsure.store.pages import next_cursor
from howsure.wire import admin as wire

router = APIRouter(prefix="/webhooks", tags=["webhooks"], route_class=StrictRoute)
WebhookId = Annotated[Key, Path(description="The webhook's id")]


@router.get("", responses={**list_answer(wire.Webhook, headers=PAGE_HEADERS), **errors()})
async def list_webhooks(
    request: Request, caller: WebhookAdmin, host: Hosted, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Newest first, without their secrets."""
    found = await host.store.webhooks.several(limit=limit, before=read_cursor(cursor), within=caller.within)
    further = next_cursor(found[-1]) if len(found) == limit else None
    return page(request, [_shape(each) for each in found], further)


async def _check_url(request: Request, given: WebhookChange, faults: RequestFaults) -> None:
    with faults.of("url"):
        if given.url is not None:
            check_address(request.app.state.host, given.url)


CHECKED = also_checked(WebhookChange, _check_url)


@router.post("", status_code=201, responses={**answer(wire.NewWebhook, 201), **errors(409)}, dependencies=CHECKED)
async def create_webhook(request: Request, caller: WebhookAdmin, host: Hosted, body: WebhookGiven) -> Response:
    """Register an address that receives events. Its host must be one of `service.hosts`; the secret is shown only
    now."""
    check_address(host, body.url)
    await check_number(host, caller.within.home)
    webhook = Webhook(
        id=new_id(request),
        organization_id=caller.within.home,
        url=body.url,
        events=_events(body.events),
        secret=new_secret(),
        active=body.active,
        created_at=datetime.now(UTC),
    )
    await host.store.webhooks.add(webhook)
    store_instead(request, {**_shape(webhook), "secret": None})
    headers = {"Location": f"{PREFIX}/webhooks/{webhook.id}"}
    return JsonAnswer({**_shape(webhook), "secret": webhook.secret}, status_code=201, headers=headers)


@router.get("/{id}", responses={**answer(wire.Webhook), **errors(404)})
async def one_webhook(id: WebhookId, caller: WebhookAdmin, host: Hosted) -> Response:
    """One webhook, without its secret."""
    return JsonAnswer(_shape(await host.store.webhooks.get(id, caller.within)))


@router.patch("/{id}", responses={**answer(wire.Webhook), **errors(404)}, dependencies=CHECKED)
async def change_webhook(id: WebhookId, caller: WebhookAdmin, host: Hosted, body: WebhookChange) -> Response:
    """What is not sent, or null, stays as it is. An inactive webhook gets no events; deliveries that wait stay."""
    webhook = await host.store.webhooks.get(id, caller.within)
    if body.url is not None:
        check_address(host, body.url)
    changed = replace(
        webhook,
        url=webhook.url if body.url is None else body.url,
        events=webhook.events if body.events is None else _events(body.events),
        active=webhook.active if body.active is None else body.active,
    )
    await host.store.webhooks.change(changed)
    return JsonAnswer(_shape(changed))


@router.delete("/{id}", status_code=204, responses={204: {}, **errors(404)})
async def delete_webhook(id: WebhookId, caller: WebhookAdmin, host: Hosted) -> Response:
    """Delete it with its deliveries; those that wait are not sent."""
    await host.store.webhooks.remove(id, caller.within)
    return Response(status_code=204)


@router.post("/{id}/test", responses={**answer(wire.WebhookDelivery), **errors(404, 409)})
async def test_webhook(id: WebhookId, caller: WebhookAdmin, host: Hosted) -> Response:
    """Send `webhook.test` once, now, and return the outcome."""
    webhook = await host.store.webhooks.get(id, caller.within)
    if not webhook.active:
        raise HTTPException(409, "this webhook is not active: send `active: true` first")
    sender = WebhookSender(host)
    try:
        return JsonAnswer(_delivery(await sender.send_test(webhook)))
    finally:
        await sender.close()


@router.get("/{id}/deliveries", responses={**list_answer(wire.WebhookDelivery, headers=PAGE_HEADERS), **errors(404)})
async def list_deliveries(
    request: Request, id: WebhookId, caller: WebhookAdmin, host: Hosted, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Its deliveries, newest first, with their outcome. Those that have ended stay for 30 days."""
    webhook = await host.store.webhooks.get(id, caller.within)
    found = await host.store.webhooks.deliveries(webhook.id, limit=limit, before=read_cursor(cursor))
    further = next_cursor(found[-1]) if len(found) == limit else None
    return page(request, [_delivery(each) for each in found], further)


def _events(names: Sequence[str]) -> tuple[WebhookEvent, ...]:
    return tuple(dict.fromkeys(map(WebhookEvent, names)))


def _shape(webhook: Webhook) -> dict[str, Any]:
    shown: dict[str, Any] = to_builtins(webhook)
    del shown["secret"]
    return shown


def _delivery(delivery: WebhookDelivery) -> dict[str, Any]:
    waits = delivery.ended_at is None
    return {
        "id": delivery.id,
        "webhook_id": delivery.webhook_id,
        "event": delivery.event.value,
        "run_id": delivery.subject or None,
        "label_id": delivery.part or None,
        "state": delivery.state.value,
        "tries": delivery.tries,
        "status": delivery.status,
        "error": delivery.error or None,
        "created_at": iso_utc(delivery.created_at),
        "next_at": iso_utc(delivery.next_at) if waits else None,
        "ended_at": iso_utc(delivery.ended_at),
    }
