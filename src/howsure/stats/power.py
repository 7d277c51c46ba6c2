"""Sample sizes and power: how many cases it takes to see a difference (`cases_needed`), how large a difference a number
of cases shows (`detectable_difference`), and with which probability (`power`). For pass rates of two runs on the same
cases (paired) or on different ones, and for paired means, with repeats. How many cases would settle a question that is
open already is in sample_sizes.py."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import ceil, floor, sqrt

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import gammaln, nctdtr
from scipy.stats import binom, norm
from scipy.stats import t as student

from howsure.stats.clusters import Floats

MOST_CASES = 10_000_000
"""No search goes beyond this number of cases."""
USUAL_POWER = 0.80
LEVEL = 0.05
NORMAL_FROM = 100_000
"""With more degrees of freedom, Student's t is the normal distribution."""
TABLED = 4096
"""Up to this many discordant cases the rejection limit is looked up in a table."""
MOST_STEPS_BACK = 40
EXACT_UP_TO = 1500
"""With more cases in a group, the normal curve with Yates's correction has the power of Fisher's test to three digits.
"""
REACH = 8.0
"""Outcomes further away than this many standard deviations are left out of sums."""
ONE_SIDED_FROM = 5.0
"""A difference of this many standard errors is never found in the wrong direction."""


class _RepeatedDesign(Struct, frozen=True, kw_only=True):
    """`repeats` tries of each case are averaged. `correlation` is how alike two tries of one case are (for paired runs:
    two differences): at 1 repeats add nothing, at 0 a repeat is worth a case."""

    repeats: int = 1
    correlation: float | None = None

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise ValueError(f"a case is tried at least once, not {self.repeats} times")
        if self.repeats > 1 and self.correlation is None:
            raise ValueError("what repeats are worth depends on the correlation of two tries of one case: give it")
        if self.correlation is not None and not 0 <= self.correlation <= 1:
            raise ValueError(f"a correlation of tries lies between 0 and 1, not at {self.correlation}")

    @property
    def shrink(self) -> float:
        """The factor by which averaging repeats lowers the variance of a case."""
        alike = 1.0 if self.correlation is None else self.correlation
        return alike + (1 - alike) / self.repeats


class PairedRates(_RepeatedDesign, frozen=True, kw_only=True):
    """Verdicts of two runs on the same cases; `discordant` is the share of cases on which they differ."""

    discordant: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.discordant <= 1:
            raise ValueError(f"a share of discordant cases lies between 0 and 1, not at {self.discordant}")


class UnpairedRates(_RepeatedDesign, frozen=True, kw_only=True):
    """Verdicts on different cases; `rate` is the pass rate of the first group."""

    rate: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.rate < 1:
            raise ValueError(f"a pass rate to start from lies between 0 and 1, not at {self.rate}")


class PairedMeans(_RepeatedDesign, frozen=True, kw_only=True):
    """Values of two runs on the same cases; `deviation` is the standard deviation of the difference of a case."""

    deviation: float


Design = PairedRates | UnpairedRates | PairedMeans


def power(design: Design, cases: int, difference: float, level: float = LEVEL) -> float:
    """The probability that this number of cases (in each group, if unpaired) makes a true difference of this size
    significant: paired verdicts by McNemar's exact test, unpaired ones by Fisher's, means by Student's t."""
    if cases < 2:
        return 0.0
    if isinstance(design, PairedRates) and abs(difference) > design.discordant:
        raise ValueError(f"a difference of {difference} needs more than {design.discordant} discordant cases")
    match design:
        case PairedRates(repeats=1):
            # Summed over the possible numbers of discordant cases and their splits.
            discordant = design.discordant
            middle, reach = cases * discordant, 10 * sqrt(cases * discordant * (1 - discordant)) + 10
            counts = np.arange(max(0, floor(middle - reach)), min(cases, ceil(middle + reach)) + 1)
            fewest = _table(level)[counts] if counts[-1] < TABLED else rejecting(level, counts)
            share = (discordant + difference) / (2 * discordant)
            rejected = binom.cdf(fewest, counts, share) + binom.sf(counts - fewest - 1, counts, share)
            return float((binom.pmf(counts, cases, discordant) * np.where(fewest >= 0, rejected, 0.0)).sum())
        case PairedRates():
            variance = (design.discordant - difference**2) * design.shrink
            # Means of repeats move in steps, and the sign flips with them: half a step is lost.
            seen = max(0.0, abs(difference) - 1 / (2 * design.repeats * cases))
            return t_power(sqrt(variance / cases), cases - 1, seen, level)
        case PairedMeans():
            return t_power(design.deviation * sqrt(design.shrink / cases), cases - 1, difference, level)
        case UnpairedRates():
            return _unpaired_power(design, cases, difference, level)


def cases_needed(design: Design, difference: float, sure: float = USUAL_POWER, level: float = LEVEL) -> int | None:
    """The fewest cases (in each group, if unpaired) that show this difference with this power. None: not even ten
    million."""
    if difference == 0 or not 0 < sure < 1:
        raise ValueError(f"no number of cases shows a difference of {difference} with a chance of {sure}")
    return _search_cases_needed(design, difference, sure, level)


@lru_cache(maxsize=4096)
def _search_cases_needed(design: Design, difference: float, sure: float, level: float) -> int | None:
    """Cached: a comparison asks for many graders and slices, mostly with the same numbers."""
    return fewest_cases(lambda cases: power(design, cases, difference, level), sure)


