"""Labels: what people say of a run's grades, one by one, and how far they agree with the judge and each other."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request
from msgspec.structs import asdict
from starlette.exceptions import HTTPException
from starlette.responses import Response

from howsure.api.access import Exporter, Hosted, Labeller, Reader
from howsure.api.bodies import Key, LabelGiven, NonBlankName
from howsure.api.errors import JsonAnswer
from howsure.api.pages import PAGE_HEADERS, Cursor, Limit, page, read_cursor
from howsure.api.requests import StrictRoute, also_checked
from howsure.api.routes.runs import RunId
from howsure.api.schemas import answer, errors, list_answer
from howsure.model.calibration import VerdictFigures
from howsure.model.label import Opinion
from howsure.model.result import result_id
from howsure.model.run import Run
from howsure.services.host.agreement import RunAgreement, measure_agreement
from howsure.services.host.keys import Caller
from howsure.services.host.label_draws import draw_questions
from howsure.services.host.labels import (
    GradeReference,
    LabelInput,
    LabelQuestion,
    find_grade,
    label_shape,
    save_label,
    write_label_lines,
)
from howsure.services.host.request_checks import RequestFaults
from howsure.services.host.roles import Permission
from howsure.services.judge.draw_labels import DrawKind
from howsure.services.workspace import Host
from howsure.store.labels import LabelQuery, label_cursor
from howsure.wire import labels as wire

router = APIRouter(tags=["labels"], route_class=StrictRoute)
LabelId = Annotated[Key, Path(description="The `label_id`, as lists give it")]
Labeler = Annotated[NonBlankName | None, Query(description="Only of this person")]
LINES: dict[str, Any] = {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}


@router.get("/labels", responses={**list_answer(wire.HumanLabel, headers=PAGE_HEADERS), **errors()})
async def list_labels(
    request: Request,
    caller: Reader,
    host: Hosted,
    agent_id: Annotated[Key | None, Query()] = None,
    labeler: Labeler = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Of every run, newest first; a label outlives its run."""
    query = LabelQuery(limit=limit, before=read_cursor(cursor), agent_id=agent_id, labeler=labeler)
    return await _page(request, host, query, caller)


