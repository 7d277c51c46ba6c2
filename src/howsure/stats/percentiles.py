"""Percentiles, with intervals from the order of the values alone: no shape of their distribution is assumed. A value
may be infinite: it is only counted."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import ceil, floor, inf, log

import numpy as np
from scipy.stats import binom

from howsure.stats.clusters import cluster_sums, robust
from howsure.stats.estimates import Estimate, Form


def for_percentile(
    values: Sequence[float],
    share: float,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Estimate | None:
    """The value that this share of all does not exceed. An end of the interval that lies beyond the values seen is
    infinite: with too few of them nothing can be said on that side. None when there is no value."""
    if not 0 < share < 1:
        raise ValueError(f"a percentile lies between 0 and 1, not at {share}")
    if not len(values):
        return None
    ordered = sorted(values)
    n = len(ordered)
    value = ordered[max(1, ceil(share * n - 1e-9)) - 1]
    grouped = clusters is not None and len(set(clusters)) < n
    worth = _worth(values, clusters, value) if grouped and clusters is not None else n
    low, high = ranks(worth, share, confidence)
    return Estimate(
        value=value,
        interval=(
            -inf if low < 1 else ordered[max(1, floor(low * n / worth)) - 1],
            inf if high > worth else ordered[min(n, ceil(high * n / worth)) - 1],
        ),
        n=n,
        clusters=len(set(clusters)) if clusters is not None else n,
        form=Form.ORDER,
        confidence=confidence,
    )


def ranks(n: int, share: float, confidence: float = 0.95) -> tuple[int, int]:
    """The ranks, from 1, of the values between which the percentile of n independent ones lies; 0 and n + 1 stand for
    the ends that n values cannot give."""
    tail = (1 - confidence) / 2
    low = int(binom.ppf(tail, n, share))
    # The largest rank with no more than `tail` of the chance below it, and the smallest with no more above.
    while low > 0 and binom.cdf(low - 1, n, share) > tail:
        low -= 1
    high = int(binom.ppf(1 - tail, n, share)) + 1
    return low, min(high, n + 1)


def values_needed(share: float, confidence: float = 0.95, *, above: bool = True) -> int:
    """How many values it takes for the interval to have an upper (or a lower) end at all."""
    return ceil(log((1 - confidence) / 2) / log(share if above else 1 - share) - 1e-9)


def _worth(values: Sequence[float], clusters: Sequence[Hashable], value: float) -> int:
    """How many independent values the clustered ones are worth where the percentile is asked about."""
    below = np.asarray(values, dtype=np.float64) <= value
    grouped = cluster_sums(below.astype(np.float64), clusters)
    found, rate = robust(grouped), grouped.mean
    if found is None or found.error == 0:
        return len(grouped.sums)
    return max(1, min(len(values), floor(rate * (1 - rate) / found.error**2)))
