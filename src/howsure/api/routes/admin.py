"""Keys, the audit log, export and import of documents, health and metrics."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from msgspec.structs import asdict
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from howsure.api.access import Admin, Hosted, Operator, Overseer, Reader, Writer
from howsure.api.bodies import Key, KeyGiven
from howsure.api.errors import JsonAnswer, RequestRefusal, error_answer
from howsure.api.pages import PAGE_HEADERS, Cursor, Limit, page, read_cursor
from howsure.api.requests import StrictRoute, store_instead
from howsure.api.schemas import answer, errors, list_answer
from howsure.errors import InputError
from howsure.model.document import DocumentKind
from howsure.reports.figures import iso_utc
from howsure.services.host.keys import KeyRequest, make_key
from howsure.services.host.transfer import export_documents, import_documents
from howsure.store.keys import ApiKey, KeyScope
from howsure.store.pages import next_cursor
from howsure.version import __version__
from howsure.wire import admin as wire
from howsure.wire.admin import ImportedDocument, ServiceHealth

router = APIRouter(tags=["admin"], route_class=StrictRoute)


@router.get("/keys", responses={**list_answer(wire.ApiKey, headers=PAGE_HEADERS), **errors()})
async def list_keys(
    request: Request, caller: Overseer, host: Hosted, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Newest first; no secret is kept."""
    found = await host.store.keys.several(limit=limit, before=read_cursor(cursor), within=caller.within)
    further = next_cursor(found[-1]) if len(found) == limit else None
    return page(request, [_shape(key) for key in found], further)


@router.post("/keys", status_code=201, responses={**answer(wire.NewApiKey, 201), **errors(409)})
async def create_key(request: Request, caller: Admin, host: Hosted, body: KeyGiven) -> Response:
    """Nobody can make a key that opens more than their own."""
    home = caller.within.organization_id
    if home is not None and body.organization_id not in (None, home):
        raise RequestRefusal(403, "forbidden", "this key may make keys for its own organisation only")
    own = caller.within.agent_ids
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
async def revoke_key(id: Annotated[Key, Path()], caller: Overseer, host: Hosted) -> Response:
    """From now on it opens nothing; it stays in the list."""
    return JsonAnswer(_shape(await host.store.keys.revoke(id, caller.within)))


# The name is part of the operation's id in OpenAPI.
@router.get("/audit", name="list_deeds", responses={**list_answer(wire.AuditEntry, headers=PAGE_HEADERS), **errors()})
async def list_audit_entries(
    request: Request, caller: Overseer, host: Hosted, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Who wrote what, newest first."""
    found = await host.store.audit.several(limit=limit, before=read_cursor(cursor), within=caller.within)
    further = next_cursor(found[-1]) if len(found) == limit else None
    return page(request, [{**asdict(entry), "at": iso_utc(entry.at)} for entry in found], further)


def _shape(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": [scope.value for scope in key.scopes],
        "organization_id": key.organization_id,
        "agent_ids": None if key.agent_ids is None else list(key.agent_ids),
        **{name: iso_utc(getattr(key, name)) for name in ("created_at", "expires_at", "revoked_at", "used_at")},
    }


bulk_router = APIRouter(tags=["bulk"], route_class=StrictRoute)
KindName = Literal["rubric", "test_set", "question_set", "dataset", "agent", "graders"]
TEXT: dict[str, Any] = {"schema": {"type": "string"}}
LINES: dict[int | str, dict[str, Any]] = {200: {"content": {"application/x-ndjson": TEXT}}, **errors()}
FILE: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
BODY: dict[str, Any] = {"requestBody": {"required": True, "content": {"application/x-ndjson": FILE}}}


@bulk_router.get("/export", response_class=Response, responses=LINES)
async def export(caller: Reader, host: Hosted, kind: Annotated[list[KindName] | None, Query()] = None) -> Response:
    """Every document that you may see at its newest version, one a line: kind, id and the document itself."""
    kinds = [DocumentKind(each) for each in kind] if kind else list(DocumentKind)
    return StreamingResponse(export_documents(host, kinds, caller.within), media_type="application/x-ndjson")


@bulk_router.post("/import", responses={**list_answer(ImportedDocument), **errors(409)}, openapi_extra=BODY)
async def import_lines(request: Request, caller: Writer, host: Hosted) -> Response:
    """Documents from lines such as `GET /export` gives. One that is there already is left as it is; a line that cannot
    be taken says why, and the others are taken."""
    content = await request.body()
    if not content.strip():
        raise RequestRefusal(422, "invalid", "send documents, one a line, such as `GET /export` gives")
    return JsonAnswer(await import_documents(host, content, caller.name, caller.within))


health_router = APIRouter(tags=["health"])
metrics_router = APIRouter(tags=["health"], route_class=StrictRoute)


@health_router.get("/health", responses={**answer(ServiceHealth), **errors()})
async def health() -> Response:
    """The process is there."""
    return JsonAnswer({"status": "ok", "version": __version__})


@health_router.get("/ready", responses={**answer(ServiceHealth), **errors()})
async def ready(host: Hosted) -> Response:
    """The database answers."""
    try:
        await host.store.queue.lengths()
    except InputError:
        return error_answer(503, "the database does not answer")
    return JsonAnswer({"status": "ready", "version": __version__})


COUNTED: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
    **errors(),
}


@metrics_router.get("/metrics", response_class=Response, responses=COUNTED)
async def counters(request: Request, caller: Operator, host: Hosted) -> Response:
    """Requests, latencies and the queue, for Prometheus."""
    return PlainTextResponse(request.app.state.counters.text(await host.store.queue.lengths()))