def fewest_cases(power_of: Callable[[int], float], sure: float = USUAL_POWER, least: int = 2) -> int | None:
    """The smallest number of cases, from `least` on, with this power. None: not even ten million."""
    low, high = least - 1, least
    while power_of(high) < sure:
        low, high = high, high * 2
        if high > MOST_CASES:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_of(middle) >= sure else (middle, high)
    # Exact power does not rise steadily: a few cases less may have more of it.
    steps = min(MOST_STEPS_BACK, max(10, high // 8))
    before = range(high - 1, max(least, high - steps) - 1, -1)
    return min([high, *(fewer for fewer in before if power_of(fewer) >= sure)])


def detectable_difference(design: Design, cases: int, sure: float = USUAL_POWER, level: float = LEVEL) -> float | None:
    """The smallest difference that this number of cases shows with this power. None: not even the largest possible."""
    limit = _largest_difference(design)
    sign = -1 if isinstance(design, UnpairedRates) and design.rate > 0.5 else 1

    def missing_power(difference: float) -> float:
        return power(design, cases, sign * difference, level) - sure

    if cases < 2 or missing_power(limit) < 0:
        return None
    return float(brentq(missing_power, limit * 1e-9, limit, xtol=1e-9 * limit))


def _largest_difference(design: Design) -> float:
    match design:
        case PairedRates():
            return design.discordant * (1 - 1e-9)
        case UnpairedRates():
            return max(design.rate, 1 - design.rate) * (1 - 1e-9)
        case PairedMeans():
            return 1000 * design.deviation


@lru_cache(maxsize=16)
def _table(level: float) -> Floats:
    """For small numbers of cases, which a search asks for again and again."""
    return rejecting(level, np.arange(TABLED))


def rejecting(level: float, counts: NDArray[np.int64]) -> Floats:
    """For each number of discordant cases: McNemar's test rejects if the rarer direction has at most this many; -1:
    never."""
    fewest = binom.ppf(level / 2, counts, 0.5)
    rejecting: Floats = np.where(binom.cdf(fewest, counts, 0.5) > level / 2, fewest - 1, fewest)
    return rejecting


def t_power(error: float, freedom: float, difference: float, level: float) -> float:
    """The power of a two-sided t test, both tails."""
    if error == 0:
        return 1.0
    critical, apart = float(student.ppf(1 - level / 2, freedom)), abs(difference) / error
    if freedom > NORMAL_FROM:
        return float(norm.sf(critical - apart) + norm.cdf(-critical - apart))
    wrong_side = float(nctdtr(freedom, apart, -critical)) if apart < ONE_SIDED_FROM else 0.0
    return float(1 - nctdtr(freedom, apart, critical)) + wrong_side


def _unpaired_power(design: UnpairedRates, cases: int, difference: float, level: float) -> float:
    other = design.rate + difference
    if not 0 <= other <= 1:
        raise ValueError(f"a pass rate of {design.rate} cannot change by {difference}")
    variance = design.rate * (1 - design.rate) + other * (1 - other)
    if design.shrink < 1:
        # Means of repeats are no verdicts: they are compared by Student's t.
        return t_power(sqrt(variance * design.shrink / cases), 2 * cases - 2, difference, level)
    if cases <= EXACT_UP_TO:
        return _fisher_power(cases, design.rate, other, level)
    middle = (design.rate + other) / 2
    reach = float(norm.ppf(1 - level / 2)) * sqrt(2 * middle * (1 - middle) / cases) + 1 / cases
    return float(norm.cdf((abs(difference) - reach) / sqrt(variance / cases)))


def _fisher_power(cases: int, rate: float, other: float, level: float) -> float:
    """Summed over the totals of passes and their splits. With two groups of one size the splits of a total are
    symmetric, so Fisher's two-sided p-value is twice the smaller tail."""
    spread = sqrt(cases * (rate * (1 - rate) + other * (1 - other))) + 1
    middle = cases * (rate + other)
    totals = np.arange(max(0, floor(middle - REACH * spread)), min(2 * cases, ceil(middle + REACH * spread)) + 1)
    half = ceil(REACH * sqrt(cases / 8)) + 2
    splits = totals[:, None] // 2 + np.arange(-half, half + 1)
    rest = totals[:, None] - splits
    possible = (splits >= 0) & (rest >= 0) & (splits <= cases) & (rest <= cases)
    splits, rest = np.where(possible, splits, 0), np.where(possible, rest, 0)
    ways = _log_ways(cases)
    chances = np.where(possible, np.exp(ways[splits] + ways[rest] - _log_ways(2 * cases)[totals][:, None]), 0.0)
    below = chances.cumsum(axis=1)
    above = below[:, -1:] - below + chances
    kept = possible & (2 * np.minimum(below, above) > level * (1 + 1e-9))
    logs = binom.logpmf(np.arange(cases + 1), cases, rate), binom.logpmf(np.arange(cases + 1), cases, other)
    # Splits further from the middle than those that were looked at are all rejected.
    return 1 - float(np.exp(logs[0][splits[kept]] + logs[1][rest[kept]]).sum())


@lru_cache(maxsize=64)
def _log_ways(cases: int) -> Floats:
    """The logarithms of the binomial coefficients: the ways to choose 0, 1, … items."""
    counts = np.arange(cases + 1)
    ways: Floats = gammaln(cases + 1) - gammaln(counts + 1) - gammaln(cases - counts + 1)
    return ways
