"""Explain rows as Cases, and back. A case that holds what the format has no place for is refused, never cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from howsure.dialects import extras
from howsure.dialects.documents import Reason, beyond, checking, foreign_expectations
from howsure.dialects.explain_inputs import json_text, payload_of
from howsure.dialects.explain_schema import DEFAULT_EVALS, PAYLOADS
from howsure.model.case import Case, SingleTurn, World
from howsure.model.expectation import (
    Contract,
    Expectation,
    ExpectedCall,
    Goal,
    Matching,
    Qualities,
    ReferenceAnswer,
    ToolCalls,
)
from howsure.model.transcript import Message, Mishap, Role, Tool, ToolCall, ToolResult, Transcript

Json = dict[str, Any]

LABELS = ("scenario_id", "agent_name", "phase", "difficulty", "quality_band", "topic_family", "learner_level")
PAYLOAD_NAMES = "explain_inputs"
"""Where a case's metadata names the payloads its row had, when those are not the ones of its evals."""
MUTATIONS = "mutations"
FAILED = "error"
_KINDS = (Qualities, Goal, ReferenceAnswer, ToolCalls, Contract)


def case_of(row: Json, kept: Mapping[str, Any]) -> Case:
    """`row` is valid, canonical and completed; `kept` are the fields nobody knows."""
    evals = tuple(row.get("required_evals") or DEFAULT_EVALS)
    payloads = list(row.get("explain_inputs", {}))
    usual = set(payloads) == (set(evals) if "model_answer" in row else set())
    metadata: Json = {} if usual else {PAYLOAD_NAMES: payloads}
    if MUTATIONS in row:
        metadata[MUTATIONS] = row[MUTATIONS]
    return Case(
        id=row["case_id"],
        input=SingleTurn(message=row["question"], context=row.get("context", "")),
        expectations=tuple(_expectations(row, evals)),
        world=World.EXPLAIN,
        profile=row.get("threshold_profile", ""),
        labels={name: row[name] for name in LABELS if name in row},
        metadata={**metadata, extras.KEY: dict(kept)} if kept else metadata,
        tools=tuple(Tool(name=name) for name in row["available_tools"]) if "available_tools" in row else None,
        recorded=_recorded(row),
    )


def _expectations(row: Json, evals: tuple[str, ...]) -> Iterator[Expectation]:
    yield Qualities(names=evals, relevant_context=row.get("relevant_context", ""))
    if row.get("task_goal", "").strip():
        yield Goal(text=row["task_goal"])
    if row.get("reference_answer", "").strip():
        yield ReferenceAnswer(answers=(row["reference_answer"],))
    if "expected_tool_calls" in row:
        yield ToolCalls(expected=tuple(_expected(call) for call in row["expected_tool_calls"]))
    if "expected_contract" in row:
        yield Contract(name=row["expected_contract"])


def _expected(call: Json) -> ExpectedCall:
    arguments = json_text(call.get("arguments", {}))
    return ExpectedCall(name=call["tool"], arguments=arguments, reason=call.get("reason", ""))


def _recorded(row: Json) -> Transcript | None:
    if "model_answer" not in row:
        return None
    answer = row["model_answer"]
    calls = tuple(
        Message(role=Role.ASSISTANT, tool_calls=(_invoked(call),)) for call in row.get("invoked_tool_calls", ())
    )
    return Transcript(answer=answer, messages=(*calls, Message(role=Role.ASSISTANT, content=answer)))


def _invoked(call: Json) -> ToolCall:
    outcome = call.get("outcome")
    result = None if outcome is None else ToolResult(content=outcome, failed=outcome == FAILED)
    return ToolCall(name=call["tool"], arguments=json_text(call.get("arguments", {})), result=result)


def explain_rows(cases: Iterable[Case], path: Path) -> Iterator[Json]:
    """The rows, or a DatasetInvalid with every reason why there are none."""
    return (_row(case) for case in checking(cases, path, unwritable))


