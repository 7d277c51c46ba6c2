"""What a rule of triage says: who, for what, how surely, why, and what shows it."""

from __future__ import annotations

from msgspec import Struct

from howsure.model.simulation import Party
from howsure.model.triage import Cause, Confidence


class Blame(Struct, frozen=True):
    """The result is the finding's; this is the rest of it."""

    party: Party
    cause: Cause
    confidence: Confidence
    why: str
    evidence: str = ""
