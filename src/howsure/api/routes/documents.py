"""The paths that every versioned document has: list, create, read, change, delete, versions, differences, restoring."""

# No postponed annotations here: what a body looks like is known only when the routes of a kind are made.
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Header, Query, Request
from msgspec import Struct
from pydantic import BaseModel
from starlette.responses import Response

from howsure.api.access import Hosted, Reader, Writer
from howsure.api.errors import Refused
from howsure.api.idempotency import new_id
from howsure.api.paging import PAGE_HEADERS, Cursor, Limit, page, place_in
from howsure.api.routes.versions import ETAG, Editions, Id, version_routes
from howsure.api.strict import StrictRoute
from howsure.api.wire.base import Key, Name, errors
from howsure.model.document import Document, DocumentKind
from howsure.services.hosting import library
from howsure.services.hosting.callers import Caller
from howsure.services.hosting.host import Host
from howsure.services.hosting.shapes import body_of, whole
from howsure.store.service.documents import Listing, cursor

Given = TypeVar("Given", bound=BaseModel)

Responses = dict[int | str, dict[str, Any]]
IfMatch = Annotated[
    str | None,
    Header(alias="If-Match", description='The ETag that was read, such as `"3"`: 412 where it is older than that'),
]


class Shelf(Struct, frozen=True):
    """One kind of document: where its paths are, and its shapes."""

    kind: DocumentKind
    path: str
    given: type[BaseModel]
    shape: type[BaseModel]


def shape_of(document: Document) -> dict[str, Any]:
    """The published shape, with who wrote this version and why."""
    edition = document.edition
    return {
        **whole(document),
        "author": edition.author or None,
        "note": edition.note or None,
        "latest_version": document.latest,
        "deleted": document.deleted_at is not None,
    }


def expected_version(if_match: str | None) -> int | None:
    """The version in an If-Match; None where none was sent, or any will do."""
    if if_match is None or if_match.strip() == "*":
        return None
    text = if_match.strip().removeprefix("W/").strip('"')
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise Refused(422, "invalid", f'If-Match {if_match!r} is no version: send the ETag that was read, such as "3"')
    return int(text)


def change_of(given: BaseModel, asking: Caller) -> library.Change:
    body = given.model_dump(mode="json", exclude_unset=True)
    return library.Change(body=body, author=asking.name, note=body.get("note") or "")


def shelf_router(shelf: Shelf) -> APIRouter:
    router = APIRouter(prefix=shelf.path, tags=[shelf.path.strip("/")], route_class=StrictRoute)
    editions = editions_of(shelf)
    _reading(router, shelf, editions)
    version_routes(router, editions)
    _writing(router, shelf, shelf.given, editions)
    return router


def _reading(router: APIRouter, shelf: Shelf, editions: Editions) -> None:
    shape: Any = shelf.shape
    listed: Responses = {200: {"model": list[shape], "headers": PAGE_HEADERS}}

    @router.get("", responses={**listed, **errors()}, summary="List, newest first")
    async def several(
        request: Request,
        asking: Reader,
        host: Hosted,
        agent_id: Annotated[Key | None, Query()] = None,
        name: Annotated[Name | None, Query()] = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Response:
        listing = Listing(limit=limit, before=place_in(cursor), agent_id=agent_id, name=name)
        found = await host.store.documents.several(shelf.kind, listing, asking.within)
        return page(request, [shape_of(each) for each in found], _further(found, limit))

    @router.get(
        "/{id}", responses={200: {"model": shape, "headers": ETAG}, **errors(404)}, summary="The newest version"
    )
    async def newest(id: Id, asking: Reader, host: Hosted) -> Response:
        return await editions.answer(host, await host.store.documents.get(shelf.kind, id, within=asking.within))


def _further(found: list[Document], limit: int) -> str | None:
    return cursor(found[-1]) if len(found) == limit else None


def editions_of(shelf: Shelf) -> Editions:
    async def shown(_: Host, found: Sequence[Document]) -> list[dict[str, Any]]:
        return [shape_of(each) for each in found]

    async def content(_: Host, document: Document) -> Any:
        return body_of(document)

    async def restored(host: Host, id: str, version: int, asking: Caller) -> Document:
        change = library.Change(body={}, author=asking.name)
        return await library.restore(host, shelf.kind, id, version, change, asking.within)

    return Editions(kind=shelf.kind, path="/{id}", shape=shelf.shape, shown=shown, content=content, restored=restored)


def _writing(router: APIRouter, shelf: Shelf, given: type[Given], editions: Editions) -> None:
    shape: Any = shelf.shape
    made = {"model": shape, "headers": ETAG}

    @router.post("", status_code=201, responses={201: made, **errors(409)}, summary="Create, at version 1")
    async def create(
        request: Request,
        asking: Writer,
        host: Hosted,
        body: given,  # type: ignore[valid-type]
    ) -> Response:
        created = await library.add(host, shelf.kind, change_of(body, asking), asking.within, new_id(request))
        return await editions.answer(host, created, 201)

    @router.put("/{id}", responses={200: made, **errors(404, 409, 412)}, summary="Change: makes the next version")
    async def change(
        id: Id,
        asking: Writer,
        host: Hosted,
        body: given,  # type: ignore[valid-type]
        if_match: IfMatch = None,
    ) -> Response:
        expected = expected_version(if_match)
        await require(host, shelf.kind, id, asking, expected)
        changed = await library.change(host, shelf.kind, id, change_of(body, asking), asking.within, expected)
        return await editions.answer(host, changed)

    @router.delete("/{id}", status_code=204, responses={204: {}, **errors(404, 409, 412)}, summary="Delete")
    async def delete(id: Id, asking: Writer, host: Hosted, if_match: IfMatch = None) -> Response:
        """Runs that used it can still read their version, labelled "(deleted)"."""
        expected = expected_version(if_match)
        await require(host, shelf.kind, id, asking, expected)
        await host.store.documents.delete(shelf.kind, id, expected=expected, within=asking.within)
        return Response(status_code=204)


async def require(host: Hosted, kind: DocumentKind, id: str, asking: Caller, expected: int | None) -> None:
    """412 where the document is not at the version that was read."""
    if expected is None:
        return
    found = await host.store.documents.get(kind, id, within=asking.within)
    if found.latest != expected:
        detail = f"this document is at version {found.latest}, not {expected}: somebody else changed it; read it again"
        raise Refused(412, "precondition_failed", detail)
