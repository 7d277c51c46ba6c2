"""Runs: list, start, steer, their results, their progress as events, results across runs, comparisons; evaluations of a
test set in one request, and of one finished conversation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from importlib import import_module
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Path, Query, Request
from pydantic import ConfigDict, Field
from starlette.responses import Response, StreamingResponse

from howsure.api.access import Hosted, Reader, Runner, Writer
from howsure.api.bodies import EvaluationGiven, Json, Key, Name, OpenBody, RegradeGiven, RunGiven, TranscriptGiven
from howsure.api.errors import JsonAnswer, RequestRefusal
from howsure.api.pages import PAGE_HEADERS, Cursor, Limit, page, read_cursor, read_number
from howsure.api.requests import StrictRoute, new_id, run_request
from howsure.api.schemas import answer, errors, list_answer
from howsure.errors import NotFound
from howsure.model.document import DocumentKind
from howsure.model.job import RequestedState
from howsure.model.run_request import RunRequest
from howsure.model.verdict import Verdict
from howsure.reports.comparisons import comparison_shape
from howsure.reports.evaluations import dataset_id_of, evaluation_result
from howsure.services.host import run_control
from howsure.services.host.conversations import FinishedConversation, grade_conversation, save_conversations
from howsure.services.host.keys import Caller
from howsure.services.host.run_requests import QueuedRun, document, submit_run
from howsure.services.host.run_views import AgentStatus, CrossRunFilter, RunViews, agent_statuses, results_across_runs
from howsure.services.host.uploads import Upload, save_run_cases
from howsure.store.pages import next_cursor
from howsure.wire import runs as wire
from howsure.wire.results import Result
from howsure.wire.runs import Evaluation, Run

router = APIRouter(prefix="/runs", tags=["runs"], route_class=StrictRoute)
StatusName = Literal["pending", "running", "completed", "failed"]
RunId = Annotated[Key, Path(description="The run's id")]


def run_views_of(request: Request) -> RunViews:
    run_views: RunViews = request.app.state.run_views
    return run_views


@router.get("", responses={**list_answer(Run, headers=PAGE_HEADERS), **errors()})
async def list_runs(
    request: Request,
    caller: Reader,
    agent_id: Annotated[Key | None, Query()] = None,
    status: Annotated[StatusName | None, Query()] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Response:
    """Newest first."""
    shown, last = await run_views_of(request).page(
        limit=limit, before=read_cursor(cursor), agent_id=agent_id, status=status, scope=caller.within
    )
    return page(request, shown, None if last is None else next_cursor(last))


@router.post("", status_code=202, responses={**answer(Run, 202), **errors(404, 409)})
async def start_run(request: Request, caller: Runner, host: Hosted, body: RunGiven) -> Response:
    """Plan a run and queue it. It is a row before it is work: whatever becomes of the service, it is not forgotten."""
    named = (
        (DocumentKind.TEST_SET, body.test_set_id),
        (DocumentKind.DATASET, body.dataset_id),
        (DocumentKind.QUESTION_SET, body.question_set_id),
    )
    cases = tuple(document(kind, key) for kind, key in named if key)
    requested = run_request(body, cases, body.agent_id)
    queued = await submit_run(host, requested, caller.within, new_id(request))
    return await _shown(request, queued.run.id, caller, 202)


@router.get("/{run_id}", responses={**answer(Run), **errors(404)})
async def one_run(request: Request, run_id: RunId, caller: Reader) -> Response:
    """One run, with its counts as they are now."""
    return await _shown(request, run_id, caller)


@router.delete("/{run_id}", status_code=204, responses={204: {}, **errors(404, 409)})
async def delete_run(run_id: RunId, caller: Writer, host: Hosted) -> Response:
    """The run and all its results."""
    await run_control.delete(host, run_id, caller.within)
    return Response(status_code=204)


@router.get("/{run_id}/results", responses={**list_answer(Result, headers=PAGE_HEADERS), **errors(404)})
async def list_results(
    request: Request,
    run_id: RunId,
    caller: Reader,
    host: Hosted,
    verdict: Annotated[Verdict | None, Query()] = None,
    candidate: Annotated[str | None, Query(max_length=300, pattern=r"^[^\x00]*$")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """In the order of the cases."""
    run = await host.store.run(run_id, caller.within)
    after = read_number(cursor)
    found = await host.store.results(run.id, after=after, limit=limit, verdict=verdict, candidate=candidate)
    further = str(found[-1].position) if len(found) == limit else None
    return page(request, [evaluation_result(run, each) for each in found], further)


@router.get("/{run_id}/results/{result_id}", responses={**answer(Result), **errors(404, 409)})
async def one_result(
    run_id: RunId,
    result_id: Annotated[Key, Path(description="The result's id, or its case's")],
    caller: Reader,
    host: Hosted,
) -> Response:
    """One result, by its id or by its case's where that names only one."""
    run = await host.store.run(run_id, caller.within)
    return JsonAnswer(evaluation_result(run, await host.store.result(run.id, result_id)))


