"""Intervals of a rate beyond Wilson's: the exact one, Jeffreys' Bayesian one, and the choice among them all."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from scipy.special import betaincinv

from howsure.stats.clusters import clustered_rate
from howsure.stats.estimates import Estimate, Form
from howsure.stats.intervals import Interval, rate_interval

SMALL = 300
"""Below so many judged cases the exact interval is taken; from there on Wilson's is as good, and narrower."""


def exact(passed: int, judged: int, confidence: float = 0.95) -> Interval | None:
    """Clopper and Pearson's: never surer than it says, at the price of some width. None when nothing was judged."""
    tail = _tail(passed, judged, confidence)
    if judged == 0:
        return None
    low = float(betaincinv(passed, judged - passed + 1, tail)) if passed else 0.0
    high = float(betaincinv(passed + 1, judged - passed, 1 - tail)) if passed < judged else 1.0
    return low, high


def jeffreys(passed: int, judged: int, confidence: float = 0.95) -> Interval | None:
    """The Bayesian interval with Jeffreys' prior; at none and at all its outer end is that of the scale."""
    tail = _tail(passed, judged, confidence)
    if judged == 0:
        return None
    a, b = passed + 0.5, judged - passed + 0.5
    low = float(betaincinv(a, b, tail)) if passed else 0.0
    high = float(betaincinv(a, b, 1 - tail)) if passed < judged else 1.0
    return low, high


def for_rate(
    passed: int | Sequence[bool],
    judged: int | None = None,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Estimate | None:
    """The rate with the interval that fits: exact below 300 cases, Wilson's above, cluster-robust where cases belong
    together. Clusters need the verdicts themselves: `for_rate(verdicts, clusters=names)`. None when nothing was
    judged."""
    verdicts = None if isinstance(passed, int) else list(passed)
    count = passed if isinstance(passed, int) else sum(bool(verdict) for verdict in passed)
    n = judged if judged is not None else len(verdicts or ())
    if verdicts is not None and len(verdicts) != n:
        raise ValueError(f"{len(verdicts)} verdicts are not {n} judged cases")
    if clusters is not None and len(set(clusters)) < len(clusters):
        if verdicts is None:
            raise ValueError("clusters need one verdict for each case, not a count")
        return clustered_rate(verdicts, clusters, confidence)
    return _independent(count, n, confidence)


def _independent(passed: int, judged: int, confidence: float) -> Estimate | None:
    form, interval = Form.EXACT, exact(passed, judged, confidence)
    if judged >= SMALL:
        form, interval = Form.WILSON, rate_interval(passed, judged, confidence)
    if interval is None:
        return None
    value = passed / judged
    return Estimate(value=value, interval=interval, n=judged, clusters=judged, form=form, confidence=confidence)


def _tail(passed: int, judged: int, confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
    if judged < 0 or not 0 <= passed <= judged:
        raise ValueError(f"{passed} of {judged} is not a rate")
    return (1 - confidence) / 2
