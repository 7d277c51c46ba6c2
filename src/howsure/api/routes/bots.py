"""Agents: what is known of them, and lists of graders for them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.responses import Response

from howsure.api.access import Hosted, Reader, Writer
from howsure.api.bodies import BotGiven, Key
from howsure.api.errors import JsonAnswer, RequestRefusal
from howsure.api.requests import StrictRoute
from howsure.api.routes.documents import IfMatch, add_version_routes, expected_version, json_versions, require_version
from howsure.api.schemas import ETAG, answer, errors, list_answer
from howsure.errors import NotFound
from howsure.model.access_scope import AccessScope
from howsure.model.document import Document, DocumentKind
from howsure.reports.figures import iso_utc
from howsure.services.host import documents
from howsure.services.host.bots import bot_context, described_version
from howsure.services.host.context import Host
from howsure.services.host.documents import published_document, with_distinct_tools
from howsure.wire.documents import BotContext, BotVersion, EvaluatorType

router = APIRouter(tags=["bots"], route_class=StrictRoute)
BotId = Annotated[Key, Path(description="The agent's id", examples=["64f0c2a1e4b0a1b2c3d4e5f6"])]


@router.get("/bots/{id}/context", responses={**answer(BotContext, headers=ETAG), **errors(404)})
async def context(id: BotId, caller: Reader, host: Hosted) -> Response:
    """What is known of an agent: prompt, tools, knowledge bases, model, harness."""
    return await _answer(host, id, caller.within)


@router.put("/bots/{id}/context", responses={**answer(BotContext, headers=ETAG), **errors(404, 409, 412)})
async def describe(id: BotId, caller: Writer, host: Hosted, body: BotGiven, if_match: IfMatch = None) -> Response:
    """Describe an agent, or describe it anew. Runs keep the description that they started with."""
    agents = caller.within.agent_ids
    if agents is not None and id not in agents:
        raise RequestRefusal(404, "not_found", f"there is no agent {id}")
    expected = expected_version(if_match)
    await require_version(host, DocumentKind.AGENT, id, caller, expected)
    change = documents.DocumentChange(body=body.model_dump(mode="json", exclude_unset=True), author=caller.name)
    try:
        await documents.change_document(host, DocumentKind.AGENT, id, change, caller.within, expected)
    except NotFound:
        await documents.add_document(host, DocumentKind.AGENT, change, caller.within, id)
    return await _answer(host, id, caller.within)


async def _answer(host: Host, id: str, within: AccessScope) -> JsonAnswer:
    """One that the bot service described has no version here."""
    context = await bot_context(host, id, within)
    version = await described_version(host, id, within)
    return JsonAnswer(context, headers={} if version is None else {"ETag": f'"{version}"'})


def _version_shape(document: Document) -> dict[str, Any]:
    edition = document.edition
    return {
        **with_distinct_tools(published_document(document)),
        "version": edition.version,
        "updated_at": iso_utc(edition.created_at),
        "author": edition.author or None,
        "note": edition.note or None,
        "latest_version": document.latest,
    }


add_version_routes(router, json_versions(DocumentKind.AGENT, "/bots/{id}/context", BotVersion, _version_shape))


@router.get("/evaluators/types", responses={**list_answer(EvaluatorType), **errors()}, tags=["evaluator-configs"])
async def types(caller: Reader, host: Hosted) -> Response:
    """The graders that a run may have."""
    # The first paragraph of what its author says of it.
    about = {each.name: (type(each).__doc__ or "").strip().split("\n\n")[0] for each in host.work.kit.graders}
    return JsonAnswer([{"type": name, "description": text.replace("\n", " ").strip()} for name, text in about.items()])
