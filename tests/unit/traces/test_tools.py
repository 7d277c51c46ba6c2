"""A tool call and its response are one call, whether they came as one span or as two."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.model.transcript import Span
from howsure.traces.read import read_trace, says_error
from howsure.traces.trace import ToolOutcome, ToolUse

ARGS = "gcp.vertex.agent.tool_call_args"
RESPONSE = "gcp.vertex.agent.tool_response"
ID = "gen_ai.tool.call.id"
OK, BAD, SILENT, GARBLED = ToolOutcome.SUCCEEDED, ToolOutcome.FAILED, ToolOutcome.NO_RESPONSE, ToolOutcome.UNREADABLE


def span(name: str, id: Any = "", parent: Any = "", at: Any = None, **attributes: Any) -> Span:
    end = None if at is None else at + 1
    return Span(name=name, span_id=id, parent_id=parent, start_ns=at, end_ns=end, attributes=attributes)


def uses(*spans: Span) -> tuple[ToolUse, ...]:
    return read_trace(spans).tool_uses


def outcomes(*spans: Span) -> list[tuple[str, ToolOutcome]]:
    return [(use.name, use.outcome) for use in uses(*spans)]


@pytest.mark.parametrize(
    ("spans", "calls"),
    [
        ([span("execute_tool a", **{ARGS: "{}", RESPONSE: '{"x": 1}'})], [("a", OK)]),
        ([span("execute_tool a", **{ARGS: "{}"}), span("execute_tool a", **{RESPONSE: "{}"})], [("a", OK)]),
        ([span("tool_call [a]", **{ARGS: "{}"}), span("tool_response [a]", **{RESPONSE: "{}"})], [("a", OK)]),
        ([span("tool_call a", **{ARGS: "{}"}), span("tool_response", **{RESPONSE: "{}"})], [("a", OK)]),
        (
            [
                span("execute_tool a", **{ARGS: "{}"}),
                span("execute_tool b", **{ARGS: "{}"}),
                span("execute_tool b", **{RESPONSE: '{"error": "x"}'}),
                span("execute_tool a", **{RESPONSE: "{}"}),
            ],
            [("a", OK), ("b", BAD)],
        ),
        (
            [
                span("execute_tool a", **{ARGS: "{}", ID: "1"}),
                span("execute_tool a", **{ARGS: "{}", ID: "2"}),
                span("execute_tool a", **{RESPONSE: '{"error": "x"}', ID: "2"}),
                span("execute_tool a", **{RESPONSE: "{}", ID: "1"}),
            ],
            [("a", OK), ("a", BAD)],
        ),
        (
            [
                span("execute_tool a", **{ARGS: "{}"}),
                span("execute_tool a", **{ARGS: "{}"}),
                span("execute_tool a", **{RESPONSE: "{}"}),
            ],
            [("a", OK), ("a", SILENT)],
        ),
        ([span("execute_tool a", **{RESPONSE: "{}"})], [("a", OK)]),
        ([span("tool_response", **{RESPONSE: "{}"})], [("tool_response", OK)]),
        ([span("execute_tool a"), span("execute_tool a")], [("a", SILENT), ("a", SILENT)]),
        ([span("execute_tool a"), span("execute_tool a", **{"error.type": "Timeout"})], [("a", SILENT), ("a", BAD)]),
        (
            [span("execute_tool a", **{ARGS: "{}", RESPONSE: "{}"}), span("execute_tool a", **{RESPONSE: "{}"})],
            [("a", OK), ("a", OK)],
        ),
        (
            [span("execute_tool a", **{ARGS: "{}", RESPONSE: "{}", ID: "c9"}) for _ in range(2)],
            [("a", OK), ("a", OK)],
        ),
        (
            [span("execute_tool a", **{ARGS: "{}"}), span("execute_tool (merged)", **{RESPONSE: "{}"})],
            [("a", SILENT)],
        ),
        ([span("running 2 tools", tools=["a", "b"]), span("running tool: a", tool_arguments="{}")], [("a", SILENT)]),
    ],
    ids=[
        "one span",
        "two spans of one name",
        "call and response spans",
        "a response without a name",
        "interleaved",
        "joined by id, not by order",
        "one call unanswered",
        "a response alone",
        "a nameless response alone",
        "content not captured",
        "content not captured, one failure",
        "nothing waits for the second response",
        "an id used twice",
        "the span that closes parallel calls",
        "the span around parallel calls",
    ],
)
def test_a_call_and_its_response_count_once(spans: list[Span], calls: list[tuple[str, ToolOutcome]]) -> None:
    assert outcomes(*spans) == calls


def test_a_joined_call_keeps_the_arguments_the_response_and_the_whole_time() -> None:
    (use,) = uses(
        span("execute_tool a", "1", at=0, **{ARGS: '{"order": "A1"}'}),
        span("execute_tool a", "2", at=5, **{RESPONSE: '{"status": "shipped"}'}),
    )
    assert use.arguments == {"order": "A1"}
    assert use.response == {"status": "shipped"}
    assert (use.start_ns, use.end_ns) == (0, 6)
    assert use.spans == ("1", "2")


def test_the_response_may_come_first_in_the_file() -> None:
    assert outcomes(
        span("tool_response [a]", at=9, **{RESPONSE: "{}"}),
        span("tool_call [a]", at=3, **{ARGS: "{}"}),
    ) == [("a", OK)]


@pytest.mark.parametrize(
    ("inner", "number"),
    [
        ({"gen_ai.tool.name": "a"}, 1),
        ({"gen_ai.tool.name": "b"}, 2),
        ({"gen_ai.tool.name": "a", ID: "2"}, 2),
        ({"gen_ai.tool.name": "a", ID: "1"}, 1),
    ],
    ids=["same tool", "another tool", "another call", "same call"],
)
def test_a_wrapper_around_a_call_is_the_same_call(inner: dict[str, Any], number: int) -> None:
    outer = span("execute_tool a", "1", **{ARGS: "{}", RESPONSE: "{}", ID: "1"})
    assert len(uses(outer, span("tools/call", "2", "1", **{"openinference.span.kind": "TOOL", **inner}))) == number


def test_a_tool_called_by_an_agent_that_is_a_tool_is_another_call() -> None:
    spans = [
        span("execute_tool search", "1", **{ARGS: "{}", RESPONSE: "{}"}),
        span("invoke_agent searcher", "2", "1"),
        span("execute_tool search", "3", "2", **{ARGS: "{}", RESPONSE: "{}"}),
    ]
    assert outcomes(*spans) == [("search", OK), ("search", OK)]


@pytest.mark.parametrize(
    ("attributes", "arguments", "response"),
    [
        ({ARGS: {"q": 1}, RESPONSE: {"r": 2}}, {"q": 1}, {"r": 2}),
        ({"gen_ai.tool.call.arguments": '{"q": 1}', "gen_ai.tool.call.result": '{"r": 2}'}, {"q": 1}, {"r": 2}),
        ({"tool_arguments": {"q": 1}, "tool_response": "done"}, {"q": 1}, "done"),
        ({"tool.parameters": '{"q": 1}', "output.value": "done"}, {"q": 1}, "done"),
        ({"input.value": {"q": 1}, "output.value": "{'r': 2}"}, {"q": 1}, {"r": 2}),
        ({"traceloop.entity.input": '{"q": 1}', "traceloop.entity.output": "[]"}, {"q": 1}, []),
        ({"langfuse.observation.input": {"q": 1}, "langfuse.observation.output": "x"}, {"q": 1}, "x"),
    ],
    ids=["ADK", "gen_ai", "pydantic-ai", "OpenInference", "printed Python", "traceloop", "langfuse"],
)
def test_arguments_and_responses_are_read_in_every_spelling(
    attributes: dict[str, Any], arguments: Any, response: Any
) -> None:
    (use,) = uses(Span(name="execute_tool a", attributes=attributes))
    assert (use.arguments, use.response, use.outcome) == (arguments, response, OK)


@pytest.mark.parametrize(
    ("value", "call_id"),
    [("call_1", "call_1"), (["run_9", "call_1"], "call_1"), ('["run_9", "call_1"]', "call_1"), (7, "7"), ([], "[]")],
)
def test_the_id_of_a_call_may_come_with_that_of_its_run(value: Any, call_id: str) -> None:
    (use,) = uses(span("execute_tool a", **{ID: value}))
    assert use.call_id == call_id


@pytest.mark.parametrize(
    ("attributes", "outcome"),
    [
        ({RESPONSE: '{"status": "error"}'}, BAD),
        ({RESPONSE: '{"status": "success"}'}, OK),
        ({RESPONSE: '{"status": "err'}, GARBLED),
        ({RESPONSE: "not json at all"}, GARBLED),
        ({RESPONSE: "<not specified>"}, SILENT),
        ({RESPONSE: '{"result": "<not specified>"}'}, SILENT),
        ({RESPONSE: ""}, SILENT),
        ({RESPONSE: "{}"}, OK),
        ({"gen_ai.tool.call.result": "sunny"}, OK),
        ({"gen_ai.tool.call.result": '{"broken'}, GARBLED),
        ({"error.type": "TimeoutError"}, BAD),
        ({"error.type": "TimeoutError", RESPONSE: "{}"}, BAD),
        ({"otel.status_code": "ERROR", RESPONSE: "{}"}, BAD),
        ({"status_code": "STATUS_CODE_ERROR"}, BAD),
        ({"otel.status_code": "OK", RESPONSE: "{}"}, OK),
        ({"langfuse.observation.level": "ERROR"}, BAD),
        ({"langfuse.observation.level": "DEFAULT", RESPONSE: "{}"}, OK),
    ],
)
def test_how_a_call_ended(attributes: dict[str, Any], outcome: ToolOutcome) -> None:
    (use,) = uses(Span(name="execute_tool a", attributes={ARGS: "{}", **attributes}))
    assert use.outcome is outcome


def test_what_cannot_be_read_is_noted_with_its_place() -> None:
    trace = read_trace([span("execute_tool a", "s1", **{ARGS: '{"q": ', RESPONSE: '{"status": "err'})])
    assert [problem.field for problem in trace.problems] == [
        "span s1 (execute_tool a).gcp.vertex.agent.tool_call_args",
        "span s1 (execute_tool a).gcp.vertex.agent.tool_response",
    ]
    (use,) = trace.tool_uses
    assert (use.arguments, use.response, use.failed) == ('{"q": ', None, False)


@pytest.mark.parametrize(
    ("response", "error"),
    [
        ({"status": "error"}, True),
        ({"status": "ERROR"}, True),
        ({"error": "boom"}, True),
        ({"error_message": "boom"}, True),
        ({"error": {"code": 3}}, True),
        ({"isError": True, "content": []}, True),
        ({"result": {"isError": True}}, True),
        ({"response": {"status": "error"}}, True),
        ({"result": '{"status": "error"}'}, True),
        ({"result": {"result": {"error": "deep"}}}, True),
        ({"error": None}, False),
        ({"error": ""}, False),
        ({"error": False}, False),
        ({"error": []}, False),
        ({"error_message": None, "status": "ok"}, False),
        ({"isError": False}, False),
        ({"errors_found": 3}, False),
        ({"status": 200}, False),
        ({}, False),
        ("Error is not always an error", False),
        ([{"error": "in a list of findings"}], False),
        (None, False),
    ],
)
def test_an_error_is_what_says_so_and_an_empty_error_is_none(response: Any, error: bool) -> None:
    assert says_error(response) is error


@pytest.mark.parametrize(("last", "outcome"), [("success", OK), ("error", BAD)])
def test_the_phases_of_a_call_are_one_call(last: str, outcome: ToolOutcome) -> None:
    kind = {"openinference.span.kind": "TOOL"}
    spans = [
        span("tool.search.wikipedia.start-12", "1", at=1, **kind, **{"tool.parameters": {"query": "x"}}),
        span(f"tool.search.wikipedia.{last}-12", "2", at=4, **kind, **{"output.value": [1]}),
        span("tool.search.wikipedia.finish-12", "3", at=5, **kind),
    ]
    (use,) = uses(*spans)
    assert (use.name, use.arguments, use.outcome) == ("search.wikipedia", {"query": "x"}, outcome)
    assert (use.start_ns, use.end_ns) == (1, 5)
