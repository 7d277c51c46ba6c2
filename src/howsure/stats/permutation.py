"""The paired permutation test. If two runs were equally good, the sign of each difference would be a coin toss. So the
signs are flipped at random: in all ways if there are few differences, in many random ways otherwise. The cases of one
cluster flip together. The interval holds every difference that the same flips would not reject."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from scipy.stats import t as student

from howsure.stats.clusters import ClusterSums, Floats, robust_mean
from howsure.stats.intervals import Interval

MOST_EXACT = 16
"""Up to this many units all 65,536 ways are tried."""
DRAWS = 20_000
MOST_DISTINCT = 500
"""With more distinct differences the flips give Student's t to three digits and only cost time."""
CHUNK = 4_000_000
TOLERANCE = 1e-9


class SignFlips(Struct, frozen=True, kw_only=True):
    """For each way of flipping: the sum of the flipped differences, and the number of their cases."""

    flipped: Floats
    sizes: Floats
    exact: bool


class PermutationResult(Struct, frozen=True, kw_only=True):
    """`exact`: all ways were tried. `drawn`: the number of random ways. Neither: Student's t on the cluster-robust
    error."""

    p_value: float
    interval: Interval | None
    exact: bool
    drawn: int


def permutation_test(
    grouped: ClusterSums, *, confidence: float = 0.95, seed: int = 0, draws: int = DRAWS
) -> PermutationResult:
    """Test and interval for the mean difference. `grouped` has the differences of each cluster (or single case)."""
    if not len(grouped.sums):
        return PermutationResult(p_value=1.0, interval=None, exact=True, drawn=0)
    values, counts = np.unique(np.stack([grouped.sums, grouped.sizes]), axis=1, return_counts=True)
    if values.shape[1] > MOST_DISTINCT:
        return _t_test(grouped, confidence)
    random = np.random.default_rng(seed)
    flips = _draw_flips(values, counts, random, draws)
    total = float(grouped.sums.sum())
    p_value = _permutation_p_value(flips, total, float(np.abs(grouped.sums).sum()))
    interval = _permutation_interval(flips, total, confidence) or _t_test(grouped, confidence).interval
    return PermutationResult(p_value=p_value, interval=interval, exact=flips.exact, drawn=0 if flips.exact else draws)


def _draw_flips(values: Floats, counts: np.ndarray[tuple[int], np.dtype[np.int64]], random: np.random.Generator,
            draws: int) -> SignFlips:  # fmt: skip
    if counts.sum() <= MOST_EXACT:
        units = np.repeat(values, counts, axis=1)
        ways = (np.arange(2 ** units.shape[1])[:, None] >> np.arange(units.shape[1])) & 1
        return SignFlips(flipped=ways @ units[0], sizes=ways @ units[1], exact=True)
    parts = [drawn @ values.T for drawn in _draw_counts(counts, random, draws)]
    both = np.concatenate(parts)
    return SignFlips(flipped=both[:, 0], sizes=both[:, 1], exact=False)


def _draw_counts(counts: np.ndarray[tuple[int], np.dtype[np.int64]], random: np.random.Generator,
            draws: int) -> Iterator[Floats]:  # fmt: skip
    """How many of each distinct difference are flipped: equal ones are drawn together."""
    step = max(1, CHUNK // len(counts))
    for start in range(0, draws, step):
        shape = (min(step, draws - start), len(counts))
        if counts.max() == 1:
            yield random.integers(0, 2, size=shape, dtype=np.int8).astype(np.float64)
        else:
            yield random.binomial(counts, 0.5, size=shape).astype(np.float64)


def _permutation_p_value(flips: SignFlips, total: float, scale: float) -> float:
    """The share of flips at least as far from zero. Random flips count the observed one as one more."""
    reached = int(np.count_nonzero(np.abs(total - 2 * flips.flipped) >= abs(total) - TOLERANCE * scale))
    if flips.exact:
        return reached / len(flips.flipped)
    return (reached + 1) / (len(flips.flipped) + 1)


def _permutation_interval(flips: SignFlips, total: float, confidence: float) -> Interval | None:
    """A way of flipping rejects a difference d from below if the mean of what it flips is above d, so the bounds are
    quantiles of those means. None if even all ways are too few for this confidence."""
    some = flips.sizes > 0
    means = np.sort(flips.flipped[some] / flips.sizes[some])
    # The way that flips nothing rejects nothing: it bounds neither side.
    ways = len(means) + 1
    skipped = int(np.floor(ways * (1 - confidence) / 2 + TOLERANCE))
    if flips.exact and skipped < 1:
        return None
    place = max(skipped - 1, 0)
    return float(means[place]), float(means[len(means) - 1 - place])


def _t_test(grouped: ClusterSums, confidence: float) -> PermutationResult:
    found = robust_mean(grouped)
    if found is None or found.error == 0:
        return PermutationResult(p_value=1.0, interval=None, exact=False, drawn=0)
    p_value = float(2 * student.sf(abs(found.mean) / found.error, found.freedom))
    return PermutationResult(p_value=p_value, interval=found.interval(confidence), exact=False, drawn=0)
