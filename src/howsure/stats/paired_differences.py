"""Two runs on the same cases: by how much they differ, how sure that is, and in which direction. Repeats of a case are
averaged first; only cases that both runs judged are compared, and the others are counted.

Single verdicts: McNemar's exact test and Tango's interval. Repeats, clusters and scores: the permutation test. If two
runs were equally good, the sign of each difference would be a coin toss, so the signs are flipped: in all ways if there
are few differences, in many random ways otherwise. The cases of one cluster flip together, and the interval holds every
difference that the same flips would not reject. `holm` corrects the p-values of many questions.
What follows (equal, cannot tell, how many cases would) is in sample_sizes.py."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from enum import Enum
from math import comb, sqrt
from statistics import NormalDist
from typing import TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from scipy.stats import binom
from scipy.stats import t as student

from howsure.model.score import Direction
from howsure.stats.clusters import ClusterSums, Floats, cluster_sums, robust_mean
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


EXACT_SUM = 1000
"""Up to this many discordant cases the tail is summed in whole numbers."""


def mcnemar(gained: int, lost: int) -> float:
    """The exact two-sided p-value: if both runs were equally good, how likely is a split of the differing cases at
    least as uneven as this one?"""
    if gained < 0 or lost < 0:
        raise ValueError(f"{gained} gained and {lost} lost are no counts")
    n, fewer = gained + lost, min(gained, lost)
    if gained == lost:
        return 1.0
    if n <= EXACT_SUM:
        below = sum(comb(n, count) for count in range(fewer)) / (1 << n)
        here = comb(n, fewer) / (1 << n)
    else:
        below, here = float(binom.cdf(fewer - 1, n, 0.5)), float(binom.pmf(fewer, n, 0.5))
    return min(1.0, 2 * below + 2 * here)


def tango(gained: int, lost: int, n: int, confidence: float = 0.95) -> Interval | None:
    """Tango's score interval of the difference (gained − lost) / n. It has a width even if no case differs."""
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
    if gained < 0 or lost < 0 or gained + lost > n:
        raise ValueError(f"{gained} gained and {lost} lost are not among {n} cases")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    if n == 0:
        return None
    observed = (gained - lost) / n
    low = -1.0 if lost == n else _crossing(gained, lost, n, z, (-1.0, observed))
    high = 1.0 if gained == n else _crossing(gained, lost, n, z, (observed, 1.0))
    return low, high


def _crossing(gained: int, lost: int, n: int, z: float, span: Interval) -> float:
    """Where the score statistic, which falls with the difference, reaches ±z between the two ends of `span`."""
    low, high = span
    upper = low >= (gained - lost) / n
    for _ in range(80):
        middle = (low + high) / 2
        inside = abs(_score(gained, lost, n, middle)) <= z
        low, high = (middle, high) if inside is upper else (low, middle)
    return (low + high) / 2


def _score(gained: int, lost: int, n: int, difference: float) -> float:
    """How many standard errors the counts are from this difference, with the error under this difference."""
    b = -gained - lost + (2 * n - gained + lost) * difference
    c = -lost * difference * (1 - difference)
    falling = (sqrt(max(0.0, b * b - 8 * n * c)) - b) / (4 * n)
    variance = n * (2 * falling + difference * (1 - difference))
    distance = gained - lost - n * difference
    if variance <= 0:
        return 0.0 if distance == 0 else float("inf") * distance
    return distance / sqrt(variance)


K = TypeVar("K", bound=Hashable)


class PairedMethod(Enum):
    """Which test gave the p-value."""

    MCNEMAR = "exact_mcnemar"
    ALL_FLIPS = "exact_sign_flips"
    DRAWN_FLIPS = "drawn_sign_flips"
    STUDENT = "paired_t"


class PairedDifference(Struct, frozen=True, kw_only=True):
    """After minus before, over `n` cases in `clusters` independent groups. `raised`, `lowered` and `same` count cases
    by how their value changed."""

    before: float
    after: float
    interval: Interval | None
    p_value: float
    method: PairedMethod
    n: int
    clusters: int
    raised: int = 0
    lowered: int = 0
    same: int = 0
    direction: Direction = Direction.HIGHER
    confidence: float = 0.95

    @property
    def difference(self) -> float:
        return self.after - self.before

    @property
    def gain(self) -> float | None:
        """By how much it got better, given the direction of the scale. None if neither end is good."""
        sign = _SIGN[self.direction]
        return sign * self.difference if sign else None


_SIGN = {Direction.HIGHER: 1, Direction.LOWER: -1, Direction.NEITHER: 0}


class CasePairs(Struct, frozen=True, kw_only=True):
    """The cases that both runs judged, in order, with the means of their repeats."""

    cases: tuple[Hashable, ...]
    before: Floats
    after: Floats


def pair_cases(before: Mapping[K, Sequence[float | None]], after: Mapping[K, Sequence[float | None]]) -> CasePairs:
    """Averages the repeats of each case (None: not judged) and keeps the cases with a value on both sides."""
    firsts, seconds = _average_repeats(before), _average_repeats(after)
    cases = tuple(case for case in firsts if case in seconds)
    return CasePairs(
        cases=cases,
        before=np.fromiter((firsts[case] for case in cases), np.float64, len(cases)),
        after=np.fromiter((seconds[case] for case in cases), np.float64, len(cases)),
    )


