"""The paths of versions, the same for everything that has some: list them, read one, what changed between two, and an
old one made the newest again."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from msgspec import Struct
from pydantic import BaseModel
from starlette.responses import Response

from howsure.api.access import Hosted, Reader, Writer
from howsure.api.errors import Answer
from howsure.api.paging import PAGE_HEADERS, Cursor, Limit, number_in, page
from howsure.api.wire.base import Json, Key, errors
from howsure.api.wire.test_sets import DifferenceShape
from howsure.model.document import Document, DocumentKind
from howsure.services.hosting.callers import Caller
from howsure.services.hosting.differences import differences
from howsure.services.hosting.host import Host

Responses = dict[int | str, dict[str, Any]]
ETAG: dict[str, Any] = {"ETag": {"description": "The version, for If-Match", "schema": {"type": "string"}}}
Id = Annotated[Key, Path()]
Version = Annotated[int, Path(ge=1, le=2**31 - 1)]


class Editions(Struct, frozen=True, kw_only=True):
    """How the versions of one kind of document are shown, and compared; `restored` makes an old one the newest."""

    kind: DocumentKind
    path: str
    shape: type[BaseModel]
    shown: Callable[[Host, Sequence[Document]], Awaitable[list[Json]]]
    content: Callable[[Host, Document], Awaitable[Any]]
    restored: Callable[[Host, str, int, Caller], Awaitable[Document]]

    async def answer(self, host: Host, document: Document, status: int = 200) -> Answer:
        """One of them, with who wrote each of the newest and why."""
        (shape,) = await self.shown(host, [document])
        written = await host.store.documents.changes(document)
        headers = {"ETag": f'"{document.edition.version}"'}
        return Answer({**shape, "changelog": written}, status_code=status, headers=headers)


def version_routes(router: APIRouter, editions: Editions) -> None:
    """Adds them to the router of the kind."""
    _listing(router, editions)
    _comparing(router, editions)
    made: dict[str, Any] = {"model": editions.shape, "headers": ETAG}

    @router.post(
        f"{editions.path}/versions/{{version}}/restore",
        status_code=201,
        responses={201: made, **errors(404, 409)},
        summary="An old version again, as the newest",
    )
    async def restore(id: Id, version: Version, asking: Writer, host: Hosted) -> Response:
        return await editions.answer(host, await editions.restored(host, id, version, asking), 201)


def _listing(router: APIRouter, editions: Editions) -> None:
    shape: Any = editions.shape
    listed: Responses = {200: {"model": list[shape], "headers": PAGE_HEADERS}}

    @router.get(f"{editions.path}/versions", responses={**listed, **errors(404)}, summary="Every version, newest first")
    async def versions(
        request: Request, id: Id, asking: Reader, host: Hosted, limit: Limit = 50, cursor: Cursor = None
    ) -> Response:
        last, kind = number_in(cursor), editions.kind
        found = await host.store.documents.versions(kind, id, limit=limit, before=last, within=asking.within)
        further = str(found[-1].edition.version) if len(found) == limit else None
        return page(request, await editions.shown(host, found), further)

    @router.get(
        f"{editions.path}/versions/{{version}}",
        responses={200: {"model": shape, "headers": ETAG}, **errors(404)},
        summary="One version",
    )
    async def one(id: Id, version: Version, asking: Reader, host: Hosted) -> Response:
        return await editions.answer(host, await _edition(host, editions.kind, id, version, asking))


def _comparing(router: APIRouter, editions: Editions) -> None:
    differing: Responses = {200: {"model": list[DifferenceShape]}, **errors(404)}

    @router.get(
        f"{editions.path}/versions/{{a}}/diff/{{b}}", responses=differing, summary="What changed between two versions"
    )
    async def diff(id: Id, a: Version, b: Version, asking: Reader, host: Hosted) -> Response:
        old, new = [await _edition(host, editions.kind, id, version, asking) for version in (a, b)]
        before, after = await editions.content(host, old), await editions.content(host, new)
        # Two datasets of many cases take their time: others are answered meanwhile.
        return Answer(await to_thread(lambda: list(differences(before, after))))


async def _edition(host: Host, kind: DocumentKind, id: str, version: int, asking: Caller) -> Document:
    """Also of one that was deleted: runs still point to it."""
    return await host.store.documents.get(kind, id, version, within=asking.within, deleted=True)
