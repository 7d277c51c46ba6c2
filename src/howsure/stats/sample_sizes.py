"""What an estimate settles, and how many cases would settle an open question with a probability of 80 % if the truth is
as seen: `is_equal` (two one-sided tests within a margin) and `pairs_to_settle` for a comparison, `cases_for_rate` and
`cases_for_value` for a gate. Counted over every outcome where verdicts are single, else by Student's t."""

from __future__ import annotations

from functools import lru_cache
from math import ceil, floor, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm
from scipy.stats import t as student

from howsure.stats.clusters import Floats
from howsure.stats.estimates import EXACT_BELOW
from howsure.stats.intervals import Interval, rate_interval
from howsure.stats.paired_differences import PairedDifference, PairedMethod
from howsure.stats.power import MOST_CASES, fewest_cases, rejecting, t_power

TOLERANCE = 1e-9


def is_equal(found: PairedDifference, margin: float) -> bool:
    """Whether the interval leaves no room for a difference beyond the margin, up or down. Agreement alone shows
    nothing: ten pairs that agree leave room for 28 points."""
    return found.interval is not None and max(abs(end) for end in found.interval) <= margin


def pairs_to_settle(found: PairedDifference, margin: float) -> int | None:
    """How many pairs would settle the question with a probability of 80 %, if the difference and the share of flips
    stay as they are: that it is not zero, or that it is within the margin. None: unknown, or more than ten million."""
    difference = abs(found.difference)
    if found.interval is None or max(difference, margin) < TOLERANCE:
        return None
    if found.method is PairedMethod.MCNEMAR:
        # Where no case flipped yet, half a flip is assumed.
        discordant = max(found.raised + found.lowered, 0.5) / found.n
        return _settling_pairs(found.n + 1, discordant, difference, margin, found.confidence)
    # The interval includes the effect of clusters and repeats on the spread; a plain deviation would not.
    low, high = found.interval
    quantile = float(student.ppf((1 + found.confidence) / 2, max(1, found.clusters - 1)))
    deviation = (high - low) / (2 * quantile) * sqrt(found.n)
    return _settling_means(found.n + 1, deviation, difference, margin, found.confidence) if deviation > 0 else None


@lru_cache(maxsize=4096)
def _settling_pairs(least: int, discordant: float, difference: float, margin: float, confidence: float) -> int | None:
    return fewest_cases(
        lambda pairs: settled_share(pairs, discordant, difference, margin, confidence), least=max(2, least)
    )


def settled_share(pairs: int, discordant: float, difference: float, margin: float, confidence: float = 0.95) -> float:
    """How often this number of pairs shows a difference (by McNemar's test and Tango's interval) or equality (Tango's
    interval lies within the margin)."""
    middle, reach = pairs * discordant, 8 * sqrt(pairs * discordant) + 10
    flips = np.arange(max(0, floor(middle - reach)), min(pairs, ceil(middle + reach)) + 1)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    fewest = np.minimum(rejecting(1 - confidence, flips), np.ceil((flips - z * np.sqrt(flips)) / 2) - 1)
    share = min(1.0, (discordant + difference) / (2 * discordant))
    different = np.where(fewest >= 0, binom.cdf(fewest, flips, share) + binom.sf(flips - fewest - 1, flips, share), 0.0)
    most = np.minimum(_most_gained(flips, pairs, margin, z), flips - np.maximum(fewest, -1) - 1)
    equal = np.maximum(0.0, binom.cdf(most, flips, share) - binom.cdf(flips - most - 1, flips, share))
    return float((binom.pmf(flips, pairs, discordant) * (different + np.where(2 * most >= flips, equal, 0.0))).sum())


def _most_gained(flips: NDArray[np.int64], pairs: int, margin: float, z: float) -> Floats:
    """For each number of flips: the most that may be gains while Tango's interval stays below the margin; -1: none."""
    total = flips.astype(np.float64)
    low, high = np.full(len(flips), -1.0), total
    for _ in range(int(flips[-1]).bit_length() + 1):
        middle = np.ceil((low + high) / 2)
        inside = _tango_scores(middle, total - middle, pairs, margin) <= -z
        low, high = np.where(inside, middle, low), np.where(inside, high, middle - 1)
    return low


def _tango_scores(gained: Floats, lost: Floats, n: int, difference: float) -> Floats:
    b = -gained - lost + (2 * n - gained + lost) * difference
    falling = (np.sqrt(np.maximum(0.0, b * b + 8 * n * lost * difference * (1 - difference))) - b) / (4 * n)
    variance = np.maximum(n * (2 * falling + difference * (1 - difference)), TOLERANCE)
    scores: Floats = (gained - lost - n * difference) / np.sqrt(variance)
    return scores


@lru_cache(maxsize=4096)
def _settling_means(least: int, deviation: float, difference: float, margin: float, confidence: float) -> int | None:
    def settled(pairs: int) -> float:
        error = deviation / sqrt(pairs)
        reach = float(student.ppf((1 + confidence) / 2, pairs - 1)) * error
        room = min(margin - reach, reach)
        equal = norm.cdf((room - difference) / error) - norm.cdf((-room - difference) / error) if room > 0 else 0.0
        return t_power(error, pairs - 1, difference, 1 - confidence) + float(equal)

    return fewest_cases(settled, least=max(2, least))


def cases_for_rate(passed: int, judged: int, limit: float) -> int | None:
    """The total number of cases with which the interval of this rate excludes the limit, in four of five draws. None:
    the rate is at the limit, or more than ten million cases would be needed."""
    if not judged or abs(passed / judged - limit) < TOLERANCE:
        return None
    rate = passed / judged
    # What is below the limit is, counted the other way round, above it.
    if rate > limit:
        return fewest_cases(lambda cases: excluded_share(rate, cases, limit), least=judged)
    return fewest_cases(lambda cases: excluded_share(1 - rate, cases, 1 - limit), least=judged)


def excluded_share(rate: float, cases: int, limit: float) -> float:
    """How often the interval of this number of cases lies above the limit."""
    if cases < EXACT_BELOW:
        enough = int(binom.isf(0.025, cases, limit)) + 1
    else:
        low, enough = 0, cases + 1
        while enough - low > 1:
            middle = (low + enough) // 2
            found = rate_interval(middle, cases)
            low, enough = (low, middle) if found is not None and found[0] > limit else (middle, enough)
    return float(binom.sf(enough - 1, cases, rate))


def cases_for_value(value: float, interval: Interval, n: int, limit: float) -> int | None:
    """The same for any estimate: errors shrink with the square root of the number of cases."""
    gap = value - limit
    reach = value - interval[0] if gap > 0 else interval[1] - value
    if abs(gap) < TOLERANCE or reach <= 0 or n < 2:
        return None
    deviation = reach * sqrt(n) / float(student.ppf(0.975, n - 1))
    if (deviation / gap) ** 2 > MOST_CASES:
        return None
    return fewest_cases(lambda cases: t_power(deviation / sqrt(cases), cases - 1, gap, 0.05), least=n)
