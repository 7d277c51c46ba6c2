"""Confidence sequences: intervals of a mean that hold at every look, however often one looks and whenever one stops.

Somebody bets against a mean of at most m, and has one coin to begin with. Each value x from 0 to 1 multiplies the stake
f by 1 + f (x/m - 1): while the mean is at most m, nobody can expect to win, and the chance that the capital ever
reaches 1/a is at most a (Ville). So m is ruled out once it does. Several stakes share the coin, small ones for small
differences (a mixture martingale; for passes and fails, a mixture of likelihood ratios). The same bets on 1 - x rule
out means from above. The capital falls as m grows, so what is not ruled out is an interval.

Values are independent, or stand in a random order; a case with several tries is one value, their mean. A value of
weight w < 1 stakes w f: a cluster with that share of the attempts of the largest one, so that the mean is the pooled
one. After Waudby-Smith and Ramdas (2024). Differences from -1 to 1 are rescaled by the caller."""

from __future__ import annotations

from math import log

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from howsure.stats.intervals import Interval

Floats = NDArray[np.float64]
STAKES: Floats = 1 / (1 + np.exp(-np.linspace(-3.2, 4.2, 24)))
"""The shares of the capital that are staked, from 4 % to 98.5 %: for differences of a few points up to large ones."""
STEPS = 60
"""Bisection steps that make an end of the interval exact to the last digit."""


def opening_capital() -> Floats:
    """The logarithm of what each stake begins with."""
    return np.full(len(STAKES), -log(len(STAKES)))


def capital_after(before: Floats, values: ArrayLike, limit: float, weights: ArrayLike = 1.0) -> Floats:
    """The logarithm of the capital of each stake, a row after each value, in bets against a mean of at most `limit`.
    `before` is the last row of an earlier call: a look costs what is new."""
    odds = np.asarray(values, dtype=np.float64) / limit - 1
    grown: Floats = np.log1p(np.multiply.outer(odds * np.asarray(weights), STAKES))
    return before + np.cumsum(grown, axis=0)


def is_ruled_out(capital: Floats, confidence: float = 0.95) -> NDArray[np.bool_]:
    """For each row of `capital_after` whether the limit is ruled out: half of the error is kept for the other side."""
    return np.logaddexp.reduce(capital, axis=-1) >= log(2 / (1 - confidence))  # type: ignore[no-any-return]


class SequentialDecision(Struct, frozen=True):
    """After how many values a limit was first ruled out, and whether the mean lies above it."""

    look: int
    above: bool


def first_decision(
    lows: ArrayLike, highs: ArrayLike, limit: float, weights: ArrayLike = 1.0, confidence: float = 0.95
) -> SequentialDecision | None:
    """Look after every value; None: the limit was never ruled out. For an unknown value `lows` has its lower and
    `highs` its upper bound."""
    sides = ((lows, limit, True), (1 - np.asarray(highs, dtype=np.float64), 1 - limit, False))
    found: list[SequentialDecision] = []
    for values, mean, above in sides:
        crossed = np.flatnonzero(is_ruled_out(capital_after(opening_capital(), values, mean, weights), confidence))
        found += [SequentialDecision(int(crossed[0]) + 1, above)] if len(crossed) else []
    return min(found, key=lambda each: each.look, default=None)


def anytime_interval(lows: ArrayLike, highs: ArrayLike, weights: ArrayLike = 1.0, confidence: float = 0.95) -> Interval:
    """The means that the values so far do not rule out. It holds the true mean at every look at once in at least
    `confidence` of all sequences: `anytime_interval(x, x)`."""
    least, most = np.asarray(lows, dtype=np.float64), np.asarray(highs, dtype=np.float64)
    return _lowest_mean(least, weights, confidence), 1 - _lowest_mean(1 - most, weights, confidence)


def _lowest_mean(values: Floats, weights: ArrayLike, confidence: float) -> float:
    pairs = np.column_stack((values, np.broadcast_to(np.asarray(weights, dtype=np.float64), values.shape)))
    (kinds, counts) = np.unique(pairs, axis=0, return_counts=True)
    if not len(values) or not values.any():
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        mean = (low + high) / 2
        grown = np.log1p(np.multiply.outer((kinds[:, 0] / mean - 1) * kinds[:, 1], STAKES))
        if is_ruled_out(opening_capital() + counts @ grown, confidence):
            low = mean
        else:
            high = mean
    return low
