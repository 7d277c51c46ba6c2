"""The measure of time: what was measured, and never what a converter made up."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.graders.measures import measures
from howsure.model.score import Direction, Grade, Score, Unscored, UnscoredReason
from howsure.model.transcript import Span
from howsure.testing import a_case, a_transcript

S = 1_000_000_000


def span(name: str, start: float | None, end: float | None, id: str = "", parent: str = "") -> Span:
    return Span(
        name=name,
        span_id=id,
        parent_id=parent,
        start_ns=None if start is None else round(start * S),
        end_ns=None if end is None else round(end * S),
    )


async def measured(*spans: Span, **fields: Any) -> Grade:
    (measure,) = [measure for measure in measures() if measure.name == "latency_metrics"]
    (grade,) = await measure.grade(a_case(), a_transcript(spans=spans or None, **fields))
    return grade


TURNS = (
    span("invocation", 0, 4, "i1"),
    span("invoke_agent root", 0, 4, "a1", "i1"),
    span("call_llm", 0.5, 2, "l1", "a1"),
    span("execute_tool a", 2, 2.25, "t1", "a1"),
    span("call_llm", 2.5, 4, "l2", "a1"),
    span("invocation", 60, 62, "i2"),
    span("call_llm", 60, 61.5, "l3", "i2"),
)


async def test_the_time_is_that_of_the_turns_without_the_users_pauses() -> None:
    grade = await measured(*TURNS)
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
    grade = await measured(span("call_llm", 1, 3), span("execute_tool a", 3, 3.5))
    assert isinstance(grade, Score)
    assert grade.value == 2.5
    assert (grade.details["basis"], grade.details["turns"]) == ("wall clock", None)
    assert grade.details["average_turn_latency_seconds"] is None
    assert grade.reason == "2.500 s by the wall clock, pauses of the user included"


async def test_a_turn_inside_a_turn_is_not_counted_twice() -> None:
    grade = await measured(
        span("invocation", 0, 10, "1"),
        span("execute_tool FooAgent", 1, 9, "2", "1"),
        span("invocation", 2, 8, "3", "2"),
    )
    assert isinstance(grade, Score)
    assert grade.value == 10.0


async def test_the_time_of_a_tool_inside_a_call_is_the_tools() -> None:
    grade = await measured(
        span("invocation", 0, 10, "0"),
        span("call_llm", 0, 10, "1", "0"),
        span("execute_tool a", 4, 9, "2", "1"),
    )
    assert grade.details["llm_latency_seconds"] == 5.0
    assert grade.details["tool_latency_seconds"] == 5.0
    assert grade.details["time_to_first_response_seconds"] == 4.0


async def test_a_turn_that_did_not_end_leaves_the_wall_clock() -> None:
    grade = await measured(span("invocation", 0, None, "1"), span("call_llm", 0, 3, "2", "1"))
    assert isinstance(grade, Score)
    assert (grade.value, grade.details["basis"]) == (3.0, "wall clock")


async def test_calls_without_times_are_told() -> None:
    grade = await measured(span("invocation", 0, 4), span("call_llm", 1, None), span("execute_tool a", 1, None))
    assert isinstance(grade, Score)
    assert grade.reason == "4.000 s over 1 turn; 2 calls without times"
    assert grade.details["llm_latency_seconds"] is None


INVENTED = (
    span("invocation", 0, 12.5, "1"),
    span("call_llm", 0, 1, "2", "1"),
    span("execute_tool a", 3, 4, "3", "1"),
    span("execute_tool a", 5, 6, "4", "1"),
    span("call_llm", 11.5, 12.5, "5", "1"),
)


@pytest.mark.parametrize(
    ("spans", "fields", "reason"),
    [
        (TURNS, {"invented_times": True}, "times were invented by a converter"),
        (TURNS, {"invented_times": True, "duration_ms": 9.0}, "times were invented by a converter"),
        ((), {"invented_times": True}, "times were invented by a converter"),
        (INVENTED, {}, "times were invented by a converter: every call of a model lasts exactly one second"),
        ((), {}, "no spans were recorded"),
        ((span("call_llm", None, None),), {}, "the spans have no times"),
        ((span("call_llm", 3, None),), {}, "the spans have no times"),
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
    grade = await measured(*spans, **fields)
    assert isinstance(grade, Unscored)
    assert (grade.why, grade.reason) == (UnscoredReason.NOT_APPLICABLE, reason)


async def test_one_call_may_last_a_second() -> None:
    assert isinstance(await measured(span("invocation", 0, 2), span("call_llm", 0, 1)), Score)


async def test_the_targets_stopwatch_serves_where_the_spans_do_not() -> None:
    grade = await measured(duration_ms=1500.0)
    assert isinstance(grade, Score)
    assert (grade.value, grade.details["basis"]) == (1.5, "stopwatch")
    assert grade.reason == "1.500 s by the target's stopwatch; no spans were recorded"
