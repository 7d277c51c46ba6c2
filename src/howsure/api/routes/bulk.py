"""Everything at once: documents as lines, out and in."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from howsure.api.access import Hosted, Reader, Writer
from howsure.api.errors import JsonAnswer, RequestRefusal
from howsure.api.requests import StrictRoute
from howsure.api.schemas import errors, list_answer
from howsure.model.document import DocumentKind
from howsure.services.host.transfer import export_documents, import_documents
from howsure.wire.admin import ImportedDocument

bulk_router = APIRouter(tags=["bulk"], route_class=StrictRoute)
KindName = Literal["rubric", "test_set", "question_set", "dataset", "agent", "graders"]
TEXT: dict[str, Any] = {"schema": {"type": "string"}}
LINES: dict[int | str, dict[str, Any]] = {200: {"content": {"application/x-ndjson": TEXT}}, **errors()}
FILE: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
BODY: dict[str, Any] = {"requestBody": {"required": True, "content": {"application/x-ndjson": FILE}}}


@bulk_router.get("/export", response_class=Response, responses=LINES)
async def export(asking: Reader, host: Hosted, kind: Annotated[list[KindName] | None, Query()] = None) -> Response:
    """Every document that you may see at its newest version, one a line: kind, id and the document itself."""
    kinds = [DocumentKind(each) for each in kind] if kind else list(DocumentKind)
    return StreamingResponse(export_documents(host, kinds, asking.within), media_type="application/x-ndjson")


@bulk_router.post("/import", responses={**list_answer(ImportedDocument), **errors(409)}, openapi_extra=BODY)
async def import_lines(request: Request, asking: Writer, host: Hosted) -> Response:
    """Documents from lines such as `GET /export` gives. One that is there already is left as it is; a line that cannot
    be taken says why, and the others are taken."""
    content = await request.body()
    if not content.strip():
        raise RequestRefusal(422, "invalid", "send documents, one a line, such as `GET /export` gives")
    return JsonAnswer(await import_documents(host, content, asking.name, asking.within))
