"""Runs: list, start, look at, steer, and their results."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from howsure.api.access import Hosted, Reader, Runner, Writer
from howsure.api.bodies import Key, RegradeGiven, RunGiven
from howsure.api.errors import JsonAnswer
from howsure.api.ordering import run_request
from howsure.api.pages import PAGE_HEADERS, Cursor, Limit, page, read_cursor, read_number
from howsure.api.requests import StrictRoute, new_id
from howsure.api.schemas import answer, errors, list_answer
from howsure.model.document import DocumentKind
from howsure.model.job import RequestedState
from howsure.model.run_request import RunRequest
from howsure.model.verdict import Verdict
from howsure.reports.result_wire import evaluation_result
from howsure.services.host import run_control
from howsure.services.host.run_requests import document, submit_run
from howsure.services.host.run_views import RunViews
from howsure.store.pages import next_cursor
from howsure.wire.results import Result
from howsure.wire.runs import Run

router = APIRouter(prefix="/runs", tags=["runs"], route_class=StrictRoute)
StatusName = Literal["pending", "running", "completed", "failed"]
RunId = Annotated[Key, Path(description="The run's id")]


def gallery_of(request: Request) -> RunViews:
    gallery: RunViews = request.app.state.gallery
    return gallery


@router.get("", responses={**list_answer(Run, headers=PAGE_HEADERS), **errors()})
async def list_runs(
    request: Request,
    asking: Reader,
    agent_id: Annotated[Key | None, Query()] = None,
    status: Annotated[StatusName | None, Query()] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Response:
    """Newest first."""
    shown, last = await gallery_of(request).page(
        limit=limit, before=read_cursor(cursor), agent_id=agent_id, status=status, within=asking.within
    )
    return page(request, shown, None if last is None else next_cursor(last))


@router.post("", status_code=202, responses={**answer(Run, 202), **errors(404, 409)})
async def start_run(request: Request, asking: Runner, host: Hosted, body: RunGiven) -> Response:
    """Plan a run and queue it. It is a row before it is work: whatever becomes of the service, it is not forgotten."""
    named = (
        (DocumentKind.TEST_SET, body.test_set_id),
        (DocumentKind.DATASET, body.dataset_id),
        (DocumentKind.QUESTION_SET, body.question_set_id),
    )
    cases = tuple(document(kind, key) for kind, key in named if key)
    wanted = run_request(body, cases, body.agent_id)
    ordered = await submit_run(host, wanted, asking.within, new_id(request))
    return await _shown(request, ordered.run.id, asking, 202)


@router.get("/{run_id}", responses={**answer(Run), **errors(404)})
async def one_run(request: Request, run_id: RunId, asking: Reader) -> Response:
    """One run, with its counts as they are now."""
    return await _shown(request, run_id, asking)


@router.delete("/{run_id}", status_code=204, responses={204: {}, **errors(404, 409)})
async def delete_run(run_id: RunId, asking: Writer, host: Hosted) -> Response:
    """The run and all its results."""
    await run_control.delete(host, run_id, asking.within)
    return Response(status_code=204)


@router.get("/{run_id}/results", responses={**list_answer(Result, headers=PAGE_HEADERS), **errors(404)})
async def list_results(
    request: Request,
    run_id: RunId,
    asking: Reader,
    host: Hosted,
    verdict: Annotated[Verdict | None, Query()] = None,
    candidate: Annotated[str | None, Query(max_length=300, pattern=r"^[^\x00]*$")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """In the order of the cases."""
    run = await host.store.run(run_id, asking.within)
    after = read_number(cursor)
    found = await host.store.results(run.id, after=after, limit=limit, verdict=verdict, candidate=candidate)
    further = str(found[-1].position) if len(found) == limit else None
    return page(request, [evaluation_result(run, each) for each in found], further)


@router.get("/{run_id}/results/{result_id}", responses={**answer(Result), **errors(404, 409)})
async def one_result(
    run_id: RunId,
    result_id: Annotated[Key, Path(description="The result's id, or its case's")],
    asking: Reader,
    host: Hosted,
) -> Response:
    """One result, by its id or by its case's where that names only one."""
    run = await host.store.run(run_id, asking.within)
    return JsonAnswer(evaluation_result(run, await host.store.result(run.id, result_id)))


@router.post("/{run_id}/cancel", responses={**answer(Run), **errors(404, 409)})
async def cancel_run(request: Request, run_id: RunId, asking: Runner, host: Hosted) -> Response:
    """Stop it for good; what is finished stays finished, and it can still be resumed."""
    await run_control.stop(host, run_id, RequestedState.CANCEL, asking.within)
    return await _shown(request, run_id, asking)


@router.post("/{run_id}/pause", responses={**answer(Run), **errors(404, 409)})
async def pause_run(request: Request, run_id: RunId, asking: Runner, host: Hosted) -> Response:
    """Stop it until it is resumed."""
    await run_control.stop(host, run_id, RequestedState.PAUSE, asking.within)
    return await _shown(request, run_id, asking)


@router.post("/{run_id}/resume", status_code=202, responses={**answer(Run, 202), **errors(404, 409)})
async def resume_run(request: Request, run_id: RunId, asking: Runner, host: Hosted) -> Response:
    """Go on where it stopped; finished cases are not tried again."""
    await run_control.resume(host, run_id, asking.within)
    return await _shown(request, run_id, asking, 202)


@router.post("/{run_id}/retry", status_code=202, responses={**answer(Run, 202), **errors(404, 409)})
async def retry_run(request: Request, run_id: RunId, asking: Runner, host: Hosted) -> Response:
    """Try the errored cases again."""
    await run_control.retry(host, run_id, asking.within)
    return await _shown(request, run_id, asking, 202)


@router.post("/{run_id}/regrade", status_code=202, responses={**answer(Run, 202), **errors(404, 409)})
async def regrade_run(request: Request, run_id: RunId, asking: Runner, host: Hosted, body: RegradeGiven) -> Response:
    """A new run that grades the answers of this one again; the agent is not called."""
    change = RunRequest(
        rubric=document(DocumentKind.RUBRIC, body.rubric_id, body.rubric_version),
        judge=body.eval_model or "",
        profile=body.profile or "",
        name=body.name or "",
    )
    ordered = await run_control.regrade(host, run_id, change, asking.within, new_id(request))
    return await _shown(request, ordered.run.id, asking, 202)


async def _shown(request: Request, run_id: str, asking: Reader, status: int = 200) -> JsonAnswer:
    return JsonAnswer(await gallery_of(request).run(run_id, asking.within), status_code=status)
