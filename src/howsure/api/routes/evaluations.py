"""Evaluations: a run over a test set, in one request; and one finished conversation, graded on the spot."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from howsure.api.access import Hosted, Runner
from howsure.api.errors import Answer, Refused
from howsure.api.idempotency import new_id
from howsure.api.ordering import order_of
from howsure.api.strict import StrictRoute
from howsure.api.wire.base import errors
from howsure.api.wire.orders import EvaluationGiven, TranscriptGiven
from howsure.api.wire.runs import EvaluationShape, ResultShape
from howsure.model.run import Run
from howsure.reports.run_wire import dataset_id_of
from howsure.services.hosting.conversations import gathered
from howsure.services.hosting.keeping import keep_cases
from howsure.services.hosting.ordering import Ordered, order_run
from howsure.services.hosting.transcripts import Finished, graded
from howsure.services.hosting.uploads import Upload

router = APIRouter(tags=["evaluations"], route_class=StrictRoute)


@router.post("/evaluations", status_code=202, responses={202: {"model": EvaluationShape}, **errors(404, 409)})
async def evaluate(request: Request, asking: Runner, host: Hosted, body: EvaluationGiven) -> Response:
    """Run a test set against a bot; with `mode: transcript`, hold finished conversations against all its criteria."""
    _check_mode(body)
    run_id = new_id(request)
    order = order_of(body, agent_id=body.bot_id, test_set_id=body.test_set_id, test_set_version=body.test_set_version)
    if body.conversation_ids:
        by = Upload(content=b"", agent_id=body.bot_id, author=asking.name)
        kept = await gathered(host, body.conversation_ids, run_id, by, asking.within)
        order = order_of(
            body,
            agent_id=body.bot_id,
            test_set_id=body.test_set_id,
            test_set_version=body.test_set_version,
            conversations_id=kept.id,
        )
    ordered = await order_run(host, order, asking.within, run_id)
    if body.keep and not body.conversation_ids:
        await keep_cases(host, ordered.run, asking.name, asking.within)
    return Answer(_shape(ordered, body), status_code=202)


def _check_mode(body: EvaluationGiven) -> None:
    if (body.mode == "transcript") != bool(body.conversation_ids):
        detail = "`mode: transcript` and `conversation_ids` go together: the one says to grade the others"
        raise Refused(400, "bad_request", detail)


def _shape(ordered: Ordered, body: EvaluationGiven) -> dict[str, Any]:
    run = ordered.run
    return {
        "run_id": run.id,
        "dataset_id": dataset_id_of(run.pins),
        "config_id": body.config_id,
        "status": "pending",
        "total": run.counts.total,
        "items_count": _cases(run),
        "rules_count": len(run.pins.rubric.rules) if run.pins.rubric else 0,
        "component_scope_filter": run.pins.component_scope or None,
        "component_ids_filter": list(run.pins.component_ids),
        "warnings": list(ordered.warnings),
    }


def _cases(run: Run) -> int:
    return run.counts.total // (run.pins.repeat * (len(run.pins.candidates) or 1))


@router.post("/evaluate-transcript", responses={200: {"model": ResultShape}, **errors(404, 409)})
async def evaluate_transcript(asking: Runner, host: Hosted, body: TranscriptGiven) -> Response:
    """Grade one finished conversation now. Nothing is stored."""
    finished = Finished(
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
    return Answer(await graded(host, finished, asking.within))
