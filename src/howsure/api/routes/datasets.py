"""Datasets: upload a file of any dialect, read it back, list its cases, add and remove single ones."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from msgspec import to_builtins
from starlette.responses import Response

from howsure.api.access import Exporter, Hosted, Reader, Writer
from howsure.api.bodies import CaseGiven, DatasetGiven, DialectName, Key, Name
from howsure.api.errors import JsonAnswer
from howsure.api.pages import PAGE_HEADERS, Cursor, Limit, page, read_cursor, read_number
from howsure.api.requests import StrictRoute, also_checked, new_id
from howsure.api.routes.documents import (
    Deleted,
    Id,
    IfMatch,
    Version,
    VersionRoutes,
    add_version_routes,
    delete_document,
    expected_version,
)
from howsure.api.routes.documents import shape_of as version_shape
from howsure.api.schemas import ETAG, answer, errors, list_answer
from howsure.model.case import Case
from howsure.model.document import Document, DocumentKind
from howsure.reports.evaluations import input_kind, input_shape
from howsure.services.host.documents import check_agent_access
from howsure.services.host.keys import Caller
from howsure.services.host.request_checks import RequestFaults
from howsure.services.host.uploads import Upload, append_case, check_upload, drop_case, read_case_page, restore_upload
from howsure.services.workspace import Host
from howsure.store.documents import DocumentQuery, case_address
from howsure.store.pages import next_cursor
from howsure.wire.documents import DatasetCase, UploadedDataset

router = APIRouter(tags=["datasets"], route_class=StrictRoute)
DATASET = DocumentKind.DATASET
EVERY_CASE = 10_000_000
FILE: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
UPLOAD: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": dict.fromkeys(("application/octet-stream", "application/x-ndjson", "text/csv"), FILE),
    }
}


@router.get("/datasets", responses={**list_answer(UploadedDataset, headers=PAGE_HEADERS), **errors()})
async def list_datasets(
    request: Request,
    caller: Reader,
    host: Hosted,
    agent_id: Annotated[Key | None, Query()] = None,
    name: Annotated[Name | None, Query()] = None,
    deleted: Deleted = False,
    limit: Limit = 50,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """Newest first."""
    before = read_cursor(cursor_)
    listing = DocumentQuery(limit=limit, before=before, agent_id=agent_id, name=name, deleted=deleted)
    listed = await host.store.documents.several(DATASET, listing, caller.within)
    counts = await host.store.dataset_cases.count(listed)
    further = next_cursor(listed[-1]) if len(listed) == limit else None
    return page(request, [shape_of(each, counts.get((each.organization_id, each.id), 0)) for each in listed], further)


async def _check_content(request: Request, given: DatasetGiven, faults: RequestFaults) -> None:
    caller: Caller = request.state.caller
    with faults.of("content"):
        if given.content:
            await check_upload(request.app.state.host, upload_of(given, caller), caller.within)


CHECKED = also_checked(DatasetGiven, _check_content)


@router.post(
    "/datasets",
    status_code=201,
    responses={**answer(UploadedDataset, 201, headers=ETAG), **errors(409)},
    dependencies=CHECKED,
)
async def create_dataset(request: Request, caller: Writer, host: Hosted, body: DatasetGiven) -> Response:
    """A file as text. Every problem is named, and then nothing is stored."""
    return await _create(request, caller, host, upload_of(body, caller))


@router.post(
    "/datasets/upload",
    status_code=201,
    responses={**answer(UploadedDataset, 201, headers=ETAG), **errors(409)},
    openapi_extra=UPLOAD,
)
async def upload_dataset(
    request: Request,
    caller: Writer,
    host: Hosted,
    name: Annotated[Name, Query(min_length=1, description="What to call it")],
    agent_id: Annotated[Key | None, Query(description="The agent that it is about")] = None,
    dialect: Annotated[DialectName | None, Query()] = None,
) -> Response:
    """A file as it is, in the body."""
    upload = Upload(
        file=request.state.upload, name=name, agent_id=agent_id or "", dialect=dialect or "", author=caller.name
    )
    return await _create(request, caller, host, upload)


@router.get("/datasets/{id}", responses={**answer(UploadedDataset, headers=ETAG), **errors(404, 409)})
async def one_dataset(id: Id, caller: Reader, host: Hosted) -> Response:
    """The newest version, without its content."""
    return await VERSIONS.answer(host, await host.store.documents.get(DATASET, id, within=caller.within))


@router.get(
    "/datasets/{id}/versions/{version}/content",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": FILE}}, **errors(404, 409)},
)
async def content(id: Id, version: Version, caller: Exporter, host: Hosted) -> Response:
    """The file, byte for byte."""
    document = await host.store.documents.get(DATASET, id, version, within=caller.within)
    return Response(document.edition.body, media_type="application/octet-stream")


@router.put(
    "/datasets/{id}",
    responses={**answer(UploadedDataset, headers=ETAG), **errors(404, 409, 412)},
    dependencies=CHECKED,
)
async def change_dataset(
    id: Id, caller: Writer, host: Hosted, body: DatasetGiven, if_match: IfMatch = None
) -> Response:
    """The next version."""
    expected = await expected_version(host, DATASET, id, caller, if_match)
    upload = upload_of(body, caller)
    check_agent_access(upload.agent_id, caller.within)
    draft = await check_upload(host, upload, caller.within)
    changed = await host.store.documents.revise(DATASET, id, draft, expected=expected, within=caller.within)
    return await VERSIONS.answer(host, changed)


@router.delete("/datasets/{id}", status_code=204, responses={204: {}, **errors(404, 409, 412)})
async def delete_dataset(id: Id, caller: Writer, host: Hosted, if_match: IfMatch = None) -> Response:
    """`…/undelete` brings it back, until its content is purged."""
    return await delete_document(host, DATASET, id, caller, if_match)


@router.get(
    "/datasets/{id}/test-cases", responses={**list_answer(DatasetCase, headers=PAGE_HEADERS), **errors(404, 409)}
)
async def list_cases(
    request: Request, id: Id, caller: Reader, host: Hosted, limit: Limit = 100, cursor: Cursor = None
) -> Response:
    """In the order of the file."""
    document = await host.store.documents.get(DATASET, id, within=caller.within)
    start = read_number(cursor) or 0
    cases = await read_case_page(host, document, start, limit)
    further = str(start + limit) if len(cases) == limit else None
    return page(request, [case_shape(id, case) for case in cases], further)


@router.post(
    "/datasets/{id}/test-cases",
    status_code=201,
    responses={**answer(UploadedDataset, 201, headers=ETAG), **errors(404, 409)},
)
async def add_case(id: Id, caller: Writer, host: Hosted, body: CaseGiven) -> Response:
    """The dataset with one more case: its next version."""
    document = await host.store.documents.get(DATASET, id, within=caller.within)
    return await VERSIONS.answer(host, await append_case(host, document, body.case, caller.name, caller.within), 201)


CaseId = Annotated[Key, Path(description="The `id` of a case, as lists give it")]


@router.get("/test-cases/{id}", responses={**answer(DatasetCase), **errors(404, 409)})
async def one_case(id: CaseId, caller: Reader, host: Hosted) -> Response:
    """One case, found by its id alone."""
    place = await host.store.dataset_cases.find(id, caller.within)
    document = await host.store.documents.get(DATASET, place.dataset_id, within=caller.within)
    cases = await read_case_page(host, document, place.position, 1)
    return JsonAnswer(case_shape(document.id, cases[0]))


@router.delete("/test-cases/{id}", status_code=204, responses={204: {}, **errors(404, 409)})
async def delete_case(id: CaseId, caller: Writer, host: Hosted) -> Response:
    """The dataset without this case: its next version."""
    place = await host.store.dataset_cases.find(id, caller.within)
    document = await host.store.documents.get(DATASET, place.dataset_id, within=caller.within)
    await drop_case(host, document, place.position, caller.name, caller.within)
    return Response(status_code=204)


def upload_of(body: DatasetGiven, caller: Caller) -> Upload:
    return Upload(
        content=body.content.encode(),
        name=body.name,
        agent_id=body.agent_id,
        dialect=body.dialect or "",
        author=caller.name,
        note=body.note or "",
    )


async def _create(request: Request, caller: Caller, host: Host, upload: Upload) -> JsonAnswer:
    check_agent_access(upload.agent_id or "", caller.within)
    draft = await check_upload(host, upload, caller.within)
    return await VERSIONS.answer(
        host, await host.store.documents.create(DATASET, new_id(request), draft, caller.within), 201
    )


class DatasetVersions(VersionRoutes, frozen=True):
    """Versions of files: compared case by case."""

    async def shapes(self, host: Host, versions: Sequence[Document]) -> list[dict[str, Any]]:
        """How many cases there are is known of the newest."""
        counts = await host.store.dataset_cases.count(versions[:1])
        return [shape_of(each, counts.get((each.organization_id, each.id), 0)) for each in versions]

    async def content(self, host: Host, document: Document) -> Any:
        """Under the ids of the file."""
        cases = await read_case_page(host, document, 0, EVERY_CASE)
        shapes = await to_thread(lambda: [{**case_shape(document.id, case), "id": case.id} for case in cases])
        return {"name": document.name, "agent_id": document.agent_id or None, "cases": shapes}

    async def restore(self, host: Host, id: str, version: int, caller: Caller) -> Document:
        return await restore_upload(host, id, version, caller.name, caller.within)


VERSIONS = DatasetVersions(DATASET, "/datasets/{id}", UploadedDataset, "/datasets/{id}")
add_version_routes(router, VERSIONS)


def shape_of(document: Document, cases: int) -> dict[str, Any]:
    edition = document.edition
    return {
        **version_shape(document),
        "dialect": edition.dialect,
        "cases": cases if edition.version == document.latest else None,
        "bytes": len(edition.body),
        "sha256": edition.sha256,
    }


def case_shape(dataset_id: str, case: Case) -> dict[str, Any]:
    return {
        "id": case_address(dataset_id, case.id),
        "test_case_id": case.id,
        "dataset_id": dataset_id,
        "item_name": case.name or None,
        "input_kind": input_kind(case.input),
        "input": input_shape(case.input),
        "expected": [to_builtins(each) for each in case.expectations],
        "tags": list(case.tags),
        "labels": dict(case.labels),
    }
