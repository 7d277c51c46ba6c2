"""Exported traces (docs/importers.md). `langfuse`: one JSON file for each run of an agent, with its observations.
`otlp`: OpenTelemetry spans as JSON, as `resourceSpans` (one document, or one on each line) or one plain span on each
line; each trace is one case. span_cases.py makes the cases.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from howsure.dialects.base import Watch, WatchedDialect
from howsure.dialects.documents import JsonDocument, load_json
from howsure.dialects.importers.base import wrong_kind
from howsure.dialects.importers.span_cases import attributes_of, case_of_spans
from howsure.dialects.lines import Row, open_file, read_objects
from howsure.dialects.problems import SchemaChecker, Spot, shown
from howsure.dialects.reference_data import LOOSE, TEXT
from howsure.dialects.simulation_messages import first_present, objects_in
from howsure.dialects.simulation_traces import nanoseconds
from howsure.dialects.strict_json import Json, head_keys
from howsure.errors import Level, Problem
from howsure.model.case import Case
from howsure.model.transcript import Span
from howsure.traces.values import decode_value

_OBSERVATION: Json = {
    "type": "object",
    "required": ["id", "type"],
    "properties": {
        "id": TEXT,
        "type": TEXT,
        "name": LOOSE,
        "traceId": LOOSE,
        "parentObservationId": LOOSE,
        "startTime": LOOSE,
        "endTime": LOOSE,
        "metadata": {"type": ["object", "string", "null"]},
    },
}
_SHAPE = SchemaChecker(_OBSERVATION)
_PREFIX = "langfuse.observation."
_SEEN = {
    "type": "type",
    "model.name": "model",
    "usage_details": "usageDetails",
    "input": "input",
    "output": "output",
    "level": "level",
}
_KEPT = ("name", "timestamp", "environment", "tags", "version", "release", "userId", "sessionId", "scores")


class LangfuseImporter(WatchedDialect):
    """JSON with `trace` and `observations`."""

    name = "langfuse"

    def detect(self, path: Path, head: bytes) -> bool:
        keys = head_keys(head)
        return path.suffix.lower() == ".json" and ("observations" in keys or keys[:1] == ["trace"])

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        document = load_json(path, watch)
        yield from document.problems
        if document.problems:
            return
        value = document.value
        if not isinstance(value, dict) or not isinstance(value.get("observations"), list):
            yield wrong_kind(document.spot, "an object with a list of `observations`", value)
            return
        yield from _case(document)


def _case(document: JsonDocument) -> Iterator[Case | Problem]:
    spans: list[Span] = []
    problems: list[Problem] = []
    for spot, observation in document.elements("observations"):
        violations = _SHAPE.problems(observation, spot)
        problems += violations
        if not violations:
            try:
                spans.append(_span(observation))
            except ValueError as error:
                problems.append(spot.problem("bad-span", str(error), expected="an ISO time"))
    yield from problems
    if problems:
        return
    trace: Json = document.value.get("trace") if isinstance(document.value.get("trace"), dict) else {}
    metadata = {key: trace[key] for key in _KEPT if trace.get(key) not in (None, "", [], {})}
    id = str(trace.get("id") or next((span.trace_id for span in spans if span.trace_id), ""))
    yield from case_of_spans(
        spans, id, document.spot, metadata, _decoded_twice(trace.get("input")), _decoded_twice(trace.get("output"))
    )


def _decoded_twice(value: Any) -> Any:
    """The input or output of a trace, which the export writes as JSON text, sometimes encoded twice."""
    inner = decode_value(value)
    return decode_value(inner) if isinstance(inner, str) and inner.startswith('"') and inner.endswith('"') else inner


def _span(observation: Json) -> Span:
    metadata = observation.get("metadata")
    recorded: Any = metadata.get("attributes") if isinstance(metadata, dict) else None
    attributes: Json = dict(recorded) if isinstance(recorded, dict) else {}
    for name, field in _SEEN.items():
        value = observation.get(field)
        if value not in (None, {}, ""):
            attributes[_PREFIX + name] = value.lower() if field == "type" else value
    return Span(
        name=observation.get("name") or "",
        span_id=observation["id"],
        trace_id=observation.get("traceId") or "",
        parent_id=observation.get("parentObservationId") or "",
        start_ns=nanoseconds(observation.get("startTime")),
        end_ns=nanoseconds(observation.get("endTime")),
        attributes=attributes,
    )


_RESOURCES = ("resourceSpans", "resource_spans")
_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
_TRACE, _ID = ("traceId", "trace_id", "trace"), ("spanId", "span_id", "span")
_ERROR = (2, "STATUS_CODE_ERROR", "ERROR")


class _PlacedSpan(Struct, frozen=True):
    span: Span
    service: str
    spot: Spot


class OtlpImporter(WatchedDialect):
    """JSON or JSONL of spans."""

    name = "otlp"

    def detect(self, path: Path, head: bytes) -> bool:
        keys = set(head_keys(head))
        if keys & set(_RESOURCES):
            return True
        named = keys & set(_TRACE) and keys & set(_ID) and "name" in keys
        return bool(named) and bool(keys & {"attributes", "attrs"})

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        traces: dict[str, list[_PlacedSpan]] = {}
        sound = True
        for item in _spans(path, watch):
            if isinstance(item, Problem):
                sound = sound and item.level is not Level.ERROR
                yield item
            else:
                traces.setdefault(item.span.trace_id, []).append(item)
        for trace, placed in traces.items() if sound else ():
            metadata = {"service": placed[0].service} if placed[0].service else {}
            yield from case_of_spans([one.span for one in placed], trace, placed[0].spot, metadata)


def _spans(path: Path, watch: Watch | None) -> Iterator[_PlacedSpan | Problem]:
    if path.suffix.lower() == ".json":
        document = load_json(path, watch)
        yield from document.problems or _document(document.value, document.spot)
        return
    with open_file(path, watch) as stream:
        for line, row in read_objects(stream, str(path)):
            yield from [row] if isinstance(row, Problem) else _document(row, Spot(str(path), line))


def _document(value: object, spot: Spot) -> Iterator[_PlacedSpan | Problem]:
    if not isinstance(value, dict):
        yield spot.problem("wrong-kind", "must be an object", expected="resourceSpans, or a span", found=shown(value))
        return
    name = next((name for name in _RESOURCES if name in value), "")
    if not name:
        yield _placed(value, str(value.get("service") or ""), spot)
        return
    if not isinstance(value[name], list):
        yield spot.below(name).problem("wrong-type", "must be a list", expected="array", found=shown(value[name]))
        return
    for resource, resource_spans in enumerate(objects_in(value[name])):
        about = resource_spans.get("resource")
        service = attributes_of(about.get("attributes")).get("service.name") if isinstance(about, dict) else ""
        at = spot.below(name, resource)
        for number, scope in enumerate(objects_in(first_present(resource_spans, *_SCOPES))):
            for place, span in enumerate(objects_in(scope.get("spans"))):
                yield _placed(span, str(service or ""), at.below("scopeSpans", number, "spans", place))


def _placed(raw: Row, service: str, spot: Spot) -> _PlacedSpan | Problem:
    trace, id, name = first_present(raw, *_TRACE), first_present(raw, *_ID), raw.get("name")
    if not (isinstance(trace, str) and trace and isinstance(id, str) and id and isinstance(name, str)):
        expected = "resourceSpans, or traceId, spanId, name and attributes"
        return spot.problem("bad-span", "is no span", expected=expected, found=shown(raw))
    try:
        attributes, status = attributes_of(first_present(raw, "attributes", "attrs")), raw.get("status")
        failed = (status.get("code") if isinstance(status, dict) else status) in _ERROR
        span = Span(
            name=name,
            span_id=id,
            trace_id=trace,
            parent_id=str(first_present(raw, "parentSpanId", "parent_span_id", "parent_id", "parent") or ""),
            start_ns=nanoseconds(first_present(raw, "startTimeUnixNano", "start_time_unix_nano", "start_time")),
            end_ns=nanoseconds(first_present(raw, "endTimeUnixNano", "end_time_unix_nano", "end_time")),
            attributes={**attributes, "otel.status_code": "ERROR"} if failed else attributes,
        )
    except (ValueError, TypeError, AttributeError) as error:
        return spot.problem("bad-span", f"cannot be read: {error}", expected="a span", found=shown(raw))
    return _PlacedSpan(span, service, spot)
