"""What an estimate is: a number, the interval around it, what both rest on and which form was taken. No arithmetic on
data here, and nothing heavy to import."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from howsure.stats.intervals import Interval


class Form(Enum):
    """How an interval was made."""

    WILSON = "wilson"
    JEFFREYS = "jeffreys"
    EXACT = "exact"
    STUDENT = "student_t"
    BCA = "bca_bootstrap"
    CLUSTER_SCORE = "cluster_robust_score"
    CLUSTER_MIXTURE = "cluster_mixture"
    CLUSTER_ROBUST = "cluster_robust_t"
    CLUSTER_BOOTSTRAP = "cluster_bootstrap"
    ORDER = "order_statistics"
    NO_SPREAD = "no_spread"
    """All values are the same: the interval says how often another value could occur unseen."""


class Estimate(Struct, frozen=True, kw_only=True):
    """A number and how sure it is. `n` observations in `clusters` independent groups (without clusters: as many)."""

    value: float
    interval: Interval | None
    n: int
    clusters: int
    form: Form | None
    confidence: float = 0.95

    @property
    def low(self) -> float | None:
        return self.interval[0] if self.interval else None

    @property
    def high(self) -> float | None:
        return self.interval[1] if self.interval else None


def within(interval: Interval, bounds: Interval | None) -> Interval:
    """Cut off what lies outside the possible values."""
    if bounds is None:
        return interval
    low, high = bounds
    return max(low, min(high, interval[0])), max(low, min(high, interval[1]))
