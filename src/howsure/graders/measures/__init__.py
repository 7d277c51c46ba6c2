"""The eleven measures of the golden world, computed from spans by a program: no judge, and no pass mark unless a
profile sets one. One file for each theme: tokens and cost, latency, tools and agents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

from howsure.graders.base import GraderContext
from howsure.graders.measures.base import MeasuredValue, MeasureEvidence, NoMeasurement
from howsure.graders.measures.latency import latency
from howsure.graders.measures.tokens import (
    cache_efficiency,
    context_saturation,
    output_density,
    thinking_share,
    token_usage,
)
from howsure.graders.measures.tools import (
    agent_handoffs,
    grounding_utilization,
    sandbox_usage,
    tool_success_rate,
    tool_utilization,
)
from howsure.model.case import Case, World
from howsure.model.score import OPEN, UNIT, Direction, Grade, Scale, Score, Unscored
from howsure.model.transcript import Transcript
from howsure.prices.table import PriceTable
from howsure.traces.read import read_trace
from howsure.traces.trace import Trace

SHOWN_PROBLEMS = 5
"""A grade lists the first few problems; the others are much the same."""

ALL = (
    ("token_usage", token_usage, OPEN, Direction.LOWER),
    ("latency_metrics", latency, OPEN, Direction.LOWER),
    ("cache_efficiency", cache_efficiency, UNIT, Direction.HIGHER),
    ("thinking_metrics", thinking_share, UNIT, Direction.NEITHER),
    ("tool_utilization", tool_utilization, OPEN, Direction.NEITHER),
    ("tool_success_rate", tool_success_rate, UNIT, Direction.HIGHER),
    ("grounding_utilization", grounding_utilization, OPEN, Direction.NEITHER),
    ("context_saturation", context_saturation, OPEN, Direction.LOWER),
    ("agent_handoffs", agent_handoffs, OPEN, Direction.NEITHER),
    ("output_density", output_density, OPEN, Direction.NEITHER),
    ("sandbox_usage", sandbox_usage, OPEN, Direction.NEITHER),
)
NAMES = tuple(name for name, *_ in ALL)


class TraceCache:
    """Reads the spans of a transcript once for all measures, which are asked about it one after the other."""

    def __init__(self) -> None:
        self._last: tuple[Transcript, Trace | None] | None = None

    def read(self, transcript: Transcript) -> Trace | None:
        if self._last is None or self._last[0] is not transcript:
            self._last = (transcript, read_trace(transcript.spans) if transcript.spans else None)
        return self._last[1]


class Measure:
    """A grader that measures and does not judge. It wants every golden case and every other recording with spans, and
    is given the cases of test sets whose conversation turns out to have spans. If it is named, it wants every case."""

    only_in = (World.GOLDEN, World.TEST_SET)
    or_recorded = True
    verifies = ()
    measures_spans = True
    _is_named = False

    def __init__(
        self,
        name: str,
        measure: Callable[[MeasureEvidence], MeasuredValue],
        scale: Scale,
        direction: Direction,
        *,
        prices: PriceTable,
        traces: TraceCache,
    ) -> None:
        self.name = name
        self._measure = measure
        self.scale = scale
        self._direction = direction
        self._prices = prices
        self._traces = traces

    def bind(self, context: GraderContext) -> Measure:
        if self.name not in context.named:
            return self
        named = copy(self)
        named._is_named = True
        return named

    def wants(self, case: Case) -> bool:
        recorded = case.recorded
        with_spans = isinstance(recorded, Transcript) and bool(recorded.spans)
        return self._is_named or case.world == World.GOLDEN or with_spans

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        trace = self._traces.read(transcript)
        problems: dict[str, Any] = {}
        if trace is not None and trace.problems:
            shown = [f"{problem.field}: {problem.message}" for problem in trace.problems[:SHOWN_PROBLEMS]]
            problems = {"problems": shown, "problem_count": len(trace.problems)}
        try:
            measured = self._measure(MeasureEvidence(transcript=transcript, trace=trace, prices=self._prices))
        except NoMeasurement as missing:
            details = missing.details | problems
            return [Unscored(name=self.name, why=missing.why, reason=str(missing), scale=self.scale, details=details)]
        return [
            Score(
                name=self.name,
                value=measured.value,
                scale=self.scale,
                direction=self._direction,
                reason=measured.reason,
                details=measured.details | problems,
            )
        ]


def measures(prices: PriceTable | None = None) -> tuple[Measure, ...]:
    """The eleven graders. They share one cache of traces and the prices (without `prices`: the built-in list)."""
    table, traces = prices or PriceTable.load(), TraceCache()
    return tuple(
        Measure(name, measure, scale, direction, prices=table, traces=traces) for name, measure, scale, direction in ALL
    )
