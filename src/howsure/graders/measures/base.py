"""What every measure shares: the evidence it looks at, what it may find, and the grader that makes a grade of it.

A measure is a pure function `Evidence → Found | Missing`. It has no pass mark: it gates nothing of its own accord.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct, field

from howsure.model.case import Case, World
from howsure.model.score import Direction, Grade, Scale, Score, Unscored, Why
from howsure.model.transcript import Transcript
from howsure.prices.table import PriceTable
from howsure.traces.read import read_trace
from howsure.traces.views import Trace

NO_SPANS = "no spans were recorded"
#: A grade names the first few things that could not be read; the rest is the same story.
SHOWN_PROBLEMS = 5


class Evidence(Struct, frozen=True, kw_only=True):
    """One transcript, what its spans tell (None: it has none), and the prices."""

    transcript: Transcript
    trace: Trace | None
    prices: PriceTable


class Found(Struct, frozen=True, kw_only=True):
    """A value, in the measure's own scale."""

    value: float
    reason: str
    details: dict[str, Any] = field(default_factory=dict)


class Missing(Struct, frozen=True, kw_only=True):
    """No value: there is nothing to measure, or it cannot be known."""

    reason: str
    why: Why = Why.NOT_APPLICABLE
    details: dict[str, Any] = field(default_factory=dict)


class Reader:
    """Reads a transcript's spans once for all measures: they are asked about the same one, one after the other."""

    def __init__(self) -> None:
        self._last: tuple[Transcript, Trace | None] | None = None

    def read(self, transcript: Transcript) -> Trace | None:
        if self._last is None or self._last[0] is not transcript:
            self._last = (transcript, read_trace(transcript.spans) if transcript.spans else None)
        return self._last[1]


class Measure:
    """A grader that measures and does not judge."""

    only_in = (World.GOLDEN,)
    or_recorded = True

    def __init__(
        self,
        name: str,
        look: Callable[[Evidence], Found | Missing],
        scale: Scale,
        direction: Direction,
        *,
        prices: PriceTable,
        reader: Reader,
    ) -> None:
        self.name = name
        self._look = look
        self._scale = scale
        self._direction = direction
        self._prices = prices
        self._reader = reader

    def wants(self, case: Case) -> bool:
        """Every golden case (spans come with the transcript, not the case), and any whose recording has spans."""
        recorded = case.recorded
        return case.world == World.GOLDEN or (isinstance(recorded, Transcript) and bool(recorded.spans))

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        trace = self._reader.read(transcript)
        found = self._look(Evidence(transcript=transcript, trace=trace, prices=self._prices))
        details = {**found.details, **_problems(trace)}
        if isinstance(found, Missing):
            return [Unscored(name=self.name, why=found.why, reason=found.reason, scale=self._scale, details=details)]
        return [
            Score(
                name=self.name,
                value=found.value,
                scale=self._scale,
                direction=self._direction,
                reason=found.reason,
                details=details,
            )
        ]


def _problems(trace: Trace | None) -> dict[str, Any]:
    if trace is None or not trace.problems:
        return {}
    shown = [f"{problem.field}: {problem.message}" for problem in trace.problems[:SHOWN_PROBLEMS]]
    return {"problems": shown, "problem_count": len(trace.problems)}


def sentences(*parts: str) -> str:
    """The parts that say something, as one line."""
    return "; ".join(part for part in parts if part)


def counted(number: int, noun: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