def paired_rates(
    before: Sequence[float] | Floats,
    after: Sequence[float] | Floats,
    clusters: Sequence[Hashable] | None = None,
    *,
    direction: Direction = Direction.HIGHER,
    confidence: float = 0.95,
    seed: int = 0,
) -> PairedDifference | None:
    """The difference of two pass rates on the same cases. Each value is the share of the repeats of a case that passed.
    None without cases."""
    firsts, seconds = _arrays(before, after)
    if not len(firsts):
        return None
    if firsts.min() < 0 or seconds.min() < 0 or firsts.max() > 1 or seconds.max() > 1:
        raise ValueError("a pass rate lies between 0 and 1")
    whole = bool(np.isin(firsts, (0, 1)).all() and np.isin(seconds, (0, 1)).all())
    if whole and (clusters is None or len(set(clusters)) == len(clusters)):
        return _compare_verdicts(firsts, seconds, direction, confidence)
    difference = _compare_by_permutation(firsts, seconds, clusters, direction, confidence, seed)
    return difference if difference.interval is not None else _with_width(difference)


def paired_means(
    before: Sequence[float] | Floats,
    after: Sequence[float] | Floats,
    clusters: Sequence[Hashable] | None = None,
    *,
    direction: Direction = Direction.HIGHER,
    confidence: float = 0.95,
    seed: int = 0,
) -> PairedDifference | None:
    """The difference of two means on the same cases, by the permutation test. None without cases; no interval if all
    differences are equal."""
    firsts, seconds = _arrays(before, after)
    return _compare_by_permutation(firsts, seconds, clusters, direction, confidence, seed) if len(firsts) else None


def _compare_verdicts(before: Floats, after: Floats, direction: Direction, confidence: float) -> PairedDifference:
    plain = _plain_difference(before, after, direction, confidence)
    raised, lowered = plain.raised, plain.lowered
    return replace(plain, interval=tango(raised, lowered, len(before), confidence), p_value=mcnemar(raised, lowered))


def _plain_difference(before: Floats, after: Floats, direction: Direction, confidence: float) -> PairedDifference:
    """The counts, without a test: each case is a cluster of its own."""
    raised, lowered = int(np.count_nonzero(after > before)), int(np.count_nonzero(after < before))
    return PairedDifference(
        before=float(before.mean()),
        after=float(after.mean()),
        interval=None,
        p_value=1.0,
        method=PairedMethod.MCNEMAR,
        n=len(before),
        clusters=len(before),
        raised=raised,
        lowered=lowered,
        same=len(before) - raised - lowered,
        direction=direction,
        confidence=confidence,
    )


def _compare_by_permutation(
    before: Floats,
    after: Floats,
    clusters: Sequence[Hashable] | None,
    direction: Direction,
    confidence: float,
    seed: int,
) -> PairedDifference:
    differences = after - before
    # Without clusters each case is a cluster of its own.
    grouped = ClusterSums(sums=differences, sizes=np.ones(len(differences)))
    if clusters is not None:
        grouped = cluster_sums(differences, clusters)
    flips = permutation_test(grouped, confidence=confidence, seed=seed)
    spread = len(grouped.sums) > 1 and bool(np.ptp(grouped.sums / grouped.sizes) > 0)
    method = PairedMethod.DRAWN_FLIPS if flips.drawn else PairedMethod.STUDENT
    if flips.exact:
        method = PairedMethod.ALL_FLIPS
    return replace(
        _plain_difference(before, after, direction, confidence),
        interval=flips.interval if spread else None,
        p_value=flips.p_value,
        method=method,
        clusters=len(grouped.sums),
    )


def _with_width(found: PairedDifference) -> PairedDifference:
    """All cases changed by the same amount (mostly: not at all). As for single verdicts, the interval keeps a width:
    each cluster counts as one case that does not differ."""
    reach = tango(0, 0, found.clusters, found.confidence)
    if reach is None:
        return found
    low, high = max(-1.0, found.difference + reach[0]), min(1.0, found.difference + reach[1])
    return replace(found, interval=(low, high))


def _arrays(before: Sequence[float] | Floats, after: Sequence[float] | Floats) -> tuple[Floats, Floats]:
    firsts, seconds = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if len(firsts) != len(seconds):
        raise ValueError(f"{len(firsts)} values cannot be paired with {len(seconds)}")
    if not (np.isfinite(firsts).all() and np.isfinite(seconds).all()):
        raise ValueError("a difference needs finite values")
    return firsts, seconds


def _average_repeats(repeats: Mapping[K, Sequence[float | None]]) -> dict[K, float]:
    known = ((case, [value for value in values if value is not None]) for case, values in repeats.items())
    return {case: sum(values) / len(values) for case, values in known if values}


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order of the questions: the chance of a single false alarm stays below the
    level."""
    if strange := [value for value in p_values if not 0 <= value <= 1]:
        raise ValueError(f"a p-value lies between 0 and 1, not at {strange[0]}")
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    count, highest = len(order), 0.0
    adjusted = [0.0] * count
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (count - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted
