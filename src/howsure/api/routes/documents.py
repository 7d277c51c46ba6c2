"""The routes that every document with versions has: list, create, read, change, delete, versions, diff, restore."""

# No postponed annotations here: the type of a body is known only when the routes of a kind are made.
from asyncio import to_thread
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Header, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from msgspec import Struct, to_builtins
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from howsure.api.access import Hosted, Reader, Writer
from howsure.api.bodies import ConfigGiven, Json, Key, Name, QuestionSetGiven, RubricGiven, TestSetGiven
from howsure.api.counters import PREFIX
from howsure.api.errors import JsonAnswer
from howsure.api.optional_fields import with_optional_fields, without_defaults
from howsure.api.pages import PAGE_HEADERS, Cursor, Limit, page, read_cursor, read_number
from howsure.api.requests import StrictRoute, judged_by, new_id
from howsure.api.schemas import ETAG, answer, errors, list_answer
from howsure.errors import Problem
from howsure.model.document import Document, DocumentKind
from howsure.services.host import documents
from howsure.services.host.differences import find_differences
from howsure.services.host.documents import document_body, published_document
from howsure.services.host.keys import Caller
from howsure.services.workspace import Host
from howsure.store.documents import DocumentQuery
from howsure.store.pages import next_cursor
from howsure.wire.documents import DocumentDifference, VersionedDocument

Id = Annotated[Key, Path()]
Deleted = Annotated[bool, Query(description="Only those that were deleted, and that `undelete` brings back")]
Version = Annotated[int, Path(ge=1, le=2**31 - 1)]


class VersionRoutes(Struct, frozen=True):
    """How the versions of one kind of document are shown, compared and restored. This class is for documents that are
    JSON."""

    kind: DocumentKind
    path: str
    shape: type[Struct]
    location: str
    """Where one of them is read, with `{id}` in place of its id."""

    async def shapes(self, host: Host, versions: Sequence[Document]) -> list[Json]:
        """Versions of one document."""
        return [shape_of(version) for version in versions]

    async def content(self, host: Host, document: Document) -> Any:
        """What is compared."""
        unsaid = documents.DEFAULTS.get(self.kind, {})
        return {"name": document.name, "agent_id": document.agent_id or None, **unsaid, **document_body(document)}

    async def restore(self, host: Host, id: str, version: int, caller: Caller) -> Document:
        """Make an old version the newest."""
        change = documents.DocumentChange(body={}, author=caller.name)
        return await documents.restore_document(host, self.kind, id, version, change, caller.within)

    async def answer(self, host: Host, document: Document, status: int = 200) -> JsonAnswer:
        """One of them, with who wrote each of the newest and why."""
        (shape,) = await self.shapes(host, [document])
        changes = [to_builtins(each) for each in await host.store.documents.changes(document)]
        written = [{**each, "author": each["author"] or None, "note": each["note"] or None} for each in changes]
        headers = {"ETag": f'"{document.edition.version}"'}
        if status == 201:
            headers["Location"] = PREFIX + self.location.replace("{id}", document.id)
        return JsonAnswer({**shape, "changelog": written}, status_code=status, headers=headers)


def add_version_routes(router: APIRouter, editions: VersionRoutes) -> None:
    """Adds them to the router of the kind."""

    @router.get(
        f"{editions.path}/versions",
        responses={**list_answer(editions.shape, headers=PAGE_HEADERS), **errors(404, 409)},
        summary="Every version, newest first",
    )
    async def versions(
        request: Request, id: Id, caller: Reader, host: Hosted, limit: Limit = 50, cursor: Cursor = None
    ) -> Response:
        last, kind = read_number(cursor), editions.kind
        listed = await host.store.documents.versions(kind, id, limit=limit, before=last, within=caller.within)
        further = str(listed[-1].edition.version) if len(listed) == limit else None
        return page(request, await editions.shapes(host, listed), further)

    @router.get(
        f"{editions.path}/versions/{{version}}",
        responses={**answer(editions.shape, headers=ETAG), **errors(404, 409)},
        summary="One version",
    )
    async def one(id: Id, version: Version, caller: Reader, host: Hosted) -> Response:
        return await editions.answer(host, await _edition(host, editions.kind, id, version, caller))

    @router.get(
        f"{editions.path}/versions/{{a}}/diff/{{b}}",
        responses={**list_answer(DocumentDifference), **errors(404, 409)},
        summary="What changed between two versions",
    )
    async def diff(id: Id, a: Version, b: Version, caller: Reader, host: Hosted) -> Response:
        old, new = [await _edition(host, editions.kind, id, version, caller) for version in (a, b)]
        before, after = await editions.content(host, old), await editions.content(host, new)
        # Two datasets of many cases take their time: others are answered meanwhile.
        return JsonAnswer(await to_thread(lambda: list(find_differences(before, after))))

    @router.post(
        f"{editions.path}/versions/{{version}}/restore",
        status_code=201,
        responses={**answer(editions.shape, 201, headers=ETAG), **errors(404, 409)},
        summary="An old version again, as the newest",
    )
    async def restore(id: Id, version: Version, caller: Writer, host: Hosted) -> Response:
        return await editions.answer(host, await editions.restore(host, id, version, caller), 201)

    @router.post(
        f"{editions.path}/undelete",
        responses={**answer(editions.shape, headers=ETAG), **errors(404, 409)},
        summary="What was deleted again, while its content is kept",
    )
    async def undelete(id: Id, caller: Writer, host: Hosted) -> Response:
        return await editions.answer(host, await host.store.documents.undelete(editions.kind, id, caller.within))


async def _edition(host: Host, kind: DocumentKind, id: str, version: int, caller: Caller) -> Document:
    return await host.store.documents.get(kind, id, version, within=caller.within)


Given = TypeVar("Given", bound=BaseModel)

IfMatch = Annotated[
    str | None,
    Header(alias="If-Match", description='The ETag that was read, such as `"3"`: 412 where it is older than that'),
]


class DocumentRoutes(Struct, frozen=True):
    """One kind of document: where its paths are, and its shapes."""

    kind: DocumentKind
    path: str
    given: type[BaseModel]
    shape: type[VersionedDocument]


GIVEN: dict[DocumentKind, type[BaseModel]] = {
    DocumentKind.RUBRIC: RubricGiven,
    DocumentKind.TEST_SET: TestSetGiven,
    DocumentKind.QUESTION_SET: QuestionSetGiven,
    DocumentKind.GRADERS: ConfigGiven,
}
"""What an author may write."""


def shape_of(document: Document) -> dict[str, Any]:
    """The published shape, with who wrote this version and why."""
    edition, given = document.edition, GIVEN.get(document.kind)
    published = published_document(document)
    return {
        **(with_optional_fields(given, published) if given else published),
        "author": edition.author or None,
        "note": edition.note or None,
        "latest_version": document.latest,
        "deleted": document.deleted_at is not None,
    }


async def expected_version(host: Host, kind: DocumentKind, id: str, caller: Caller, if_match: str | None) -> int | None:
    """The version in an If-Match; None where none was sent, or any will do. 412 where the document is at another."""
    if if_match is None or if_match.strip() == "*":
        return None
    text = if_match.strip().removeprefix("W/").strip('"')
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise HTTPException(422, f'If-Match {if_match!r} is no version: send the ETag that was read, such as "3"')
    expected, latest = int(text), (await host.store.documents.get(kind, id, within=caller.within)).latest
    if latest != expected:
        detail = f"this document is at version {latest}, not {expected}: somebody else changed it; read it again"
        raise HTTPException(412, detail)
    return expected


async def delete_document(host: Host, kind: DocumentKind, id: str, caller: Caller, if_match: str | None) -> Response:
    expected = await expected_version(host, kind, id, caller, if_match)
    await host.store.documents.delete(kind, id, expected=expected, within=caller.within)
    return Response(status_code=204)


def change_of(given: BaseModel, caller: Caller) -> documents.DocumentChange:
    body = without_defaults(type(given), given.model_dump(mode="json", exclude_unset=True))
    return documents.DocumentChange(body=body, author=caller.name, note=body.get("note") or "")


def patched(given: type[Given], merged: dict[str, Any]) -> Given:
    """A body whose fields are those that were and those that were sent, checked."""
    try:
        return given.model_validate({k: value for k, value in merged.items() if value is not None or k == "agent_id"})
    except ValidationError as error:
        found = [{**each, "loc": ("body", *each["loc"])} for each in error.errors()]
        raise RequestValidationError(found, body=merged) from None


