"""What every measure shares: the evidence it reads and its result. A measure is a pure function
`MeasureEvidence → MeasuredValue` that raises `NoMeasurement` if there is no value."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from howsure.model.score import UnscoredReason
from howsure.model.transcript import Transcript
from howsure.prices.table import PriceTable
from howsure.traces.trace import Trace

NO_SPANS = "no spans were recorded"


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


def join_parts(*parts: str) -> str:
    """The parts that are not empty, as one line."""
    return "; ".join(part for part in parts if part)


def plural(number: int, noun: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
