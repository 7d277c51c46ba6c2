"""What all eleven measures share, and those of agents and sources."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.graders.base import GraderContext
from howsure.graders.measures import NAMES, TraceCache, measures
from howsure.model.case import World
from howsure.model.score import OPEN, UNIT, Direction, Grade, Scale, Score, Unscored, UnscoredReason
from howsure.model.transcript import AgentStep, BrokenRecording, Span, ToolStep
from howsure.testing import a_case, a_transcript

ARGS = "gcp.vertex.agent.tool_call_args"


def span(name: str, id: Any = "", parent: Any = "", **attributes: Any) -> Span:
    return Span(name=name, span_id=id, parent_id=parent, attributes=attributes)


async def measured(name: str, *spans: Span, **fields: Any) -> Grade:
    (measure,) = [measure for measure in measures() if measure.name == name]
    (grade,) = await measure.grade(a_case(), a_transcript(spans=spans or None, **fields))
    return grade


def test_the_eleven_have_the_names_of_the_golden_world() -> None:
    assert NAMES == (
        "token_usage",
        "latency_metrics",
        "cache_efficiency",
        "thinking_metrics",
        "tool_utilization",
        "tool_success_rate",
        "grounding_utilization",
        "context_saturation",
        "agent_handoffs",
        "output_density",
        "sandbox_usage",
    )
    assert tuple(measure.name for measure in measures()) == NAMES


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"world": World.GOLDEN}, True),
        ({"world": World.TEST_SET}, False),
        ({"world": World.LEGAL}, False),
        ({"world": World.LEGAL, "recorded": a_transcript("x")}, False),
        ({"world": World.LEGAL, "recorded": a_transcript("x", spans=())}, False),
        ({"world": World.LEGAL, "recorded": a_transcript("x", spans=(span("call_llm"),))}, True),
        ({"world": World.LEGAL, "recorded": BrokenRecording(reason="broke")}, False),
        ({}, False),
    ],
    ids=["golden", "test set", "another world", "no spans", "empty spans", "spans", "a mishap", "plain"],
)
def test_a_measure_wants_golden_cases_and_recordings_with_spans(fields: dict[str, Any], wanted: bool) -> None:
    assert {measure.wants(a_case(**fields)) for measure in measures()} == {wanted}


async def test_a_measure_that_is_named_measures_every_case() -> None:
    case = a_case(world=World.LEGAL)
    for measure in measures():
        named = measure.bind(GraderContext(named=frozenset({measure.name})))
        assert named.wants(case)
        assert len(await named.grade(case, a_transcript())) == 1
        assert measure.bind(GraderContext(named=frozenset({"another"}))) is measure


FULL = (
    Span(name="invocation", span_id="0", start_ns=0, end_ns=5),
    Span(name="invoke_agent root", span_id="1", parent_id="0", start_ns=0, end_ns=5),
    Span(
        name="call_llm",
        span_id="2",
        parent_id="1",
        start_ns=0,
        end_ns=3,
        attributes={
            "gen_ai.request.model": "gemini-2.5-flash",
            "gcp.vertex.agent.llm_response": {
                "usage_metadata": {
                    "prompt_token_count": 10,
                    "candidates_token_count": 5,
                    "thoughts_token_count": 5,
                    "cached_content_token_count": 0,
                }
            },
        },
    ),
    Span(
        name="execute_tool a",
        span_id="3",
        parent_id="1",
        start_ns=3,
        end_ns=4,
        attributes={ARGS: "{}", "gcp.vertex.agent.tool_response": "{}"},
    ),
)


@pytest.mark.parametrize(
    ("name", "scale", "direction"),
    [
        ("token_usage", OPEN, Direction.LOWER),
        ("latency_metrics", OPEN, Direction.LOWER),
        ("cache_efficiency", UNIT, Direction.HIGHER),
        ("thinking_metrics", UNIT, Direction.NEITHER),
        ("tool_utilization", OPEN, Direction.NEITHER),
        ("tool_success_rate", UNIT, Direction.HIGHER),
        ("grounding_utilization", OPEN, Direction.NEITHER),
        ("context_saturation", OPEN, Direction.LOWER),
        ("agent_handoffs", OPEN, Direction.NEITHER),
        ("output_density", OPEN, Direction.NEITHER),
        ("sandbox_usage", OPEN, Direction.NEITHER),
    ],
)
async def test_a_measure_has_a_scale_a_direction_and_no_mark(name: str, scale: Scale, direction: Direction) -> None:
    grade = await measured(name, *FULL)
    assert isinstance(grade, Score)
    assert (grade.scale, grade.direction, grade.pass_mark, grade.passed) == (scale, direction, None, None)
    assert grade.reason


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("spans", [None, ()], ids=["absent", "empty"])
async def test_without_spans_no_measure_makes_up_a_value(name: str, spans: tuple[Span, ...] | None) -> None:
    (measure,) = [measure for measure in measures() if measure.name == name]
    (grade,) = await measure.grade(a_case(), a_transcript("An answer.", spans=spans))
    assert isinstance(grade, Unscored)
    assert (grade.why, grade.reason) == (UnscoredReason.NOT_APPLICABLE, "no spans were recorded")


def test_spans_are_read_once_for_all_measures_and_again_for_another_transcript() -> None:
    reader, one, other = TraceCache(), a_transcript(spans=FULL), a_transcript(spans=FULL)
    assert reader.read(one) is reader.read(one)
    assert reader.read(other) is not reader.read(one)
    assert reader.read(a_transcript()) is None


async def test_a_measure_in_between_does_not_mix_up_transcripts() -> None:
    used = next(measure for measure in measures() if measure.name == "tool_utilization")
    one, none = a_transcript(spans=FULL), a_transcript(spans=(span("call_llm"),))
    values = [
        grade.value for t in (one, none, one) for grade in await used.grade(a_case(), t) if isinstance(grade, Score)
    ]
    assert values == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("spans", "value", "agents", "delegations"),
    [
        ([span("invoke_agent root", "1")], 1, ["root"], 0),
        ([span("agent_run [root]", "1"), span("agent_run [root]", "2"), span("agent_run [root]", "3")], 3, ["root"], 0),
        ([span("invoke_agent root", "1"), span("invoke_agent billing", "2", "1")], 2, ["root", "billing"], 1),
        (
            [
                span("invoke_agent root", "1"),
                span("execute_tool transfer_to_agent", "2", "1", **{ARGS: '{"agent_name": "billing"}'}),
                span("invoke_agent billing", "3", "1"),
            ],
            3,
            ["root", "billing"],
            1,
        ),
        (
            [
                span("invoke_agent root", "1"),
                span("execute_tool transfer_to_agent", "2", "1", **{ARGS: '{"agentName": "billing"}'}),
                span("execute_tool transfer_to_agent", "3", "1", **{"gcp.vertex.agent.tool_response": "{}"}),
            ],
            2,
            ["root", "billing"],
            1,
        ),
        (
            [
                span("invoke_agent root", "1"),
                span("execute_tool transfer_to_agent", "2", "1"),
                span("invoke_agent billing", "3", "1"),
            ],
            3,
            ["root", "billing"],
            1,
        ),
        (
            [
                span("invoke_agent root", "1"),
                span("execute_tool IntakeAgent", "2", "1", **{ARGS: "{}"}),
                span("invoke_agent IntakeAgent", "3", "2"),
            ],
            3,
            ["root", "IntakeAgent"],
            1,
        ),
        (
            [span("invoke_agent root", "1"), span("execute_tool transfer_to_billing", "2", "1", **{ARGS: "{}"})],
            2,
            ["root", "billing"],
            1,
        ),
        ([span("execute_tool refund", "1")], 0, [], 0),
        ([span("execute_tool search_agents", "1")], 0, [], 0),
    ],
    ids=[
        "one agent",
        "one agent, three turns",
        "an agent inside another",
        "a transfer and the run it leads to",
        "a transfer without a run, call and response apart",
        "a transfer that names nobody",
        "an agent used as a tool",
        "a transfer tool named after its agent",
        "a tool that is no agent",
        "a tool that looks for agents",
    ],
)
async def test_handoffs(spans: list[Span], value: float, agents: list[str], delegations: int) -> None:
    grade = await measured("agent_handoffs", *spans)
    assert isinstance(grade, Score)
    assert grade.value == value
    assert grade.details["total_handoffs"] == value
    assert grade.details["agents_invoked_list"] == agents
    assert grade.details["unique_agents_count"] == len(agents)
    assert grade.details["delegations"] == delegations


async def test_handoffs_say_both_numbers() -> None:
    grade = await measured("agent_handoffs", span("invoke_agent root", "1"), span("invoke_agent billing", "2", "1"))
    assert grade.reason == "2 runs of 2 agents and 0 transfer calls; control passed between agents 1 time"


async def test_without_spans_the_agents_steps_serve_and_the_reason_says_so() -> None:
    steps = (AgentStep(name="root"), ToolStep(name="x"), AgentStep(name="billing"), AgentStep(name="root"))
    grade = await measured("agent_handoffs", steps=steps)
    assert isinstance(grade, Score)
    assert (grade.value, grade.details["delegations"]) == (3.0, 2)
    assert grade.reason.endswith("no spans were recorded; from the agents' steps")


async def test_a_trace_without_agents_and_tools_says_nothing_about_handoffs() -> None:
    grade = await measured("agent_handoffs", span("call_llm"))
    assert isinstance(grade, Unscored)
    assert grade.reason == "no run of an agent was recorded"


def answered(**response: Any) -> Span:
    return span("call_llm", **{"gcp.vertex.agent.llm_response": {"content": {}, **response}})


async def test_sources_and_grounded_responses_are_counted() -> None:
    cited = answered(groundingMetadata={"groundingChunks": [{}, {}]})
    grade = await measured("grounding_utilization", cited, answered(), cited)
    assert isinstance(grade, Score)
    assert grade.value == 4.0
    assert grade.details == {
        "total_grounding_chunks": 4,
        "total_grounded_responses": 2,
        "total_llm_responses": 3,
        "grounded_share": pytest.approx(2 / 3),
    }


@pytest.mark.parametrize(
    ("spans", "reason"),
    [
        ([span("execute_tool a")], "no call of a model was recorded"),
        ([span("call_llm")], "no response of a model was recorded, so its citations are unknown"),
    ],
)
async def test_where_no_response_was_recorded_nobody_knows_its_sources(spans: list[Span], reason: str) -> None:
    grade = await measured("grounding_utilization", *spans)
    assert isinstance(grade, Unscored)
    assert (grade.why, grade.reason) == (UnscoredReason.NOT_APPLICABLE, reason)


S = 1_000_000_000


def timed_span(name: str, start: float | None, end: float | None, id: str = "", parent: str = "") -> Span:
    return Span(
        name=name,
        span_id=id,
        parent_id=parent,
        start_ns=None if start is None else round(start * S),
        end_ns=None if end is None else round(end * S),
    )


async def measure_latency(*spans: Span, **fields: Any) -> Grade:
    (measure,) = [measure for measure in measures() if measure.name == "latency_metrics"]
    (grade,) = await measure.grade(a_case(), a_transcript(spans=spans or None, **fields))
    return grade


TURNS = (
    timed_span("invocation", 0, 4, "i1"),
    timed_span("invoke_agent root", 0, 4, "a1", "i1"),
    timed_span("call_llm", 0.5, 2, "l1", "a1"),
    timed_span("execute_tool a", 2, 2.25, "t1", "a1"),
    timed_span("call_llm", 2.5, 4, "l2", "a1"),
    timed_span("invocation", 60, 62, "i2"),
    timed_span("call_llm", 60, 61.5, "l3", "i2"),
)


async def test_the_time_is_that_of_the_turns_without_the_users_pauses() -> None:
    grade = await measure_latency(*TURNS)
    assert isinstance(grade, Score)
    assert grade.value == 6.0
    assert grade.direction is Direction.LOWER
    assert grade.details == {
        "total_latency_seconds": 6.0,
        "average_turn_latency_seconds": 3.0,
        "llm_latency_seconds": 4.5,
        "tool_latency_seconds": 0.25,
        "time_to_first_response_seconds": 2.0,
        "turns": 2,
        "basis": "invocations",
    }
    assert grade.reason == "6.000 s over 2 turns"


async def test_without_turns_it_is_the_wall_clock_and_says_so() -> None:
    grade = await measure_latency(timed_span("call_llm", 1, 3), timed_span("execute_tool a", 3, 3.5))
    assert isinstance(grade, Score)
    assert grade.value == 2.5
    assert (grade.details["basis"], grade.details["turns"]) == ("wall clock", None)
    assert grade.details["average_turn_latency_seconds"] is None
    assert grade.reason == "2.500 s by the wall clock, pauses of the user included"


async def test_a_turn_inside_a_turn_is_not_counted_twice() -> None:
    grade = await measure_latency(
        timed_span("invocation", 0, 10, "1"),
        timed_span("execute_tool FooAgent", 1, 9, "2", "1"),
        timed_span("invocation", 2, 8, "3", "2"),
    )
    assert isinstance(grade, Score)
    assert grade.value == 10.0


async def test_the_time_of_a_tool_inside_a_call_is_the_tools() -> None:
    grade = await measure_latency(
        timed_span("invocation", 0, 10, "0"),
        timed_span("call_llm", 0, 10, "1", "0"),
        timed_span("execute_tool a", 4, 9, "2", "1"),
    )
    assert grade.details["llm_latency_seconds"] == 5.0
    assert grade.details["tool_latency_seconds"] == 5.0
    assert grade.details["time_to_first_response_seconds"] == 4.0


async def test_a_turn_that_did_not_end_leaves_the_wall_clock() -> None:
    grade = await measure_latency(timed_span("invocation", 0, None, "1"), timed_span("call_llm", 0, 3, "2", "1"))
    assert isinstance(grade, Score)
    assert (grade.value, grade.details["basis"]) == (3.0, "wall clock")


async def test_calls_without_times_are_told() -> None:
    grade = await measure_latency(
        timed_span("invocation", 0, 4),
        timed_span("call_llm", 1, None),
        timed_span("execute_tool a", 1, None),
    )
    assert isinstance(grade, Score)
    assert grade.reason == "4.000 s over 1 turn; 2 calls without times"
    assert grade.details["llm_latency_seconds"] is None


INVENTED = (
    timed_span("invocation", 0, 12.5, "1"),
    timed_span("call_llm", 0, 1, "2", "1"),
    timed_span("execute_tool a", 3, 4, "3", "1"),
    timed_span("execute_tool a", 5, 6, "4", "1"),
    timed_span("call_llm", 11.5, 12.5, "5", "1"),
)


@pytest.mark.parametrize(
    ("spans", "fields", "reason"),
    [
        (TURNS, {"invented_times": True}, "times were invented by a converter"),
        (TURNS, {"invented_times": True, "duration_ms": 9.0}, "times were invented by a converter"),
        ((), {"invented_times": True}, "times were invented by a converter"),
        (INVENTED, {}, "times were invented by a converter: every call of a model lasts exactly one second"),
        ((), {}, "no spans were recorded"),
        ((timed_span("call_llm", None, None),), {}, "the spans have no times"),
        ((timed_span("call_llm", 3, None),), {}, "the spans have no times"),
    ],
    ids=[
        "said so",
        "said so beside a stopwatch",
        "said so without spans",
        "looks so",
        "no spans",
        "no times",
        "no end",
    ],
)
async def test_what_was_not_measured_is_not_shown(spans: tuple[Span, ...], fields: dict[str, Any], reason: str) -> None:
    grade = await measure_latency(*spans, **fields)
    assert isinstance(grade, Unscored)
    assert (grade.why, grade.reason) == (UnscoredReason.NOT_APPLICABLE, reason)


async def test_one_call_may_last_a_second() -> None:
    assert isinstance(
        await measure_latency(timed_span("invocation", 0, 2), timed_span("call_llm", 0, 1)),
        Score,
    )


async def test_the_targets_stopwatch_serves_where_the_spans_do_not() -> None:
    grade = await measure_latency(duration_ms=1500.0)
    assert isinstance(grade, Score)
    assert (grade.value, grade.details["basis"]) == (1.5, "stopwatch")
    assert grade.reason == "1.500 s by the target's stopwatch; no spans were recorded"
