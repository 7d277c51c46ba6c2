"""The paired permutation test. Were two runs equally good, then which of the two produced a case's better value is a
coin toss; so the signs of the differences are tossed again, all ways where there are few, many times where there are
many. Clusters toss one coin together. The interval holds every difference that the same tosses would not reject."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from scipy.stats import t as student

from howsure.stats.clusters import ClusterSums, Floats, robust
from howsure.stats.intervals import Interval

ALL_WAYS = 16
"""Up to so many units that differ, all ways are tried: 65,536."""
DRAWS = 20_000
DISTINCT = 500
"""Beyond so many distinct differences the tosses give Student's t to three digits, and only cost time."""
CHUNK = 4_000_000
NEAR = 1e-9


class Tosses(Struct, frozen=True, kw_only=True):
    """The sum of the differences whose sign was turned, and how many cases that were, for each toss."""

    turned: Floats
    sizes: Floats
    exact: bool


class Tossed(Struct, frozen=True, kw_only=True):
    """`exact`: all ways were tried; `drawn`: so many at random; neither: Student's t on the cluster-robust error."""

    p_value: float
    interval: Interval | None
    exact: bool
    drawn: int


def sign_flip(grouped: ClusterSums, *, confidence: float = 0.95, seed: int = 0, draws: int = DRAWS) -> Tossed:
    """Test and interval for the mean difference; `grouped` has the differences of each cluster (or single case)."""
    if not len(grouped.sums):
        return Tossed(p_value=1.0, interval=None, exact=True, drawn=0)
    values, counts = np.unique(np.stack([grouped.sums, grouped.sizes]), axis=1, return_counts=True)
    if values.shape[1] > DISTINCT:
        return _student(grouped, confidence)
    random = np.random.default_rng(seed)
    tosses = _tosses(values, counts, random, draws)
    total = float(grouped.sums.sum())
    p_value = _p_value(tosses, total, float(np.abs(grouped.sums).sum()))
    interval = _interval(tosses, total, confidence) or _student(grouped, confidence).interval
    return Tossed(p_value=p_value, interval=interval, exact=tosses.exact, drawn=0 if tosses.exact else draws)


def _tosses(values: Floats, counts: np.ndarray[tuple[int], np.dtype[np.int64]], random: np.random.Generator,
            draws: int) -> Tosses:  # fmt: skip
    if counts.sum() <= ALL_WAYS:
        units = np.repeat(values, counts, axis=1)
        ways = (np.arange(2 ** units.shape[1])[:, None] >> np.arange(units.shape[1])) & 1
        return Tosses(turned=ways @ units[0], sizes=ways @ units[1], exact=True)
    parts = [many @ values.T for many in _turned(counts, random, draws)]
    both = np.concatenate(parts)
    return Tosses(turned=both[:, 0], sizes=both[:, 1], exact=False)


def _turned(counts: np.ndarray[tuple[int], np.dtype[np.int64]], random: np.random.Generator,
            draws: int) -> Iterator[Floats]:  # fmt: skip
    """How many of each kind of difference are turned: equal ones need no coin each."""
    step = max(1, CHUNK // len(counts))
    for start in range(0, draws, step):
        shape = (min(step, draws - start), len(counts))
        if counts.max() == 1:
            yield random.integers(0, 2, size=shape, dtype=np.int8).astype(np.float64)
        else:
            yield random.binomial(counts, 0.5, size=shape).astype(np.float64)


def _p_value(tosses: Tosses, total: float, scale: float) -> float:
    """The share of tosses at least as far from zero; drawn ones count what was seen as one more toss."""
    reached = int(np.count_nonzero(np.abs(total - 2 * tosses.turned) >= abs(total) - NEAR * scale))
    if tosses.exact:
        return reached / len(tosses.turned)
    return (reached + 1) / (len(tosses.turned) + 1)


def _interval(tosses: Tosses, total: float, confidence: float) -> Interval | None:
    """A toss rejects a difference d from below when the mean of what it turned is above d: the bounds are quantiles of
    those means. None where even all ways are too few for this confidence."""
    some = tosses.sizes > 0
    means = np.sort(tosses.turned[some] / tosses.sizes[some])
    # The toss that turns nothing rejects nothing: it bounds neither side.
    ways = len(means) + 1
    skipped = int(np.floor(ways * (1 - confidence) / 2 + NEAR))
    if tosses.exact and skipped < 1:
        return None
    place = max(skipped - 1, 0)
    return float(means[place]), float(means[len(means) - 1 - place])


def _student(grouped: ClusterSums, confidence: float) -> Tossed:
    found = robust(grouped)
    if found is None or found.error == 0:
        return Tossed(p_value=1.0, interval=None, exact=False, drawn=0)
    p_value = float(2 * student.sf(abs(found.mean) / found.error, found.freedom))
    return Tossed(p_value=p_value, interval=found.interval(confidence), exact=False, drawn=0)
