"""Agents: what is known of them, and lists of graders for them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from assay.api.access import Hosted, Reader, Writer
from assay.api.errors import Answer, Refused
from assay.api.routes.documents import IfMatch, expected_version, require
from assay.api.strict import StrictRoute
from assay.api.wire.base import Key, errors
from assay.api.wire.datasets import BotGiven, BotShape, TypeShape
from assay.errors import NotFound
from assay.model.document import DocumentKind
from assay.services.hosting import library
from assay.services.hosting.bots import bot_context

router = APIRouter(tags=["bots"], route_class=StrictRoute)
BotId = Annotated[Key, Path(description="The agent's id", examples=["64f0c2a1e4b0a1b2c3d4e5f6"])]


@router.get("/bots/{id}/context", responses={200: {"model": BotShape}, **errors(404)})
async def context(id: BotId, asking: Reader, host: Hosted) -> Response:
    """What is known of an agent: prompt, tools, knowledge bases, model, harness."""
    return Answer(await bot_context(host, id, asking.within))


@router.put("/bots/{id}/context", responses={200: {"model": BotShape}, **errors(404, 409, 412)})
async def describe(id: BotId, asking: Writer, host: Hosted, body: BotGiven, if_match: IfMatch = None) -> Response:
    """Describe an agent, or describe it anew. Runs keep the description that they started with."""
    agents = asking.within.agent_ids
    if agents is not None and id not in agents:
        raise Refused(404, "not_found", f"there is no agent {id}")
    expected = expected_version(if_match)
    await require(host, DocumentKind.AGENT, id, asking, expected)
    change = library.Change(body=body.model_dump(mode="json", exclude_unset=True), author=asking.name)
    try:
        await library.change(host, DocumentKind.AGENT, id, change, asking.within, expected)
    except NotFound:
        await library.add(host, DocumentKind.AGENT, change, asking.within, id)
    return Answer(await bot_context(host, id, asking.within))


@router.get("/evaluators/types", responses={200: {"model": list[TypeShape]}, **errors()}, tags=["evaluator-configs"])
async def types(asking: Reader, host: Hosted) -> Response:
    """The graders that a run may have."""
    graders = host.work.kit.graders
    return Answer([{"type": each.name, "description": _about(each)} for each in graders])


def _about(grader: object) -> str:
    """The first sentence of what its author says of it."""
    return (type(grader).__doc__ or "").strip().split("\n\n")[0].replace("\n", " ").strip()
