"""Whether the service is there, whether it can work, and its counters. Nobody needs a key for the first two."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from howsure.api.access import Hosted, Operator
from howsure.api.errors import JsonAnswer, error_answer
from howsure.api.requests import StrictRoute
from howsure.api.schemas import answer, errors
from howsure.errors import InputError
from howsure.version import __version__
from howsure.wire.admin import ServiceHealth

health_router = APIRouter(tags=["health"])
metrics_router = APIRouter(tags=["health"], route_class=StrictRoute)


@health_router.get("/health", responses={**answer(ServiceHealth), **errors()})
async def health() -> Response:
    """The process is there."""
    return JsonAnswer({"status": "ok", "version": __version__})


@health_router.get("/ready", responses={**answer(ServiceHealth), **errors()})
async def ready(host: Hosted) -> Response:
    """The database answers."""
    try:
        await host.store.queue.lengths()
    except InputError:
        return error_answer(503, "the database does not answer")
    return JsonAnswer({"status": "ready", "version": __version__})


COUNTED: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
    **errors(),
}


@metrics_router.get("/metrics", response_class=Response, responses=COUNTED)
async def counters(request: Request, asking: Operator, host: Hosted) -> Response:
    """Requests, latencies and the queue, for Prometheus."""
    return PlainTextResponse(request.app.state.counters.text(await host.store.queue.lengths()))