@router.post("/{run_id}/cancel", responses={**answer(Run), **errors(404, 409)})
async def cancel_run(request: Request, run_id: RunId, caller: Runner, host: Hosted) -> Response:
    """Stop it for good; what is finished stays finished, and it can still be resumed."""
    await run_control.stop(host, run_id, RequestedState.CANCEL, caller.within)
    return await _shown(request, run_id, caller)


@router.post("/{run_id}/pause", responses={**answer(Run), **errors(404, 409)})
async def pause_run(request: Request, run_id: RunId, caller: Runner, host: Hosted) -> Response:
    """Stop it until it is resumed."""
    await run_control.stop(host, run_id, RequestedState.PAUSE, caller.within)
    return await _shown(request, run_id, caller)


@router.post("/{run_id}/resume", status_code=202, responses={**answer(Run, 202), **errors(404, 409)})
async def resume_run(request: Request, run_id: RunId, caller: Runner, host: Hosted) -> Response:
    """Go on where it stopped; finished cases are not tried again."""
    await run_control.resume(host, run_id, caller.within)
    return await _shown(request, run_id, caller, 202)


@router.post("/{run_id}/retry", status_code=202, responses={**answer(Run, 202), **errors(404, 409)})
async def retry_run(request: Request, run_id: RunId, caller: Runner, host: Hosted) -> Response:
    """Try the errored cases again."""
    await run_control.retry(host, run_id, caller.within)
    return await _shown(request, run_id, caller, 202)


@router.post("/{run_id}/regrade", status_code=202, responses={**answer(Run, 202), **errors(404, 409)})
async def regrade_run(request: Request, run_id: RunId, caller: Runner, host: Hosted, body: RegradeGiven) -> Response:
    """A new run that grades the answers of this one again; the agent is not called."""
    change = RunRequest(
        rubric=document(DocumentKind.RUBRIC, body.rubric_id, body.rubric_version),
        judge=body.eval_model or "",
        profile=body.profile or "",
        name=body.name or "",
    )
    queued = await run_control.regrade(host, run_id, change, caller.within, new_id(request))
    return await _shown(request, queued.run.id, caller, 202)


async def _shown(request: Request, run_id: str, caller: Reader, status: int = 200) -> JsonAnswer:
    return JsonAnswer(await run_views_of(request).run(run_id, caller.within), status_code=status)


evaluation_router = APIRouter(tags=["evaluations"], route_class=StrictRoute)


@evaluation_router.post("/evaluations", status_code=202, responses={**answer(Evaluation, 202), **errors(404, 409)})
async def evaluate(request: Request, caller: Runner, host: Hosted, body: EvaluationGiven) -> Response:
    """Run a test set against a bot; with `mode: transcript`, hold finished conversations against all its criteria."""
    if (body.mode == "transcript") != bool(body.conversation_ids):
        detail = "`mode: transcript` and `conversation_ids` go together: the one says to grade the others"
        raise RequestRefusal(400, "bad_request", detail)
    run_id = new_id(request)
    test_set = document(DocumentKind.TEST_SET, body.test_set_id, body.test_set_version)
    requested = run_request(body, (test_set,), body.bot_id)
    if body.conversation_ids:
        by = Upload(content=b"", agent_id=body.bot_id, author=caller.name)
        saved = await save_conversations(host, body.conversation_ids, run_id, by, caller.within)
        conversations = document(DocumentKind.DATASET, saved.id)
        requested = run_request(body, (conversations,), body.bot_id, criteria_from=test_set)
    queued = await submit_run(host, requested, caller.within, run_id)
    if body.keep and not body.conversation_ids:
        await save_run_cases(host, queued.run, caller.name, caller.within)
    return JsonAnswer(_evaluation_shape(queued, body), status_code=202)


