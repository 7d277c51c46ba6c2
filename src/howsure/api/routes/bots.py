"""Agents: what is known of them, and lists of graders for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.responses import Response

from howsure.api.access import Hosted, Reader, Writer
from howsure.api.bodies import BotGiven, Json, Key
from howsure.api.errors import JsonAnswer
from howsure.api.optional_fields import with_optional_fields, without_defaults
from howsure.api.requests import StrictRoute
from howsure.api.routes.documents import (
    IfMatch,
    VersionRoutes,
    add_version_routes,
    delete_document,
    expected_version,
    patched,
)
from howsure.api.schemas import ETAG, answer, errors, list_answer
from howsure.errors import NotFound
from howsure.model.access_scope import AccessScope
from howsure.model.document import Document, DocumentKind
from howsure.reports.figures import iso_utc
from howsure.services.host import documents
from howsure.services.host.bots import bot_context
from howsure.services.host.documents import document_body, published_document, with_distinct_tools
from howsure.services.host.keys import Caller
from howsure.services.workspace import Host
from howsure.wire.documents import BotContext, BotVersion, EvaluatorType

router = APIRouter(tags=["bots"], route_class=StrictRoute)
BotId = Annotated[Key, Path(description="The agent's id", examples=["64f0c2a1e4b0a1b2c3d4e5f6"])]


@router.get("/bots/{id}/context", responses={**answer(BotContext, headers=ETAG), **errors(404, 409)})
async def context(id: BotId, caller: Reader, host: Hosted) -> Response:
    """What is known of an agent: prompt, tools, knowledge bases, model, harness."""
    return await _answer(host, id, caller.within)


@router.put("/bots/{id}/context", responses={**answer(BotContext, headers=ETAG), **errors(404, 409, 412)})
async def describe(id: BotId, caller: Writer, host: Hosted, body: BotGiven, if_match: IfMatch = None) -> Response:
    """Describe an agent, or describe it anew. Runs keep the description that they started with."""
    documents.require_agent(id, caller.within)
    return await _describe(id, caller, host, body, if_match)


@router.patch("/bots/{id}/context", responses={**answer(BotContext, headers=ETAG), **errors(404, 409, 412)})
async def redescribe(id: BotId, caller: Writer, host: Hosted, body: Json, if_match: IfMatch = None) -> Response:
    """Fields that are not sent stay as they are; null takes one away. A list is sent whole."""
    before = await host.store.documents.get(DocumentKind.AGENT, id, within=caller.within)
    merged = patched(BotGiven, {"bot_name": before.name, **document_body(before), **body})
    return await _describe(id, caller, host, merged, if_match or f'"{before.latest}"')


@router.delete("/bots/{id}/context", status_code=204, responses={204: {}, **errors(404, 409, 412)})
async def forget(id: BotId, caller: Writer, host: Hosted, if_match: IfMatch = None) -> Response:
    """Runs keep what they were made of. `…/undelete` brings it back, until its content is purged."""
    return await delete_document(host, DocumentKind.AGENT, id, caller, if_match)


async def _describe(id: str, caller: Caller, host: Host, body: BotGiven, if_match: str | None) -> Response:
    expected = await expected_version(host, DocumentKind.AGENT, id, caller, if_match)
    described = without_defaults(BotGiven, body.model_dump(mode="json", exclude_unset=True))
    change = documents.DocumentChange(body=described, author=caller.name)
    try:
        await documents.change_document(host, DocumentKind.AGENT, id, change, caller.within, expected)
    except NotFound:
        await _describe_first(id, caller, host, change)
    return await _answer(host, id, caller.within)


async def _answer(host: Host, id: str, within: AccessScope) -> JsonAnswer:
    """One that the bot service described has no version here."""
    context, version = await bot_context(host, id, within)
    context = with_optional_fields(BotGiven, context)
    return JsonAnswer(context, headers={} if version is None else {"ETag": f'"{version}"'})


async def _describe_first(id: str, caller: Caller, host: Host, change: documents.DocumentChange) -> None:
    """A description of an agent that has none. One that was deleted goes on with its next version."""
    try:
        await host.store.documents.undelete(DocumentKind.AGENT, id, caller.within)
    except NotFound:
        await documents.add_document(host, DocumentKind.AGENT, change, caller.within, id)
    else:
        await documents.change_document(host, DocumentKind.AGENT, id, change, caller.within)


class BotVersions(VersionRoutes, frozen=True):
    """Versions of descriptions, with each tool listed once."""

    async def content(self, host: Host, document: Document) -> Any:
        return {"bot_name": document.name, **documents.DEFAULTS[self.kind], **document_body(document)}

    async def shapes(self, host: Host, versions: Sequence[Document]) -> list[dict[str, Any]]:
        return [_version_shape(version) for version in versions]


def _version_shape(document: Document) -> dict[str, Any]:
    edition = document.edition
    return {
        **with_optional_fields(BotGiven, with_distinct_tools(published_document(document))),
        "version": edition.version,
        "updated_at": iso_utc(edition.created_at),
        "author": edition.author or None,
        "note": edition.note or None,
        "latest_version": document.latest,
    }


add_version_routes(router, BotVersions(DocumentKind.AGENT, "/bots/{id}/context", BotVersion, "/bots/{id}/context"))


@router.get("/evaluators/types", responses={**list_answer(EvaluatorType), **errors()}, tags=["evaluator-configs"])
async def types(caller: Reader, host: Hosted) -> Response:
    """The graders that a run may have."""
    # The first paragraph of what its author says of it.
    about = {each.name: (type(each).__doc__ or "").strip().split("\n\n")[0] for each in host.work.kit.graders}
    return JsonAnswer([{"type": name, "description": text.replace("\n", " ").strip()} for name, text in about.items()])
