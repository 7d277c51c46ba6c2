"""Turns, agents, times, and spans that are not as they should be."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howsure.model.transcript import Span, Usage
from howsure.traces.read import read_trace


def span(name: str, id: Any = "", parent: Any = "", times: Any = None, **attributes: Any) -> Span:
    start, end = times or (None, None)
    return Span(name=name, span_id=id, parent_id=parent, start_ns=start, end_ns=end, attributes=attributes)


def test_no_spans_tell_nothing() -> None:
    trace = read_trace([])
    assert (trace.llm_calls, trace.tool_uses, trace.agent_runs, trace.invocations) == ((), (), (), ())
    assert (trace.start_ns, trace.end_ns, trace.problems) == (None, None, ())


def test_turns_inside_turns_are_not_turns_of_the_user() -> None:
    spans = [
        span("invocation", "1", "", (0, 10)),
        span("execute_tool FooAgent", "2", "1", (2, 8)),
        span("invocation", "3", "2", (3, 7)),
        span("invocation", "4", "", (20, 25)),
    ]
    assert [turn.span_id for turn in read_trace(spans).invocations] == ["1", "4"]


def test_without_turns_the_outermost_agents_runs_are_the_turns() -> None:
    spans = [
        span("invoke_agent root", "1", "", (0, 10)),
        span("invoke_agent billing", "2", "1", (2, 8)),
        span("invoke_agent root", "3", "", (20, 25)),
    ]
    assert [turn.span_id for turn in read_trace(spans).invocations] == ["1", "3"]


def test_agents_runs_are_not_turns_when_something_happened_outside_them() -> None:
    spans = [span("workflow", "0", "", (0, 30)), span("invoke_agent root", "1", "0", (0, 10))]
    assert read_trace(spans).invocations == ()


def test_an_agent_run_knows_around_whom_it_ran_and_what_it_claims() -> None:
    spans = [
        span("invoke_agent root", "1", **{"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 1}),
        span("invoke_agent billing", "2", "1"),
    ]
    root, billing = read_trace(spans).agent_runs
    assert (root.name, root.within, root.usage) == ("root", "", Usage(prompt_tokens=9, completion_tokens=1))
    assert (billing.name, billing.within, billing.usage) == ("billing", "root", None)


def test_a_run_traced_twice_is_one_run_and_a_run_come_back_to_is_another() -> None:
    twice = [span("agent_run [root]", "1"), span("invoke_agent root", "2", "1")]
    assert [run.name for run in read_trace(twice).agent_runs] == ["root"]
    back = [*twice, span("invoke_agent billing", "3", "2"), span("invoke_agent root", "4", "3")]
    assert [(run.name, run.within) for run in read_trace(back).agent_runs] == [
        ("root", ""),
        ("billing", "root"),
        ("root", "billing"),
    ]


def test_an_agent_that_calls_itself_as_a_tool_runs_again() -> None:
    spans = [
        span("invoke_agent root", "1"),
        span("execute_tool root", "2", "1"),
        span("invoke_agent root", "3", "2"),
    ]
    assert [run.span_id for run in read_trace(spans).agent_runs] == ["1", "3"]


def test_a_span_that_ends_before_it_starts_has_no_end_and_is_noted() -> None:
    trace = read_trace([span("call_llm", "1", "", (10, 3))])
    assert (trace.llm_calls[0].start_ns, trace.llm_calls[0].end_ns) == (10, None)
    assert [problem.code for problem in trace.problems] == ["negative_duration"]


def test_a_span_recorded_twice_is_noted() -> None:
    trace = read_trace([span("execute_tool a", "1"), span("execute_tool a", "1")])
    assert len(trace.tool_uses) == 1
    assert [problem.code for problem in trace.problems] == ["span_twice"]


def test_parents_are_found_though_every_span_has_a_trace_of_its_own() -> None:
    spans = [
        Span(name="invoke_agent root", span_id="1", trace_id="x"),
        Span(name="call_llm", span_id="2", trace_id="y", parent_id="1"),
    ]
    assert read_trace(spans).llm_calls[0].agent == "root"


def test_the_trace_spans_from_the_first_start_to_the_last_end() -> None:
    trace = read_trace([span("x", times=(5, 9)), span("y", times=(3, 7)), span("z")])
    assert (trace.start_ns, trace.end_ns) == (3, 9)


NAMES = st.sampled_from(
    [
        "invocation",
        "invoke_agent a",
        "call_llm",
        "chat m",
        "execute_tool t",
        "tool_response [t]",
        "POST",
        "",
        "a.start-1",
    ]
)
KEYS = st.sampled_from(
    [
        "openinference.span.kind",
        "gen_ai.operation.name",
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.tool.call.id",
        "gen_ai.tool.name",
        "gcp.vertex.agent.llm_response",
        "gcp.vertex.agent.tool_response",
        "gcp.vertex.agent.tool_call_args",
        "output.value",
        "target",
        "langfuse.observation.usage_details",
    ]
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from(
        ["", "7", "x", "LLM", "TOOL", "AGENT", "{", '{"usage_metadata": 3}', '{"status": "error"}', "[]", '"{"']
    ),
    st.dictionaries(st.sampled_from(["usage_metadata", "usage", "candidates", "error"]), st.none() | st.integers()),
    st.lists(st.integers(), max_size=2),
)
SPANS = st.builds(
    Span,
    name=NAMES,
    span_id=st.sampled_from(["", "1", "2", "3", "4"]),
    parent_id=st.sampled_from(["", "1", "2", "3", "4"]),
    start_ns=st.none() | st.integers(0, 100),
    end_ns=st.none() | st.integers(0, 100),
    attributes=st.dictionaries(KEYS, VALUES, max_size=5),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(SPANS, max_size=8))
def test_whatever_the_spans_hold_they_can_be_read_and_nothing_is_counted_more_often_than_recorded(
    spans: list[Span],
) -> None:
    trace = read_trace(spans)
    assert len(trace.llm_calls) <= len(spans)
    assert len(trace.tool_uses) <= len(spans)
    for call in trace.llm_calls:
        usage = call.usage or Usage()
        counts = (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens, usage.thinking_tokens)
        assert all(count is None or count >= 0 for count in counts)
        assert usage.prompt_tokens is None or (usage.cached_tokens or 0) <= usage.prompt_tokens
