"""Two groups of different cases: by how much their rates or means differ. Weaker than the paired comparison, because
the cases themselves differ too; for groups that share cases use paired.py."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot
from statistics import fmean

import numpy as np
from scipy.stats import fisher_exact, ttest_ind

from howsure.model.score import Direction
from howsure.stats.intervals import Interval, wilson
from howsure.stats.paired import Difference, Method


def unpaired_rates(
    before: tuple[int, int],
    after: tuple[int, int],
    *,
    direction: Direction = Direction.HIGHER,
    confidence: float = 0.95,
) -> Difference | None:
    """Each side is (passed, judged). Fisher's exact test and Newcombe's interval, which joins two Wilson ones. None
    when one side judged nothing."""
    (one, n_one), (other, n_other) = before, after
    interval = rates_apart(before, after, confidence)
    if interval is None:
        return None
    return Difference(
        before=one / n_one,
        after=other / n_other,
        interval=interval,
        p_value=min(1.0, float(fisher_exact([[one, n_one - one], [other, n_other - other]]).pvalue)),
        method=Method.FISHER,
        n=min(n_one, n_other),
        clusters=min(n_one, n_other),
        direction=direction,
        confidence=confidence,
    )


def rates_apart(before: tuple[int, int], after: tuple[int, int], confidence: float = 0.95) -> Interval | None:
    """Newcombe's interval of the difference of two independent rates, after less before."""
    ones, others = wilson(*before, confidence), wilson(*after, confidence)
    if ones is None or others is None:
        return None
    one, other = before[0] / before[1], after[0] / after[1]
    low = other - one - hypot(other - others[0], ones[1] - one)
    high = other - one + hypot(others[1] - other, one - ones[0])
    return low, high


def unpaired_means(
    before: Sequence[float],
    after: Sequence[float],
    *,
    direction: Direction = Direction.HIGHER,
    confidence: float = 0.95,
) -> Difference | None:
    """Welch's t test and its interval. None for an empty side; no interval for fewer than two values on a side, or
    where nothing varies."""
    if not len(before) or not len(after):
        return None
    varies = min(len(before), len(after)) > 1 and (np.ptp(before) > 0 or np.ptp(after) > 0)
    found = ttest_ind(after, before, equal_var=False) if varies else None
    limits = found.confidence_interval(confidence) if found is not None else None
    n = min(len(before), len(after))
    return Difference(
        before=fmean(before),
        after=fmean(after),
        interval=(float(limits.low), float(limits.high)) if limits is not None else None,
        p_value=float(found.pvalue) if found is not None else 1.0,
        method=Method.WELCH,
        n=n,
        clusters=n,
        direction=direction,
        confidence=confidence,
    )
