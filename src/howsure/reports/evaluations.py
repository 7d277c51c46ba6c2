"""The evaluation API's EvaluationRun and EvaluationResult, rendered from a Summary and a Result through the shapes in
`howsure.wire`. The fields of the published shape come first, in their order; what Howsure adds comes after them."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import PurePath
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from msgspec import json, structs, to_builtins

from howsure.model.case import (
    FINISHED,
    Case,
    Input,
    Scenario,
    Script,
    SingleTurn,
    World,
    finished_transcript_of,
    opening,
)
from howsure.model.result import Result, result_id
from howsure.model.rubric import Scope
from howsure.model.run import Counts, DatasetPin, ModelSpending, Pins, Run, RunState
from howsure.model.run_request import DEFAULT_CONCURRENCY
from howsure.model.summary import GraderSummary, Summary, Tally
from howsure.model.transcript import Message, ToolCall
from howsure.reports.case_facts import DECIDED, conversation, result_error
from howsure.reports.figures import in_utc, iso_utc, pass_rate_of
from howsure.reports.grades import CRITERIA, criteria_hold, criteria_scores, no_high_failure, rubric_scores, scores
from howsure.reports.run_facts import gate_shape, run_notes, run_sentence
from howsure.reports.safe_text import one_line
from howsure.wire import results as wire_results
from howsure.wire import runs as wire_runs

# The published shape has four states. An interrupted run is not running, and a program that polls for the end must see
# one: it is `failed` there, and the added `state` says that it can be resumed. A paused run waits to be worked on.
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


STOPPED = {
    RunState.CANCELLED: "the run was cancelled; it can be resumed",
    RunState.OUT_OF_BUDGET: "the budget of the run was reached before all of it was tried; it can be resumed with more",
}
"""The `error` of a run that did not finish although nothing broke."""

_DOCUMENT = re.compile(r"document:(?P<kind>[a-z_]+)/(?P<id>.+)@(?P<version>[0-9]+)")
"""The path of a version of a document that the service stores."""
KINDS = {"agent": "bot_context", "graders": "config"}
"""The API's name for a kind of document, if it differs from ours."""

ADDED_BY_SERVICE = ("test_set_name", "rubric_name", "tags")


def evaluation_run(summary: Summary) -> dict[str, Any]:
    """The EvaluationRun, ready for JSON; the service adds the current names of its documents."""
    shape: dict[str, Any] = _plain(_wire_run(summary))
    for name in ("more", *ADDED_BY_SERVICE):
        del shape[name]
    return shape


def _wire_run(summary: Summary) -> wire_runs.Run:
    run, pins, request = summary.run, summary.run.pins, summary.run.pins.request
    # A rubric without any rule left was not used: naming it would promise scores that are not there.
    rubric = pins.rubric if pins.rubric and pins.rubric.rules else None
    test_set, criteria, rules = _test_set(pins), criteria_of(summary), rules_of(summary)
    model = pins.agent.model if pins.agent else None
    return wire_runs.Run(
        run_id=run.id,
        dataset_id=dataset_id_of(pins),
        agent_id=pins.agent_key or None,
        status=STATUS[run.state],
        concurrency=request.concurrency or DEFAULT_CONCURRENCY,
        started_at=in_utc(run.started_at),
        completed_at=in_utc(run.completed_at),
        error=run.error or STOPPED.get(run.state),
        rubric_id=(rubric.id or _named_by(pins.rubric_sha256 or rubric.name)) if rubric else None,
        rubric_version=rubric.version if rubric else None,
        test_set_id=(test_set.id or _named_by(test_set.sha256)) if test_set else None,
        test_set_version=test_set.version if test_set else None,
        component_scope_filter=request.component_scope or None,
        component_ids_filter=list(request.component_ids),
        component_scores=_components(summary) or None,
        criteria_passed=criteria.passed if criteria else None,
        criteria_total=criteria.total if criteria else None,
        rubric_rules_passed=rules.passed if rules else None,
        rubric_rules_total=rules.total if rules else None,
        bot_llm_provider=(model.provider or None) if model else None,
        bot_llm_model=(model.model or None) if model else None,
        created_at=in_utc(run.created_at) or run.created_at,
        name=run.name,
        state=run.state.value,
        sentence=run_sentence(summary),
        **_rated(run.counts),
        candidates={name: wire_runs.CandidateTotals(**_rated(each)) for name, each in summary.candidates.items()},
        graders=[_grader(grader) for grader in summary.graders],
        criteria=_tally(criteria),
        rubric_rules=_tally(rules),
        criteria_from=pins.criteria_from.path if pins.criteria_from else None,
        faults=dict(summary.faults),
        gates=[gate_shape(ruling) for ruling in summary.gates],
        spent=None if run.spent is None else _spending(run.spent),
        **_shaping(pins),
        notes=list(run_notes(summary)),
        flags=dict(summary.flags),
        breakdown=[
            wire_runs.SliceTotals(label=each.label, value=each.value, candidate=each.candidate, **_rated(each.counts))
            for each in summary.slices
        ],
        datasets=[_dataset(pin) for pin in pins.datasets],
        made_of=_made_of(pins),
        rubrics=_rubrics(pins),
        initial_payload=dict(request.state),
        howsure_version=pins.howsure_version or None,
    )


