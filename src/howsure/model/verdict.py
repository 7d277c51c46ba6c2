"""A Verdict is decided, not measured: by a policy, from Scores, with reasons in words."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from howsure.model.score import Grade


class Verdict(Enum):
    """What came of one case."""

    PASSED = "passed"
    FAILED = "failed"
    ERRORED = "errored"
    SKIPPED = "skipped"


class Decision(Struct, frozen=True, kw_only=True):
    """A verdict, its reasons, and the grades it rests on (with the marks that applied, and what the policy added)."""

    verdict: Verdict
    reasons: tuple[str, ...]
    grades: tuple[Grade, ...]
