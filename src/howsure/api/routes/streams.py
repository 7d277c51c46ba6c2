"""What does not fit one answer: the progress of a run as it happens, whole runs and collections as lines, results of
many runs, and two runs held against each other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from importlib import import_module
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request
from pydantic import ConfigDict, Field
from starlette.responses import Response, StreamingResponse

from howsure.api.access import Hosted, Reader
from howsure.api.errors import Answer
from howsure.api.paging import PAGE_HEADERS, Cursor, Limit, page, place_in
from howsure.api.routes.runs import RunId, gallery_of
from howsure.api.strict import StrictRoute
from howsure.api.wire.base import Json, Key, Name, Shape, errors
from howsure.api.wire.runs import ResultShape, StandingShape
from howsure.errors import NotFound
from howsure.reports.wire import evaluation_result
from howsure.services.hosting.across import Filter, results_across
from howsure.services.hosting.callers import Caller
from howsure.services.hosting.host import Host
from howsure.services.hosting.standing import Standing, standings
from howsure.services.hosting.viewing import Gallery

router = APIRouter(tags=["runs"], route_class=StrictRoute)
LOOK_SECONDS = 0.5
SILENCE_SECONDS = 15.0
LIVE = ("pending", "running")
EVENT = {
    "type": "object",
    "properties": {
        "event": {"type": "string", "enum": ["progress", "end"]},
        "data": {"type": "string", "description": "The EvaluationRun, as JSON"},
    },
}
EVENTS: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {"schema": EVENT}}}}
LINES: dict[int | str, dict[str, Any]] = {200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}}


class ResultFilter(Shape):
    """Which results."""

    agent_id: Key | None = None
    failed_only: bool = False
    rule_id: Key | None = Field(default=None, description="Only results that failed this rule or criterion")
    since: Name | None = Field(default=None, description="A time; only runs created after it")

    model_config = ConfigDict(extra="ignore")


@router.get("/runs/{run_id}/events", response_class=Response, responses={**EVENTS, **errors(404)})
async def events(request: Request, run_id: RunId, asking: Reader) -> Response:
    """Progress as it happens: an event `progress` with the run whenever it changes, and `end` when it has ended."""
    gallery = gallery_of(request)
    first = await gallery.run(run_id, asking.within)
    return StreamingResponse(_progress(request, gallery, first, asking), media_type="text/event-stream")


async def _progress(request: Request, gallery: Gallery, run: Json, asking: Caller) -> AsyncIterator[bytes]:
    shown: Json | None = None
    silent = 0.0
    while not await request.is_disconnected():
        if run != shown:
            shown, silent = run, 0.0
            yield _event("progress", run)
        elif silent >= SILENCE_SECONDS:
            silent = 0.0
            yield b": still there\n\n"
        if run["status"] not in LIVE:
            yield _event("end", run)
            return
        await asyncio.sleep(LOOK_SECONDS)
        silent += LOOK_SECONDS
        try:
            run = await gallery.run(run["run_id"], asking.within)
        except NotFound:
            yield _event("end", {**run, "status": "failed", "error": "the run was deleted"})
            return


def _event(name: str, content: Json) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + msgspec.json.encode(content) + b"\n\n"


@router.get("/runs/{run_id}/results.ndjson", response_class=Response, responses={**LINES, **errors(404)})
async def export(run_id: RunId, asking: Reader, host: Hosted) -> Response:
    """Every result of a run, one a line."""
    run = await host.store.run(run_id, asking.within)

    async def lines() -> AsyncIterator[bytes]:
        async for result in host.store.iterate(run.id):
            yield msgspec.json.encode(evaluation_result(run, result)) + b"\n"

    return StreamingResponse(lines(), media_type="application/x-ndjson")


@router.get(
    "/results", responses={200: {"model": list[ResultShape], "headers": PAGE_HEADERS}, **errors()}, tags=["results"]
)
async def across(
    request: Request,
    asking: Reader,
    host: Hosted,
    wanted: Annotated[ResultFilter, Query()],
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Results of every run, newest run first."""
    chosen = Filter(**wanted.model_dump())
    found, further = await results_across(host.store, chosen, place_in(cursor), limit, asking.within)
    return page(request, [evaluation_result(run, result) for run, result in found], further)


@router.get(
    "/org-evaluations",
    responses={200: {"model": list[StandingShape], "headers": PAGE_HEADERS}, **errors()},
    tags=["results"],
)
async def org_evaluations(
    request: Request, asking: Reader, host: Hosted, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Every agent that was tried, by id, with its newest run that is complete."""
    found = await standings(host.store, gallery_of(request), place_in(cursor) or "", limit, asking.within)
    further = found[-1].agent_id if len(found) == limit else None
    return page(request, [_standing(each) for each in found], further)


def _standing(found: Standing) -> Json:
    return {
        "agent_id": found.agent_id,
        "agent_name": found.name or None,
        "runs": found.runs,
        "criteria_score": found.criteria_score,
        "rubric_score": found.rubric_score,
        "run": found.run,
    }


@router.get("/compare/{first}/{second}", responses={200: {"model": dict[str, Any]}, **errors(404)}, tags=["compare"])
async def compare(first: Key, second: Key, asking: Reader, host: Hosted) -> Response:
    """Two runs, case by case: what can be compared, flips both ways, differences with intervals, and a sentence."""
    return Answer(await _compared(host, [first, second], asking))


async def _compared(host: Host, run_ids: list[str], asking: Caller) -> Json:
    runs = [await host.store.run(run_id, asking.within) for run_id in run_ids]
    # These two load numpy and scipy: whoever never compares never waits for them.
    comparing = await asyncio.to_thread(import_module, "howsure.services.comparing")
    wire = import_module("howsure.reports.compare_wire")
    found = await comparing.compared(host.store, comparing.Wanted(runs=tuple(run.id for run in runs)))
    shape: Json = wire.comparison_wire(found)
    return shape
