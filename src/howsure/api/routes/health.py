"""Whether the service is there, whether it can work, and its counters. Nobody needs a key for the first two."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import PlainTextResponse, Response

from howsure.api.access import Hosted, Operator
from howsure.api.errors import Answer, error_answer
from howsure.api.strict import StrictRoute
from howsure.api.wire.base import Shape, errors
from howsure.errors import InputError
from howsure.version import __version__

router = APIRouter(tags=["health"])
watched = APIRouter(tags=["health"], route_class=StrictRoute)


class HealthShape(Shape):
    """The process is there."""

    status: str = Field(examples=["ok"])
    version: str


@router.get("/health", responses={200: {"model": HealthShape}, **errors()})
async def health() -> Response:
    """The process is there."""
    return Answer({"status": "ok", "version": __version__})


@router.get("/ready", responses={200: {"model": HealthShape}, **errors()})
async def ready(host: Hosted) -> Response:
    """The database answers."""
    try:
        await host.store.queue.lengths()
    except InputError:
        return error_answer(503, "the database does not answer")
    return Answer({"status": "ready", "version": __version__})


COUNTED: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
    **errors(),
}


@watched.get("/metrics", response_class=Response, responses=COUNTED)
async def counters(request: Request, asking: Operator, host: Hosted) -> Response:
    """Requests, latencies and the queue, for Prometheus."""
    return PlainTextResponse(request.app.state.counters.text(await host.store.queue.lengths()))
