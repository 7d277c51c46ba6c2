"""Runs: list, start, steer, their results, their progress as events, results across runs, comparisons; evaluations of a
test set in one request, and of one finished conversation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Path, Query, Request
from msgspec.structs import replace
from pydantic import ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from howsure.api.access import Exporter, Hosted, Reader, RunDeleter, Runner, Writer
from howsure.api.bodies import (
    EvaluationGiven,
    Json,
    Key,
    Name,
    OpenBody,
    RegradeGiven,
    RunChange,
    RunGiven,
    TranscriptGiven,
)
from howsure.api.counters import PREFIX
from howsure.api.errors import JsonAnswer
from howsure.api.http_answers import JSON, known_already
from howsure.api.pages import LARGEST, MOST_AT_ONCE, PAGE_HEADERS, Cursor, Limit, page, read_cursor, read_number
from howsure.api.requests import StrictRoute, also_checked, new_id, run_request
from howsure.api.schemas import answer, errors, list_answer
from howsure.errors import NotFound
from howsure.model.document import DocumentKind
from howsure.model.job import RequestedState
from howsure.model.result import Result as StoredResult
from howsure.model.run import Run as StoredRun
from howsure.model.run import RunState
from howsure.model.run_request import RunRequest
from howsure.model.verdict import Verdict
from howsure.reports.evaluations import dataset_id_of
from howsure.reports.headlines import field_words
from howsure.services.host import run_control
from howsure.services.host.conversations import (
    FinishedConversation,
    check_conversation,
    grade_conversation,
    save_conversations,
    visible_results,
)
from howsure.services.host.keys import Caller, caller_still_valid
from howsure.services.host.request_checks import RequestFaults
from howsure.services.host.run_requests import QueuedRun, document, resolve_request, submit_run
from howsure.services.host.run_views import LIVE as LIVE_STATES
from howsure.services.host.run_views import (
    CrossRunFilter,
    RunListFilter,
    RunViews,
    agent_statuses,
    parse_time,
    results_across_runs,
)
from howsure.services.host.stats import StatsQuery, result_shape, run_stats
from howsure.services.host.uploads import Upload, save_run_cases
from howsure.services.workspace import Host
from howsure.store.pages import next_cursor
from howsure.version import __version__
from howsure.wire import runs as wire
from howsure.wire.results import Result, ResultEnvelope
from howsure.wire.runs import Evaluation, Run

router = APIRouter(prefix="/runs", tags=["runs"], route_class=StrictRoute)
StatusName = Literal["pending", "running", "completed", "failed"]
RESULTS_PER_PAGE = 100
RunId = Annotated[Key, Path(description="The run's id")]


def run_views_of(request: Request) -> RunViews:
    run_views: RunViews = request.app.state.run_views
    return run_views


class RunListQuery(OpenBody):
    """Which runs, and how many at a time."""

    agent_id: Key | None = None
    status: StatusName | None = None
    state: RunState | None = Field(default=None, description="What `state` says of a run; `status` has four words only")
    test_set_id: Key | None = Field(default=None, description="The id of the test set, question set or dataset")
    rubric_id: Key | None = None
    name: Name | None = Field(default=None, description="A part of the run's name, in small or capital letters")
    tag: Name | None = Field(default=None, description="One of the run's tags, whole")
    since: Name | None = Field(default=None, description="A time; only runs created then or later")
    until: Name | None = Field(default=None, description="A time; only runs created before it")
    limit: Limit = 20
    cursor: Cursor = None


@router.get("", responses={**list_answer(Run, headers=PAGE_HEADERS), **errors()})
async def list_runs(request: Request, caller: Reader, query: Annotated[RunListQuery, Query()]) -> Response:
    """Newest first."""
    chosen = RunListFilter(
        agent_id=query.agent_id,
        status=query.status,
        state=query.state,
        test_set_id=query.test_set_id,
        rubric_id=query.rubric_id,
        name=query.name,
        tag=query.tag,
        since=parse_time("since", query.since),
        until=parse_time("until", query.until),
    )
    before = read_cursor(query.cursor)
    shown, last = await run_views_of(request).page(limit=query.limit, before=before, chosen=chosen, scope=caller.within)
    return page(request, shown, None if last is None else next_cursor(last))


def _requested(body: RunGiven, faults: RequestFaults) -> RunRequest:
    faults.names = {"bot_id": "agent_id"}
    named = (
        (DocumentKind.TEST_SET, body.test_set_id, body.test_set_version),
        (DocumentKind.DATASET, body.dataset_id, None),
        (DocumentKind.QUESTION_SET, body.question_set_id, body.question_set_version),
    )
    cases = tuple(document(kind, key, version) for kind, key, version in named if key)
    return run_request(body, cases, body.agent_id, faults)


async def _check_run(request: Request, given: RunGiven, faults: RequestFaults) -> None:
    requested, within = _requested(given, faults), request.state.caller.within
    await resolve_request(request.app.state.host, requested, within, faults, partial=True)


@router.post(
    "",
    status_code=202,
    responses={**answer(Run, 202), **errors(404, 409)},
    dependencies=also_checked(RunGiven, _check_run),
)
async def start_run(request: Request, caller: Runner, host: Hosted, body: RunGiven) -> Response:
    """Plan a run and queue it. It is a row before it is work: whatever becomes of the service, it is not forgotten."""
    faults = RequestFaults()
    requested = _requested(body, faults)
    queued = await submit_run(host, requested, caller.within, new_id(request), faults)
    if body.tags:
        await host.store.edit_run(queued.run.id, tags=list(dict.fromkeys(body.tags)))
    return await _shown(request, queued.run.id, caller, 202)


@router.get("/{run_id}", responses={**answer(Run), **errors(404)})
async def one_run(request: Request, run_id: RunId, caller: Reader) -> Response:
    """One run, with its counts as they are now."""
    return await _shown(request, run_id, caller)


@router.patch("/{run_id}", responses={**answer(Run), **errors(404)})
async def change_run(request: Request, run_id: RunId, caller: Writer, host: Hosted, body: RunChange) -> Response:
    """Its name and its tags; what is not sent, or null, stays as it is. Nothing else of a run changes."""
    run = await host.store.run(run_id, caller.within)
    tags = None if body.tags is None else list(dict.fromkeys(body.tags))
    await host.store.edit_run(run.id, name=body.name, tags=tags)
    return await _shown(request, run.id, caller)


@router.delete("/{run_id}", status_code=204, responses={204: {}, **errors(404, 409)})
async def delete_run(run_id: RunId, caller: RunDeleter, host: Hosted) -> Response:
    """The run and all its results."""
    await run_control.delete(host, run_id, caller.within)
    return Response(status_code=204)


class ResultPageQuery(OpenBody):
    """Which results of a run, and how many at a time."""

    verdict: Verdict | None = None
    candidate: str | None = Field(default=None, max_length=300, pattern=r"^[^\x00]*$")
    limit: int | None = Field(default=None, ge=1, le=LARGEST, description="The results of a page; none: all of them")
    cursor: Cursor = None
    envelope: bool = Field(default=False, description="A page as `items`, `total` and `next_cursor`")


@router.get(
    "/{run_id}/results", responses={**list_answer(Result, page=ResultEnvelope, headers=PAGE_HEADERS), **errors(404)}
)
async def list_results(
    request: Request, run_id: RunId, caller: Reader, host: Hosted, query: Annotated[ResultPageQuery, Query()]
) -> Response:
    """In the order of the cases: all of them, or a page where `limit`, `cursor` or `envelope` is sent."""
    run = await host.store.run(run_id, caller.within)
    after = read_number(query.cursor)
    chosen: dict[str, Any] = {"verdict": query.verdict, "candidate": query.candidate}
    if query.limit is None and query.cursor is None and not query.envelope:
        etag = await results_etag(host, run, "array", **chosen)
        pieces = await all_results(host, run, **chosen)
        return known_already(request, etag) or StreamingResponse(pieces, headers=etag_header(etag), media_type=JSON)
    limit = query.limit or RESULTS_PER_PAGE
    found = await host.store.results(run.id, after=after, limit=limit, **chosen)
    further = str(found[-1].position) if len(found) == limit else None
    total = await host.store.number_of_results(run.id, **chosen) if query.envelope else None
    shown = await asyncio.to_thread(lambda: [result_shape(run, each) for each in found])
    return page(request, shown, further, total)


async def all_results(host: Host, run: StoredRun, **chosen: Any) -> AsyncIterator[bytes]:
    """An array of the chosen results, piece by piece; refused where one answer cannot hold them."""
    number = await host.store.number_of_results(run.id, **chosen)
    if number > MOST_AT_ONCE:
        detail = f"{number:,} results are more than the {MOST_AT_ONCE:,} of one answer"
        raise HTTPException(422, f"{detail}: read pages of `results`, with `limit`, or `results.ndjson`")
    return _array(run, host.store.iterate(run.id, **chosen))


async def results_etag(
    host: Host, run: StoredRun, shown: Any, verdict: Verdict | None = None, candidate: str | None = None
) -> str:
    """Of an answer that is streamed, without making it; `shown` is what is answered besides results, and its format.
    Weak, as it may be compressed. "" while the run goes on, or where the store cannot tell what changed."""
    if run.state in LIVE_STATES:
        return ""
    stored = await host.store.results_digest(run.id, verdict=verdict, candidate=candidate)
    if stored is None:
        return ""
    parts = (__version__, run, stored, shown, verdict, candidate)
    return f'W/"{sha256(msgspec.json.encode(parts)).hexdigest()[:24]}"'


def etag_header(etag: str) -> dict[str, str]:
    return {"ETag": etag} if etag else {}


async def _array(run: StoredRun, results: AsyncIterator[StoredResult]) -> AsyncIterator[bytes]:
    """A JSON array, piece by piece, so that memory does not grow with the run."""
    pieces = [b"["]
    number = 0
    async for result in results:
        pieces += [b"," if number else b"", msgspec.json.encode(result_shape(run, result))]
        number += 1
        if number % RESULTS_PER_PAGE == 0:
            yield b"".join(pieces)
            pieces = []
    yield b"".join([*pieces, b"]"])


@router.get("/{run_id}/results/{result_id}", responses={**answer(Result), **errors(404, 409)})
async def one_result(
    run_id: RunId,
    result_id: Annotated[Key, Path(description="The result's id, or its case's")],
    caller: Reader,
    host: Hosted,
) -> Response:
    """One result, by its id or by its case's where that names only one."""
    run = await host.store.run(run_id, caller.within)
    return JsonAnswer(result_shape(run, await host.store.result(run.id, result_id)))


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


