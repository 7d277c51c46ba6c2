"""Keys and the log of writes: for those who look after the service."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request
from pydantic import Field
from starlette.responses import Response

from howsure.api.access import Admin, Hosted, Overseer
from howsure.api.errors import Answer, Refused
from howsure.api.idempotency import keep_instead
from howsure.api.paging import PAGE_HEADERS, Cursor, Limit, page, place_in
from howsure.api.strict import StrictRoute
from howsure.api.wire.base import Given, Key, Moment, Name, Shape, errors
from howsure.reports.figures import utc
from howsure.services.hosting.keys import KeyWanted, make_key
from howsure.store.service import keys as key_store
from howsure.store.service import logs as log_store
from howsure.store.service.keys import ApiKey, Scope

router = APIRouter(tags=["admin"], route_class=StrictRoute)
ScopeName = Literal["read", "write", "run", "admin"]


class KeyGiven(Given):
    """A key to be made."""

    name: Annotated[Name, Field(min_length=1)]
    scopes: Annotated[list[ScopeName], Field(min_length=1)]
    organization_id: Key | None = Field(default=None, description="Your own, unless you may see every one")
    agent_ids: list[Key] | None = Field(default=None, description="Only these agents")
    days: Annotated[float, Field(gt=0, le=36500)] | None = Field(default=None, description="How long it opens anything")


class KeyShape(Shape):
    """A key, without its secret."""

    id: str
    name: str
    scopes: list[ScopeName]
    organization_id: str | None
    agent_ids: list[str] | None
    created_at: Moment
    expires_at: Moment | None
    revoked_at: Moment | None
    used_at: Moment | None


class NewKeyShape(KeyShape):
    """A key that was just made; its secret is shown this once."""

    secret: str | None = Field(description="Null where a repeated request is answered: it was shown before")


class DeedShape(Shape):
    """One write."""

    id: str
    organization_id: str
    at: Moment
    actor: str
    action: str = Field(examples=["PUT /api/v1/rubrics/{id}"])
    subject: str
    status: int
    request_id: str


@router.get("/keys", responses={200: {"model": list[KeyShape], "headers": PAGE_HEADERS}, **errors()})
async def list_keys(
    request: Request, asking: Overseer, host: Hosted, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Newest first; no secret is kept."""
    found = await host.store.keys.several(limit=limit, before=place_in(cursor), within=asking.within)
    further = key_store.cursor(found[-1]) if len(found) == limit else None
    return page(request, [_shape(key) for key in found], further)


@router.post("/keys", status_code=201, responses={201: {"model": NewKeyShape}, **errors(409)})
async def create_key(request: Request, asking: Admin, host: Hosted, body: KeyGiven) -> Response:
    """Nobody can make a key that opens more than their own."""
    home = asking.within.organization_id
    if home is not None and body.organization_id not in (None, home):
        raise Refused(403, "forbidden", "this key may make keys for its own organisation only")
    own = asking.within.agent_ids
    agents = None if body.agent_ids is None else tuple(dict.fromkeys(body.agent_ids))
    if own is not None and (agents is None or not set(agents) <= set(own)):
        raise Refused(403, "forbidden", f"this key may make keys for the agents {', '.join(own)} only")
    wanted = KeyWanted(
        name=body.name,
        scopes=[Scope(each) for each in body.scopes],
        organization_id=body.organization_id if home is None else home,
        agent_ids=agents,
        days=body.days,
    )
    key, secret = await make_key(host.store, wanted)
    keep_instead(request, {**_shape(key), "secret": None})
    return Answer({**_shape(key), "secret": secret}, status_code=201)


@router.delete("/keys/{id}", responses={200: {"model": KeyShape}, **errors(404)})
async def revoke_key(id: Annotated[Key, Path()], asking: Overseer, host: Hosted) -> Response:
    """From now on it opens nothing; it stays in the list."""
    return Answer(_shape(await host.store.keys.revoke(id, asking.within)))


@router.get("/audit", responses={200: {"model": list[DeedShape], "headers": PAGE_HEADERS}, **errors()})
async def list_deeds(
    request: Request, asking: Overseer, host: Hosted, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Who wrote what, newest first."""
    found = await host.store.audit.several(limit=limit, before=place_in(cursor), within=asking.within)
    further = log_store.cursor(found[-1]) if len(found) == limit else None
    return page(request, [_deed(deed) for deed in found], further)


def _shape(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": [scope.value for scope in key.scopes],
        "organization_id": key.organization_id,
        "agent_ids": None if key.agent_ids is None else list(key.agent_ids),
        **{name: _time(getattr(key, name)) for name in ("created_at", "expires_at", "revoked_at", "used_at")},
    }


def _deed(deed: log_store.Deed) -> dict[str, Any]:
    shown = {name: getattr(deed, name) for name in deed.__struct_fields__}
    return {**shown, "at": utc(deed.at)}


def _time(moment: datetime | None) -> str | None:
    return utc(moment)