def _shaping(pins: Pins) -> dict[str, Any]:
    """The options of the request that shaped the run."""
    request = pins.request
    return {
        "target": pins.target_text or None,
        "simulator": request.simulator or None,
        "judge": request.judge or None,
        "profile": request.profile or None,
        "repeat": request.repeat,
        "limit": request.limit,
        "filters": {key: list(values) for key, values in request.filters.items()},
        "graders_asked": None if request.graders is None else list(request.graders),
        "normalization": request.normalization.value if request.normalization else None,
        "marks": dict(pins.marks),
        "settings": dict(pins.settings),
        "until_sure": request.until_sure or None,
        "order_seed": pins.order_seed,
        "stopped_early": pins.stopped_early,
    }


def _test_set(pins: Pins) -> DatasetPin | None:
    """The one test set of the run; None when it has none, or several, of which none is *the* one. Finished
    conversations are held against one, too."""
    if pins.criteria_from is not None and pins.criteria_from.dialect == World.TEST_SET:
        return pins.criteria_from
    test_sets = [pin for pin in pins.datasets if pin.dialect == World.TEST_SET]
    return test_sets[0] if len(test_sets) == 1 else None


def dataset_id_of(pins: Pins) -> str:
    """The dataset's own id where the service stores it; else an id made from the content, so that the same files have
    the same id in every folder."""
    stored = _DOCUMENT.fullmatch(pins.datasets[0].path) if len(pins.datasets) == 1 else None
    if stored and stored["kind"] != "test_set":
        return stored["id"]
    own = pins.datasets[0].id if len(pins.datasets) == 1 and pins.datasets[0].dialect != World.TEST_SET else ""
    return own or _named_by("\n".join(pin.sha256 for pin in pins.datasets))


def _made_of(pins: Pins) -> dict[str, wire_runs.UsedDocument]:
    """Everything that the run was made of. A rubric from a file has the id and version in the file."""
    used: dict[str, wire_runs.UsedDocument] = {}
    if pins.request.state:
        content = json.encode(pins.request.state, order="deterministic").decode()
        used["initial_payload"] = wire_runs.UsedDocument(id=_named_by(content), version=None)
    if pins.rubric is not None and pins.rubric.rules:
        key = pins.rubric.id or _named_by(pins.rubric_sha256)
        used["rubric"] = wire_runs.UsedDocument(id=key, version=pins.rubric.version)
    pool = (pins.criteria_from.path,) if pins.criteria_from else ()
    for path in (*(pin.path for pin in pins.datasets), *pool, *pins.documents):
        if stored := _DOCUMENT.fullmatch(path):
            document = wire_runs.UsedDocument(id=stored["id"], version=int(stored["version"]))
            used.setdefault(KINDS.get(stored["kind"], stored["kind"]), document)
    return used


def _rubrics(pins: Pins) -> list[wire_runs.UsedDocument]:
    stored = [match for path in pins.documents if (match := _DOCUMENT.fullmatch(path)) and match["kind"] == "rubric"]
    return [wire_runs.UsedDocument(id=each["id"], version=int(each["version"])) for each in stored]


