"""The evaluation API's EvaluationResult, made from a Result. The fields of the published shape come first, in their
order and under their names; what Howsure adds comes after them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from msgspec import json, to_builtins

from howsure.model.case import Case, Input, Scenario, Script, SingleTurn, World, opening
from howsure.model.result import Result, result_id
from howsure.model.run import Run
from howsure.model.transcript import Message, ToolCall, Transcript
from howsure.model.verdict import Verdict
from howsure.reports.case_facts import conversation, result_error
from howsure.reports.figures import iso_utc
from howsure.reports.grades import all_hold, criteria_scores, no_high_failure, rubric_scores, scores
from howsure.reports.safe_text import one_line

PASSED = {Verdict.PASSED: True, Verdict.FAILED: False, Verdict.ERRORED: None, Verdict.SKIPPED: None}
NAME_LENGTH = 120


def evaluation_result(run: Run, result: Result) -> dict[str, Any]:
    """The EvaluationResult, ready for JSON: structured checks for the cases of a test set, `scores` alone elsewhere."""
    case = result.case
    return {
        "result_id": str(result_id(UUID(run.id), case.id, result.candidate, result.repeat)),
        "run_id": run.id,
        "test_case_id": case.id,
        "langsmith_run_id": result.transcript.metadata.get("langsmith_run_id") if result.transcript else None,
        "input": input_shape(case.input),
        "output": _output(result),
        "scores": scores(result.grades),
        "item_name": case.name or one_line(opening(case.input), NAME_LENGTH),
        **(_structured(run, result) if case.world == World.TEST_SET else UNSTRUCTURED),
        "passed": PASSED[result.verdict],
        "duration_ms": round(result.duration_ms),
        "created_at": iso_utc(result.created_at),
        **_result_added(case, result),
    }


# Consumers take any result with an `item_type` for one of the structured era, so the others have none; `input_kind`
# tells what the input was in both.
UNSTRUCTURED: dict[str, Any] = {
    "item_type": None,
    "criteria_scores": None,
    "criteria_passed": None,
    "rubric_scores": None,
    "rubric_passed": None,
}


def _structured(run: Run, result: Result) -> dict[str, Any]:
    criteria = criteria_scores(result.case, result.grades)
    rules = rubric_scores(run.pins.rubric, result.grades)
    return {
        "item_type": input_kind(result.case.input),
        "criteria_scores": criteria,
        "criteria_passed": all_hold(criteria),
        "rubric_scores": rules,
        "rubric_passed": no_high_failure(rules),
    }


def _result_added(case: Case, result: Result) -> dict[str, Any]:
    simulation = result.transcript.simulation if result.transcript else None
    return {
        "candidate": result.candidate,
        "repeat": result.repeat,
        "verdict": result.verdict.value,
        "error": result_error(result),
        "reasons": list(result.reasons),
        "failures": [to_builtins(failure) for failure in result.failures],
        "input_kind": input_kind(case.input),
        "simulation": to_builtins(simulation) if simulation else None,
        "fault": to_builtins(result.fault) if result.fault else None,
        "tags": list(case.tags),
        "labels": dict(case.labels),
    }


def input_kind(given: Input) -> str:
    match given:
        case SingleTurn():
            return "single_turn"
        case Script():
            return "script"
        case Scenario():
            return "scenario"


def input_shape(given: Input) -> dict[str, Any]:
    """The input's own fields, as they were given; those that say nothing are left out, but for the turn limit."""
    match given:
        case Script(turns=turns):
            return {"turns": list(turns)}
        case Scenario(persona=persona, initial_message=text, max_turns=most):
            around = {"goal": given.goal, "facts": given.facts, "conversation_plan": given.plan}
            told = {name: _plain(value) for name, value in around.items() if value}
            return {"persona": persona, "initial_message": text, "max_turns": most, **told}
        case SingleTurn(message=text):
            around = {"context": given.context, "history": given.history, "attachments": given.attachments}
            return {"message": text} | {name: _plain(value) for name, value in around.items() if value}


def _plain(value: object) -> Any:
    return json.decode(json.encode(value))


def _output(result: Result) -> dict[str, Any]:
    """Where there is no transcript nothing was said: the messages are none, not those we would have sent."""
    if result.transcript is None:
        return {"messages": [], "tool_calls": [], "state": None, "answer": None, "usage": None}
    said = [_message(message) for message in conversation(result) if message.content]
    return _done(said, result.transcript)


def _done(said: list[dict[str, Any]], transcript: Transcript) -> dict[str, Any]:
    return {
        "messages": said,
        "tool_calls": [_call(call) for call in transcript.tool_calls],
        "state": transcript.state,
        "answer": transcript.answer,
        "usage": to_builtins(transcript.usage) if transcript.usage else None,
    }


def _message(message: Message) -> dict[str, Any]:
    said = {"role": message.role.value, "content": message.content}
    return {**said, "agent": message.agent} if message.agent else said


def _call(call: ToolCall) -> dict[str, Any]:
    result = {"content": call.result.content, "failed": call.result.failed} if call.result else None
    return {"name": call.name, "arguments": call.arguments, "id": call.id or None, "result": result}
