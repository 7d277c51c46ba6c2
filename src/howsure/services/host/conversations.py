"""Finished conversations, graded without calling the agent: one that a request brings along, planned like a run of one
case and not stored; or those of stored results, saved as a dataset that a run can grade."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from howsure.dialects.finished_items import finished_transcript
from howsure.engine.attempt import attempt
from howsure.errors import NotFound, PlanRefused
from howsure.model.access_scope import AccessScope
from howsure.model.case import Case, Script
from howsure.model.document import Document, DocumentKind
from howsure.model.result import Result, result_id
from howsure.model.run_request import RunRequest
from howsure.model.transcript import Role, Transcript
from howsure.services.host.document_files import reference_to
from howsure.services.host.documents import document_body, find_document, require_agent
from howsure.services.host.request_checks import RequestFaults, check_agent_known, permanent_faults
from howsure.services.host.run_requests import allowed_judge
from howsure.services.host.stats import result_shape
from howsure.services.host.uploads import Upload, check_upload
from howsure.services.run.execute import new_run, refuse_spent_budget, utc_now
from howsure.services.run.judges import judge_models
from howsure.services.run.recorded_answers import stored_conversations
from howsure.services.run.start import plan_request
from howsure.services.workspace import Host

Json = dict[str, Any]
SIMULATION = "simulation"


class FinishedConversation(Struct, frozen=True, kw_only=True):
    """Messages, tool calls and the final state, and what they are graded by: criteria, a rubric, or both."""

    messages: tuple[tuple[str, str], ...]
    tool_calls: tuple[Json, ...] = ()
    state: Json | None = None
    criteria: tuple[str, ...] = ()
    test_set_id: str = ""
    rubric_id: str = ""
    agent_id: str = ""
    judge: str = ""
    component_scope: str = ""
    component_ids: tuple[str, ...] = ()


async def check_conversation(
    host: Host, finished: FinishedConversation, scope: AccessScope, faults: RequestFaults
) -> tuple[tuple[str, ...], RunRequest]:
    """The criteria, those of the test set too, and what to run."""
    criteria = finished.criteria
    with faults.of("test_set_id"):
        if finished.test_set_id:
            test_set = await host.store.documents.get(DocumentKind.TEST_SET, finished.test_set_id, within=scope)
            expected = [item.get("expected", {}) for item in document_body(test_set).get("items", ())]
            criteria += tuple(text for each in expected for text in each.get("success_criteria", ()))
    with faults.of("success_criteria"):
        if not criteria and not finished.rubric_id and not finished.test_set_id:
            wanted = "success_criteria, a test_set_id or a rubric_id"
            raise PlanRefused(f"there is nothing to hold the conversation against: give {wanted}")
    with faults.of("tool_calls"):
        build_transcript(finished)
    return criteria, await _run_request(host, finished, scope, faults)


async def grade_conversation(host: Host, finished: FinishedConversation, scope: AccessScope) -> Json:
    """The EvaluationResult."""
    faults = RequestFaults()
    criteria, request = await check_conversation(host, finished, scope, faults)
    faults.refuse()
    if not criteria and not finished.rubric_id:
        raise PlanRefused("test_set_id: its items have no success_criteria, and no rubric_id was sent")
    with TemporaryDirectory() as folder:
        dataset, criteria_file = await asyncio.to_thread(_write_files, host, finished, criteria, Path(folder))
        request = replace(request, datasets=(dataset,), criteria_from=criteria_file)
        began, before = utc_now(), perf_counter()
        async with AsyncExitStack() as stack:
            with permanent_faults():
                plan = await plan_request(host.work, host.store, request, began, stack, scope)
            if plan.models.spent() is not None:
                await refuse_spent_budget(host.rules, host.store, scope.home)
            run = new_run(plan, began)
            result = await attempt(next(plan.cases.read()), plan.candidates[0], plan.rules)
        took = (perf_counter() - before) * 1000
        return result_shape(run, replace(result, created_at=began, duration_ms=took))


async def _run_request(
    host: Host, finished: FinishedConversation, scope: AccessScope, faults: RequestFaults
) -> RunRequest:
    rubric = judge = ""
    with faults.of("rubric_id"):
        if finished.rubric_id:
            found = await host.store.documents.get(DocumentKind.RUBRIC, finished.rubric_id, within=scope)
            rubric = str(reference_to(found))
    # Without a description of the agent only its messages are judged.
    agent = await find_document(host, DocumentKind.AGENT, finished.agent_id, scope)
    with faults.of("bot_id"):
        check_agent_known(host, finished.agent_id, agent)
    with faults.of("eval_model"), permanent_faults():
        judge = allowed_judge(host, finished.judge, scope)
        judge_models(host.work, RunRequest(datasets=(), judge=judge))
    return RunRequest(
        datasets=(),
        rubric=rubric,
        agent=str(reference_to(agent)) if agent else "",
        judge=judge,
        component_scope=finished.component_scope,
        component_ids=finished.component_ids,
    )


def _write_files(
    host: Host, finished: FinishedConversation, criteria: tuple[str, ...], folder: Path
) -> tuple[str, str]:
    """The paths of the conversation as a dataset and of the criteria as a test set."""
    turns = tuple(text for role, text in finished.messages if role == Role.USER.value)
    case = Case(id="conversation", input=Script(turns=turns or ("(nothing)",)), recorded=build_transcript(finished))
    host.work.kit.dialects[SIMULATION].write([case], folder / "conversation.jsonl")
    entry = {
        "item_id": "criteria",
        "type": "single_turn",
        "name": "criteria",
        "inputs": {"message": "-"},
        "expected": {"success_criteria": list(dict.fromkeys(criteria))},
    }
    test_set = {"test_set_id": "criteria", "name": "criteria", "version": 1, "items": [entry]}
    (folder / "criteria.json").write_bytes(msgspec.json.encode(test_set))
    return str(folder / "conversation.jsonl"), str(folder / "criteria.json")


def build_transcript(finished: FinishedConversation) -> Transcript:
    for call in finished.tool_calls:
        name = call.get("name") or call.get("tool_name")
        if not isinstance(name, str) or not name:
            raise PlanRefused("tool_calls: every call needs a `name`")
    said = [{"role": role, "content": content} for role, content in finished.messages]
    return finished_transcript(said, finished.tool_calls, finished.state)


async def save_conversations(
    host: Host, result_ids: Sequence[str], key: str, upload: Upload, scope: AccessScope
) -> Document:
    """Save the conversations of these results as a dataset. A result that the caller may not see counts as missing.
    `upload` names the author and the agent."""
    require_agent(upload.agent_id or "", scope)
    results = await visible_results(host, list(dict.fromkeys(result_ids)), scope)

    async def each_result() -> AsyncIterator[Result]:
        for result in results:
            yield result

    with TemporaryDirectory() as folder:
        dialect = host.work.kit.dialects[SIMULATION]
        path = await stored_conversations(each_result(), dialect, Path(folder), "conversations")
        content = await asyncio.to_thread(Path(path).read_bytes)
    dataset = replace(upload, content=content, name="conversations.jsonl", dialect=SIMULATION)
    return await host.store.documents.create(DocumentKind.DATASET, key, await check_upload(host, dataset), scope)


async def visible_results(host: Host, result_ids: list[str], scope: AccessScope) -> list[Result]:
    """NotFound where the caller may not see one of them, or there is none."""
    results = await host.store.results_by_id(result_ids)
    runs = {run_id: await host.store.run(run_id) for run_id in {run_id for run_id, _ in results}}
    visible = [
        result for run_id, result in results if scope.sees(runs[run_id].organization_id, runs[run_id].pins.agent_key)
    ]
    there = {
        str(result_id(UUID(run_id), each.case.id, each.candidate, each.repeat))
        for run_id, each in results
        if each in visible
    }
    if missing := [each for each in result_ids if each not in there]:
        raise NotFound(f"{len(missing)} of {len(result_ids)} conversations are not there: {', '.join(missing[:20])}")
    if not visible:
        raise PlanRefused("there is no conversation to look at")
    return visible
