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
from howsure.api.bodies import Json, Key, Name, OpenBody
from howsure.api.errors import JsonAnswer
from howsure.api.pages import PAGE_HEADERS, Cursor, Limit, page, read_cursor
from howsure.api.requests import StrictRoute
from howsure.api.routes.runs import RunId, gallery_of
from howsure.api.schemas import errors, list_answer
from howsure.errors import NotFound
from howsure.reports.comparisons import comparison_shape
from howsure.reports.result_wire import evaluation_result
from howsure.services.host.context import Host
from howsure.services.host.keys import Caller
from howsure.services.host.run_views import AgentStatus, CrossRunFilter, RunViews, agent_statuses, results_across_runs
from howsure.wire import runs as wire
from howsure.wire.results import Result

stream_router = APIRouter(tags=["runs"], route_class=StrictRoute)
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
RESULT_LINES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}
}


class ResultQueryParameters(OpenBody):
    """Which results."""

    agent_id: Key | None = None
    failed_only: bool = False
    rule_id: Key | None = Field(default=None, description="Only results that failed this rule or criterion")
    since: Name | None = Field(default=None, description="A time; only runs created after it")

    model_config = ConfigDict(extra="ignore")


@stream_router.get("/runs/{run_id}/events", response_class=Response, responses={**EVENTS, **errors(404)})
async def events(request: Request, run_id: RunId, asking: Reader) -> Response:
    """Progress as it happens: an event `progress` with the run whenever it changes, and `end` when it has ended."""
    gallery = gallery_of(request)
    first = await gallery.run(run_id, asking.within)
    return StreamingResponse(_progress(request, gallery, first, asking), media_type="text/event-stream")


async def _progress(request: Request, gallery: RunViews, run: Json, asking: Caller) -> AsyncIterator[bytes]:
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


@stream_router.get("/runs/{run_id}/results.ndjson", response_class=Response, responses={**RESULT_LINES, **errors(404)})
async def export(run_id: RunId, asking: Reader, host: Hosted) -> Response:
    """Every result of a run, one a line."""
    run = await host.store.run(run_id, asking.within)

    async def lines() -> AsyncIterator[bytes]:
        async for result in host.store.iterate(run.id):
            yield msgspec.json.encode(evaluation_result(run, result)) + b"\n"

    return StreamingResponse(lines(), media_type="application/x-ndjson")


@stream_router.get("/results", responses={**list_answer(Result, headers=PAGE_HEADERS), **errors()}, tags=["results"])
async def across(
    request: Request,
    asking: Reader,
    host: Hosted,
    wanted: Annotated[ResultQueryParameters, Query()],
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Results of every run, newest run first."""
    chosen = CrossRunFilter(**wanted.model_dump())
    found, further = await results_across_runs(host.store, chosen, read_cursor(cursor), limit, asking.within)
    return page(request, [evaluation_result(run, result) for run, result in found], further)


@stream_router.get(
    "/org-evaluations",
    responses={**list_answer(wire.AgentStatus, headers=PAGE_HEADERS), **errors()},
    tags=["results"],
)
async def org_evaluations(
    request: Request, asking: Reader, host: Hosted, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Every agent that was tried, by id, with its newest run that is complete."""
    found = await agent_statuses(host.store, gallery_of(request), read_cursor(cursor) or "", limit, asking.within)
    further = found[-1].agent_id if len(found) == limit else None
    return page(request, [_standing(each) for each in found], further)


def _standing(found: AgentStatus) -> Json:
    return {
        "agent_id": found.agent_id,
        "agent_name": found.name or None,
        "runs": found.runs,
        "criteria_score": found.criteria_score,
        "rubric_score": found.rubric_score,
        "run": found.run,
    }


@stream_router.get(
    "/compare/{first}/{second}", responses={200: {"model": dict[str, Any]}, **errors(404)}, tags=["compare"]
)
async def compare(first: Key, second: Key, asking: Reader, host: Hosted) -> Response:
    """Two runs, case by case: what can be compared, flips both ways, differences with intervals, and a sentence."""
    return JsonAnswer(await _compared(host, [first, second], asking))


async def _compared(host: Host, run_ids: list[str], asking: Caller) -> Json:
    runs = [await host.store.run(run_id, asking.within) for run_id in run_ids]
    # This loads numpy and scipy: whoever never compares never waits for them.
    comparing = await asyncio.to_thread(import_module, "howsure.services.compare.compare")
    found = await comparing.compared(host.store, comparing.Wanted(runs=tuple(run.id for run in runs)))
    shape: Json = comparison_shape(found)
    return shape
