"""Evaluations: a run over a test set, in one request; and one finished conversation, graded on the spot."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from howsure.api.access import Hosted, Runner
from howsure.api.bodies import EvaluationGiven, TranscriptGiven
from howsure.api.errors import JsonAnswer, RequestRefusal
from howsure.api.ordering import run_request
from howsure.api.requests import StrictRoute, new_id
from howsure.api.schemas import answer, errors
from howsure.model.document import DocumentKind
from howsure.model.run import Run
from howsure.reports.run_wire import dataset_id_of
from howsure.services.host.conversations import FinishedConversation, grade_conversation, save_conversations
from howsure.services.host.run_requests import QueuedRun, document, submit_run
from howsure.services.host.uploads import Upload, save_run_cases
from howsure.wire.results import Result
from howsure.wire.runs import Evaluation

evaluation_router = APIRouter(tags=["evaluations"], route_class=StrictRoute)


@evaluation_router.post("/evaluations", status_code=202, responses={**answer(Evaluation, 202), **errors(404, 409)})
async def evaluate(request: Request, asking: Runner, host: Hosted, body: EvaluationGiven) -> Response:
    """Run a test set against a bot; with `mode: transcript`, hold finished conversations against all its criteria."""
    _check_mode(body)
    run_id = new_id(request)
    test_set = document(DocumentKind.TEST_SET, body.test_set_id, body.test_set_version)
    wanted = run_request(body, (test_set,), body.bot_id)
    if body.conversation_ids:
        by = Upload(content=b"", agent_id=body.bot_id, author=asking.name)
        kept = await save_conversations(host, body.conversation_ids, run_id, by, asking.within)
        conversations = document(DocumentKind.DATASET, kept.id)
        wanted = run_request(body, (conversations,), body.bot_id, criteria_from=test_set)
    ordered = await submit_run(host, wanted, asking.within, run_id)
    if body.keep and not body.conversation_ids:
        await save_run_cases(host, ordered.run, asking.name, asking.within)
    return JsonAnswer(_evaluation_shape(ordered, body), status_code=202)


def _check_mode(body: EvaluationGiven) -> None:
    if (body.mode == "transcript") != bool(body.conversation_ids):
        detail = "`mode: transcript` and `conversation_ids` go together: the one says to grade the others"
        raise RequestRefusal(400, "bad_request", detail)


def _evaluation_shape(ordered: QueuedRun, body: EvaluationGiven) -> dict[str, Any]:
    run = ordered.run
    return {
        "run_id": run.id,
        "dataset_id": dataset_id_of(run.pins),
        "config_id": body.config_id,
        "status": "pending",
        "total": run.counts.total,
        "items_count": _cases(run),
        "rules_count": len(run.pins.rubric.rules) if run.pins.rubric else 0,
        "component_scope_filter": run.pins.request.component_scope or None,
        "component_ids_filter": list(run.pins.request.component_ids),
        "warnings": list(ordered.warnings),
    }


def _cases(run: Run) -> int:
    return run.counts.total // (run.pins.request.repeat * (len(run.pins.request.candidates) or 1))


@evaluation_router.post("/evaluate-transcript", responses={**answer(Result), **errors(404, 409)})
async def evaluate_transcript(asking: Runner, host: Hosted, body: TranscriptGiven) -> Response:
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
    return JsonAnswer(await grade_conversation(host, finished, asking.within))
