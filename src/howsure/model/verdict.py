"""Verdicts are decided, not measured: a policy decides them from Scores, by the marks and weights of a Profile. The
policies are in policies/."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct, field

from howsure.model.score import Grade


class Verdict(Enum):
    """The outcome of one case. `damaged` stands for a stored result that cannot be read; no policy decides it."""

    PASSED = "passed"
    FAILED = "failed"
    ERRORED = "errored"
    SKIPPED = "skipped"
    DAMAGED = "damaged"


DECIDED: tuple[Verdict, ...] = (Verdict.PASSED, Verdict.FAILED, Verdict.ERRORED, Verdict.SKIPPED)
"""The verdicts that a policy decides."""


class Decision(Struct, frozen=True, kw_only=True):
    """A verdict, its reasons, and the grades that led to it, with the marks that applied and what the policy added."""

    verdict: Verdict
    reasons: tuple[str, ...]
    grades: tuple[Grade, ...]


class Normalization(Enum):
    """How a sum of weighted criteria becomes a value from 0 to 1 (explained in docs/decisions)."""

    POINTS = "points"
    MIN_MAX = "min_max"


class Profile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Pass marks and weights. A grader in `marks` must reach its mark; below a mark in `hard_fails` nothing else
    counts."""

    name: str
    marks: dict[str, float] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    hard_fails: dict[str, float] = field(default_factory=dict)
    composite_mark: float | None = None
    normalization: Normalization = Normalization.POINTS
