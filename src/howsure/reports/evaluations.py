"""The evaluation API's EvaluationRun, made from a Summary. The fields of the published shape come first, in their order
and under their names; what Howsure adds comes after them."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from msgspec import json, to_builtins

from howsure.model.case import Case, Input, Scenario, Script, SingleTurn, World, opening
from howsure.model.result import Result, result_id
from howsure.model.rubric import Scope
from howsure.model.run import Counts, DatasetPin, ModelSpending, Pins, Run, RunState
from howsure.model.summary import GraderSummary, Summary, Tally
from howsure.model.transcript import Message, ToolCall, Transcript
from howsure.model.verdict import Verdict
from howsure.reports.case_facts import conversation, result_error
from howsure.reports.figures import Rate, iso_utc, pass_rate_of
from howsure.reports.grades import all_hold, criteria_scores, no_high_failure, rubric_scores, scores
from howsure.reports.run_facts import gate_shape, run_sentence
from howsure.reports.safe_text import one_line

# The shape knows four states. An interrupted run is not running, and whoever polls for an end must see one: it is
# `failed` there, and the added `state` says that it can be resumed. One that is paused waits to be worked on.
STATUS = {
    RunState.PENDING: "pending",
    RunState.RUNNING: "running",
    RunState.COMPLETED: "completed",
    RunState.FAILED: "failed",
    RunState.INTERRUPTED: "failed",
    RunState.OUT_OF_BUDGET: "failed",
    RunState.PAUSED: "pending",
    RunState.CANCELLED: "failed",
}


_DOCUMENT = re.compile(r"document:(?P<kind>[a-z_]+)/(?P<id>[^@]+)@[0-9]+")
"""How a run is pinned to what the service keeps."""


def evaluation_run(summary: Summary) -> dict[str, Any]:
    """The EvaluationRun, ready for JSON."""
    run = summary.run
    return _progress(run) | _lineage(run.pins) | _checks(summary) | _model(run) | _added(summary)


def _progress(run: Run) -> dict[str, Any]:
    pins, counts = run.pins, run.counts
    return {
        "run_id": run.id,
        "dataset_id": dataset_id_of(pins),
        "agent_id": pins.agent_key or None,
        "status": STATUS[run.state],
        "total": counts.total,
        "completed": counts.completed,
        "passed": counts.passed,
        "failed": counts.failed,
        "concurrency": pins.request.concurrency,
        "started_at": iso_utc(run.started_at),
        "completed_at": iso_utc(run.completed_at),
        "error": run.error or None,
    }


def _lineage(pins: Pins) -> dict[str, Any]:
    # A rubric that no rule is left of was not used: naming it would promise scores that are not there.
    rubric = pins.rubric if pins.rubric and pins.rubric.rules else None
    test_set = _test_set(pins)
    return {
        "rubric_id": (rubric.id or _named_by(pins.rubric_sha256 or rubric.name)) if rubric else None,
        "rubric_version": rubric.version if rubric else None,
        "test_set_id": (test_set.id or _named_by(test_set.sha256)) if test_set else None,
        "test_set_version": test_set.version if test_set else None,
        "component_scope_filter": pins.request.component_scope or None,
        "component_ids_filter": list(pins.request.component_ids),
    }


def _test_set(pins: Pins) -> DatasetPin | None:
    """The one test set of the run; None when it has none, or several, of which none is *the* one."""
    found = [pin for pin in pins.datasets if pin.dialect == World.TEST_SET]
    return found[0] if len(found) == 1 else None


def dataset_id_of(pins: Pins) -> str:
    """Of a dataset that the service keeps, its own; else of the content: the same files give the same id wherever they
    lie."""
    kept = _DOCUMENT.fullmatch(pins.datasets[0].path) if len(pins.datasets) == 1 else None
    if kept and kept["kind"] != "test_set":
        return kept["id"]
    own = pins.datasets[0].id if len(pins.datasets) == 1 and pins.datasets[0].dialect != World.TEST_SET else ""
    return own or _named_by("\n".join(pin.sha256 for pin in pins.datasets))


def _named_by(content: str) -> str:
    return str(uuid5(NAMESPACE_URL, f"howsure:{content}"))


def _checks(summary: Summary) -> dict[str, Any]:
    criteria, rules = criteria_of(summary), rules_of(summary)
    return {
        "component_scores": {name: _component(tally) for name, tally in _components(summary).items()} or None,
        "criteria_passed": criteria.passed if criteria else None,
        "criteria_total": criteria.total if criteria else None,
        "rubric_rules_passed": rules.passed if rules else None,
        "rubric_rules_total": rules.total if rules else None,
    }


def criteria_of(summary: Summary) -> Tally | None:
    """Of a test set of which nothing could be graded, or nothing yet, nought of nought; None: there are none."""
    pins = summary.run.pins
    asked = any(pin.dialect == World.TEST_SET for pin in (*pins.datasets, *filter(None, (pins.criteria_from,))))
    return summary.criteria or (Tally() if asked and _ungraded(summary, "criteria") else None)


def rules_of(summary: Summary) -> Tally | None:
    """The same of the rules of a rubric."""
    rubric = summary.run.pins.rubric
    return summary.rules or (Tally() if rubric and rubric.rules and _ungraded(summary, "rubric") else None)


def _ungraded(summary: Summary, grader: str) -> bool:
    """Whether nothing was decided of any result, so that nobody can say which checks there would have been."""
    counts, wanted = summary.run.counts, summary.run.pins.request.graders
    return not counts.passed and not counts.failed and (wanted is None or grader in wanted)


def _components(summary: Summary) -> dict[str, Tally]:
    rubric = summary.run.pins.rubric
    if summary.components or rubric is None or rules_of(summary) is None:
        return summary.components
    return {scope: Tally() for scope in sorted({(rule.scope or Scope.GENERAL).value for rule in rubric.rules})}


def _component(tally: Tally) -> dict[str, Any]:
    return {
        "score": tally.pass_rate,
        "total": tally.total,
        "passed": tally.passed,
        "failed": tally.failed,
        "errored": tally.errored,
        "skipped": tally.skipped,
    }


def _model(run: Run) -> dict[str, Any]:
    model = run.pins.agent.model if run.pins.agent else None
    return {
        "bot_llm_provider": (model.provider or None) if model else None,
        "bot_llm_model": (model.model or None) if model else None,
        "created_at": iso_utc(run.created_at),
    }


def _added(summary: Summary) -> dict[str, Any]:
    run, pins = summary.run, summary.run.pins
    rate = pass_rate_of(run.counts)
    return {
        "name": run.name,
        "state": run.state.value,
        "sentence": run_sentence(summary),
        "errored": run.counts.errored,
        "skipped": run.counts.skipped,
        "pending": run.counts.pending,
        "pass_rate": rate.value,
        "pass_rate_interval": _interval(rate),
        "candidates": {name: _totals(counts) for name, counts in summary.candidates.items()},
        "graders": [_grader(grader) for grader in summary.graders],
        "criteria": _tally(criteria_of(summary)),
        "rubric_rules": _tally(rules_of(summary)),
        "target": pins.request.target,
        "criteria_from": pins.criteria_from.path if pins.criteria_from else None,
        "simulator": pins.request.simulator or None,
        "faults": dict(summary.faults),
        "judge": pins.request.judge or None,
        "gates": [gate_shape(ruling) for ruling in summary.gates],
        "spent": None if run.spent is None else _spent(run.spent),
        "profile": pins.request.profile or None,
        "repeat": pins.request.repeat,
        "limit": pins.request.limit,
        "datasets": [_dataset(pin) for pin in pins.datasets],
        "howsure_version": pins.howsure_version or None,
    }


def _spent(spent: ModelSpending) -> dict[str, Any]:
    """Money is unknown, not zero, when calls were made and none of them has a price."""
    known = spent.usd > 0 or spent.unpriced == 0
    calls = {"calls": spent.calls, "cached": spent.cached, "unpriced": spent.unpriced}
    return {"usd": spent.usd if known else None, "tokens": spent.tokens, **calls}


def _totals(counts: Counts) -> dict[str, Any]:
    rate = pass_rate_of(counts)
    return {
        "total": counts.total,
        "completed": counts.completed,
        "passed": counts.passed,
        "failed": counts.failed,
        "errored": counts.errored,
        "skipped": counts.skipped,
        "pending": counts.pending,
        "pass_rate": rate.value,
        "pass_rate_interval": _interval(rate),
    }


def _grader(grader: GraderSummary) -> dict[str, Any]:
    rate = pass_rate_of(grader)
    scale = [grader.scale.low, grader.scale.high]
    return {**to_builtins(grader), "scale": scale, "pass_rate": rate.value, "pass_rate_interval": _interval(rate)}


def _dataset(pin: DatasetPin) -> dict[str, Any]:
    return {
        "path": pin.path,
        "name": pin.name or PurePath(pin.path).name,
        "dialect": pin.dialect,
        "cases": pin.cases,
        "sha256": pin.sha256,
        "id": pin.id or None,
        "version": pin.version,
    }


def _interval(rate: Rate) -> list[float] | None:
    return list(rate.interval) if rate.interval else None


def _tally(tally: Tally | None) -> dict[str, int] | None:
    return {**to_builtins(tally), "total": tally.total} if tally else None


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