def _regrade_change(body: RegradeGiven) -> tuple[RunRequest, run_control.OtherVersions]:
    change = RunRequest(
        rubric=document(DocumentKind.RUBRIC, body.rubric_id, body.rubric_version),
        judge=body.eval_model or "",
        profile=body.profile or "",
        name=body.name or "",
    )
    return change, run_control.OtherVersions(body.test_set_version, None if body.rubric_id else body.rubric_version)


async def _check_regrade(request: Request, given: RegradeGiven, faults: RequestFaults) -> None:
    host, within = request.app.state.host, request.state.caller.within
    run = await host.store.run(request.path_params["run_id"], within)
    await run_control.find_regrade_parts(host, run, *_regrade_change(given), within, faults)


@router.post(
    "/{run_id}/regrade",
    status_code=202,
    responses={**answer(Run, 202), **errors(404, 409)},
    dependencies=also_checked(RegradeGiven, _check_regrade),
)
async def regrade_run(request: Request, run_id: RunId, caller: Runner, host: Hosted, body: RegradeGiven) -> Response:
    """A new run that grades the answers of this one again; the agent is not called."""
    change, versions = _regrade_change(body)
    queued = await run_control.regrade(host, run_id, change, caller.within, new_id(request), versions)
    return await _shown(request, queued.run.id, caller, 202)


