"""A run as traces in OTLP's JSON, one trace a line, as the file exporter of OpenTelemetry writes them: a span
`invoke_agent` for each result, the spans of its own below it, and an event `gen_ai.evaluation.result` for the verdict
and for each grade. Ids are made of the result's id, so the same run is always the same traces."""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from howsure.model.result import Result
from howsure.model.run import Run
from howsure.model.score import Score
from howsure.model.summary import Summary
from howsure.model.transcript import Span
from howsure.reports.artifacts.files import json_line
from howsure.reports.atomic_files import atomic_bytes
from howsure.reports.every_eval_ever import dataset_name, model_info
from howsure.reports.figures import in_utc
from howsure.reports.grades import grade_passed
from howsure.reports.tool_files.shapes import ResultContent, Shape, json_text, prompt_messages, result_content

INTERNAL, OK, ERROR = 1, 1, 2
SPAN_ID = re.compile(r"[0-9a-f]{16}")
LABELS: dict[bool | None, str] = {True: "pass", False: "fail"}


async def write_otlp(summary: Summary, results: AsyncIterable[Result], path: Path) -> None:
    run = summary.run
    about = {"service.name": "howsure", "howsure.run.id": run.id, "howsure.run.name": run.name}
    resource = {"attributes": attributes({**about, "howsure.dataset": dataset_name(run)})}
    scope = {"name": "howsure", "version": run.pins.howsure_version}
    with atomic_bytes(path) as file:
        async for result in results:
            spans = [{"scope": scope, "spans": otlp_spans(run, result)}]
            file.write(json_line({"resourceSpans": [{"resource": resource, "scopeSpans": spans}]}))


def attributes(values: Mapping[str, Any]) -> list[Shape]:
    """OTLP's list of keys and values; what is None is left out."""
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None]


def _value(value: Any) -> Shape:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list() | tuple():
            return {"arrayValue": {"values": [_value(each) for each in value]}}
        case _:
            return {"stringValue": value if isinstance(value, str) else json_text(value)}


def _span_id(*names: str) -> str:
    return sha256("\x1f".join(names).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def otlp_spans(run: Run, result: Result) -> list[Shape]:
    """The span of the result, then those of its transcript."""
    facts, case, transcript = result_content(run, result), result.case, result.transcript
    trace, said = facts.id.hex, [{"role": "assistant", "content": facts.answer}]
    began, ended = _times(run, result)
    root = _span_id(trace)
    known = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.conversation.id": trace,
        "gen_ai.request.model": model_info(run, result.candidate)["id"],
        "gen_ai.usage.input_tokens": facts.usage.prompt_tokens,
        "gen_ai.usage.output_tokens": facts.usage.completion_tokens,
        "gen_ai.input.messages": json_text(prompt_messages(result)),
        "gen_ai.output.messages": None if facts.answer is None else json_text(said),
        "howsure.case.id": case.id,
        "howsure.candidate": result.candidate or None,
        "howsure.repeat": result.repeat,
        "howsure.verdict": result.verdict.value,
    }
    times = {"startTimeUnixNano": str(began), "endTimeUnixNano": str(ended)}
    span = {"traceId": trace, "spanId": root, "name": f"invoke_agent {case.id}", "kind": INTERNAL, **times}
    status = {"code": ERROR, "message": facts.error} if facts.error else {"code": OK}
    events = [*_events(facts, result.verdict.value, str(ended))]
    own = {"attributes": attributes(known), "events": events, "status": status}
    inner = transcript.spans if transcript and transcript.spans else ()
    ids = {each.span_id for each in inner if each.span_id}
    return [{**span, **own}, *(_inner(each, trace, root, ids, times) for each in inner)]


def _times(run: Run, result: Result) -> tuple[int, int]:
    """When the attempt began and ended, in nanoseconds. Without its own time it ended with the run."""
    took = int(result.duration_ms * 1e6)
    if result.created_at is not None:
        began = _nanoseconds(result.created_at)
        return began, began + took
    ended = _nanoseconds(run.completed_at or run.created_at)
    return ended - took, ended


def _nanoseconds(time: datetime) -> int:
    return round((in_utc(time) or time).timestamp() * 1e6) * 1000


def _inner(span: Span, trace: str, root: str, ids: set[str], times: Shape) -> Shape:
    def fitting(id: str) -> str:
        return id if SPAN_ID.fullmatch(id) else _span_id(trace, id)

    own = {"startTimeUnixNano": span.start_ns, "endTimeUnixNano": span.end_ns}
    known = {name: times[name] if value is None else str(value) for name, value in own.items()}
    parent = fitting(span.parent_id) if span.parent_id in ids else root
    shown = {"traceId": trace, "spanId": fitting(span.span_id or span.name), "parentSpanId": parent, "name": span.name}
    return {**shown, "kind": INTERNAL, **known, "attributes": attributes(span.attributes)}


def _events(facts: ResultContent, verdict: str, when: str) -> Iterator[Shape]:
    yield _event("verdict", when, None, LABELS.get(facts.passed, verdict), facts.reason)
    for grade in facts.grades:
        value, named = (grade.value, None) if isinstance(grade, Score) else (None, grade.why.value)
        yield _event(grade.name, when, value, LABELS.get(grade_passed(grade), named), grade.reason)


def _event(name: str, when: str, value: float | None, label: str | None, reason: str) -> Shape:
    prefix = "gen_ai.evaluation"
    known = {f"{prefix}.name": name, f"{prefix}.score.value": value, f"{prefix}.score.label": label}
    shown = attributes({**known, f"{prefix}.explanation": reason or None})
    return {"timeUnixNano": when, "name": f"{prefix}.result", "attributes": shown}
