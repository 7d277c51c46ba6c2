"""Labels: what people say of a run's grades, one by one, and how far they agree with the judge and each other."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from howsure.api.access import Hosted, Reader, Writer
from howsure.api.errors import Answer, Refused
from howsure.api.paging import PAGE_HEADERS, Cursor, Limit, page, place_in
from howsure.api.routes.runs import RunId
from howsure.api.strict import StrictRoute
from howsure.api.wire.base import Key, Label, errors
from howsure.api.wire.labels import ConcordShape, LabelGiven, LabelShape
from howsure.model.label import HumanLabel, Opinion
from howsure.reports.figures import Rate, utc
from howsure.services.hosting.agreeing import Agreement, Together
from howsure.services.hosting.callers import Caller
from howsure.services.hosting.concord import Concord, concord
from howsure.services.hosting.host import Host
from howsure.services.hosting.labelling import Said, as_lines
from howsure.services.hosting.opinions import About, say
from howsure.store.service.keys import Scope
from howsure.store.service.labels import LabelListing, cursor

router = APIRouter(tags=["labels"], route_class=StrictRoute)
LabelId = Annotated[Key, Path(description="The `label_id`, as lists give it")]
Labeler = Annotated[Label | None, Query(description="Only of this person")]
LISTED: dict[str, Any] = {"model": list[LabelShape], "headers": PAGE_HEADERS}
LINES: dict[str, Any] = {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}


@router.get("/labels", responses={200: LISTED, **errors()})
async def list_labels(
    request: Request,
    asking: Reader,
    host: Hosted,
    agent_id: Annotated[Key | None, Query()] = None,
    labeler: Labeler = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Of every run, newest first; a label outlives its run."""
    wanted = LabelListing(limit=limit, before=place_in(cursor), agent_id=agent_id, labeler=labeler)
    return await _page(request, host, wanted, asking)


@router.get("/runs/{run_id}/labels", responses={200: LISTED, **errors(404)})
async def list_run_labels(
    request: Request,
    run_id: RunId,
    asking: Reader,
    host: Hosted,
    labeler: Labeler = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Of one run, newest first."""
    run = await host.store.run(run_id, asking.within)
    wanted = LabelListing(limit=limit, before=place_in(cursor), run_id=run.id, labeler=labeler)
    return await _page(request, host, wanted, asking)


@router.post("/runs/{run_id}/labels", status_code=201, responses={201: {"model": LabelShape}, **errors(404, 409)})
async def give_label(run_id: RunId, asking: Writer, host: Hosted, body: LabelGiven) -> Response:
    """Say pass or fail of one grade. Saying something else of it later replaces this."""
    run = await host.store.run(run_id, asking.within)
    about = About(result_id=body.result_id, grader=body.grader, criterion_id=body.criterion_id or "")
    said = Said(Opinion(body.opinion), (body.why or "").strip(), body.blind)
    return Answer(_shape(await say(host.store, run, about, _labeler(asking, body.labeler), said)), status_code=201)


@router.delete("/runs/{run_id}/labels/{label_id}", status_code=204, responses={204: {}, **errors(404)})
async def take_label_back(run_id: RunId, label_id: LabelId, asking: Writer, host: Hosted) -> Response:
    """One's own; an admin takes back anybody's."""
    found = await host.store.labels.one(run_id, label_id, asking.within)
    _labeler(asking, found.labeler)
    await host.store.labels.remove(found)
    return Response(status_code=204)


@router.get("/runs/{run_id}/agreement", responses={200: {"model": ConcordShape}, **errors(404)})
async def label_agreement(run_id: RunId, asking: Reader, host: Hosted) -> Response:
    """How far people agree with the judge, over all graders and by each; and with each other."""
    run = await host.store.run(run_id, asking.within)
    found = await concord(host.store, run, await host.store.labels.of_run(run.id, asking.within))
    return Answer({"run_id": run.id, "judge": run.pins.judge or None, **_concord(found)})


@router.get("/runs/{run_id}/labels.ndjson", response_class=Response, responses={200: LINES, **errors(404)})
async def label_file(run_id: RunId, asking: Reader, host: Hosted) -> Response:
    """The file that `howsure judge calibrate` reads: every pass and fail, one a line."""
    run = await host.store.run(run_id, asking.within)
    content = as_lines(await host.store.labels.of_run(run.id, asking.within))
    return Response(content, media_type="application/x-ndjson")


async def _page(request: Request, host: Host, wanted: LabelListing, asking: Caller) -> Answer:
    found = await host.store.labels.several(wanted, asking.within)
    further = cursor(found, wanted.before) if len(found) == wanted.limit else None
    return page(request, [_shape(label) for label in found], further)


def _labeler(asking: Caller, wanted: str | None) -> str:
    """Whose word it is. Nobody speaks for others but those who look after the service."""
    if wanted is None or wanted == asking.name or asking.may(Scope.ADMIN):
        return wanted or asking.name
    raise Refused(403, "forbidden", f"this key speaks for {asking.name!r} alone: for others it needs the scope 'admin'")


def _shape(label: HumanLabel) -> dict[str, Any]:
    return {
        "label_id": label.id,
        "run_id": label.run_id,
        "result_id": label.result_id,
        "test_case_id": label.case_id,
        "candidate": label.candidate,
        "repeat": label.repeat,
        "grader": label.grader,
        "criterion_id": label.part_id or None,
        "labeler": label.labeler,
        "opinion": label.opinion.value,
        "passed": label.opinion.passed,
        "why": label.why,
        "blind": label.blind,
        "agent_id": label.agent_id or None,
        "created_at": utc(label.created_at),
    }


def _concord(found: Concord) -> dict[str, Any]:
    return {
        "labels": found.labels,
        "compared": found.compared,
        "people": found.people,
        "opinions": found.opinions,
        "overall": _agreement(found.overall),
        "graders": {name: _agreement(each) for name, each in found.graders.items()},
        "together": None if found.together is None else _together(found.together),
    }


def _agreement(found: Agreement) -> dict[str, Any]:
    rate = Rate(found.agreed, found.n)
    both, only_people, only_judge, neither = found.table
    confusion = {
        "both_pass": both,
        "people_pass_judge_fail": only_people,
        "people_fail_judge_pass": only_judge,
        "both_fail": neither,
        "people_pass_judge_silent": found.silent[0],
        "people_fail_judge_silent": found.silent[1],
    }
    return {
        "n": found.n,
        "agreed": found.agreed,
        "agreement": rate.value,
        "agreement_interval": rate.interval,
        "kappa": found.kappa,
        "kappa_interval": found.interval,
        "confusion": confusion,
    }


def _together(found: Together) -> dict[str, Any]:
    return {"people": found.people, "grades": found.things, "agreed": found.agreed, "alpha": found.alpha}