async def _shown(request: Request, run_id: str, caller: Reader, status: int = 200) -> JsonAnswer:
    headers = {"Location": f"{PREFIX}/runs/{run_id}"} if status == 202 else None
    return JsonAnswer(await run_views_of(request).run(run_id, caller.within), status_code=status, headers=headers)


evaluation_router = APIRouter(tags=["evaluations"], route_class=StrictRoute)


async def _check_evaluation(request: Request, body: EvaluationGiven, faults: RequestFaults) -> None:
    """Everything but the conversations is what any run has; they are saved only when nothing else is wrong."""
    host, scope = request.app.state.host, request.state.caller.within
    test_set = document(DocumentKind.TEST_SET, body.test_set_id, body.test_set_version)
    held = {"criteria_from": test_set} if body.mode else {}
    requested = run_request(body, (test_set,) if test_set and not held else (), body.bot_id, faults, **held)
    with faults.of("conversation_ids"):
        if body.conversation_ids:
            await visible_results(host, list(dict.fromkeys(body.conversation_ids)), scope)
    await resolve_request(host, requested, scope, faults, partial=True)


@evaluation_router.post(
    "/evaluations",
    status_code=202,
    responses={**answer(Evaluation, 202), **errors(404, 409)},
    dependencies=also_checked(EvaluationGiven, _check_evaluation),
)
async def evaluate(request: Request, caller: Runner, host: Hosted, body: EvaluationGiven) -> Response:
    """Run a test set against a bot; with `mode: transcript`, hold finished conversations against all its criteria."""
    if (body.mode == "transcript") != bool(body.conversation_ids):
        detail = "`mode: transcript` and `conversation_ids` go together: the one says to grade the others"
        raise HTTPException(400, detail)
    idle = [name for name in ("target", "simulator", "initial_payload") if body.mode and getattr(body, name)]
    if idle:
        raise HTTPException(400, f"`mode: transcript` calls no agent: leave out {', '.join(idle)}")
    run_id, faults = new_id(request), RequestFaults()
    test_set = document(DocumentKind.TEST_SET, body.test_set_id, body.test_set_version)
    if body.conversation_ids:
        await _check_evaluation(request, body, faults)
        faults.refuse()
        by = Upload(content=b"", agent_id=body.bot_id, author=caller.name)
        saved = await save_conversations(host, body.conversation_ids, run_id, by, caller.within)
        conversations = document(DocumentKind.DATASET, saved.id)
        requested = run_request(body, (conversations,), body.bot_id, faults, test_set)
    else:
        requested = run_request(body, (test_set,), body.bot_id, faults)
    queued = await submit_run(host, requested, caller.within, run_id, faults)
    if body.tags:
        await host.store.edit_run(queued.run.id, tags=list(dict.fromkeys(body.tags)))
    if body.keep and not body.conversation_ids:
        await save_run_cases(host, queued.run, caller.name, caller.within)
    headers = {"Location": f"{PREFIX}/runs/{queued.run.id}"}
    return JsonAnswer(_evaluation_shape(queued, body), status_code=202, headers=headers)


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
        "warnings": [field_words(each) for each in queued.warnings],
    }


