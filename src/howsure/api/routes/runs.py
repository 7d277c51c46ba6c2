"""Runs: list, start, look at, steer, and their results."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from howsure.api.access import Hosted, Reader, Runner, Writer
from howsure.api.errors import Answer
from howsure.api.idempotency import new_id
from howsure.api.ordering import order_of
from howsure.api.paging import PAGE_HEADERS, Cursor, Limit, number_in, page, place_in
from howsure.api.strict import StrictRoute
from howsure.api.wire.base import Key, errors
from howsure.api.wire.orders import RegradeGiven, RunGiven
from howsure.api.wire.runs import ResultShape, RunShape, Status
from howsure.model.job import Wish
from howsure.model.verdict import Verdict
from howsure.reports.wire import evaluation_result
from howsure.services.hosting import steering
from howsure.services.hosting.ordering import Order, order_run
from howsure.services.hosting.viewing import Gallery
from howsure.store.queries.runs import cursor as run_cursor

router = APIRouter(prefix="/runs", tags=["runs"], route_class=StrictRoute)
RunId = Annotated[Key, Path(description="The run's id")]


def gallery_of(request: Request) -> Gallery:
    gallery: Gallery = request.app.state.gallery
    return gallery


@router.get("", responses={200: {"model": list[RunShape], "headers": PAGE_HEADERS}, **errors()})
async def list_runs(
    request: Request,
    asking: Reader,
    agent_id: Annotated[Key | None, Query()] = None,
    status: Annotated[Status | None, Query()] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Response:
    """Newest first."""
    shown, last = await gallery_of(request).several(
        limit=limit, before=place_in(cursor), agent_id=agent_id, status=status, within=asking.within
    )
    return page(request, shown, None if last is None else run_cursor(last))


@router.post("", status_code=202, responses={202: {"model": RunShape}, **errors(404, 409)})
async def start_run(request: Request, asking: Runner, host: Hosted, body: RunGiven) -> Response:
    """Plan a run and queue it. It is a row before it is work: whatever becomes of the service, it is not forgotten."""
    order = order_of(
        body,
        agent_id=body.agent_id,
        dataset_id=body.dataset_id,
        question_set_id=body.question_set_id,
        test_set_id=body.test_set_id,
    )
    ordered = await order_run(host, order, asking.within, new_id(request))
    return await _shown(request, ordered.run.id, asking, 202)


@router.get("/{run_id}", responses={200: {"model": RunShape}, **errors(404)})
async def one_run(request: Request, run_id: RunId, asking: Reader) -> Response:
    """One run, with its counts as they are now."""
    return await _shown(request, run_id, asking)


@router.delete("/{run_id}", status_code=204, responses={204: {}, **errors(404, 409)})
async def delete_run(run_id: RunId, asking: Writer, host: Hosted) -> Response:
    """The run and all its results."""
    await steering.delete(host, run_id, asking.within)
    return Response(status_code=204)


@router.get("/{run_id}/results", responses={200: {"model": list[ResultShape], "headers": PAGE_HEADERS}, **errors(404)})
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
    after = number_in(cursor)
    found = await host.store.results(run.id, after=after, limit=limit, verdict=verdict, candidate=candidate)
    further = str(found[-1].position) if len(found) == limit else None
    return page(request, [evaluation_result(run, each) for each in found], further)


@router.get("/{run_id}/results/{result_id}", responses={200: {"model": ResultShape}, **errors(404, 409)})
async def one_result(
    run_id: RunId,
    result_id: Annotated[Key, Path(description="The result's id, or its case's")],
    asking: Reader,
    host: Hosted,
) -> Response:
    """One result, by its id or by its case's where that names only one."""
    run = await host.store.run(run_id, asking.within)
    return Answer(evaluation_result(run, await host.store.result(run.id, result_id)))


@router.post("/{run_id}/cancel", responses={200: {"model": RunShape}, **errors(404, 409)})
async def cancel_run(request: Request, run_id: RunId, asking: Runner, host: Hosted) -> Response:
    """Stop it for good; what is finished stays finished, and it can still be resumed."""
    await steering.stop(host, run_id, Wish.CANCEL, asking.within)
    return await _shown(request, run_id, asking)


@router.post("/{run_id}/pause", responses={200: {"model": RunShape}, **errors(404, 409)})
async def pause_run(request: Request, run_id: RunId, asking: Runner, host: Hosted) -> Response:
    """Stop it until it is resumed."""
    await steering.stop(host, run_id, Wish.PAUSE, asking.within)
    return await _shown(request, run_id, asking)


@router.post("/{run_id}/resume", status_code=202, responses={202: {"model": RunShape}, **errors(404, 409)})
async def resume_run(request: Request, run_id: RunId, asking: Runner, host: Hosted) -> Response:
    """Go on where it stopped; finished cases are not tried again."""
    await steering.go_on(host, run_id, asking.within)
    return await _shown(request, run_id, asking, 202)


@router.post("/{run_id}/retry", status_code=202, responses={202: {"model": RunShape}, **errors(404, 409)})
async def retry_run(request: Request, run_id: RunId, asking: Runner, host: Hosted) -> Response:
    """Try the errored cases again."""
    await steering.retry(host, run_id, asking.within)
    return await _shown(request, run_id, asking, 202)


@router.post("/{run_id}/regrade", status_code=202, responses={202: {"model": RunShape}, **errors(404, 409)})
async def regrade_run(request: Request, run_id: RunId, asking: Runner, host: Hosted, body: RegradeGiven) -> Response:
    """A new run that grades the answers of this one again; the agent is not called."""
    change = Order(
        rubric_id=body.rubric_id or "",
        rubric_version=body.rubric_version,
        judge=body.eval_model or "",
        profile=body.profile or "",
        name=body.name or "",
    )
    ordered = await steering.regrade(host, run_id, change, asking.within, new_id(request))
    return await _shown(request, ordered.run.id, asking, 202)


async def _shown(request: Request, run_id: str, asking: Reader, status: int = 200) -> Answer:
    return Answer(await gallery_of(request).run(run_id, asking.within), status_code=status)
