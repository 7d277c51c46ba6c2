"""Rates and means of cases that belong together: answers about one document, turns of one conversation, cases of one
scenario. Ten such cases tell less than ten unrelated ones, and these intervals say so."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import sqrt

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student

from howsure.stats.estimates import Estimate, Form, within
from howsure.stats.intervals import Interval
from howsure.stats.resemblance import plausible_rates

Floats = NDArray[np.float64]

CHUNK = 2_000_000
"""So many drawn numbers are held at a time."""
TELLING = 40
"""From so many clusters with a verdict of the rarer kind on, the variance computed from the clusters can be trusted."""


class ClusterSums(Struct, frozen=True, kw_only=True):
    """What of clustered data matters for its mean: the sum and the size of each cluster."""

    sums: Floats
    sizes: Floats

    @property
    def mean(self) -> float:
        return float(self.sums.sum() / self.sizes.sum())


class Robust(Struct, frozen=True, kw_only=True):
    """A mean, its cluster-robust standard error, and the degrees of freedom that go with it."""

    mean: float
    error: float
    freedom: float

    def interval(self, confidence: float = 0.95) -> Interval:
        half = float(student.ppf((1 + confidence) / 2, self.freedom)) * self.error
        return self.mean - half, self.mean + half


def cluster_sums(values: ArrayLike, clusters: Sequence[Hashable]) -> ClusterSums:
    """Clusters in the order of their first value."""
    numbers = np.asarray(values, dtype=np.float64)
    if len(numbers) != len(clusters):
        raise ValueError(f"{len(numbers)} values cannot have {len(clusters)} clusters")
    if not np.isfinite(numbers).all():
        raise ValueError("a mean needs finite values")
    places: dict[Hashable, int] = {}
    labels = np.fromiter((places.setdefault(name, len(places)) for name in clusters), np.int64, len(numbers))
    sizes = np.bincount(labels, minlength=len(places)).astype(np.float64)
    sums: Floats = np.bincount(labels, weights=numbers, minlength=len(places)).astype(np.float64)
    return ClusterSums(sums=sums, sizes=sizes)


def robust(grouped: ClusterSums, *, corrected: bool = True) -> Robust | None:
    """The mean with its CR2 standard error and the degrees of freedom of Bell and McCaffrey; for a mean both have a
    closed form. `corrected=False`: CR0, with one degree less than clusters. None for fewer than two clusters."""
    count, total = len(grouped.sums), grouped.sizes.sum()
    if count < 2:
        return None
    share = grouped.sizes / total
    residuals = grouped.sums - grouped.mean * grouped.sizes
    if not corrected:
        error = sqrt(float((residuals**2).sum())) / float(total)
        return Robust(mean=grouped.mean, error=error, freedom=count - 1)
    error = sqrt(float((residuals**2 / (1 - share)).sum())) / float(total)
    leverage = share**2 / (1 - share)
    spread = (share**2).sum() + leverage.sum() ** 2 - (leverage**2).sum()
    return Robust(mean=grouped.mean, error=error, freedom=float(1 / spread))


def clustered_mean(
    values: ArrayLike, clusters: Sequence[Hashable], confidence: float = 0.95, bounds: Interval | None = None
) -> Estimate | None:
    """Student's t on the CR2 error. Without any spread, or with one cluster, there is a mean but no interval."""
    grouped = cluster_sums(values, clusters)
    if not len(grouped.sums):
        return None
    found = robust(grouped)
    known = found is not None and found.error > 0
    interval = within(found.interval(confidence), bounds) if found is not None and known else None
    form = Form.CLUSTER_ROBUST if known else None
    return _estimate(grouped, interval, form, confidence)


def clustered_rate(verdicts: Sequence[bool], clusters: Sequence[Hashable], confidence: float = 0.95) -> Estimate | None:
    """Where many clusters have passes and failures to show: Wilson's interval for as many independent cases as the
    clustered ones are worth, with t for z. Where few have, that number is itself too little known, and every one that
    is plausible counts (see `resemblance`). Both stay between 0 and 1."""
    grouped = cluster_sums(np.asarray(verdicts, dtype=np.float64), clusters)
    return rate_of(grouped, confidence) if len(grouped.sums) else None


def rate_of(grouped: ClusterSums, confidence: float = 0.95) -> Estimate:
    """The same of passes and cases counted by cluster. One cluster has a rate and no interval."""
    found = robust(grouped)
    if found is None:
        return _estimate(grouped, None, None, confidence)
    if dissenting(grouped) < TELLING:
        interval = plausible_rates(grouped.sums, grouped.sizes, confidence)
        return _estimate(grouped, interval, Form.CLUSTER_MIXTURE, confidence)
    rate = grouped.mean
    worth = min(float(grouped.sizes.sum()), rate * (1 - rate) / found.error**2)
    quantile = float(student.ppf((1 + confidence) / 2, found.freedom))
    return _estimate(grouped, score_interval(rate, worth, quantile), Form.CLUSTER_SCORE, confidence)


def dissenting(grouped: ClusterSums) -> int:
    """Clusters that have at least one verdict of the rarer kind: those that say how clusters differ."""
    rarer = grouped.sizes - grouped.sums if grouped.mean >= 1 / 2 else grouped.sums
    return int(np.count_nonzero(rarer))


def score_interval(rate: float, n: float, quantile: float) -> Interval:
    """Wilson's interval for any number of cases, whole or not, and any quantile."""
    square = quantile * quantile
    spread = quantile * sqrt(rate * (1 - rate) / n + square / (4 * n * n))
    centre, weight = rate + square / (2 * n), 1 + square / n
    return within(((centre - spread) / weight, (centre + spread) / weight), (0.0, 1.0))


def cluster_bootstrap(
    values: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    *,
    draws: int = 5000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Interval | None:
    """The percentile interval of the mean when whole clusters are drawn again (without `clusters`: single values).
    None for fewer than two. With fewer than about thirty it is too narrow: prefer the robust one."""
    numbers = np.asarray(values, dtype=np.float64)
    grouped = cluster_sums(numbers, range(len(numbers)) if clusters is None else clusters)
    if len(grouped.sums) < 2:
        return None
    means = drawn_means(grouped, draws, np.random.default_rng(seed))
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def drawn_means(grouped: ClusterSums, draws: int, random: np.random.Generator) -> Floats:
    """The mean of each bootstrap draw, in pieces that fit into memory."""
    count = len(grouped.sums)
    step = max(1, CHUNK // count)
    parts = []
    for start in range(0, draws, step):
        picked = random.integers(0, count, size=(min(step, draws - start), count))
        parts.append(grouped.sums[picked].sum(axis=1) / grouped.sizes[picked].sum(axis=1))
    return np.concatenate(parts)


def _estimate(grouped: ClusterSums, interval: Interval | None, form: Form | None, confidence: float) -> Estimate:
    return Estimate(
        value=grouped.mean,
        interval=interval,
        n=int(grouped.sizes.sum()),
        clusters=len(grouped.sums),
        form=form,
        confidence=confidence,
    )
