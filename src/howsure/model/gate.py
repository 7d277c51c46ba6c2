"""What a gate may find, and what it says of one run. What gates ask is read in policies; who decides is a service."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct


class Outcome(Enum):
    """Decided on the whole interval: it lies on the good side, on the bad side, or on both."""

    HELD = "held"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"


class GateRuling(Struct, frozen=True, kw_only=True):
    """What came of one gate. `interval` None: counted, not estimated. `n` is what the value rests on; `unjudged` could
    have been part of it and has no verdict or value. `needed_cases`: about so many more would settle an inconclusive
    one (None: no number would, or none is needed). `candidate` is named where a run has several."""

    expression: str
    outcome: Outcome
    reason: str
    value: float | None = None
    interval: tuple[float, float] | None = None
    n: int = 0
    unjudged: int = 0
    needed_cases: int | None = None
    candidate: str = ""


def worst(rulings: tuple[GateRuling, ...]) -> Outcome:
    """Of all gates together: one that failed decides, then one that is inconclusive."""
    found = {ruling.outcome for ruling in rulings}
    order = (Outcome.FAILED, Outcome.INCONCLUSIVE)
    return next((outcome for outcome in order if outcome in found), Outcome.HELD)
