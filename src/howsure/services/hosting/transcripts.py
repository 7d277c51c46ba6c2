"""One finished conversation, graded on the spot: planned like a run of one case, attempted once, and not stored."""

from __future__ import annotations

import asyncio
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
from howsure.model.document import DocumentKind
from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Transcript
from howsure.reports.wire import evaluation_result
from howsure.services.hosting.host import Host
from howsure.services.hosting.materials import reference_to
from howsure.services.hosting.ordering import judge_for
from howsure.services.hosting.shapes import body_of
from howsure.services.options import RunOptions
from howsure.services.running import new_run, utc_now
from howsure.services.runs import planned

Json = dict[str, Any]


class Finished(Struct, frozen=True, kw_only=True):
    """What was said and done, and what to hold it against."""

    messages: tuple[tuple[str, str], ...]
    tool_calls: tuple[Json, ...] = ()
    criteria: tuple[str, ...] = ()
    test_set_id: str = ""
    rubric_id: str = ""
    agent_id: str = ""
    judge: str = ""
    component_scope: str = ""
    component_ids: tuple[str, ...] = ()


async def graded(host: Host, finished: Finished, within: AccessScope) -> Json:
    """The EvaluationResult."""
    criteria = (*finished.criteria, *await _pooled(host, finished.test_set_id, within))
    if not criteria:
        raise PlanRefused("there is nothing to hold the conversation against: give success_criteria or a test_set_id")
    options = await _options(host, finished, within)
    with TemporaryDirectory() as folder:
        paths = await asyncio.to_thread(_written, host, finished, criteria, Path(folder))
        files = replace(options, datasets=(paths[0],), criteria_from=paths[1])
        return await _attempted(host, files, within)


async def _attempted(host: Host, options: RunOptions, within: AccessScope) -> Json:
    began = utc_now()
    async with AsyncExitStack() as stack:
        made, _, name = await planned(host.work, host.store, options, began, stack, within)
        run = new_run(made, name, began)
        result = await attempt(next(made.survey.cases()), made.lanes[0], made.rules)
    took = (utc_now() - began).total_seconds() * 1000
    return evaluation_result(run, replace(result, created_at=began, duration_ms=took))


async def _pooled(host: Host, test_set_id: str, within: AccessScope) -> list[str]:
    if not test_set_id:
        return []
    found = await host.store.documents.get(DocumentKind.TEST_SET, test_set_id, within=within)
    expected = [each.get("expected", {}) for each in body_of(found).get("items", ())]
    return [text for each in expected for text in each.get("success_criteria", ())]


async def _options(host: Host, finished: Finished, within: AccessScope) -> RunOptions:
    documents = host.store.documents
    rubric = agent = ""
    if finished.rubric_id:
        rubric = str(reference_to(await documents.get(DocumentKind.RUBRIC, finished.rubric_id, within=within)))
    if finished.agent_id:
        try:
            agent = str(reference_to(await documents.get(DocumentKind.AGENT, finished.agent_id, within=within)))
        except NotFound:
            # Nobody has described it: it is judged by what it said.
            agent = ""
    return RunOptions(
        datasets=(),
        rubric=rubric,
        agent=agent,
        judge=judge_for(host, finished.judge),
        component_scope=finished.component_scope,
        component_ids=finished.component_ids,
    )


def _written(host: Host, finished: Finished, criteria: tuple[str, ...], folder: Path) -> tuple[str, str]:
    """The conversation as a dataset, and the criteria as a test set."""
    said = tuple(text for role, text in finished.messages if role == Role.USER.value)
    case = Case(id="conversation", input=Script(turns=said or ("(nothing)",)), recorded=transcript_of(finished))
    host.work.kit.dialects["simulation"].write([case], folder / "conversation.jsonl")
    entry = {
        "item_id": "criteria",
        "type": "single_turn",
        "name": "criteria",
        "inputs": {"message": "-"},
        "expected": {"success_criteria": list(dict.fromkeys(criteria))},
    }
    asked = {"test_set_id": "criteria", "name": "criteria", "version": 1, "items": [entry]}
    (folder / "criteria.json").write_bytes(msgspec.json.encode(asked))
    return str(folder / "conversation.jsonl"), str(folder / "criteria.json")


def transcript_of(finished: Finished) -> Transcript:
    """The tool calls come before the last thing that the agent said."""
    messages = [Message(role=Role(role), content=text) for role, text in finished.messages]
    spoken = [place for place, each in enumerate(messages) if each.role is Role.ASSISTANT]
    answer = messages[spoken[-1]].content if spoken else ""
    if finished.tool_calls:
        calls = tuple(_call(each) for each in finished.tool_calls)
        at = spoken[-1] if spoken else len(messages)
        messages.insert(at, Message(role=Role.ASSISTANT, tool_calls=calls))
    return Transcript(answer=answer, messages=tuple(messages))


def _call(given: Json) -> ToolCall:
    name = given.get("name") or given.get("tool_name")
    if not isinstance(name, str) or not name:
        raise PlanRefused("tool_calls: every call needs a `name`")
    arguments = given.get("arguments")
    result = ToolResult(content=given["result"]) if "result" in given else None
    return ToolCall(name=name, arguments=arguments if isinstance(arguments, dict) else {}, result=result)
