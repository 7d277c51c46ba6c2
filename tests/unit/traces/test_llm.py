"""A call of a model is counted once, however many spans tell of it."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.model.transcript import Span, Usage
from howsure.traces.read import read_trace

S = 1_000_000_000


def usage(prompt: int, completion: int) -> dict[str, Any]:
    return {"gen_ai.usage.input_tokens": prompt, "gen_ai.usage.output_tokens": completion}


def adk(prompt: int, completion: int, **more: Any) -> dict[str, Any]:
    metadata = {"prompt_token_count": prompt, "candidates_token_count": completion}
    return {"gcp.vertex.agent.llm_response": {"usage_metadata": metadata, **more}}


def span(name: str, id: Any, parent: Any = "", times: Any = None, **attributes: Any) -> Span:
    start, end = times or (None, None)
    return Span(name=name, span_id=id, parent_id=parent, start_ns=start, end_ns=end, attributes=attributes)


def spent(*spans: Span) -> list[tuple[int | None, int | None]]:
    calls = read_trace(spans).llm_calls
    return [(call.usage.prompt_tokens, call.usage.completion_tokens) if call.usage else (None, None) for call in calls]


AGENT = span("invoke_agent root", "a")


@pytest.mark.parametrize(
    ("spans", "counts"),
    [
        ([span("call_llm", "1", **usage(10, 2)), span("call_llm", "2", **usage(20, 3))], [(10, 2), (20, 3)]),
        ([span("call_llm", "1", **adk(10, 2)), span("generate_content m", "2", "1", **usage(10, 2))], [(10, 2)]),
        ([span("call_llm", "1"), span("generate_content m", "2", "1", **usage(10, 2))], [(10, 2)]),
        ([span("call_llm", "1", **adk(10, 2)), span("generate_content m", "2", "1")], [(10, 2)]),
        (
            [
                span("call_llm", "1", **usage(30, 5)),
                span("chat m", "2", "1", **usage(10, 2)),
                span("chat m", "3", "1", **usage(20, 3)),
            ],
            [(10, 2), (20, 3)],
        ),
        ([span("call_llm", "1", **usage(30, 5)), span("chat m", "2", "1"), span("chat m", "3", "1")], [(30, 5)]),
        (
            [span("call_llm", "1", **usage(1, 1)), span("x", "2", "1"), span("chat m", "3", "2", **usage(1, 1))],
            [(1, 1)],
        ),
        (
            [span("chat m", "1", **usage(1, 1)), span("POST", "2", "1", **{"http.method": "POST"})],
            [(1, 1)],
        ),
        ([span("invoke_agent root", "a", **usage(30, 5)), span("chat m", "1", "a", **usage(30, 5))], [(30, 5)]),
        (
            [
                span("call_llm", "1", **adk(10, 2)),
                span("execute_tool helperAgent", "2", "1"),
                span("invoke_agent helperAgent", "3", "2"),
                span("call_llm", "4", "3", **adk(50, 9)),
            ],
            [(10, 2), (50, 9)],
        ),
        ([span("call_llm", "1", **adk(10, 2)), span("call_llm", "1", **adk(10, 2))], [(10, 2)]),
        ([span("call_llm", "1", "1", **adk(10, 2))], [(10, 2)]),
        ([span("call_llm", "1", "2", **adk(10, 2)), span("x", "2", "1")], [(10, 2)]),
        ([span("call_llm", "1", "2", **adk(10, 2)), span("chat m", "2", "1")], [(10, 2)]),
        ([span("chat m", "1", "3"), span("chat m", "2", "1"), span("chat m", "3", "2", **usage(1, 1))], [(1, 1)]),
        ([span("call_llm", ""), span("call_llm", "")], [(None, None), (None, None)]),
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
    outer = span("call_llm", "1", **adk(10, 2, grounding_metadata={"grounding_chunks": [{}, {}]}))
    inner = span("generate_content m", "2", "1", **usage(10, 2))
    named = span("call_llm", "1", **{"gen_ai.request.model": "gemini-2.5-flash", **outer.attributes})
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
        span("execute_tool a", "1", **response, **{"gcp.vertex.agent.event_id": "e1"}),
        span("execute_tool b", "2", **response, **{"gcp.vertex.agent.event_id": "e1"}),
        span("execute_tool c", "3", **response, **{"gcp.vertex.agent.event_id": "e2"}),
        span("execute_tool d", "4", **{"gcp.vertex.agent.llm_response": "{}"}),
    ]
    assert spent(*spans) == [(10, 2), (10, 2)]


def test_a_response_hung_on_tool_spans_without_event_ids_is_told_apart_by_what_it_says() -> None:
    spans = [
        span("execute_tool a", "1", **adk(10, 2)),
        span("execute_tool b", "2", **adk(10, 2)),
        span("execute_tool c", "3", **adk(10, 3)),
    ]
    assert spent(*spans) == [(10, 2), (10, 3)]


def test_calls_come_in_order_of_time_and_know_their_agent() -> None:
    spans = [
        span("call_llm", "2", "a", (3 * S, 4 * S), **usage(2, 2)),
        span("call_llm", "1", "a", (1 * S, 2 * S), **usage(1, 1)),
        span("invoke_agent root", "a", "", (0, 5 * S)),
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
    inside = [span("execute_tool t", f"t{n}", "1", (a * S, b * S)) for n, (a, b) in enumerate(tools)]
    (call,) = read_trace([span("call_llm", "1", "", (0, 10 * S)), *inside]).llm_calls
    assert (call.busy_ns, call.answered_ns) == (busy * S, answered * S)


@pytest.mark.parametrize(
    ("attributes", "chunks"),
    [
        ({}, None),
        ({"gen_ai.usage.input_tokens": 1}, None),
        ({"gcp.vertex.agent.llm_response": "{}"}, None),
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
        span("backend.openai.chat.start-14", "1", "", (0, 99 * S), **kind, **usage(1195, 0)),
        span("backend.openai.chat.start-15", "2", "", (5 * S, 99 * S), **kind, **usage(1988, 7)),
        span("backend.openai.chat.success-15", "3", "", (7 * S, 99 * S), **kind),
        span("backend.openai.chat.finish-15", "4", "", (8 * S, 99 * S), **kind),
    ]
    calls = read_trace(spans).llm_calls
    assert [call.usage for call in calls] == [
        Usage(prompt_tokens=1195, completion_tokens=0),
        Usage(prompt_tokens=1988, completion_tokens=7),
    ]
    assert [call.busy_ns for call in calls] == [None, 3 * S]