def document_router(shelf: DocumentRoutes) -> APIRouter:
    async def judge(request: Request, body: Json) -> Sequence[Problem]:
        """What else would be wrong with the body as a file."""
        return await documents.further_problems(request.app.state.host.work.kit, shelf.kind, body)

    name = shelf.path.strip("/")
    router = APIRouter(prefix=shelf.path, tags=[name], route_class=StrictRoute, dependencies=[judged_by(judge)])
    editions = VersionRoutes(shelf.kind, "/{id}", shelf.shape, f"{shelf.path}/{{id}}")

    @router.get(
        "", responses={**list_answer(shelf.shape, headers=PAGE_HEADERS), **errors()}, summary="List, newest first"
    )
    async def several(
        request: Request,
        caller: Reader,
        host: Hosted,
        agent_id: Annotated[Key | None, Query()] = None,
        name: Annotated[Name | None, Query()] = None,
        deleted: Deleted = False,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Response:
        before = read_cursor(cursor)
        listing = DocumentQuery(limit=limit, before=before, agent_id=agent_id, name=name, deleted=deleted)
        listed = await host.store.documents.several(shelf.kind, listing, caller.within)
        further = next_cursor(listed[-1]) if len(listed) == limit else None
        return page(request, [shape_of(document) for document in listed], further)

    @router.get(
        "/{id}", responses={**answer(shelf.shape, headers=ETAG), **errors(404, 409)}, summary="The newest version"
    )
    async def newest(id: Id, caller: Reader, host: Hosted) -> Response:
        return await editions.answer(host, await host.store.documents.get(shelf.kind, id, within=caller.within))

    add_version_routes(router, editions)
    _writing(router, shelf, shelf.given, editions)
    _patching(router, shelf, shelf.given, editions)
    return router


def _writing(router: APIRouter, shelf: DocumentRoutes, given: type[Given], editions: VersionRoutes) -> None:

    @router.post(
        "",
        status_code=201,
        responses={**answer(shelf.shape, 201, headers=ETAG), **errors(409)},
        summary="Create, at version 1",
    )
    async def create(
        request: Request,
        caller: Writer,
        host: Hosted,
        body: given,  # type: ignore[valid-type]
    ) -> Response:
        created = await documents.add_document(
            host, shelf.kind, change_of(body, caller), caller.within, new_id(request)
        )
        return await editions.answer(host, created, 201)

    @router.put(
        "/{id}",
        responses={**answer(shelf.shape, headers=ETAG), **errors(404, 409, 412)},
        summary="Change: makes the next version",
    )
    async def change(
        id: Id,
        caller: Writer,
        host: Hosted,
        body: given,  # type: ignore[valid-type]
        if_match: IfMatch = None,
    ) -> Response:
        expected = await expected_version(host, shelf.kind, id, caller, if_match)
        changed = await documents.change_document(
            host, shelf.kind, id, change_of(body, caller), caller.within, expected
        )
        return await editions.answer(host, changed)

    @router.delete("/{id}", status_code=204, responses={204: {}, **errors(404, 409, 412)}, summary="Delete")
    async def delete(id: Id, caller: Writer, host: Hosted, if_match: IfMatch = None) -> Response:
        """Runs name it "(deleted)". `…/undelete` brings it back, until its content is purged."""
        return await delete_document(host, shelf.kind, id, caller, if_match)


def _patching(router: APIRouter, shelf: DocumentRoutes, given: type[Given], editions: VersionRoutes) -> None:

    @router.patch(
        "/{id}",
        responses={**answer(shelf.shape, headers=ETAG), **errors(404, 409, 412)},
        summary="Change some fields: makes the next version",
    )
    async def patch(id: Id, caller: Writer, host: Hosted, body: Json, if_match: IfMatch = None) -> Response:
        """Fields that are not sent stay as they are; null takes one away. A list is sent whole."""
        expected = await expected_version(host, shelf.kind, id, caller, if_match)
        before = await host.store.documents.get(shelf.kind, id, within=caller.within)
        head = {"name": before.name, "agent_id": before.agent_id or None}
        checked = patched(given, {**head, **document_body(before), **body})
        change, version = change_of(checked, caller), expected or before.edition.version
        changed = await documents.change_document(host, shelf.kind, id, change, caller.within, version)
        return await editions.answer(host, changed)
