"""Finished conversations, graded without calling the agent: one that a request brings along, planned like a run of one
case and not stored; or those of stored results, saved as a dataset that a run can grade."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from howsure.engine.attempt import attempt
from howsure.errors import NotFound, PlanRefused
from howsure.model.access_scope import AccessScope
from howsure.model.case import Case, Script
from howsure.model.document import Document, DocumentKind
from howsure.model.result import Result
from howsure.model.run_request import RunRequest
from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Transcript
from howsure.reports.evaluations import evaluation_result
from howsure.services.host.context import Host
from howsure.services.host.document_files import reference_to
from howsure.services.host.documents import document_body
from howsure.services.host.run_requests import allowed_judge
from howsure.services.host.uploads import Upload, check_upload
from howsure.services.run.execute import new_run, utc_now
from howsure.services.run.pooled_criteria import stored_conversations
from howsure.services.run.start import plan_request

Json = dict[str, Any]
SIMULATION = "simulation"


class FinishedConversation(Struct, frozen=True, kw_only=True):
    """Messages and tool calls, and what they are graded by."""

    messages: tuple[tuple[str, str], ...]
    tool_calls: tuple[Json, ...] = ()
    criteria: tuple[str, ...] = ()
    test_set_id: str = ""
    rubric_id: str = ""
    agent_id: str = ""
    judge: str = ""
    component_scope: str = ""
    component_ids: tuple[str, ...] = ()


async def grade_conversation(host: Host, finished: FinishedConversation, scope: AccessScope) -> Json:
    """The EvaluationResult."""
    criteria = finished.criteria
    if finished.test_set_id:
        test_set = await host.store.documents.get(DocumentKind.TEST_SET, finished.test_set_id, within=scope)
        expected = [item.get("expected", {}) for item in document_body(test_set).get("items", ())]
        criteria += tuple(text for each in expected for text in each.get("success_criteria", ()))
    if not criteria:
        raise PlanRefused("there is nothing to hold the conversation against: give success_criteria or a test_set_id")
    request = await _run_request(host, finished, scope)
    with TemporaryDirectory() as folder:
        dataset, criteria_file = await asyncio.to_thread(_write_files, host, finished, criteria, Path(folder))
        request = replace(request, datasets=(dataset,), criteria_from=criteria_file)
        began = utc_now()
        async with AsyncExitStack() as stack:
            plan = await plan_request(host.work, host.store, request, began, stack, scope)
            run = new_run(plan, began)
            result = await attempt(next(plan.cases.read()), plan.candidates[0], plan.rules)
        took = (utc_now() - began).total_seconds() * 1000
        return evaluation_result(run, replace(result, created_at=began, duration_ms=took))


async def _run_request(host: Host, finished: FinishedConversation, scope: AccessScope) -> RunRequest:
    documents = host.store.documents
    rubric = agent = ""
    if finished.rubric_id:
        rubric = str(reference_to(await documents.get(DocumentKind.RUBRIC, finished.rubric_id, within=scope)))
    if finished.agent_id:
        try:
            agent = str(reference_to(await documents.get(DocumentKind.AGENT, finished.agent_id, within=scope)))
        except NotFound:
            agent = ""  # There is no description of the agent: only its messages are judged.
    return RunRequest(
        datasets=(),
        rubric=rubric,
        agent=agent,
        judge=allowed_judge(host, finished.judge),
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
    """The tool calls come before the last message of the agent."""
    messages = [Message(role=Role(role), content=text) for role, text in finished.messages]
    replies = [index for index, message in enumerate(messages) if message.role is Role.ASSISTANT]
    answer = messages[replies[-1]].content if replies else ""
    if finished.tool_calls:
        calls: tuple[ToolCall, ...] = ()
        for call in finished.tool_calls:
            name, arguments = call.get("name") or call.get("tool_name"), call.get("arguments")
            if not isinstance(name, str) or not name:
                raise PlanRefused("tool_calls: every call needs a `name`")
            result = ToolResult(content=call["result"]) if "result" in call else None
            arguments = arguments if isinstance(arguments, dict) else {}
            calls = (*calls, ToolCall(name=name, arguments=arguments, result=result))
        messages.insert(replies[-1] if replies else len(messages), Message(role=Role.ASSISTANT, tool_calls=calls))
    return Transcript(answer=answer, messages=tuple(messages))


async def save_conversations(
    host: Host, result_ids: Sequence[str], key: str, upload: Upload, scope: AccessScope
) -> Document:
    """Save the conversations of these results as a dataset. A result that the caller may not see counts as missing.
    `upload` names the author and the agent."""
    if scope.agent_ids is not None and upload.agent_id not in scope.agent_ids:
        raise NotFound(f"there is no agent {upload.agent_id}")
    results = await _visible_results(host, list(dict.fromkeys(result_ids)), scope)

    async def each_result() -> AsyncIterator[Result]:
        for result in results:
            yield result

    with TemporaryDirectory() as folder:
        dialect = host.work.kit.dialects[SIMULATION]
        path = await stored_conversations(each_result(), dialect, Path(folder), "conversations")
        content = await asyncio.to_thread(Path(path).read_bytes)
    dataset = replace(upload, content=content, name="conversations.jsonl", dialect=SIMULATION)
    return await host.store.documents.create(DocumentKind.DATASET, key, await check_upload(host, dataset), scope)


async def _visible_results(host: Host, result_ids: list[str], scope: AccessScope) -> list[Result]:
    results = await host.store.results_by_id(result_ids)
    runs = {run_id: await host.store.run(run_id) for run_id in {run_id for run_id, _ in results}}
    visible = [
        result for run_id, result in results if scope.sees(runs[run_id].organization_id, runs[run_id].pins.agent_key)
    ]
    if len(visible) < len(result_ids):
        raise NotFound(f"{len(result_ids) - len(visible)} of {len(result_ids)} conversations are not there")
    if not visible:
        raise PlanRefused("there is no conversation to look at")
    return visible
