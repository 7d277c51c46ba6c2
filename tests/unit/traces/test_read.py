"""Turns, agents, times, and spans that are not as they should be."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howsure.model.transcript import Span, Usage
from howsure.traces.read import read_trace, says_error
from howsure.traces.trace import ToolOutcome, ToolUse


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


S = 1_000_000_000


def usage(prompt: int, completion: int) -> dict[str, Any]:
    return {"gen_ai.usage.input_tokens": prompt, "gen_ai.usage.output_tokens": completion}


def adk(prompt: int, completion: int, **more: Any) -> dict[str, Any]:
    metadata = {"prompt_token_count": prompt, "candidates_token_count": completion}
    return {"gcp.vertex.agent.llm_response": {"usage_metadata": metadata, **more}}


def model_span(name: str, id: Any, parent: Any = "", times: Any = None, **attributes: Any) -> Span:
    start, end = times or (None, None)
    return Span(name=name, span_id=id, parent_id=parent, start_ns=start, end_ns=end, attributes=attributes)


def spent(*spans: Span) -> list[tuple[int | None, int | None]]:
    calls = read_trace(spans).llm_calls
    return [(call.usage.prompt_tokens, call.usage.completion_tokens) if call.usage else (None, None) for call in calls]


AGENT = model_span("invoke_agent root", "a")


@pytest.mark.parametrize(
    ("spans", "counts"),
    [
        (
            [model_span("call_llm", "1", **usage(10, 2)), model_span("call_llm", "2", **usage(20, 3))],
            [(10, 2), (20, 3)],
        ),
        (
            [model_span("call_llm", "1", **adk(10, 2)), model_span("generate_content m", "2", "1", **usage(10, 2))],
            [(10, 2)],
        ),
        ([model_span("call_llm", "1"), model_span("generate_content m", "2", "1", **usage(10, 2))], [(10, 2)]),
        ([model_span("call_llm", "1", **adk(10, 2)), model_span("generate_content m", "2", "1")], [(10, 2)]),
        (
            [
                model_span("call_llm", "1", **usage(30, 5)),
                model_span("chat m", "2", "1", **usage(10, 2)),
                model_span("chat m", "3", "1", **usage(20, 3)),
            ],
            [(10, 2), (20, 3)],
        ),
        (
            [
                model_span("call_llm", "1", **usage(30, 5)),
                model_span("chat m", "2", "1"),
                model_span("chat m", "3", "1"),
            ],
            [(30, 5)],
        ),
        (
            [
                model_span("call_llm", "1", **usage(1, 1)),
                model_span("x", "2", "1"),
                model_span("chat m", "3", "2", **usage(1, 1)),
            ],
            [(1, 1)],
        ),
        (
            [model_span("chat m", "1", **usage(1, 1)), model_span("POST", "2", "1", **{"http.method": "POST"})],
            [(1, 1)],
        ),
        (
            [model_span("invoke_agent root", "a", **usage(30, 5)), model_span("chat m", "1", "a", **usage(30, 5))],
            [(30, 5)],
        ),
        (
            [
                model_span("call_llm", "1", **adk(10, 2)),
                model_span("execute_tool helperAgent", "2", "1"),
                model_span("invoke_agent helperAgent", "3", "2"),
                model_span("call_llm", "4", "3", **adk(50, 9)),
            ],
            [(10, 2), (50, 9)],
        ),
        ([model_span("call_llm", "1", **adk(10, 2)), model_span("call_llm", "1", **adk(10, 2))], [(10, 2)]),
        ([model_span("call_llm", "1", "1", **adk(10, 2))], [(10, 2)]),
        ([model_span("call_llm", "1", "2", **adk(10, 2)), model_span("x", "2", "1")], [(10, 2)]),
        ([model_span("call_llm", "1", "2", **adk(10, 2)), model_span("chat m", "2", "1")], [(10, 2)]),
        (
            [
                model_span("chat m", "1", "3"),
                model_span("chat m", "2", "1"),
                model_span("chat m", "3", "2", **usage(1, 1)),
            ],
            [(1, 1)],
        ),
        ([model_span("call_llm", ""), model_span("call_llm", "")], [(None, None), (None, None)]),
    ],
    ids=[
        "two calls",
        "a wrapper that repeats",
        "a wrapper that counts nothing",
        "a wrapper that counts alone",
        "a wrapper around two calls",
        "two calls without counts",
        "a wrapper further out",
        "an HTTP span inside",
        "an agent that repeats",
        "a model behind an agent used as a tool",
        "a span exported twice",
        "a span that is its own parent",
        "parents in a circle",
        "calls in a circle",
        "three calls in a circle",
        "no ids and no counts",
    ],
)
def test_each_call_is_counted_once(spans: list[Span], counts: list[tuple[int | None, int | None]]) -> None:
    assert spent(*spans) == counts


def test_the_inner_call_learns_from_the_outer_what_it_does_not_say() -> None:
    outer = model_span("call_llm", "1", **adk(10, 2, grounding_metadata={"grounding_chunks": [{}, {}]}))
    inner = model_span("generate_content m", "2", "1", **usage(10, 2))
    named = model_span("call_llm", "1", **{"gen_ai.request.model": "gemini-2.5-flash", **outer.attributes})
    (call,) = read_trace([named, inner]).llm_calls
    assert (call.model, call.grounding_chunks, call.span) == ("gemini-2.5-flash", 2, "generate_content m")


@pytest.mark.parametrize(
    ("attributes", "model"),
    [
        ({"gen_ai.request.model": "gpt-4o", "gen_ai.response.model": "gpt-4o-2024-08-06"}, "gpt-4o-2024-08-06"),
        ({"gen_ai.request.model": "gpt-4o"}, "gpt-4o"),
        ({"gen_ai.request.model": "unknown", "llm.model_name": "gpt-4o"}, "gpt-4o"),
        ({"langfuse.observation.model.name": "gpt-4"}, "gpt-4"),
        ({"gcp.vertex.agent.llm_request": '{"model": "gemini-2.0-flash"}'}, "gemini-2.0-flash"),
        ({"gcp.vertex.agent.llm_response": {"modelVersion": "gemini-2.5-pro"}}, "gemini-2.5-pro"),
        ({"gcp.vertex.agent.llm_request": '{"model": '}, ""),
        ({}, ""),
    ],
)
def test_the_model_is_the_most_exact_name_there_is(attributes: dict[str, Any], model: str) -> None:
    (call,) = read_trace([Span(name="call_llm", attributes=attributes)]).llm_calls
    assert call.model == model


def test_a_response_hung_on_tool_spans_is_one_call_of_a_model() -> None:
    response = adk(10, 2)
    spans = [
        model_span("execute_tool a", "1", **response, **{"gcp.vertex.agent.event_id": "e1"}),
        model_span("execute_tool b", "2", **response, **{"gcp.vertex.agent.event_id": "e1"}),
        model_span("execute_tool c", "3", **response, **{"gcp.vertex.agent.event_id": "e2"}),
        model_span("execute_tool d", "4", **{"gcp.vertex.agent.llm_response": "{}"}),
    ]
    assert spent(*spans) == [(10, 2), (10, 2)]


def test_a_response_hung_on_tool_spans_without_event_ids_is_told_apart_by_what_it_says() -> None:
    spans = [
        model_span("execute_tool a", "1", **adk(10, 2)),
        model_span("execute_tool b", "2", **adk(10, 2)),
        model_span("execute_tool c", "3", **adk(10, 3)),
    ]
    assert spent(*spans) == [(10, 2), (10, 3)]


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.system": "gcp.vertex.agent", "gen_ai.request.model": "None"},
        {"gen_ai.request.model": None},
        {"gen_ai.request.model": "unknown", "gcp.vertex.agent.llm_request": "{}", "gcp.vertex.agent.llm_response": {}},
        {"gen_ai.agent.name": "root"},
    ],
    ids=["None", "null", "unknown, with empty contents", "another attribute"],
)
def test_a_placeholder_without_request_response_and_tokens_is_no_call(attributes: dict[str, Any]) -> None:
    spans = [model_span("call_llm", "1", **attributes), model_span("call_llm", "2", **adk(10, 2))]
    assert spent(*spans) == [(10, 2)]


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"gen_ai.request.model": "gemini-2.5-flash"},
        {"gen_ai.request.model": "None", "gcp.vertex.agent.llm_request": {"contents": []}},
        {"gcp.vertex.agent.llm_response": '{"content": "Hi'},
        {"input.value": "Hi"},
        {"gen_ai.completion": "Hi"},
    ],
    ids=["nothing was recorded", "a model", "a request", "a broken response", "an input", "an output"],
)
def test_a_call_about_which_something_or_nothing_at_all_is_known_is_a_call(attributes: dict[str, Any]) -> None:
    assert spent(model_span("call_llm", "1", **attributes)) == [(None, None)]


def test_a_placeholder_around_a_call_does_not_hide_it() -> None:
    inner = model_span("generate_content m", "2", "1", **usage(10, 2))
    assert spent(model_span("call_llm", "1", **{"gen_ai.request.model": "None"}), inner) == [(10, 2)]


@pytest.mark.parametrize(
    ("on_model", "on_tool", "counts"),
    [
        ({}, {}, [(10, 2)]),
        ({"gcp.vertex.agent.event_id": "e1"}, {"gcp.vertex.agent.event_id": "e1"}, [(10, 2)]),
        ({"gcp.vertex.agent.event_id": "e1"}, {}, [(10, 2)]),
        ({"gcp.vertex.agent.event_id": "e1"}, {"gcp.vertex.agent.event_id": "e2"}, [(10, 2), (10, 2)]),
    ],
    ids=["no events", "one event", "the event of one", "two events"],
)
def test_a_response_on_a_model_span_and_on_a_tool_span_is_one_call(
    on_model: dict[str, Any], on_tool: dict[str, Any], counts: list[tuple[int, int]]
) -> None:
    spans = [
        model_span("call_llm", "1", **adk(10, 2), **on_model),
        model_span("execute_tool a", "2", **adk(10, 2), **on_tool),
    ]
    assert spent(*spans) == counts


def test_tokens_with_a_model_on_a_tool_span_are_a_call_unless_a_call_is_inside() -> None:
    model = {"gen_ai.request.model": "gemini-2.5-flash"}
    tool = model_span("execute_tool a", "1", **usage(10, 2), **model)
    assert spent(tool) == [(10, 2)]
    assert spent(model_span("execute_tool a", "1", **usage(10, 2))) == []
    assert spent(tool, model_span("call_llm", "2", "1", **usage(10, 2))) == [(10, 2)]


def test_calls_come_in_order_of_time_and_know_their_agent() -> None:
    spans = [
        model_span("call_llm", "2", "a", (3 * S, 4 * S), **usage(2, 2)),
        model_span("call_llm", "1", "a", (1 * S, 2 * S), **usage(1, 1)),
        model_span("invoke_agent root", "a", "", (0, 5 * S)),
    ]
    calls = read_trace(spans).llm_calls
    assert [(call.span_id, call.agent) for call in calls] == [("1", "root"), ("2", "root")]


@pytest.mark.parametrize(
    ("tools", "busy", "answered"),
    [
        ([], 10, 10),
        ([(4, 6)], 8, 4),
        ([(4, 6), (5, 8)], 6, 4),
        ([(4, 6), (4, 6)], 8, 4),
        ([(8, 14)], 8, 8),
    ],
    ids=["no tool", "one tool", "tools that overlap", "tools side by side", "a tool that outlasts the call"],
)
def test_the_time_of_tools_inside_a_call_is_not_the_models(
    tools: list[tuple[int, int]], busy: int, answered: int
) -> None:
    inside = [model_span("execute_tool t", f"t{n}", "1", (a * S, b * S)) for n, (a, b) in enumerate(tools)]
    (call,) = read_trace([model_span("call_llm", "1", "", (0, 10 * S)), *inside]).llm_calls
    assert (call.busy_ns, call.answered_ns) == (busy * S, answered * S)


@pytest.mark.parametrize(
    ("attributes", "chunks"),
    [
        ({}, None),
        ({"gen_ai.usage.input_tokens": 1}, None),
        ({"gen_ai.request.model": "m", "gcp.vertex.agent.llm_response": "{}"}, None),
        ({"gcp.vertex.agent.llm_response": '{"content": "cut of'}, None),
        ({"gcp.vertex.agent.llm_response": {"content": {}}}, 0),
        ({"output.value": "Hello"}, 0),
        ({"gen_ai.output.messages": "[]"}, 0),
        ({"gcp.vertex.agent.llm_response": {"groundingMetadata": {"groundingChunks": [{}, {}, {}]}}}, 3),
        ({"gcp.vertex.agent.llm_response": '{"grounding_metadata": {"grounding_chunks": [{}]}}'}, 1),
        ({"gcp.vertex.agent.llm_response": {"grounding_metadata": {"grounding_chunks": None}}}, 0),
        ({"gcp.vertex.agent.llm_response": {"grounding_metadata": {"grounding_chunks": 3}, "candidates": 1}}, 0),
        ({"gcp.vertex.agent.llm_response": {"grounding_metadata": "none", "candidates": [3, None]}}, 0),
        (
            {
                "output.value": {
                    "candidates": [
                        {"groundingMetadata": {"groundingChunks": [{}]}},
                        {"grounding_metadata": {"grounding_chunks": [{}]}},
                    ]
                }
            },
            2,
        ),
    ],
)
def test_sources_are_counted_where_the_response_can_be_read(attributes: dict[str, Any], chunks: int | None) -> None:
    (call,) = read_trace([Span(name="call_llm", attributes=attributes)]).llm_calls
    assert call.grounding_chunks == chunks


def test_phases_of_one_call_are_one_call_that_ends_where_the_last_begins() -> None:
    kind = {"openinference.span.kind": "LLM", "llm.model_name": "gpt-4o-mini"}
    spans = [
        model_span("backend.openai.chat.start-14", "1", "", (0, 99 * S), **kind, **usage(1195, 0)),
        model_span("backend.openai.chat.start-15", "2", "", (5 * S, 99 * S), **kind, **usage(1988, 7)),
        model_span("backend.openai.chat.success-15", "3", "", (7 * S, 99 * S), **kind),
        model_span("backend.openai.chat.finish-15", "4", "", (8 * S, 99 * S), **kind),
    ]
    calls = read_trace(spans).llm_calls
    assert [call.usage for call in calls] == [
        Usage(prompt_tokens=1195, completion_tokens=0),
        Usage(prompt_tokens=1988, completion_tokens=7),
    ]
    assert [call.busy_ns for call in calls] == [None, 3 * S]


ARGS = "gcp.vertex.agent.tool_call_args"
RESPONSE = "gcp.vertex.agent.tool_response"
ID = "gen_ai.tool.call.id"
OK, BAD, SILENT, GARBLED = ToolOutcome.SUCCEEDED, ToolOutcome.FAILED, ToolOutcome.NO_RESPONSE, ToolOutcome.UNREADABLE


def tool_span(name: str, id: Any = "", parent: Any = "", at: Any = None, **attributes: Any) -> Span:
    end = None if at is None else at + 1
    return Span(name=name, span_id=id, parent_id=parent, start_ns=at, end_ns=end, attributes=attributes)


def uses(*spans: Span) -> tuple[ToolUse, ...]:
    return read_trace(spans).tool_uses


def outcomes(*spans: Span) -> list[tuple[str, ToolOutcome]]:
    return [(use.name, use.outcome) for use in uses(*spans)]


@pytest.mark.parametrize(
    ("spans", "calls"),
    [
        ([tool_span("execute_tool a", **{ARGS: "{}", RESPONSE: '{"x": 1}'})], [("a", OK)]),
        ([tool_span("execute_tool a", **{ARGS: "{}"}), tool_span("execute_tool a", **{RESPONSE: "{}"})], [("a", OK)]),
        (
            [tool_span("tool_call [a]", **{ARGS: "{}"}), tool_span("tool_response [a]", **{RESPONSE: "{}"})],
            [("a", OK)],
        ),
        ([tool_span("tool_call a", **{ARGS: "{}"}), tool_span("tool_response", **{RESPONSE: "{}"})], [("a", OK)]),
        (
            [
                tool_span("execute_tool a", **{ARGS: "{}"}),
                tool_span("execute_tool b", **{ARGS: "{}"}),
                tool_span("execute_tool b", **{RESPONSE: '{"error": "x"}'}),
                tool_span("execute_tool a", **{RESPONSE: "{}"}),
            ],
            [("a", OK), ("b", BAD)],
        ),
        (
            [
                tool_span("execute_tool a", **{ARGS: "{}", ID: "1"}),
                tool_span("execute_tool a", **{ARGS: "{}", ID: "2"}),
                tool_span("execute_tool a", **{RESPONSE: '{"error": "x"}', ID: "2"}),
                tool_span("execute_tool a", **{RESPONSE: "{}", ID: "1"}),
            ],
            [("a", OK), ("a", BAD)],
        ),
        (
            [
                tool_span("execute_tool a", **{ARGS: "{}"}),
                tool_span("execute_tool a", **{ARGS: "{}"}),
                tool_span("execute_tool a", **{RESPONSE: "{}"}),
            ],
            [("a", OK), ("a", SILENT)],
        ),
        ([tool_span("execute_tool a", **{RESPONSE: "{}"})], [("a", OK)]),
        ([tool_span("tool_response", **{RESPONSE: "{}"})], [("tool_response", OK)]),
        ([tool_span("execute_tool a"), tool_span("execute_tool a")], [("a", SILENT), ("a", SILENT)]),
        (
            [tool_span("execute_tool a"), tool_span("execute_tool a", **{"error.type": "Timeout"})],
            [("a", SILENT), ("a", BAD)],
        ),
        (
            [
                tool_span("execute_tool a", **{ARGS: "{}", RESPONSE: "{}"}),
                tool_span("execute_tool a", **{RESPONSE: "{}"}),
            ],
            [("a", OK), ("a", OK)],
        ),
        (
            [tool_span("execute_tool a", **{ARGS: "{}", RESPONSE: "{}", ID: "c9"}) for _ in range(2)],
            [("a", OK), ("a", OK)],
        ),
        (
            [tool_span("execute_tool a", **{ARGS: "{}"}), tool_span("execute_tool (merged)", **{RESPONSE: "{}"})],
            [("a", SILENT)],
        ),
        (
            [tool_span("running 2 tools", tools=["a", "b"]), tool_span("running tool: a", tool_arguments="{}")],
            [("a", SILENT)],
        ),
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
        tool_span("execute_tool a", "1", at=0, **{ARGS: '{"order": "A1"}'}),
        tool_span("execute_tool a", "2", at=5, **{RESPONSE: '{"status": "shipped"}'}),
    )
    assert use.arguments == {"order": "A1"}
    assert use.response == {"status": "shipped"}
    assert (use.start_ns, use.end_ns) == (0, 6)
    assert use.spans == ("1", "2")


def test_the_response_may_come_first_in_the_file() -> None:
    assert outcomes(
        tool_span("tool_response [a]", at=9, **{RESPONSE: "{}"}),
        tool_span("tool_call [a]", at=3, **{ARGS: "{}"}),
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
    outer = tool_span("execute_tool a", "1", **{ARGS: "{}", RESPONSE: "{}", ID: "1"})
    assert len(uses(outer, tool_span("tools/call", "2", "1", **{"openinference.span.kind": "TOOL", **inner}))) == number


def test_a_tool_called_by_an_agent_that_is_a_tool_is_another_call() -> None:
    spans = [
        tool_span("execute_tool search", "1", **{ARGS: "{}", RESPONSE: "{}"}),
        tool_span("invoke_agent searcher", "2", "1"),
        tool_span("execute_tool search", "3", "2", **{ARGS: "{}", RESPONSE: "{}"}),
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
    (use,) = uses(tool_span("execute_tool a", **{ID: value}))
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
    trace = read_trace([tool_span("execute_tool a", "s1", **{ARGS: '{"q": ', RESPONSE: '{"status": "err'})])
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
        tool_span("tool.search.wikipedia.start-12", "1", at=1, **kind, **{"tool.parameters": {"query": "x"}}),
        tool_span(f"tool.search.wikipedia.{last}-12", "2", at=4, **kind, **{"output.value": [1]}),
        tool_span("tool.search.wikipedia.finish-12", "3", at=5, **kind),
    ]
    (use,) = uses(*spans)
    assert (use.name, use.arguments, use.outcome) == ("search.wikipedia", {"query": "x"}, outcome)
    assert (use.start_ns, use.end_ns) == (1, 5)
