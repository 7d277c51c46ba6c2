"""Explain rows as Cases, and back. First the names that the format knows and the JSON Schema of one line, as `howsure
schema explain` prints it; then the names of evals brought to one spelling, and payloads that must agree with the fields
they repeat, or are built from them. A case that the format cannot hold is refused, never cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from howsure.dialects import extras
from howsure.dialects.problems import NOT_BLANK, Spot, did_you_mean, shown
from howsure.dialects.strict_json import Json, parse_json
from howsure.dialects.writers import Reason, fields_without_place, foreign_expectations
from howsure.errors import Problem
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
from howsure.model.transcript import BrokenRecording, Message, Role, Tool, ToolCall, ToolResult, Transcript

WORKFLOW_AGENTS = ("preparation-workflow-multi-agent", "preparation-workflow-single-agent")
PHASE_AGENTS = ("learning-path-curator", "study-plan-generator", "engagement-agent", "readiness-assessment-agent")
AGENTS = (*PHASE_AGENTS, *WORKFLOW_AGENTS)
TOPIC_FAMILIES = ("AZ-900", "AZ-104", "AI-102", "SC-900", "DP-900", "AZ-305", "AZ-204", "PL-300")
PROFILES = ("prep_default", "assessment_strict")
RAG_MODE = "non-rag"

REPEATS = {
    "input": "model_answer",
    "question": "question",
    "context": "context",
    "relevantContext": "relevant_context",
    "goal": "task_goal",
    "availableTools": "available_tools",
    "invokedTools": "invoked_tool_calls",
}
"""The keys of eval payloads, and the fields that they repeat."""

PAYLOADS: dict[str, tuple[str, ...]] = {
    "RelevanceExplain": ("input", "question", "context"),
    "CoherenceExplain": ("input", "question"),
    "PerceivedIntelligenceExplain": ("input", "question", "context"),
    "FluencyExplain": ("input", "question"),
    "EmpathyExplain": ("input", "question"),
    "HelpfulnessExplain": ("input", "question"),
    "IntentResolutionExplain": ("input", "question", "relevantContext"),
    "ToolCallAccuracyExplain": ("input", "question", "availableTools", "invokedTools"),
    "TaskAdherenceExplain": ("input", "question", "goal"),
}
"""The nine evals, and what each takes. Perceived intelligence takes a `rag_mode` too, which is always the same."""

RAG_EVAL = "PerceivedIntelligenceExplain"
ALIASES = {"PerceivedIntelligenceNonRagExplain": RAG_EVAL}
DEFAULT_EVALS = (
    "IntentResolutionExplain",
    "TaskAdherenceExplain",
    "RelevanceExplain",
    "CoherenceExplain",
    "HelpfulnessExplain",
)

_TEXT: Json = {"type": "string", "pattern": NOT_BLANK}
_ANY_TEXT: Json = {"type": "string"}
_ARGUMENTS: Json = {"type": ["object", "string"], "description": "an object, or the text of one"}
_TOOL_LIST: Json = {"type": ["array", "string"], "description": "a list, or the JSON text of one"}


_MODE: Json = {RAG_EVAL: {"rag_mode": {"const": RAG_MODE}}}


def _words(*allowed: str) -> Json:
    return {"enum": list(allowed)}


def _calls(comment: str) -> Json:
    fields = {"tool": _TEXT, "arguments": _ARGUMENTS, comment: _ANY_TEXT}
    return {"type": "array", "items": {"type": "object", "required": ["tool"], "properties": fields}}


SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "One line of an Explain dataset",
    "type": "object",
    "required": [
        "case_id",
        "scenario_id",
        "agent_name",
        "difficulty",
        "quality_band",
        "topic_family",
        "learner_level",
        "question",
    ],
    "properties": {
        "case_id": {**_TEXT, "description": "the agent's name, a hyphen and three or more digits"},
        "scenario_id": {**_TEXT, "description": "an id of the scenario catalog"},
        "agent_name": {**_TEXT, "description": "the agent under test"},
        "phase": _words("preparation", "assessment"),
        "difficulty": _words("easy", "medium", "hard"),
        "quality_band": _words("excellent", "good", "mixed", "poor"),
        "topic_family": _TEXT,
        "learner_level": _words("beginner", "intermediate", "advanced"),
        "question": {**_TEXT, "description": "what the user asks"},
        "context": _ANY_TEXT,
        "model_answer": {**_ANY_TEXT, "description": "the recorded answer; leave it out to ask a live agent"},
        "reference_answer": _ANY_TEXT,
        "task_goal": _ANY_TEXT,
        "relevant_context": _ANY_TEXT,
        "available_tools": {"type": "array", "items": _TEXT},
        "expected_tool_calls": _calls("reason"),
        "invoked_tool_calls": _calls("outcome"),
        "explain_inputs": {
            "type": "object",
            "properties": {
                eval: {
                    "type": "object",
                    "required": [*keys, *_MODE.get(eval, {})],
                    "properties": {key: _TOOL_LIST if key.endswith("Tools") else _ANY_TEXT for key in keys}
                    | _MODE.get(eval, {}),
                }
                for eval, keys in PAYLOADS.items()
            },
        },
        "required_evals": {"type": "array", "items": _words(*PAYLOADS)},
        "threshold_profile": {**_TEXT, "description": "a profile that is built in or in howsure.yaml"},
        "expected_contract": {**_ANY_TEXT, "description": "the JSON Schema that the answer must fulfil; empty: none"},
        "mutations": {"type": "array", "items": _TEXT, "description": "how the answer was made worse on purpose"},
    },
}


def _closed(schema: Json) -> Json:
    """The schema without room for unknown fields in the objects whose fields it names."""
    closed = {
        key: {name: _closed(rule) for name, rule in value.items()}
        if key == "properties"
        else _closed(value)
        if key == "items"
        else value
        for key, value in schema.items()
    }
    return {**closed, "additionalProperties": False} if "properties" in schema else closed


def _nested(levels: int) -> Json:
    """A value in which lists and objects are nested at most `levels` deep."""
    if not levels:
        return {"type": ["string", "number", "boolean", "null"]}
    inner = _nested(levels - 1)
    return {"items": inner, "additionalProperties": inner}


_PLAIN_CALL = {"items": {"properties": {"arguments": {"type": "object", **_nested(5)}}}}
PLAIN_SCHEMA = {
    **_closed(SCHEMA),
    "allOf": [
        {
            "required": ["model_answer", "required_evals", "explain_inputs"],
            "properties": {
                "agent_name": {"enum": list(AGENTS)},
                "topic_family": {"enum": list(TOPIC_FAMILIES)},
                "required_evals": {"minItems": 1, "uniqueItems": True},
                "expected_tool_calls": _PLAIN_CALL,
                "invoked_tool_calls": _PLAIN_CALL,
            },
        }
    ],
}
"""The schema of a line in the usual form: known names, no unknown field, an answer, and the evals named with their
payloads; tools are lists, and arguments are objects that are not deeply nested."""

_KINDS = {key: list if key.endswith("Tools") else str for key in REPEATS}
_NAMES = {name.lower(): name for name in PAYLOADS} | {alias.lower(): name for alias, name in ALIASES.items()}


def with_canonical_evals(row: Json, spot: Spot) -> tuple[Json, list[Problem]]:
    """The row with every eval under its canonical name. An unknown eval is a problem, and left out."""
    problems: list[Problem] = []
    changed: Json = {}
    if isinstance(row.get("required_evals"), list):
        changed["required_evals"] = _listed(row["required_evals"], spot.below("required_evals"), problems)
    if isinstance(row.get("explain_inputs"), dict):
        changed["explain_inputs"] = _bundle(row["explain_inputs"], spot.below("explain_inputs"), problems)
    return {**row, **changed} if changed else row, problems


def _listed(names: Sequence[Any], spot: Spot, problems: list[Problem]) -> list[Any]:
    """Brings names to one spelling. A name that is not a text is left for the schema to report."""
    known_names: list[Any] = []
    for index, name in enumerate(names):
        if not isinstance(name, str):
            known_names.append(name)
        elif (canonical := _NAMES.get(name.lower())) is None:
            problems.append(_unknown(name, spot.below(index)))
        elif canonical in known_names:
            problems.append(
                spot.below(index).warning("duplicate-eval", f"{canonical} is named twice", found=shown(name))
            )
        else:
            known_names.append(canonical)
    return known_names


def _bundle(payloads: Mapping[str, Any], spot: Spot, problems: list[Problem]) -> Json:
    bundle: Json = {}
    for name, payload in payloads.items():
        known = _NAMES.get(name.lower())
        if known is None:
            problems.append(_unknown(name, spot.below(name)))
        elif known in bundle:
            problems.append(spot.below(name).problem("duplicate-eval", f"{known} has two payloads", found=shown(name)))
        else:
            is_alias = name.lower() != known.lower()
            bundle[known] = {"rag_mode": RAG_MODE, **payload} if is_alias and isinstance(payload, dict) else payload
    return bundle


def _unknown(name: str, spot: Spot) -> Problem:
    known = ", ".join(PAYLOADS)
    hint = did_you_mean(name, [*PAYLOADS, *ALIASES])
    return spot.problem("unknown-eval", f"no eval is named {shown(name)}", expected=known, found=shown(name), hint=hint)


def with_payload_fields(row: Json) -> Json:
    """The row with fields that only its payloads state."""
    missing = {key: field for key, field in REPEATS.items() if field not in row}
    added: Json = {}
    for payload in _payloads(row).values():
        for key in missing.keys() & payload.keys():
            value = json_text(payload[key]) if _KINDS[key] is list else payload[key]
            if isinstance(value, _KINDS[key]):
                added.setdefault(missing[key], value)
    return {**row, **added} if added else row


def unreadable_tools(row: Json, spot: Spot) -> Iterator[Problem]:
    """Payloads whose tools are a text that is not the JSON of a list."""
    for eval, payload in _payloads(row).items():
        for key, value in payload.items():
            if _KINDS.get(key) is list and isinstance(value, str) and not isinstance(json_text(value), list):
                message, place = "must be a list or the JSON text of one", spot.below("explain_inputs", eval, key)
                yield place.problem("not-a-list", message, expected="array", found=shown(value))


def disagreements(row: Json, spot: Spot) -> Iterator[Problem]:
    """Payloads that differ from the field they repeat."""
    for eval, payload in _payloads(row).items():
        for key, value in payload.items():
            field = REPEATS.get(key)
            if field is None or type(row.get(field)) is not _KINDS[key]:
                continue
            stated, difference = row[field], ""
            if _KINDS[key] is str:
                if value == stated or not isinstance(value, str):
                    continue
                pairs = enumerate(zip(value, stated, strict=False))
                at = next((index for index, (left, right) in pairs if left != right), min(len(value), len(stated)))
                difference = f" (from character {at + 1} on)"
            elif not isinstance(plain_tools(value), list) or plain_tools(value) == plain_tools(stated):
                continue  # what cannot be read at all is reported by `unreadable_tools`
            message = f"`{key}` of {eval} is not what `{field}` says{difference}"
            place = spot.below("explain_inputs", eval, key)
            hint = "make them equal, or leave the payload out: it is built from the fields"
            yield place.problem(
                "explain-inputs-disagree", message, expected=shown(row[field]), found=shown(value), hint=hint
            )


def _payloads(row: Json) -> dict[str, Json]:
    bundle = row.get("explain_inputs")
    return {name: one for name, one in bundle.items() if isinstance(one, dict)} if isinstance(bundle, dict) else {}


def plain_tools(value: Any) -> Any:
    """A list of tools or calls in one form: JSON texts are read, described tools become their names."""
    value = json_text(value)
    if not isinstance(value, list):
        return value
    return [
        tool
        if not isinstance(tool, dict)
        else {**tool, "arguments": json_text(tool.get("arguments", {}))}
        if "tool" in tool
        else tool.get("name", tool)
        for tool in value
    ]


def json_text(value: Any) -> Any:
    """The value of a JSON text; any other value, and a text that is not JSON, as it is."""
    if not isinstance(value, str):
        return value
    read, problems = parse_json(value.encode("utf-8", "surrogatepass"), file="", line=None)
    return value if problems else read


def payload_of(eval: str, row: Mapping[str, Any]) -> Json:
    """The payload of an eval, from the fields of a row."""
    mode = {"rag_mode": RAG_MODE} if eval == RAG_EVAL else {}
    return {key: row.get(REPEATS[key], _KINDS[key]()) for key in PAYLOADS[eval]} | mode


LABELS = ("scenario_id", "agent_name", "phase", "difficulty", "quality_band", "topic_family", "learner_level")
PAYLOAD_NAMES = "explain_inputs"
"""The metadata key with the payload names of a row whose payloads are not those of its evals."""
MUTATIONS = "mutations"
FAILED = "error"
_WRITABLE_KINDS = (Qualities, Goal, ReferenceAnswer, ToolCalls, Contract)


def case_of(row: Json, unknown: Mapping[str, Any]) -> Case:
    """The case of a valid row with canonical evals and all fields; `unknown` are its unknown fields by JSON Pointer."""
    evals = tuple(row.get("required_evals") or DEFAULT_EVALS)
    payloads = row.get("explain_inputs", {})
    metadata: Json = {}
    if payloads.keys() != (set(evals) if "model_answer" in row else set()):
        metadata[PAYLOAD_NAMES] = list(payloads)
    if MUTATIONS in row:
        metadata[MUTATIONS] = row[MUTATIONS]
    if unknown:
        metadata[extras.KEY] = dict(unknown)
    return Case(
        id=row["case_id"],
        input=SingleTurn(message=row["question"], context=row.get("context", "")),
        expectations=_expectations(row, evals),
        world=World.EXPLAIN,
        profile=row.get("threshold_profile", ""),
        labels={name: row[name] for name in LABELS if name in row},
        metadata=metadata,
        tools=tuple([Tool(name=name) for name in row["available_tools"]]) if "available_tools" in row else None,
        recorded=_recorded(row) if "model_answer" in row else None,
    )


def _expectations(row: Json, evals: tuple[str, ...]) -> tuple[Expectation, ...]:
    expectations: list[Expectation] = [Qualities(names=evals, relevant_context=row.get("relevant_context", ""))]
    if (goal := row.get("task_goal", "")) and not goal.isspace():
        expectations.append(Goal(text=goal))
    if (reference := row.get("reference_answer", "")) and not reference.isspace():
        expectations.append(ReferenceAnswer(answers=(reference,)))
    if "expected_tool_calls" in row:
        calls = [
            ExpectedCall(name=call["tool"], arguments=_arguments_of(call), reason=call.get("reason", ""))
            for call in row["expected_tool_calls"]
        ]
        expectations.append(ToolCalls(expected=tuple(calls)))
    if (contract := row.get("expected_contract", "")) and not contract.isspace():
        expectations.append(Contract(name=contract))
    return tuple(expectations)


def _arguments_of(call: Json) -> Any:
    arguments = call.get("arguments", {})
    return json_text(arguments) if type(arguments) is str else arguments


def _recorded(row: Json) -> Transcript:
    messages: list[Message] = []
    for call in row.get("invoked_tool_calls", ()):
        outcome = call.get("outcome")
        result = None if outcome is None else ToolResult(content=outcome, failed=outcome == FAILED)
        tool_call = ToolCall(name=call["tool"], arguments=_arguments_of(call), result=result)
        messages.append(Message(role=Role.ASSISTANT, tool_calls=(tool_call,)))
    answer = row["model_answer"]
    messages.append(Message(role=Role.ASSISTANT, content=answer))
    return Transcript(answer=answer, messages=tuple(messages))


def unwritable(case: Case) -> Iterator[Reason]:
    """The reasons why the format cannot hold the case."""
    question = case.input
    if not isinstance(question, SingleTurn) or question.history or question.attachments:
        yield "input", "explain files hold single questions, without an earlier conversation or attachments"
    yield from foreign_expectations(case, _WRITABLE_KINDS, "explain")
    if not _evals(case):
        yield "expectations", "an explain row names its evals (Qualities)"
    yield from _expectation_reasons(case)
    for name in LABELS:
        if name not in case.labels and name != "phase":
            yield f"labels.{name}", f"an explain row needs a `{name}`"
    for name in sorted(case.labels.keys() - set(LABELS)):
        yield f"labels.{name}", "explain files have no place for this label"
    for key in sorted(case.metadata.keys() - {PAYLOAD_NAMES, MUTATIONS, extras.KEY}):
        yield f"metadata.{key}", "explain files have no place for it"
    if any(tool != Tool(name=tool.name) for tool in case.tools or ()):
        yield "tools", "explain files name tools, and do not describe them"
    if case.tools is None and any("ToolCallAccuracyExplain" in names for names in _evals(case)):
        yield "tools", "ToolCallAccuracyExplain needs the tools that the agent has"
    yield from fields_without_place(case, ("name", "tags"), "explain")
    if isinstance(case.recorded, BrokenRecording):
        yield "recorded", "explain files hold answers, not broken recordings"
    elif case.recorded is not None and _recorded(_recording(case.recorded)) != case.recorded:
        yield "recorded", "explain files hold an answer and calls with their outcome, and nothing else of a recording"


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


def row_of(case: Case) -> Json:
    """The row of a case that the format can hold."""
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
    extras.restore_unknown(row, case.metadata.get(extras.KEY, {}))
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
            reasons = [{"reason": call.reason} if call.reason else {} for call in calls]
            written = [{"tool": call.name, "arguments": call.arguments} for call in calls]
            return {"expected_tool_calls": [call | reason for call, reason in zip(written, reasons, strict=True)]}
        case Contract(name=name):
            return {"expected_contract": name}
        case other:
            raise TypeError(f"not an explain expectation: {other!r}")


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