def _named_by(content: str) -> str:
    return str(uuid5(NAMESPACE_URL, f"howsure:{content}"))


def criteria_of(summary: Summary) -> Tally | None:
    """The tally of the criteria; 0 of 0 while no case of a test set is graded; None: the run has no criteria."""
    pins = summary.run.pins
    has_criteria = any(pin.dialect == World.TEST_SET for pin in (*pins.datasets, *filter(None, (pins.criteria_from,))))
    return summary.criteria or (Tally() if has_criteria and _ungraded(summary, "criteria") else None)


def rules_of(summary: Summary) -> Tally | None:
    """The tally of the rules; 0 of 0 while no case is graded; None: the run has no rubric."""
    rubric = summary.run.pins.rubric
    return summary.rules or (Tally() if rubric and rubric.rules and _ungraded(summary, "rubric") else None)


def _ungraded(summary: Summary, grader: str) -> bool:
    """Whether no result was decided, so that it is not known which checks there would have been."""
    counts = summary.run.counts
    return not counts.passed and not counts.failed and summary.run.pins.request.may_have(grader)


def _components(summary: Summary) -> dict[str, wire_runs.ComponentScore]:
    tallies = summary.components
    if rules_of(summary) is None:
        return {}
    every = {scope.value: tallies.get(scope.value, Tally()) for scope in Scope} | dict(tallies)
    return {
        name: wire_runs.ComponentScore(**to_builtins(tally), score=tally.pass_rate, total=tally.total)
        for name, tally in every.items()
    }


def _spending(spent: ModelSpending) -> wire_runs.ModelSpending:
    """The cost is unknown, not zero, where calls were made and none of them has a price."""
    usd = spent.usd if spent.usd > 0 or spent.unpriced == 0 else None
    rest = {name: getattr(spent, name) for name in ("tokens", "calls", "cached", "unpriced")}
    return wire_runs.ModelSpending(usd=usd, **rest)


def _rated(counts: Counts) -> dict[str, Any]:
    rate = pass_rate_of(counts)
    return {
        **to_builtins(counts),
        "completed": counts.completed,
        "pending": counts.pending,
        "pass_rate": rate.value,
        "pass_rate_interval": rate.interval,
        "pass_rate_if_decided": rate.possible,
    }


def _grader(grader: GraderSummary) -> dict[str, Any]:
    rate = pass_rate_of(grader)
    scale = [grader.scale.low, grader.scale.high]
    return {**to_builtins(grader), "scale": scale, "pass_rate": rate.value, "pass_rate_interval": rate.interval}


def _dataset(pin: DatasetPin) -> wire_runs.DatasetPin:
    named = {"name": pin.name or PurePath(pin.path).name, "id": pin.id or None}
    shown = {name: value for name, value in structs.asdict(pin).items() if name != "size"}
    return wire_runs.DatasetPin(**{**shown, **named})


def _tally(tally: Tally | None) -> wire_runs.Tally | None:
    return wire_runs.Tally(**to_builtins(tally), total=tally.total) if tally else None


NAME_LENGTH = 120

_run_uuid = lru_cache(maxsize=16)(UUID)
"""Read once for all results of a run."""


def evaluation_result(run: Run, result: Result) -> dict[str, Any]:
    """The EvaluationResult, ready for JSON: structured checks (V2) for the cases of a test set, `scores` alone (V1)
    elsewhere."""
    shape = structs.asdict(_wire_result(run, result))
    for name in ("more", "failure_attribution"):  # the service adds the second
        del shape[name]
    shape["created_at"] = iso_utc(result.created_at)
    return shape


