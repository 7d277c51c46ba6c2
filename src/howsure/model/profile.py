"""A Profile: pass marks and weights as data. Policies are the pure functions that use it."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct, field


class Normalization(Enum):
    """How a sum of weighted criteria becomes a value from 0 to 1 (docs/decisions explain the two)."""

    POINTS = "points"
    MIN_MAX = "min_max"


class Profile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`marks` gate: a grader named here must reach its mark. `hard_fails`: below this nothing else counts."""

    name: str
    marks: dict[str, float] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    hard_fails: dict[str, float] = field(default_factory=dict)
    composite_mark: float | None = None
    normalization: Normalization = Normalization.POINTS
