"""Keys and the log of writes: for those who look after the service."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from howsure.api.access import Admin, Hosted, Overseer
from howsure.api.bodies import Key, KeyGiven
from howsure.api.errors import JsonAnswer, RequestRefusal
from howsure.api.pages import PAGE_HEADERS, Cursor, Limit, page, read_cursor
from howsure.api.requests import StrictRoute, store_instead
from howsure.api.schemas import answer, errors, list_answer
from howsure.reports.figures import iso_utc
from howsure.services.host.keys import KeyRequest, make_key
from howsure.store.keys import ApiKey, KeyScope
from howsure.store.logs import AuditEntry
from howsure.store.pages import next_cursor
from howsure.wire import admin as wire

router = APIRouter(tags=["admin"], route_class=StrictRoute)


@router.get("/keys", responses={**list_answer(wire.ApiKey, headers=PAGE_HEADERS), **errors()})
async def list_keys(
    request: Request, asking: Overseer, host: Hosted, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Newest first; no secret is kept."""
    found = await host.store.keys.several(limit=limit, before=read_cursor(cursor), within=asking.within)
    further = next_cursor(found[-1]) if len(found) == limit else None
    return page(request, [_shape(key) for key in found], further)


@router.post("/keys", status_code=201, responses={**answer(wire.NewApiKey, 201), **errors(409)})
async def create_key(request: Request, asking: Admin, host: Hosted, body: KeyGiven) -> Response:
    """Nobody can make a key that opens more than their own."""
    home = asking.within.organization_id
    if home is not None and body.organization_id not in (None, home):
        raise RequestRefusal(403, "forbidden", "this key may make keys for its own organisation only")
    own = asking.within.agent_ids
    agents = None if body.agent_ids is None else tuple(dict.fromkeys(body.agent_ids))
    if own is not None and (agents is None or not set(agents) <= set(own)):
        raise RequestRefusal(403, "forbidden", f"this key may make keys for the agents {', '.join(own)} only")
    wanted = KeyRequest(
        name=body.name,
        scopes=[KeyScope(each) for each in body.scopes],
        organization_id=body.organization_id if home is None else home,
        agent_ids=agents,
        days=body.days,
    )
    key, secret = await make_key(host.store, wanted)
    store_instead(request, {**_shape(key), "secret": None})
    return JsonAnswer({**_shape(key), "secret": secret}, status_code=201)


@router.delete("/keys/{id}", responses={**answer(wire.ApiKey), **errors(404)})
async def revoke_key(id: Annotated[Key, Path()], asking: Overseer, host: Hosted) -> Response:
    """From now on it opens nothing; it stays in the list."""
    return JsonAnswer(_shape(await host.store.keys.revoke(id, asking.within)))


# The name is part of the operation's id in OpenAPI.
@router.get("/audit", name="list_deeds", responses={**list_answer(wire.AuditEntry, headers=PAGE_HEADERS), **errors()})
async def list_audit_entries(
    request: Request, asking: Overseer, host: Hosted, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Who wrote what, newest first."""
    found = await host.store.audit.several(limit=limit, before=read_cursor(cursor), within=asking.within)
    further = next_cursor(found[-1]) if len(found) == limit else None
    return page(request, [_audit_entry(entry) for entry in found], further)


def _shape(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": [scope.value for scope in key.scopes],
        "organization_id": key.organization_id,
        "agent_ids": None if key.agent_ids is None else list(key.agent_ids),
        **{name: iso_utc(getattr(key, name)) for name in ("created_at", "expires_at", "revoked_at", "used_at")},
    }


def _audit_entry(entry: AuditEntry) -> dict[str, Any]:
    shown = {name: getattr(entry, name) for name in entry.__struct_fields__}
    return {**shown, "at": iso_utc(entry.at)}