def _evaluation_shape(queued: QueuedRun, body: EvaluationGiven) -> dict[str, Any]:
    run = queued.run
    return {
        "run_id": run.id,
        "dataset_id": dataset_id_of(run.pins),
        "config_id": body.config_id,
        "status": "pending",
        "total": run.counts.total,
        "items_count": run.counts.total // (run.pins.request.repeat * (len(run.pins.request.candidates) or 1)),
        "rules_count": len(run.pins.rubric.rules) if run.pins.rubric else 0,
        "component_scope_filter": run.pins.request.component_scope or None,
        "component_ids_filter": list(run.pins.request.component_ids),
        "warnings": list(queued.warnings),
    }


@evaluation_router.post("/evaluate-transcript", responses={**answer(Result), **errors(404, 409)})
async def evaluate_transcript(caller: Runner, host: Hosted, body: TranscriptGiven) -> Response:
    """Grade one finished conversation now. Nothing is stored."""
    finished = FinishedConversation(
        messages=tuple((each.role, each.content) for each in body.messages),
        tool_calls=tuple(body.tool_calls),
        criteria=tuple(body.success_criteria),
        test_set_id=body.test_set_id or "",
        rubric_id=body.rubric_id or "",
        agent_id=body.bot_id or "",
        judge=body.eval_model or "",
        component_scope=body.component_scope or "",
        component_ids=tuple(body.component_ids),
    )
    return JsonAnswer(await grade_conversation(host, finished, caller.within))


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
async def events(request: Request, run_id: RunId, caller: Reader) -> Response:
    """Progress as it happens: an event `progress` with the run whenever it changes, and `end` when it has ended."""
    run_views = run_views_of(request)
    first = await run_views.run(run_id, caller.within)
    return StreamingResponse(_progress(request, run_views, first, caller), media_type="text/event-stream")


async def _progress(request: Request, run_views: RunViews, run: Json, caller: Caller) -> AsyncIterator[bytes]:
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
            run = await run_views.run(run["run_id"], caller.within)
        except NotFound:
            yield _event("end", {**run, "status": "failed", "error": "the run was deleted"})
            return


def _event(name: str, content: Json) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + msgspec.json.encode(content) + b"\n\n"


@stream_router.get("/runs/{run_id}/results.ndjson", response_class=Response, responses={**RESULT_LINES, **errors(404)})
async def export(run_id: RunId, caller: Reader, host: Hosted) -> Response:
    """Every result of a run, one a line."""
    run = await host.store.run(run_id, caller.within)

    async def lines() -> AsyncIterator[bytes]:
        async for result in host.store.iterate(run.id):
            yield msgspec.json.encode(evaluation_result(run, result)) + b"\n"

    return StreamingResponse(lines(), media_type="application/x-ndjson")


@stream_router.get("/results", responses={**list_answer(Result, headers=PAGE_HEADERS), **errors()}, tags=["results"])
async def across(
    request: Request,
    caller: Reader,
    host: Hosted,
    wanted: Annotated[ResultQueryParameters, Query()],
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Results of every run, newest run first."""
    chosen = CrossRunFilter(**wanted.model_dump())
    found, further = await results_across_runs(host.store, chosen, read_cursor(cursor), limit, caller.within)
    return page(request, [evaluation_result(run, result) for run, result in found], further)


@stream_router.get(
    "/org-evaluations",
    responses={**list_answer(wire.AgentStatus, headers=PAGE_HEADERS), **errors()},
    tags=["results"],
)
async def org_evaluations(
    request: Request, caller: Reader, host: Hosted, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Every agent that was tried, by id, with its newest run that is complete."""
    after = read_cursor(cursor) or ""
    statuses = await agent_statuses(host.store, run_views_of(request), after, limit, caller.within)
    further = statuses[-1].agent_id if len(statuses) == limit else None
    return page(request, [_agent_status(status) for status in statuses], further)


def _agent_status(status: AgentStatus) -> Json:
    return {
        "agent_id": status.agent_id,
        "agent_name": status.name or None,
        "runs": status.runs,
        "criteria_score": status.criteria_score,
        "rubric_score": status.rubric_score,
        "run": status.run,
    }


@stream_router.get(
    "/compare/{first}/{second}", responses={200: {"model": dict[str, Any]}, **errors(404)}, tags=["compare"]
)
async def compare(first: Key, second: Key, caller: Reader, host: Hosted) -> Response:
    """Two runs, case by case: what can be compared, flips both ways, differences with intervals, and a sentence."""
    run_ids = tuple([(await host.store.run(run_id, caller.within)).id for run_id in (first, second)])
    # Loaded here, because it loads numpy and scipy, which no other request needs.
    module = await asyncio.to_thread(import_module, "howsure.services.compare.compare")
    comparison = await module.compare_stored(host.store, module.CompareRequest(runs=run_ids))
    return JsonAnswer(comparison_shape(comparison))
