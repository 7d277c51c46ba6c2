"""Files of any shape brought into the library: the file is the body of the request, and the answer says where the new
document is, or what is wrong with the file."""

from __future__ import annotations

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from howsure.errors import DatasetInvalid, InputError
from howsure.model.document import Document, DocumentKind
from howsure.services.hosting import library
from howsure.services.hosting.callers import Caller
from howsure.services.hosting.drafting import of_this_file
from howsure.services.hosting.exchanging import brought_in
from howsure.services.hosting.host import Host
from howsure.services.hosting.uploads import Upload
from howsure.store.service.keys import Scope
from howsure.web.pages.editor import MOST, Fault, fault, kept_upload, may_write_for, told
from howsure.web.pages.library import Shelf, shelf_of
from howsure.web.sharing import Page, caller_of, host_of


class Brought(Struct, frozen=True, kw_only=True):
    """What became of a file that was brought in: the address of the document, or why there is none."""

    answer: str
    address: str = ""
    id: str = ""
    faults: tuple[Fault, ...] = ()


async def bring(request: Request) -> Response:
    """A file as it is, in the body; its name and agent in the address."""
    host, shelf, asking = host_of(request), shelf_of(request), caller_of(request)
    name, agent_id = (request.query_params.get(word, "") for word in ("name", "agent_id"))
    try:
        kept = await _brought(host, shelf, await request.body(), name, agent_id, asking)
    except DatasetInvalid as error:
        faults = tuple(fault(each) for each in error.problems[:MOST])
        return _json(Brought(answer=told(len(error.problems), 0), faults=faults), 422)
    except InputError as error:
        return _json(Brought(answer=of_this_file(error)), 422)
    answer = f"{kept.name or kept.id} was kept, at version 1."
    return _json(Brought(answer=answer, address=shelf.of(kept.id), id=kept.id), 201)


async def _brought(host: Host, shelf: Shelf, content: bytes, name: str, agent_id: str, asking: Caller) -> Document:
    if shelf.kind is DocumentKind.DATASET:
        may_write_for(asking, agent_id)
        upload = Upload(content=content, name=name, agent_id=agent_id, author=asking.name)
        return await kept_upload(host, upload, "", asking)
    body = await brought_in(host, shelf.kind, content, name)
    body = {**body, **({"agent_id": agent_id} if agent_id else {})}
    change = library.Change(body=body, author=asking.name, note=f"from the file {name}")
    return await library.add(host, shelf.kind, change, asking.within)


def _json(brought: Brought, status: int) -> Response:
    return Response(msgspec.json.encode(brought), status, media_type="application/json")


def routes() -> list[Page]:
    return [Page("/library/{shelf}/import", bring, Scope.WRITE, "POST")]