def _wire_result(run: Run, result: Result) -> wire_results.Result:
    case, transcript = result.case, result.transcript
    # Consumers take any result with an `item_type` for one of the structured era, so the others have none; `input_kind`
    # says what the input was in both.
    is_structured, kind = case.world == World.TEST_SET, input_kind(case.input)
    # Plain JSON, because entries hold more than their shape says: weight, evidence, scope.
    asked = is_structured and run.pins.request.may_have(CRITERIA)
    criteria: Any = criteria_scores(case, result.grades) if asked else None
    rules: Any = rubric_scores(run.pins.rubric, result.grades) if is_structured else None
    simulation = transcript.simulation if transcript else None
    return wire_results.Result(
        result_id=str(result_id(_run_uuid(run.id), case.id, result.candidate, result.repeat)),
        run_id=run.id,
        test_case_id=case.id,
        langsmith_run_id=transcript.metadata.get("langsmith_run_id") if transcript else None,
        input={**input_shape(case.input), **(_timed_input(case) if finished_transcript_of(case) else {})},
        output=_output(result),
        scores=scores(result.grades),
        item_name=case.name or one_line(opening(case.input), NAME_LENGTH),
        item_type=item_type(case) if is_structured else None,
        criteria_scores=criteria,
        criteria_passed=None if criteria is None else criteria_hold(criteria, result.grades),
        rubric_scores=rules,
        rubric_passed=None if rules is None else no_high_failure(rules),
        passed=DECIDED.get(result.verdict),
        duration_ms=round(result.duration_ms),
        created_at=result.created_at,
        candidate=result.candidate,
        repeat=result.repeat,
        verdict=result.verdict.value,
        error=result_error(result),
        reasons=list(result.reasons),
        failures=[to_builtins(failure) for failure in result.failures],
        input_kind=kind,
        simulation=to_builtins(simulation) if simulation else None,
        fault=to_builtins(result.fault) if result.fault else None,
        flags=[to_builtins(flag) for flag in result.flags],
        tags=list(case.tags),
        labels=dict(case.labels),
    )


def input_kind(input: Input) -> str:
    match input:
        case SingleTurn():
            return "single_turn"
        case Script():
            return "script"
        case Scenario():
            return "scenario"


ITEM_TYPES = ("single_turn", "scenario", *FINISHED)


def item_type(case: Case) -> str:
    """The type of the item in its test set; a conversation of any other source is a `transcript`."""
    kind, own = input_kind(case.input), case.labels.get("type", "")
    return own if own in ITEM_TYPES else "transcript" if kind == "script" else kind


def _timed_input(case: Case) -> dict[str, Any]:
    """The messages with their times, and what else was measured of a finished conversation, as its item has them."""
    given = case.metadata.get("inputs", {})
    return {name: given[name] for name in ("messages", "voice_metrics") if name in given}


def input_shape(input: Input) -> dict[str, Any]:
    """The fields of the input; empty ones are left out, except the turn limit."""
    match input:
        case Script(turns=turns):
            return {"turns": list(turns)}
        case Scenario(persona=persona, initial_message=text, max_turns=most):
            around = {"goal": input.goal, "facts": input.facts, "conversation_plan": input.plan}
            extra = {name: _plain(value) for name, value in around.items() if value}
            return {"persona": persona, "initial_message": text, "max_turns": most, **extra}
        case SingleTurn(message=text):
            around = {"context": input.context, "history": input.history, "attachments": input.attachments}
            return {"message": text} | {name: _plain(value) for name, value in around.items() if value}


def _plain(value: object) -> Any:
    return json.decode(json.encode(value))


def _output(result: Result) -> dict[str, Any]:
    """Without a transcript there are no messages, not even those that would have been sent."""
    transcript = result.transcript
    if transcript is None:
        return {"messages": [], "tool_calls": [], "state": None, "answer": None, "usage": None}
    return {
        "messages": [_message(message) for message in conversation(result) if message.content],
        "tool_calls": [_call(call) for call in transcript.tool_calls],
        "state": transcript.state,
        "answer": transcript.answer,
        "usage": to_builtins(transcript.usage) if transcript.usage else None,
    }


def _message(message: Message) -> dict[str, Any]:
    shape = {"role": message.role.value, "content": message.content}
    return {**shape, "agent": message.agent} if message.agent else shape


def _call(call: ToolCall) -> dict[str, Any]:
    result = {"content": call.result.content, "failed": call.result.failed} if call.result else None
    return {"name": call.name, "arguments": call.arguments, "id": call.id or None, "result": result}
