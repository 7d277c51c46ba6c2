"""The importer of OpenTelemetry spans in JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmark_files import Row, as_lines, faults, imported, otlp, otlp_span, written
from howsure.dialects.importers.trace_exports import OtlpImporter, attributes_of, unwrapped
from howsure.model.case import Script
from howsure.model.transcript import Transcript, Usage

IMPORTER = OtlpImporter()
MODEL = {"gen_ai.operation.name": "chat", "input.value": "Hi?", "output.value": "Hello."}


@pytest.mark.parametrize(
    ("name", "text"),
    [("spans.json", json.dumps(otlp(), indent=1)), ("spans.jsonl", as_lines([otlp()]))],
    ids=["one document", "lines"],
)
def test_resource_spans_become_a_conversation(name: str, text: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, text)
    assert IMPORTER.detect(path, path.read_bytes())
    (case,) = imported(IMPORTER, path)
    assert case.id == "aa11"
    assert case.input == Script(turns=("Hi?",))
    assert case.metadata == {"service": "shop"}
    assert isinstance(case.recorded, Transcript)
    assert case.recorded.answer == "Hello."
    assert case.recorded.usage == Usage(prompt_tokens=4, completion_tokens=2)
    assert case.recorded.duration_ms == 1000.0


def test_each_trace_is_a_case_in_the_order_of_the_file(tmp_path: Path) -> None:
    spans = [
        otlp_span("s1", "chat m", MODEL, traceId="t2"),
        otlp_span("s2", "chat m", MODEL, traceId="t1"),
        otlp_span("s3", "execute_tool find", {"gen_ai.tool.name": "find", "input.value": "{}"}, traceId="t2"),
    ]
    cases = imported(IMPORTER, written(tmp_path, "s.jsonl", as_lines([otlp(*spans[:1]), otlp(*spans[1:])])))
    assert [case.id for case in cases] == ["t2", "t1"]
    assert isinstance(cases[0].recorded, Transcript)
    assert [call.name for call in cases[0].recorded.tool_calls] == ["find"]


def test_plain_spans_on_lines_are_read_too(tmp_path: Path) -> None:
    row = {"trace": "t", "span": "s", "parent": "", "name": "chat m", "attrs": MODEL, "service": "shop"}
    path = written(tmp_path, "s.jsonl", as_lines([row]))
    assert IMPORTER.detect(path, path.read_bytes())
    (case,) = imported(IMPORTER, path)
    assert case.input == Script(turns=("Hi?",))
    assert case.metadata == {"service": "shop"}
    assert isinstance(case.recorded, Transcript)
    assert case.recorded.duration_ms is None


@pytest.mark.parametrize(
    ("status", "failed"), [({"code": 2}, True), ({"code": "STATUS_CODE_ERROR"}, True), ({}, False), (1, False)]
)
def test_a_failed_tool_stays_failed(status: Any, failed: bool, tmp_path: Path) -> None:
    tool = otlp_span("s2", "execute_tool find", {"gen_ai.tool.name": "find", "output.value": "oops"}, status=status)
    spans = otlp(otlp_span("s1", "chat m", MODEL), tool)
    (case,) = imported(IMPORTER, written(tmp_path, "s.json", json.dumps(spans)))
    assert isinstance(case.recorded, Transcript)
    assert case.recorded.spans is not None
    assert (case.recorded.spans[1].attributes.get("otel.status_code") == "ERROR") is failed


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"x": 1}, [(1, "", "bad-span")]),
        ({"resourceSpans": 3}, [(1, "resourceSpans", "wrong-type")]),
        (
            otlp(otlp_span("s", "chat m", MODEL, startTimeUnixNano="later")),
            [(1, "resourceSpans[0].scopeSpans[0].spans[0]", "bad-span")],
        ),
        (
            otlp(otlp_span("s", "work", {})),
            [(1, "resourceSpans[0].scopeSpans[0].spans[0]", "no-user-inputs")],
        ),
        ([], [(1, "", "wrong-type")]),
    ],
)
def test_what_is_wrong_is_told_with_its_place(row: Any, expected: list[Any], tmp_path: Path) -> None:
    assert faults(IMPORTER, written(tmp_path, "s.jsonl", as_lines([row]))) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"stringValue": "x"}, "x"),
        ({"intValue": "7"}, 7),
        ({"boolValue": False}, False),
        ({"doubleValue": 1.5}, 1.5),
        ({"arrayValue": {"values": [{"intValue": 1}, {"stringValue": "b"}]}}, [1, "b"]),
        ({"kvlistValue": {"values": [{"key": "k", "value": {"stringValue": "v"}}]}}, {"k": "v"}),
        ({}, None),
        ("plain", "plain"),
    ],
)
def test_values_are_taken_out_of_their_types(value: Any, expected: Any) -> None:
    assert unwrapped(value) == expected


def test_attributes_may_be_an_object_already() -> None:
    plain: Row = {"a": 1}
    assert attributes_of(plain) == plain
    assert attributes_of(None) == {}


TOOL_CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}
AS_EVENTS: dict[str, list[tuple[str, Row]]] = {
    "content and message": [
        ("gen_ai.user.message", {"content": "Weather in Rome?"}),
        ("gen_ai.choice", {"message": json.dumps({"role": "assistant", "content": "Sunny"}), "finish_reason": "stop"}),
    ],
    "parts": [
        ("gen_ai.user.message", {"content": json.dumps([{"text": "Weather in Rome?"}])}),
        ("gen_ai.choice", {"message": json.dumps([{"text": "Sunny"}])}),
    ],
    "a body": [
        ("gen_ai.user.message", {"gen_ai.event.content": json.dumps({"content": "Weather in Rome?"})}),
        ("gen_ai.assistant.message", {"gen_ai.event.content": json.dumps({"tool_calls": [TOOL_CALL]})}),
        ("gen_ai.tool.message", {"gen_ai.event.content": json.dumps({"content": "sunny", "id": "c1"})}),
        ("gen_ai.choice", {"gen_ai.event.content": json.dumps({"message": {"content": "Sunny"}})}),
        ("exception", {"exception.message": "late"}),
    ],
    "details": [
        (
            "gen_ai.client.inference.operation.details",
            {
                "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"content": "Weather in Rome?"}]}]),
                "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"content": "Sunny"}]}]),
            },
        )
    ],
}


@pytest.mark.parametrize("form", AS_EVENTS)
def test_messages_that_were_recorded_as_events_are_read(form: str, tmp_path: Path) -> None:
    events = [{"name": name, "attributes": attributes} for name, attributes in AS_EVENTS[form]]
    span = {"traceId": "t", "spanId": "s", "name": "chat", "attributes": {"gen_ai.operation.name": "chat"}}
    (case,) = imported(IMPORTER, written(tmp_path, "spans.jsonl", as_lines([{**span, "events": events}])))
    assert case.input == Script(turns=("Weather in Rome?",))
    assert isinstance(case.recorded, Transcript)
    assert case.recorded.answer == "Sunny"
    assert [call.name for call in case.recorded.tool_calls] == (["weather"] if form == "a body" else [])
