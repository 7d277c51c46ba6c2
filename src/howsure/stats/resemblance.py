"""How much the cases of one cluster resemble each other, and which rates stay plausible when nobody knows exactly.

With few clusters, or a rate near an end of the scale, a variance computed from the clusters knows too little of itself:
one failed document more would double it. Here every resemblance from none (0) to copies (1) stays possible, weighed by
how well it explains the clusters seen (a beta-binomial model); each has its own number of independent cases that the
clustered ones are worth, and the interval is that of the mixture. The rate itself is always the one counted: the model
only says how far to trust it, so that clusters of another kind than the model's do not move it."""

from __future__ import annotations

from collections import Counter
from functools import cache
from math import asin, pi, sqrt

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betainc, betaincinv, gammaln

from howsure.stats.intervals import Interval

Floats = NDArray[np.float64]

LEVELS = 16
"""So many resemblances are weighed."""
PRIOR = (1 / 3, 1 / 2)
"""Before anything is seen, clusters of nearly unrelated cases and of near-copies are likelier than those between (a
beta distribution): few clusters say little, and both ends must stay possible where they do not speak against it."""
ENDS = (1e-6, 0.995)
REACH, STEPS = 6.0, 19
"""Rates are tried so many standard errors around the one counted, in so many steps."""
SURE = 1e-12
NEGLIGIBLE = 1e-7


class Counted(Struct, frozen=True, kw_only=True):
    """Clusters of the same number of passes and cases are counted together."""

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
        """What part of the clusters' own variance is left in the rate, with one cluster's worth paid for the mean."""
        share = float((self.sizes**2 * self.times).sum()) / self.cases**2
        return share / max(1 - share, SURE)


def counted(sums: Floats, sizes: Floats) -> Counted:
    found = Counter(zip(sums.tolist(), sizes.tolist(), strict=True))
    passes, cases = (np.array(each, dtype=np.float64) for each in zip(*found, strict=True))
    return Counted(passes=passes, sizes=cases, times=np.array(list(found.values()), dtype=np.float64))


def plausible_rates(sums: Floats, sizes: Floats, confidence: float = 0.95) -> Interval:
    """The central interval of the mixture; at none and at all its outer end is that of the scale."""
    seen = counted(sums, sizes)
    worth = 1 / (levels() * seen.spread + (1 - levels()) / seen.cases)
    shares = weights(seen, worth)
    # What hardly counts costs as much to look up as what does.
    told = shares > NEGLIGIBLE
    worth, shares = worth[told], shares[told] / shares[told].sum()
    tail, rate = (1 - confidence) / 2, seen.rate
    low = 0.0 if rate == 0 else _quantile(tail, rate, worth, shares)
    high = 1.0 if rate == 1 else _quantile(1 - tail, rate, worth, shares)
    return min(low, rate), max(high, rate)


@cache
def levels() -> Floats:
    """The resemblances that are weighed: equally likely before anything is seen."""
    found: Floats = np.clip(betaincinv(*PRIOR, (np.arange(LEVELS) + 0.5) / LEVELS), *ENDS)
    return found


def weights(seen: Counted, worth: Floats) -> Floats:
    """How plausible each resemblance is, over all rates near the one counted (any rate as likely as any other)."""
    error = 1 / (2 * np.sqrt(worth))
    angle = asin(sqrt(seen.rate)) + np.linspace(-REACH, REACH, STEPS)[:, None] * error
    inside = (angle > 0) & (angle < pi / 2)
    rates = np.sin(np.where(inside, angle, pi / 4)) ** 2
    logs = _likelihood(seen, rates) + np.log(rates * (1 - rates)) / 2 + np.log(error)
    logs = np.where(inside, logs, -np.inf)
    found = np.exp(logs - logs.max()).sum(axis=0)
    shares: Floats = found / found.sum()
    return shares


def _likelihood(seen: Counted, rates: Floats) -> Floats:
    """The logarithm of the chance of these clusters at each rate (down) and resemblance (across)."""
    whole = 1 / levels() - 1
    good, bad = rates * whole, (1 - rates) * whole
    total = np.zeros_like(rates)
    for passes, size, times in zip(seen.passes, seen.sizes, seen.times, strict=True):
        total += times * (gammaln(passes + good) + gammaln(size - passes + bad) - gammaln(size + whole))
    clusters = seen.times.sum()
    found: Floats = total - clusters * (gammaln(good) + gammaln(bad) - gammaln(whole))
    return found


def _quantile(share: float, rate: float, worth: Floats, shares: Floats) -> float:
    """The rate with this share of the mixture below it."""
    good, bad = 1 + rate * worth, 1 + (1 - rate) * worth
    return float(brentq(lambda x: float((shares * betainc(good, bad, x)).sum()) - share, 0.0, 1.0, xtol=1e-8))
