"""Keys, the audit log, export and import of documents, health and metrics."""

from __future__ import annotations

import asyncio
import logging
from time import monotonic
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from msgspec.structs import asdict
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from howsure.api.access import Auditor, Eraser, Exporter, Hosted, KeyAdmin, KeyMaker, Operator, Writer
from howsure.api.bodies import ErasureGiven, Key, KeyGiven
from howsure.api.errors import JsonAnswer, error_answer
from howsure.api.pages import PAGE_HEADERS, Cursor, Limit, page, read_cursor
from howsure.api.requests import StrictRoute, store_instead
from howsure.api.schemas import answer, errors, list_answer
from howsure.errors import InputError
from howsure.model.access_scope import AccessRole
from howsure.model.document import DocumentKind
from howsure.reports.figures import iso_utc
from howsure.services.host.audit import with_key_names
from howsure.services.host.keys import KeyRequest, key_limits_problem, make_key
from howsure.services.host.roles import SCOPES_OF, role_of
from howsure.services.host.transfer import export_documents, import_documents
from howsure.services.workspace import Host
from howsure.store.keys import ApiKey, KeyScope
from howsure.store.pages import next_cursor
from howsure.version import __version__
from howsure.wire import admin as wire
from howsure.wire.admin import ImportedDocument, ServiceHealth

router = APIRouter(tags=["admin"], route_class=StrictRoute)


@router.get("/keys", responses={**list_answer(wire.ApiKey, headers=PAGE_HEADERS), **errors()})
async def list_keys(
    request: Request, caller: KeyAdmin, host: Hosted, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Newest first; no secret is kept."""
    found = await host.store.keys.several(limit=limit, before=read_cursor(cursor), within=caller.within)
    further = next_cursor(found[-1]) if len(found) == limit else None
    return page(request, [_shape(key) for key in found], further)


@router.post("/keys", status_code=201, responses={**answer(wire.NewApiKey, 201), **errors(409)})
async def create_key(request: Request, caller: KeyMaker, host: Hosted, body: KeyGiven) -> Response:
    """Nobody can make a key that opens more than their own."""
    if (body.role is None) == (body.scopes is None):
        raise HTTPException(422, "a key needs scopes or a role: send one of the two")
    wanted = KeyRequest(
        name=body.name,
        scopes=SCOPES_OF[AccessRole(body.role)] if body.role else [KeyScope(each) for each in body.scopes or ()],
        organization_id=caller.within.organization_id if body.organization_id is None else body.organization_id,
        agent_ids=None if body.agent_ids is None else tuple(dict.fromkeys(body.agent_ids)),
        days=body.days,
    )
    if problem := key_limits_problem(wanted, caller):
        raise HTTPException(403, problem)
    key, secret = await make_key(host.store, wanted)
    request.state.subject = key.id
    store_instead(request, {**_shape(key), "secret": None})
    return JsonAnswer({**_shape(key), "secret": secret}, status_code=201)


@router.delete("/keys/{id}", responses={**answer(wire.ApiKey), **errors(404)})
async def revoke_key(id: Annotated[Key, Path()], caller: KeyAdmin, host: Hosted) -> Response:
    """From now on it opens nothing; it stays in the list."""
    return JsonAnswer(_shape(await host.store.keys.revoke(id, caller.within)))


# The name is part of the operation's id in OpenAPI.
@router.get("/audit", name="list_deeds", responses={**list_answer(wire.AuditEntry, headers=PAGE_HEADERS), **errors()})
async def list_audit_entries(
    request: Request, caller: Auditor, host: Hosted, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Who did what, newest first: writes, refusals, exports, sign-ins. `actor` is what the key is called now; the hash
    is that of the entry with `key_id` in its place."""
    found = await host.store.audit.several(limit=limit, before=read_cursor(cursor), within=caller.within)
    further = next_cursor(found[-1]) if len(found) == limit else None
    pairs = zip(found, await with_key_names(host.store, found), strict=True)
    shown = [{**asdict(named), "at": iso_utc(named.at), "key_id": entry.actor} for entry, named in pairs]
    return page(request, shown, further)


@router.post("/erasures", responses={**answer(wire.Erasure), **errors(409)})
async def erase(request: Request, caller: Eraser, host: Hosted, body: ErasureGiven) -> Response:
    """Replace the conversations of one person by a note, in all runs that you may see. Verdicts, scores and counts
    stay."""
    found = await host.store.erasure.erase(body.user_id, within=caller.within, dry_run=body.dry_run)
    request.state.subject = found.audit_subject(body.user_id)
    return JsonAnswer({"dry_run": body.dry_run, **asdict(found)})


def _shape(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": [scope.value for scope in key.scopes],
        "role": role.value if (role := role_of(key.scopes)) else None,
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
async def export(caller: Exporter, host: Hosted, kind: Annotated[list[KindName] | None, Query()] = None) -> Response:
    """Every document that you may see at its newest version, one a line: kind, id and the document itself."""
    kinds = [DocumentKind(each) for each in kind] if kind else list(DocumentKind)
    return StreamingResponse(export_documents(host, kinds, caller.within), media_type="application/x-ndjson")


@bulk_router.post("/import", responses={**list_answer(ImportedDocument), **errors(409)}, openapi_extra=BODY)
async def import_lines(request: Request, caller: Writer, host: Hosted) -> Response:
    """Documents from lines such as `GET /export` gives. One that is there already is left as it is; a line that cannot
    be taken says why, and the others are taken."""
    return JsonAnswer(await import_documents(host, request.state.upload, caller.name, caller.within))


log = logging.getLogger("howsure.api")
READY_SECONDS = 2.0
ANSWER_SECONDS = 1.5
"""How long the database has to answer, so that whoever asks has an answer within 2 s."""
health_router = APIRouter(tags=["health"])
metrics_router = APIRouter(tags=["health"], route_class=StrictRoute)


@health_router.get("/health", responses={**answer(ServiceHealth), **errors()})
async def health() -> Response:
    """The process is there."""
    return JsonAnswer({"status": "ok", "version": __version__})


@health_router.get("/ready", responses={**answer(ServiceHealth), **errors()})
async def ready(request: Request, host: Hosted) -> Response:
    """The database answers and can be written to. Needs no key, so the database is asked at most every few seconds; the
    answer comes within 2 s in any case."""
    state, now = request.app.state, monotonic()
    look: asyncio.Task[bool] | None = getattr(state, "ready_look", None)
    if look is None or (look.done() and now - state.ready_looked >= READY_SECONDS):
        state.ready_looked, state.ready_look = now, (look := asyncio.create_task(_is_writable(host)))
    # A look that hangs is not stopped, which may hang as well: the next request waits for the same one.
    done, _ = await asyncio.wait({look}, timeout=ANSWER_SECONDS)
    if not done or not look.result():
        return error_answer(503, "the database does not answer, or cannot be written to: the log says why")
    return JsonAnswer({"status": "ready", "version": __version__})


async def _is_writable(host: Host) -> bool:
    try:
        await host.store.check_writable()
    except InputError as error:
        log.error("not ready: %s", error)
        return False
    return True


COUNTED: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
    **errors(),
}


@metrics_router.get("/metrics", response_class=Response, responses=COUNTED)
async def counters(request: Request, caller: Operator, host: Hosted) -> Response:
    """Requests, latencies and the queue, for Prometheus."""
    return PlainTextResponse(request.app.state.counters.text(await host.store.queue.lengths()))