def unwritable(case: Case) -> Iterator[Reason]:
    """Why the format cannot hold the case; nothing where it can."""
    question = case.input
    if not isinstance(question, SingleTurn) or question.history or question.attachments:
        yield "input", "explain files hold single questions, without an earlier conversation or attachments"
    yield from foreign_expectations(case, _KINDS, "explain")
    if not _evals(case):
        yield "expectations", "an explain row names its evals (Qualities)"
    yield from _expectation_reasons(case)
    for name in LABELS:
        if name not in case.labels and name != "phase":
            yield f"labels.{name}", f"an explain row needs a `{name}`"
    for name in case.labels.keys() - set(LABELS):
        yield f"labels.{name}", "explain files have no place for this label"
    for key in case.metadata.keys() - {PAYLOAD_NAMES, MUTATIONS, extras.KEY}:
        yield f"metadata.{key}", "explain files have no place for it"
    if any(tool != Tool(name=tool.name) for tool in case.tools or ()):
        yield "tools", "explain files name tools, and do not describe them"
    if case.tools is None and any("ToolCallAccuracyExplain" in names for names in _evals(case)):
        yield "tools", "ToolCallAccuracyExplain needs the tools that the agent has"
    yield from beyond(case, ("name", "tags"), "explain")
    yield from _recording_reasons(case.recorded)


def _evals(case: Case) -> list[tuple[str, ...]]:
    return [expected.names for expected in case.expectations if isinstance(expected, Qualities)]


def _expectation_reasons(case: Case) -> Iterator[Reason]:
    for expected in case.expectations:
        match expected:
            case ReferenceAnswer(answers=answers) if len(answers) != 1:
                yield "expectations", f"explain files hold one reference answer, not {len(answers)}"
            case ToolCalls(match=match, expected=calls) if match != Matching() or any(
                call.message is not None for call in calls
            ):
                yield "expectations", "explain files cannot say how calls are matched"
            case Qualities(names=names) if not names or not set(names) <= PAYLOADS.keys():
                yield "expectations", f"explain files know these evals: {', '.join(PAYLOADS)}"


def _recording_reasons(recorded: Transcript | Mishap | None) -> Iterator[Reason]:
    if isinstance(recorded, Mishap):
        yield "recorded", "explain files hold answers, not broken recordings"
    elif recorded is not None and _recorded(_recording(recorded)) != recorded:  # the rest would be lost
        yield "recorded", "explain files hold an answer and calls with their outcome, and nothing else of a recording"


def _row(case: Case) -> Json:
    question = case.input
    assert isinstance(question, SingleTurn)  # checked above
    row: Json = {"case_id": case.id, **{name: case.labels[name] for name in LABELS if name in case.labels}}
    row |= {"question": question.message, **({"context": question.context} if question.context else {})}
    for expected in case.expectations:
        row |= _fields(expected)
    row |= _recording(case.recorded) if isinstance(case.recorded, Transcript) else {}
    if case.tools is not None:
        row["available_tools"] = [tool.name for tool in case.tools]
    if case.profile:
        row["threshold_profile"] = case.profile
    payloads = case.metadata.get(PAYLOAD_NAMES, row["required_evals"] if "model_answer" in row else ())
    if payloads:
        row["explain_inputs"] = {eval: payload_of(eval, row) for eval in payloads}
    if MUTATIONS in case.metadata:
        row[MUTATIONS] = case.metadata[MUTATIONS]
    extras.put_back(row, case.metadata.get(extras.KEY, {}))
    return row


def _fields(expected: Expectation) -> Json:
    match expected:
        case Qualities(names=names, relevant_context=context):
            return {"required_evals": list(names), **({"relevant_context": context} if context else {})}
        case Goal(text=text):
            return {"task_goal": text}
        case ReferenceAnswer(answers=(answer,)):
            return {"reference_answer": answer}
        case ToolCalls(expected=calls):
            return {"expected_tool_calls": [_written(call) for call in calls]}
        case Contract(name=name):
            return {"expected_contract": name}
        case other:
            raise TypeError(f"not an explain expectation: {other!r}")


def _written(call: ExpectedCall) -> Json:
    reason = {"reason": call.reason} if call.reason else {}
    return {"tool": call.name, "arguments": call.arguments, **reason}


def _recording(recorded: Transcript) -> Json:
    calls = [
        {
            "tool": call.name,
            "arguments": call.arguments,
            **({} if call.result is None else {"outcome": call.result.content}),
        }
        for call in recorded.tool_calls
    ]
    return {"model_answer": recorded.answer, "invoked_tool_calls": calls}