def _conversation(body: TranscriptGiven) -> FinishedConversation:
    return FinishedConversation(
        messages=tuple((each.role, each.content) for each in body.messages or ()),
        tool_calls=tuple(body.tool_calls),
        state=body.state,
        criteria=tuple(body.success_criteria),
        test_set_id=body.test_set_id or "",
        rubric_id=body.rubric_id or "",
        agent_id=body.bot_id or "",
        judge=body.eval_model or "",
        component_scope=body.component_scope or "",
        component_ids=tuple(body.component_ids),
    )


async def _check_transcript(request: Request, given: TranscriptGiven, faults: RequestFaults) -> None:
    # What is not well-formed may be what it is held against.
    finished = replace(_conversation(given), criteria=(*given.success_criteria, "unread"))
    await check_conversation(request.app.state.host, finished, request.state.caller.within, faults)


@evaluation_router.post(
    "/evaluate-transcript",
    responses={**answer(Result), **errors(404, 409)},
    dependencies=also_checked(TranscriptGiven, _check_transcript),
)
async def evaluate_transcript(caller: Runner, host: Hosted, body: TranscriptGiven) -> Response:
    """Grade one finished conversation now. Nothing is stored."""
    return JsonAnswer(await grade_conversation(host, _conversation(body), caller.within))


