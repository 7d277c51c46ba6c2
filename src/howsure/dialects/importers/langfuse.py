"""Langfuse traces: one JSON file for each run of an agent, with its observations. docs/importers.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from howsure.dialects.base import Watch, WatchedDialect
from howsure.dialects.importers.base import LoadedFile, list_elements, load_file, wrong_kind
from howsure.dialects.importers.span_cases import case_of_spans
from howsure.dialects.problems import SchemaChecker
from howsure.dialects.reference_data import TEXT
from howsure.dialects.simulation_traces import nanoseconds
from howsure.dialects.strict_json import Json, head_keys
from howsure.errors import Problem
from howsure.model.case import Case
from howsure.model.transcript import Span
from howsure.traces.values import decode_value

_LOOSE: Json = {"type": ["string", "null"]}
_OBSERVATION: Json = {
    "type": "object",
    "required": ["id", "type"],
    "properties": {
        "id": TEXT,
        "type": TEXT,
        "name": _LOOSE,
        "traceId": _LOOSE,
        "parentObservationId": _LOOSE,
        "startTime": _LOOSE,
        "endTime": _LOOSE,
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
        loaded = load_file(path, watch)
        yield from loaded.problems
        if loaded.problems:
            return
        value = loaded.value
        if not isinstance(value, dict) or not isinstance(value.get("observations"), list):
            yield wrong_kind(loaded.spot, "an object with a list of `observations`", value)
            return
        yield from _case(loaded)


def _case(loaded: LoadedFile) -> Iterator[Case | Problem]:
    spans: list[Span] = []
    problems: list[Problem] = []
    for spot, observation in list_elements(loaded, "observations"):
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
    trace: Json = loaded.value.get("trace") if isinstance(loaded.value.get("trace"), dict) else {}
    metadata = {key: trace[key] for key in _KEPT if trace.get(key) not in (None, "", [], {})}
    id = str(trace.get("id") or next((span.trace_id for span in spans if span.trace_id), ""))
    yield from case_of_spans(
        spans, id, loaded.spot, metadata, _decoded_twice(trace.get("input")), _decoded_twice(trace.get("output"))
    )


def _decoded_twice(value: Any) -> Any:
    """The input or output of a trace, which the export writes as JSON text, sometimes encoded twice."""
    inner = decode_value(value)
    return decode_value(inner) if isinstance(inner, str) and inner.startswith('"') and inner.endswith('"') else inner


def _span(observation: Json) -> Span:
    metadata = observation.get("metadata")
    attributes_held: Any = metadata.get("attributes") if isinstance(metadata, dict) else None
    attributes: Json = dict(attributes_held) if isinstance(attributes_held, dict) else {}
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