@router.get("/runs/{run_id}/labels", responses={**list_answer(wire.HumanLabel, headers=PAGE_HEADERS), **errors(404)})
async def list_run_labels(
    request: Request,
    run_id: RunId,
    caller: Reader,
    host: Hosted,
    labeler: Labeler = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Of one run, newest first."""
    run = await host.store.run(run_id, caller.within)
    query = LabelQuery(limit=limit, before=read_cursor(cursor), run_id=run.id, labeler=labeler)
    return await _page(request, host, query, caller)


@router.get("/runs/{run_id}/labels/next", responses={**list_answer(wire.LabelTask), **errors(404)})
async def next_labels(
    run_id: RunId,
    caller: Reader,
    host: Hosted,
    number: Annotated[int, Query(ge=1, le=1000, description="How many answers")] = 20,
    by: Annotated[
        Literal["random", "verdict", "doubt"],
        Query(description="What makes an answer more likely: nothing, a rare verdict, a grade near its pass mark"),
    ] = "verdict",
) -> Response:
    """What to label next: answers that are drawn at random and have no label yet."""
    run = await host.store.run(run_id, caller.within)
    drawn = await draw_questions(host.store, run, number, DrawKind(by))
    return JsonAnswer([_task(run, each) for each in drawn.questions])


async def _check_label(request: Request, given: LabelGiven, faults: RequestFaults) -> None:
    store = request.app.state.host.store
    run = await store.run(request.path_params["run_id"], request.state.caller.within)
    with faults.of("result_id"):
        result = await store.result(run.id, given.result_id) if given.result_id else None
        with faults.of(""):
            if result and given.grader:
                find_grade(
                    result, GradeReference(result_id="", grader=given.grader, criterion_id=given.criterion_id or "")
                )


@router.post(
    "/runs/{run_id}/labels",
    status_code=201,
    responses={**answer(wire.HumanLabel, 201), **errors(404, 409)},
    dependencies=also_checked(LabelGiven, _check_label),
)
async def give_label(run_id: RunId, caller: Labeller, host: Hosted, body: LabelGiven) -> Response:
    """Say pass or fail of one grade. Saying something else of it later replaces this."""
    run = await host.store.run(run_id, caller.within)
    about = GradeReference(result_id=body.result_id, grader=body.grader, criterion_id=body.criterion_id or "")
    opinion = LabelInput(Opinion(body.opinion), (body.why or "").strip(), body.blind, body.drawn)
    label = await save_label(host.store, run, about, _labeler(caller, body.labeler), opinion)
    return JsonAnswer(label_shape(label), status_code=201)


@router.delete("/runs/{run_id}/labels/{label_id}", status_code=204, responses={204: {}, **errors(404)})
async def take_label_back(run_id: RunId, label_id: LabelId, caller: Labeller, host: Hosted) -> Response:
    """One's own; an admin takes back anybody's."""
    label = await host.store.labels.one(run_id, label_id, caller.within)
    _labeler(caller, label.labeler)
    await host.store.labels.remove(label)
    return Response(status_code=204)


@router.get("/runs/{run_id}/agreement", responses={**answer(wire.RunAgreement), **errors(404)})
async def label_agreement(run_id: RunId, caller: Reader, host: Hosted) -> Response:
    """How far people agree with the judge, over all graders and by each; and with each other."""
    run = await host.store.run(run_id, caller.within)
    agreement = await measure_agreement(host.store, run, await host.store.labels.of_run(run.id, caller.within))
    return JsonAnswer({"run_id": run.id, "judge": run.pins.request.judge or None, **_run_agreement(agreement)})


@router.get("/runs/{run_id}/labels.ndjson", response_class=Response, responses={200: LINES, **errors(404)})
async def label_file(run_id: RunId, caller: Exporter, host: Hosted) -> Response:
    """The file that `howsure judge calibrate` reads: every pass and fail, one a line."""
    run = await host.store.run(run_id, caller.within)
    content = write_label_lines(await host.store.labels.of_run(run.id, caller.within))
    return Response(content, media_type="application/x-ndjson")


async def _page(request: Request, host: Host, query: LabelQuery, caller: Caller) -> JsonAnswer:
    listed = await host.store.labels.several(query, caller.within)
    further = label_cursor(listed, query.before) if len(listed) == query.limit else None
    return page(request, [label_shape(label) for label in listed], further)


def _labeler(caller: Caller, name: str | None) -> str:
    """The labeler. Only an admin may label in the name of another."""
    if name is None or name == caller.name or caller.may(Permission.LABEL_FOR_OTHERS):
        return name or caller.name
    raise HTTPException(403, f"this key speaks for {caller.name!r} alone: for others it needs the scope 'admin'")


def _task(run: Run, question: LabelQuestion) -> dict[str, Any]:
    result, part = question.result, question.grade.part
    return {
        "result_id": str(result_id(UUID(run.id), result.case.id, result.candidate, result.repeat)),
        "test_case_id": result.case.id,
        "candidate": result.candidate,
        "repeat": result.repeat,
        "grader": question.grade.name,
        "criterion_id": part.id if part else None,
        "question": part.text if part else f"Does it pass on {question.grade.name}?",
        "drawn": question.drawn,
    }


def _run_agreement(agreement: RunAgreement) -> dict[str, Any]:
    graders = {name: _agreement(each) for name, each in agreement.graders.items()}
    return {**asdict(agreement), "overall": _agreement(agreement.overall), "graders": graders}


def _agreement(figures: VerdictFigures) -> dict[str, Any]:
    passed, failed = figures.confusion["pass"], figures.confusion["fail"]
    return {
        "n": figures.agreement.n,
        "agreed": figures.agreed,
        "agreement": figures.agreement.value,
        "agreement_interval": figures.agreement.interval,
        "kappa": figures.kappa.value,
        "kappa_interval": figures.kappa.interval,
        "confusion": {
            "both_pass": passed["pass"],
            "people_pass_judge_fail": passed["fail"],
            "people_fail_judge_pass": failed["pass"],
            "both_fail": failed["fail"],
            "people_pass_judge_silent": passed["none"],
            "people_fail_judge_silent": failed["none"],
        },
    }
