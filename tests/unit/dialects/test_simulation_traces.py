"""Spans of simulation rows: reading, steps, and times that were made up."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.dialects.problems import Spot
from howsure.dialects.simulation_traces import (
    has_made_up_times,
    nanoseconds,
    read_spans,
    span_document,
    steps_of_spans,
    steps_of_summary,
    user_turns_of_spans,
)
from howsure.model.transcript import AgentStep, Span, Step, ToolStep
from simulation_files import INVENTED_TRACE, REAL_TRACE

SECOND = 1_000_000_000


def spans_of(*given: Any) -> tuple[Span, ...]:
    spans, problems = read_spans(given, Spot("f"))
    assert problems == []
    return spans


def agent(name: str) -> Step:
    return AgentStep(name=name)


def tool(name: str) -> Step:
    return ToolStep(name=name)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, None),
        (0, 0),
        (1_700_000_000_000_000_000, 1_700_000_000_000_000_000),
        ("1700000000000000000", 1_700_000_000_000_000_000),
        (1.5, 1_500_000_000),
        (1.7e18, 1_700_000_000_000_000_000),
        ("1970-01-01T00:00:01.000002Z", 1_000_002_000),
        ("1970-01-01T01:00:01+01:00", 1_000_000_000),
        ("1970-01-01T00:00:02", 2_000_000_000),
    ],
    ids=["absent", "zero", "nanoseconds", "text", "seconds", "float nanoseconds", "ISO", "zone", "no zone means UTC"],
)
def test_times_are_read_in_every_spelling(given: Any, expected: int | None) -> None:
    assert nanoseconds(given) == expected


@pytest.mark.parametrize("given", [True, "noon", [], {}], ids=repr)
def test_what_is_no_time_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        nanoseconds(given)


def test_a_span_is_read_in_both_spellings() -> None:
    snake = {"name": "x", "span_id": "1", "trace_id": "2", "parent_span_id": "0", "start_time": 3, "end_time": 4}
    other = {
        "name": "x",
        "spanId": 1,
        "traceId": 2,
        "parentSpanId": 0,
        "startTimeUnixNano": "3",
        "endTimeUnixNano": "4",
    }
    expected = Span(name="x", span_id="1", trace_id="2", parent_id="0", start_ns=3, end_ns=4)
    assert spans_of(snake, other) == (expected, expected)


def test_attributes_may_be_json_text_and_unknown_keys_are_kept_among_them() -> None:
    (span,) = spans_of({"name": "x", "attributes": '{"a": 1}', "kind": "INTERNAL", "status": None})
    assert span.attributes == {"a": 1, "span.kind": "INTERNAL"}


def test_a_span_that_was_written_reads_the_same() -> None:
    for span in spans_of(*INVENTED_TRACE, *REAL_TRACE, {"name": "bare"}):
        assert spans_of(span_document(span)) == (span,)


def test_every_span_that_cannot_be_read_is_a_problem() -> None:
    spans, problems = read_spans([{"name": "x"}, 1, {}, {"name": "y", "end_time": "z"}], Spot("f", 2, "session_trace"))
    assert [span.name for span in spans] == ["x"]
    assert [(problem.code, problem.field, problem.line) for problem in problems] == [
        ("bad-span", f"session_trace[{place}]", 2) for place in (1, 2, 3)
    ]


def timed(name: str, start: int | None, length: int, trace: str = "t", id: str = "", parent: str = "") -> Span:
    end = None if start is None else start + length
    return Span(name=name, start_ns=start, end_ns=end, trace_id=trace, span_id=id, parent_id=parent)


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([timed("call_llm", 0, SECOND), timed("execute_tool x", 5, SECOND)], True),
        ([timed("call_llm", 0, SECOND), timed("execute_tool x", 5, SECOND + 256)], True),
        ([timed("call_llm", 0, SECOND)], False),
        ([timed("call_llm", 0, SECOND), timed("call_llm", 5, SECOND + 5_000)], False),
        ([timed("call_llm", 0, SECOND), timed("call_llm", None, SECOND)], False),
        ([timed("invocation", 0, SECOND), timed("other", 5, SECOND)], False),
        ([timed("invocation", 0, 9, "a", "1"), timed("call_llm", 0, 5, "b", "2", "1")], True),
        ([timed("invocation", 0, 9, "a", "1"), timed("call_llm", 0, 5, "a", "2", "1")], False),
        ([timed("invocation", 0, 9, "a", "1"), timed("invocation", 0, 5, "b", "2")], False),
        ([timed("invocation", 0, 9, "", "1"), timed("call_llm", 0, 5, "", "2", "1")], False),
        ([], False),
    ],
    ids=[
        "all of one second",
        "but for rounding",
        "one alone proves nothing",
        "not quite one second",
        "one without times",
        "others do not count",
        "children in traces of their own",
        "children in the same trace",
        "two turns in two traces",
        "no trace ids",
        "nothing",
    ],
)
def test_times_that_were_made_up_show(spans: list[Span], expected: bool) -> None:
    assert has_made_up_times(spans) is expected


def test_the_two_kinds_of_traces_are_told_apart() -> None:
    assert has_made_up_times(spans_of(*INVENTED_TRACE))
    assert not has_made_up_times(spans_of(*REAL_TRACE))


@pytest.mark.parametrize(
    ("spans", "made_up", "steps"),
    [
        (spans_of(*REAL_TRACE), False, [agent("concierge"), agent("orders_agent"), tool("look_up_order")]),
        (spans_of(*INVENTED_TRACE), True, [agent("shop"), agent("shop"), tool("look_up_order")]),  # two turns
        ([timed("execute_tool a", 2, 1), timed("execute_tool b", 1, 1)], False, [tool("b"), tool("a")]),
        ([timed("execute_tool a", None, 1), timed("execute_tool b", 1, 1)], False, [tool("a"), tool("b")]),
        ([timed("execute_tool a", 1, 1), timed("execute_tool a", 2, 1)], False, [tool("a"), tool("a")]),
        ([timed("execute_tool a", 1, 1), timed("execute_tool a", 2, 1)], True, [tool("a")]),
        ([timed("tool_call [a]", 1, 1), timed("tool_response [a]", 2, 1)], False, [tool("a")]),
        (
            [timed("invoke_agent A", 1, 9), timed("invoke_agent B", 1, 3), timed("invoke_agent A", 20, 1)],
            False,
            [agent("A"), agent("B"), agent("A")],
        ),
        ([timed("invoke_agent A", 1, 1), timed("invoke_agent A", 3, 1)], False, [agent("A")]),
        ([timed("invoke_agent", 1, 1), timed("call_llm", 3, 1), timed("GET", 4, 1)], False, []),
    ],
    ids=[
        "a real trace",
        "a made-up one",
        "by time",
        "without times as they stand",
        "a tool twice",
        "a call and its response",
        "older names",
        "the longer of two that began together is the outer",
        "an agent that goes on has not taken over",
        "nothing to see",
    ],
)
def test_steps_are_agents_that_take_over_and_tool_calls(spans: Any, made_up: bool, steps: list[Step]) -> None:
    assert list(steps_of_spans(spans, made_up=made_up)) == steps


@pytest.mark.parametrize(
    ("summary", "steps"),
    [
        (["agent:A", "sub-agent:B", "tool:c"], [agent("A"), agent("B"), tool("c")]),
        (["A", "ns:B", ""], [agent("A"), agent("ns:B")]),
        ("agent:A", []),
        ([1, None], []),
        (None, []),
    ],
)
def test_a_summary_is_read_where_it_is_a_list(summary: Any, steps: list[Step]) -> None:
    assert list(steps_of_summary(summary)) == steps


@pytest.mark.parametrize(
    "given", [[], [1], [{"attributes": "{"}], [{"attributes": {"gcp.vertex.agent.llm_request": {"contents": 1}}}]]
)
def test_spans_without_a_request_tell_no_user_turns(given: list[Any]) -> None:
    assert user_turns_of_spans(given) == []
