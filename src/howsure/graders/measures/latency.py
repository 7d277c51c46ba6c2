"""The measure `latency_metrics`. Times that a converter invented are not measurements, so there is no value for
them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from howsure.graders.measures.base import NO_SPANS, MeasuredValue, MeasureEvidence, NoMeasurement, plural
from howsure.traces.trace import Invocation, LlmCall, ToolUse, Trace

SECOND = 1_000_000_000
#: Converters give every event one second. A time that was once a float is off by less than this.
BLUR_NS = 1_000
INVENTED = "times were invented by a converter"
Timed = LlmCall | ToolUse | Invocation


def latency(evidence: MeasureEvidence) -> MeasuredValue:
    """Seconds that the user waited: all turns together without the pauses between them, or else the wall clock."""
    trace = evidence.trace
    if measured := _measured_turns(evidence):
        return measured
    if evidence.transcript.invented_times:
        raise NoMeasurement(INVENTED)
    known = [length for call in (trace.llm_calls if trace else ()) if (length := _length(call)) is not None]
    # Two calls of a model do not both last exactly one second by chance.
    if len(known) > 1 and all(abs(length - SECOND) <= BLUR_NS for length in known):
        raise NoMeasurement(f"{INVENTED}: every call of a model lasts exactly one second")
    total = None if trace is None else _total(trace)
    if trace is None or total is None:
        return _target_time(evidence)
    seconds, turns, basis = total
    details = {
        "total_latency_seconds": seconds,
        "average_turn_latency_seconds": seconds / turns if turns else None,
        "llm_latency_seconds": _seconds(call.busy_ns for call in trace.llm_calls),
        "tool_latency_seconds": _seconds(_length(use) for use in trace.tool_uses),
        "time_to_first_response_seconds": _first_response(trace),
        "turns": turns or None,
        "basis": basis,
    }
    lengths = (*(call.busy_ns for call in trace.llm_calls), *map(_length, trace.tool_uses))
    untimed = sum(length is None for length in lengths)
    how = f"over {plural(turns, 'turn')}" if turns else "by the wall clock, pauses of the user included"
    reason = f"{seconds:.3f} s {how}" + (f"; {plural(untimed, 'call')} without times" if untimed else "")
    return MeasuredValue(value=seconds, reason=reason, details=details)


def _total(trace: Trace) -> tuple[float, int, str] | None:
    lengths = [_length(turn) for turn in trace.invocations]
    known = [length for length in lengths if length is not None]
    if known and len(known) == len(lengths):
        return sum(known) / SECOND, len(known), "invocations"
    if trace.start_ns is None or trace.end_ns is None or trace.end_ns < trace.start_ns:
        return None
    return (trace.end_ns - trace.start_ns) / SECOND, 0, "wall clock"


def _measured_turns(evidence: MeasureEvidence) -> MeasuredValue | None:
    """The time that ADK measured in its eval, turn by turn; None: it measured nothing."""
    turns = evidence.transcript.metadata.get("turn_durations") or []
    parts = [turn for turn in turns if isinstance(turn, Mapping)]
    seconds = [turn["duration"] for turn in parts if isinstance(turn.get("duration"), int | float)]
    if not seconds or len(seconds) != len(turns):
        return None
    model, tools = (
        [turn[name] for turn in parts if isinstance(turn.get(name), int | float)]
        for name in ("model_duration", "tool_duration")
    )
    details: dict[str, Any] = {
        "total_latency_seconds": sum(seconds),
        "average_turn_latency_seconds": sum(seconds) / len(seconds),
        "llm_latency_seconds": sum(model) if model else None,
        "tool_latency_seconds": sum(tools) if tools else None,
        "time_to_first_response_seconds": None,
        "turns": len(seconds),
        "basis": "adk eval",
    }
    reason = f"{sum(seconds):.3f} s over {plural(len(seconds), 'turn')}, as `adk eval` measured it"
    return MeasuredValue(value=sum(seconds), reason=reason, details=details)


def _target_time(evidence: MeasureEvidence) -> MeasuredValue:
    """The time that the target measured, if the spans have no times."""
    missing = NO_SPANS if evidence.trace is None else "the spans have no times"
    duration = evidence.transcript.duration_ms
    if duration is None:
        raise NoMeasurement(missing)
    details: dict[str, Any] = {
        "total_latency_seconds": duration / 1000,
        "average_turn_latency_seconds": None,
        "llm_latency_seconds": None,
        "tool_latency_seconds": None,
        "time_to_first_response_seconds": None,
        "turns": None,
        "basis": "stopwatch",
    }
    reason = f"{duration / 1000:.3f} s by the target's stopwatch; {missing}"
    return MeasuredValue(value=duration / 1000, reason=reason, details=details)


def _length(timed: Timed) -> int | None:
    return None if timed.start_ns is None or timed.end_ns is None else timed.end_ns - timed.start_ns


def _seconds(lengths: Iterable[int | None]) -> float | None:
    known = [length for length in lengths if length is not None]
    return sum(known) / SECOND if known else None


def _first_response(trace: Trace) -> float | None:
    """From the earliest start to the end of the first call of a model."""
    started = [call for call in trace.llm_calls if call.start_ns is not None and call.answered_ns is not None]
    if not started or trace.start_ns is None:
        return None
    first = min(started, key=lambda call: call.start_ns or 0)
    return ((first.answered_ns or 0) - trace.start_ns) / SECOND
