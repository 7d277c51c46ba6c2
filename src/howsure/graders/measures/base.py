"""What every measure shares: the evidence it reads, its result, and the grader that makes a grade of the result.

A measure is a pure function `MeasureEvidence → MeasuredValue` that raises `NoMeasurement` if there is no value. It has
no pass mark, so it gates only if a profile sets one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

from msgspec import Struct, field

from howsure.graders.base import GraderContext
from howsure.model.case import Case, World
from howsure.model.score import Direction, Grade, Scale, Score, Unscored, UnscoredReason
from howsure.model.transcript import Transcript
from howsure.prices.table import PriceTable
from howsure.traces.read import read_trace
from howsure.traces.trace import Trace

NO_SPANS = "no spans were recorded"
#: A grade lists the first few problems; the others are much the same.
SHOWN_PROBLEMS = 5


class MeasureEvidence(Struct, frozen=True, kw_only=True):
    """One transcript, the trace read from its spans (None: it has no spans), and the prices."""

    transcript: Transcript
    trace: Trace | None
    prices: PriceTable


class MeasuredValue(Struct, frozen=True, kw_only=True):
    """A value on the scale of the measure."""

    value: float
    reason: str
    details: dict[str, Any] = field(default_factory=dict)


class NoMeasurement(Exception):
    """There is no value: nothing to measure, or the value is unknown."""

    def __init__(
        self, reason: str, why: UnscoredReason = UnscoredReason.NOT_APPLICABLE, details: dict[str, Any] | None = None
    ) -> None:
        super().__init__(reason)
        self.why = why
        self.details = details or {}


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


def join_parts(*parts: str) -> str:
    """The parts that are not empty, as one line."""
    return "; ".join(part for part in parts if part)


def plural(number: int, noun: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
