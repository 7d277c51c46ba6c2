"""What the offline judge can come to: an opinion with a stated confidence, or that it cannot tell."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field


class Opinion(Struct, frozen=True, kw_only=True):
    """A value on the grader's scale. `confidence` is the share of people who would agree, as far as it was measured
    (docs/offline-judge.md); where nothing was measured it is set low on purpose."""

    value: float
    confidence: float
    reason: str
    evidence: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)


class CannotTell(Struct, frozen=True):
    """Nothing in the texts decides it."""

    why: str


View = Opinion | CannotTell