stream_router = APIRouter(tags=["runs"], route_class=StrictRoute)
LOOK_SECONDS = 0.5
KEY_CHECK_LOOKS = 4
"""After how many polls the listener's key is checked again: it may have been revoked."""
SILENCE_SECONDS = 15.0
LIVE = ("pending", "running")
EVENT = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "For `Last-Event-ID`"},
        "event": {"type": "string", "enum": ["progress", "end"]},
        "data": {"type": "string", "description": "The EvaluationRun, as JSON"},
    },
}
EVENTS: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {"schema": EVENT}}}, 204: {}}
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
    """Progress as it happens: an event `progress` with the run whenever it changes, and `end` when it has ended. Each
    has an id; whoever sends the last one as `Last-Event-ID` hears of what is new since, and 204 says that nothing will
    be: a browser then stops asking."""
    run_views = run_views_of(request)
    first = await run_views.run(run_id, caller.within)
    if first["status"] not in LIVE and request.headers.get("last-event-id") == _event_id("end", first):
        return Response(status_code=204)
    return StreamingResponse(_progress(request, run_views, first, caller), media_type="text/event-stream")


def _event_id(name: str, content: Json) -> str:
    """A digest of the event: a listener that has it does not get the event again."""
    return f"{name}-{sha256(msgspec.json.encode(content)).hexdigest()[:16]}"


async def _progress(request: Request, run_views: RunViews, run: Json, caller: Caller) -> AsyncIterator[bytes]:
    heard = request.headers.get("last-event-id", "")
    shown = run if heard == _event_id("progress", run) else None
    silent = 0.0
    looks = 0
    while not await request.is_disconnected():
        looks += 1
        if looks % KEY_CHECK_LOOKS == 0 and not await caller_still_valid(request.app.state.host, caller):
            return
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
    id = _event_id(name, content).encode()
    return b"event: " + name.encode() + b"\nid: " + id + b"\ndata: " + msgspec.json.encode(content) + b"\n\n"


@stream_router.get("/runs/{run_id}/results.ndjson", response_class=Response, responses={**RESULT_LINES, **errors(404)})
async def export(request: Request, run_id: RunId, caller: Exporter, host: Hosted) -> Response:
    """Every result of a run, one a line."""
    run = await host.store.run(run_id, caller.within)
    etag = await results_etag(host, run, "lines")

    async def lines() -> AsyncIterator[bytes]:
        async for result in host.store.iterate(run.id):
            yield msgspec.json.encode(result_shape(run, result)) + b"\n"

    media_type = "application/x-ndjson"
    return known_already(request, etag) or StreamingResponse(lines(), headers=etag_header(etag), media_type=media_type)


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
    return page(request, [result_shape(run, result) for run, result in found], further)


class StatsParameters(OpenBody):
    """Which runs, and what is counted."""

    group_by: Literal["rule", "failure_attribution"] = "rule"
    run_id: Key | None = None
    agent_id: Key | None = None
    since: Name | None = Field(default=None, description="A time; only runs created then or later")
    limit: int = Field(default=20, ge=1, le=100, description="How many runs, the newest first")


@stream_router.get("/stats", responses={**answer(wire.Stats), **errors(404)}, tags=["results"])
async def stats(caller: Reader, host: Hosted, query: Annotated[StatsParameters, Query()]) -> Response:
    """How often each rule held over the newest runs, or who was answerable for what did not pass."""
    number, groups = await run_stats(host.store, StatsQuery(**query.model_dump()), caller.within)
    return JsonAnswer({"group_by": query.group_by, "runs": number, "groups": groups})


@stream_router.get(
    "/org-evaluations", responses={**list_answer(wire.AgentStatus, headers=PAGE_HEADERS), **errors()}, tags=["results"]
)
async def org_evaluations(
    request: Request, caller: Reader, host: Hosted, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Every agent that was tried, by id, with its newest run that is complete."""
    after = read_cursor(cursor) or ""
    statuses = await agent_statuses(host.store, run_views_of(request), after, limit, caller.within)
    further = statuses[-1].agent_id if len(statuses) == limit else None
    return page(request, statuses, further)
