"""Rates and means of cases that belong together: answers about one document, turns of one conversation, cases of one
scenario. Ten such cases say less than ten unrelated ones, and these intervals show it.

With few clusters, or a rate near 0 or 1, the variance between clusters is itself too uncertain: one more failed
document would double it. Then every similarity within clusters from 0 (unrelated) to 1 (copies) stays possible,
weighted by how well it explains the clusters seen (a beta-binomial model). Each similarity gives an effective number of
independent cases, and the interval is that of the mixture. The rate is always the counted one: the model only says how
far to trust it, so clusters that do not fit the model do not move it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import cache
from math import asin, pi, sqrt

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import betainc, betaincinv, gammaln
from scipy.stats import t as student

from howsure.stats.intervals import Estimate, Interval, IntervalMethod, score_interval

Floats = NDArray[np.float64]

SIMILARITY_LEVELS = 16
"""How many similarities the mixture has."""
SIMILARITY_PRIOR = (1 / 3, 1 / 2)
"""The prior is a beta distribution: clusters of nearly unrelated cases and of near-copies are more likely than those
between. A few clusters say little, so both ends must stay possible unless the data speak against them."""
SIMILARITY_ENDS = (1e-6, 0.995)
RATE_REACH, RATE_STEPS = 6.0, 19
"""The rates that are tried: this many standard errors around the counted rate, in this many steps."""
SMALLEST_SHARE = 1e-12
NEGLIGIBLE = 1e-7


class ClusterCounts(Struct, frozen=True, kw_only=True):
    """Clusters with the same numbers of passes and cases, counted together."""

    passes: Floats
    sizes: Floats
    times: Floats

    @property
    def rate(self) -> float:
        return float((self.passes * self.times).sum() / self.cases)

    @property
    def cases(self) -> float:
        return float((self.sizes * self.times).sum())

    @property
    def spread(self) -> float:
        """The share of the variance between clusters that remains in the rate, corrected for the estimated mean."""
        share = float((self.sizes**2 * self.times).sum()) / self.cases**2
        return share / max(1 - share, SMALLEST_SHARE)


def count_clusters(sums: Floats, sizes: Floats) -> ClusterCounts:
    found = Counter(zip(sums.tolist(), sizes.tolist(), strict=True))
    passes, cases = (np.array(each, dtype=np.float64) for each in zip(*found, strict=True))
    return ClusterCounts(passes=passes, sizes=cases, times=np.array(list(found.values()), dtype=np.float64))


def mixture_interval(sums: Floats, sizes: Floats, confidence: float = 0.95) -> Interval:
    """The central interval of the mixture. At a rate of 0 or 1 its outer end is that of the scale. The more alike the
    cases of a cluster, the nearer both ends are to the exact ones (Clopper and Pearson's): copies are single cases.
    Where few clusters have a verdict of the rarer kind, the outer end is the exact one for each similarity."""
    counts, levels = count_clusters(sums, sizes), similarity_levels()
    effective = 1 / (levels * counts.spread + (1 - levels) / counts.cases)
    shares = similarity_weights(counts, effective)
    # Negligible similarities cost as much to evaluate as the others.
    relevant = shares > NEGLIGIBLE
    effective, shares = effective[relevant], shares[relevant] / shares[relevant].sum()
    tail, rate, added = (1 - confidence) / 2, counts.rate, 1 - levels[relevant] ** LIKE_COPIES
    rarer = sizes - sums if rate >= 1 / 2 else sums
    outer = added * (np.count_nonzero(rarer) > FEW_DISSENTING)
    low = 0.0 if rate == 0 else _mixture_quantile(tail, rate, effective, shares, outer if rate < 1 / 2 else added)
    high = 1.0
    if rate < 1:
        high = 1 - _mixture_quantile(tail, 1 - rate, effective, shares, outer if rate >= 1 / 2 else added)
    return min(low, rate), max(high, rate)


@cache
def similarity_levels() -> Floats:
    """The similarities of the mixture: quantiles of the prior, equally likely a priori."""
    found: Floats = np.clip(
        betaincinv(*SIMILARITY_PRIOR, (np.arange(SIMILARITY_LEVELS) + 0.5) / SIMILARITY_LEVELS), *SIMILARITY_ENDS
    )
    return found


def similarity_weights(counts: ClusterCounts, effective: Floats) -> Floats:
    """The posterior weight of each similarity, over all rates near the counted one (every rate equally likely)."""
    error = 1 / (2 * np.sqrt(effective))
    angle = asin(sqrt(counts.rate)) + np.linspace(-RATE_REACH, RATE_REACH, RATE_STEPS)[:, None] * error
    inside = (angle > 0) & (angle < pi / 2)
    rates = np.sin(np.where(inside, angle, pi / 4)) ** 2
    logs = _likelihood(counts, rates) + np.log(rates * (1 - rates)) / 2 + np.log(error)
    logs = np.where(inside, logs, -np.inf)
    found = np.exp(logs - logs.max()).sum(axis=0)
    shares: Floats = found / found.sum()
    return shares


def _likelihood(counts: ClusterCounts, rates: Floats) -> Floats:
    """The log-likelihood of these clusters at each rate (rows) and similarity (columns)."""
    whole = 1 / similarity_levels() - 1
    good, bad = rates * whole, (1 - rates) * whole
    total = np.zeros_like(rates)
    for passes, size, times in zip(counts.passes, counts.sizes, counts.times, strict=True):
        total += times * (gammaln(passes + good) + gammaln(size - passes + bad) - gammaln(size + whole))
    clusters = counts.times.sum()
    found: Floats = total - clusters * (gammaln(good) + gammaln(bad) - gammaln(whole))
    return found


def _mixture_quantile(share: float, rate: float, effective: Floats, shares: Floats, added: Floats) -> float:
    """The rate with this share of the mixture below it. What is `added` to the passes, by similarity: 0 for the lower
    end of Clopper and Pearson, 1 for that of a beta distribution for which every rate was as likely before."""
    good, bad = added + rate * effective, 1 + (1 - rate) * effective
    return float(brentq(lambda x: float((shares * betainc(good, bad, x)).sum()) - share, 0.0, 1.0, xtol=1e-8))


LIKE_COPIES = 4
"""Only a similarity near 1 makes cases as good as copies: its fourth power says how nearly."""
FEW_DISSENTING = 3
ENOUGH_DISSENTING = 40
"""With this many clusters that have a verdict of the rarer kind, the variance between clusters can be trusted."""


class ClusterSums(Struct, frozen=True, kw_only=True):
    """All that the mean of clustered data needs: the sum and the size of each cluster."""

    sums: Floats
    sizes: Floats

    @property
    def mean(self) -> float:
        return float(self.sums.sum() / self.sizes.sum())


class RobustMean(Struct, frozen=True, kw_only=True):
    """A mean with its cluster-robust standard error and degrees of freedom."""

    mean: float
    error: float
    freedom: float

    def interval(self, confidence: float = 0.95) -> Interval:
        half = float(student.ppf((1 + confidence) / 2, self.freedom)) * self.error
        return self.mean - half, self.mean + half


def cluster_sums(values: ArrayLike, clusters: Sequence[Hashable], weights: ArrayLike = 1.0) -> ClusterSums:
    """The sums by cluster, in the order of their first value. A value of weight w counts as w values."""
    numbers = np.asarray(values, dtype=np.float64)
    if len(numbers) != len(clusters):
        raise ValueError(f"{len(numbers)} values cannot have {len(clusters)} clusters")
    if not np.isfinite(numbers).all():
        raise ValueError("a mean needs finite values")
    places: dict[Hashable, int] = {}
    labels = np.fromiter((places.setdefault(name, len(places)) for name in clusters), np.int64, len(numbers))
    own = np.broadcast_to(np.asarray(weights, dtype=np.float64), numbers.shape)
    sizes = np.bincount(labels, weights=own, minlength=len(places)).astype(np.float64)
    sums: Floats = np.bincount(labels, weights=own * numbers, minlength=len(places)).astype(np.float64)
    return ClusterSums(sums=sums, sizes=sizes)


def robust_mean(grouped: ClusterSums) -> RobustMean | None:
    """The mean with its CR2 standard error and the degrees of freedom of Bell and McCaffrey (for a mean both have a
    closed form). None for fewer than two clusters."""
    count, total = len(grouped.sums), grouped.sizes.sum()
    if count < 2:
        return None
    share = grouped.sizes / total
    residuals = grouped.sums - grouped.mean * grouped.sizes
    error = sqrt(float((residuals**2 / (1 - share)).sum())) / float(total)
    leverage = share**2 / (1 - share)
    spread = (share**2).sum() + leverage.sum() ** 2 - (leverage**2).sum()
    return RobustMean(mean=grouped.mean, error=error, freedom=float(1 / spread))


def clustered_rate(verdicts: Sequence[bool], clusters: Sequence[Hashable], confidence: float = 0.95) -> Estimate | None:
    """The pass rate of clustered cases. If many clusters have a verdict of the rarer kind: Wilson's interval for the
    effective number of independent cases, with t instead of z. If few have, that number is too uncertain, and the
    interval is that of the mixture. Both stay between 0 and 1."""
    grouped = cluster_sums(np.asarray(verdicts, dtype=np.float64), clusters)
    return cluster_rate(grouped, confidence) if len(grouped.sums) else None


def cluster_rate(grouped: ClusterSums, confidence: float = 0.95) -> Estimate:
    """The same from the passes and sizes of the clusters. A single cluster has a rate and no interval."""
    found = robust_mean(grouped)
    if found is None:
        return _estimate(grouped, None, None, confidence)
    # Clusters with at least one verdict of the rarer kind show how clusters differ.
    rarer = grouped.sizes - grouped.sums if grouped.mean >= 1 / 2 else grouped.sums
    if np.count_nonzero(rarer) < ENOUGH_DISSENTING:
        interval = mixture_interval(grouped.sums, grouped.sizes, confidence)
        return _estimate(grouped, interval, IntervalMethod.CLUSTER_MIXTURE, confidence)
    rate = grouped.mean
    effective = float(grouped.sizes.sum())
    # Clusters that are all alike have no error.
    effective = min(effective, rate * (1 - rate) / found.error**2) if found.error else effective
    quantile = float(student.ppf((1 + confidence) / 2, found.freedom))
    return _estimate(grouped, score_interval(rate, effective, quantile), IntervalMethod.CLUSTER_SCORE, confidence)


def _estimate(
    grouped: ClusterSums, interval: Interval | None, form: IntervalMethod | None, confidence: float
) -> Estimate:
    return Estimate(
        value=grouped.mean,
        interval=interval,
        n=int(grouped.sizes.sum()),
        clusters=len(grouped.sums),
        form=form,
        confidence=confidence,
    )
