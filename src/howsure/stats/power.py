"""Sample sizes and power: how many cases it takes to see a difference (`cases_needed`), how large a difference a number
of cases shows (`detectable_difference`), and with which probability (`power`). For two runs on the same cases (paired)
or on different ones, for pass rates and for means, with repeats. `cases_for_rate` and `cases_for_value` say about how
many cases would settle an open gate: until the interval, around a value that stays the same, no longer holds the
limit."""

from __future__ import annotations

from functools import lru_cache
from math import ceil, floor, sqrt

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import nctdtr
from scipy.stats import binom, norm
from scipy.stats import t as student

from howsure.stats.clusters import Floats
from howsure.stats.estimates import EXACT_BELOW, clopper_pearson
from howsure.stats.intervals import Interval, rate_interval

MOST_CASES = 10_000_000
"""No search goes beyond this number of cases."""
USUAL_POWER = 0.80
LEVEL = 0.05
NORMAL_FROM = 100_000
"""With more degrees of freedom, Student's t is the normal distribution."""
TABLED = 4096
"""Up to this many discordant cases the rejection limit is looked up in a table."""
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


class UnpairedMeans(_RepeatedDesign, frozen=True, kw_only=True):
    """Values on different cases; `deviation` is the standard deviation of a value."""

    deviation: float


Design = PairedRates | UnpairedRates | PairedMeans | UnpairedMeans


def power(design: Design, cases: int, difference: float, level: float = LEVEL) -> float:
    """The probability that this number of cases (in each group, if unpaired) makes a true difference of this size
    significant: for paired verdicts by McNemar's exact test, for means by Student's t, for unpaired rates by the normal
    score test."""
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
            fewest = _table(level)[counts] if counts[-1] < TABLED else _rejecting(level, counts)
            share = (discordant + difference) / (2 * discordant)
            rejected = binom.cdf(fewest, counts, share) + binom.sf(counts - fewest - 1, counts, share)
            return float((binom.pmf(counts, cases, discordant) * np.where(fewest >= 0, rejected, 0.0)).sum())
        case PairedRates():
            variance = (design.discordant - difference**2) * design.shrink
            return _t_power(sqrt(variance / cases), cases - 1, difference, level)
        case PairedMeans():
            return _t_power(design.deviation * sqrt(design.shrink / cases), cases - 1, difference, level)
        case UnpairedMeans():
            return _t_power(design.deviation * sqrt(2 * design.shrink / cases), 2 * cases - 2, difference, level)
        case UnpairedRates():
            return _score_power(design, cases, difference, level)


def cases_needed(design: Design, difference: float, sure: float = USUAL_POWER, level: float = LEVEL) -> int | None:
    """The fewest cases (in each group, if unpaired) that show this difference with this power. None: not even ten
    million."""
    if difference == 0 or not 0 < sure < 1:
        raise ValueError(f"nobody can plan to see a difference of {difference} with a chance of {sure}")
    return _search_cases_needed(design, difference, sure, level)


@lru_cache(maxsize=4096)
def _search_cases_needed(design: Design, difference: float, sure: float, level: float) -> int | None:
    """Cached: a comparison asks for many graders and slices, mostly with the same numbers."""
    low, high = 1, 2
    while power(design, high, difference, level) < sure:
        low, high = high, high * 2
        if high > MOST_CASES:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(design, middle, difference, level) >= sure else (middle, high)
    # Exact power does not rise steadily: a few more cases may have less. This is the first number from which the
    # next twenty are enough too.
    failing = [more for more in range(high, high + 20) if power(design, more, difference, level) < sure]
    return failing[-1] + 1 if failing else high


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
        case PairedMeans() | UnpairedMeans():
            return 1000 * design.deviation


@lru_cache(maxsize=16)
def _table(level: float) -> Floats:
    """For small numbers of cases, which a search asks for again and again."""
    return _rejecting(level, np.arange(TABLED))


def _rejecting(level: float, counts: NDArray[np.int64]) -> Floats:
    """For each number of discordant cases: McNemar's test rejects if the rarer direction has at most this many; -1:
    never."""
    fewest = binom.ppf(level / 2, counts, 0.5)
    rejecting: Floats = np.where(binom.cdf(fewest, counts, 0.5) > level / 2, fewest - 1, fewest)
    return rejecting


def _t_power(error: float, freedom: float, difference: float, level: float) -> float:
    """The power of a two-sided t test, both tails."""
    if error == 0:
        return 1.0
    critical, apart = float(student.ppf(1 - level / 2, freedom)), abs(difference) / error
    if freedom > NORMAL_FROM:
        return float(norm.sf(critical - apart) + norm.cdf(-critical - apart))
    wrong_side = float(nctdtr(freedom, apart, -critical)) if apart < ONE_SIDED_FROM else 0.0
    return float(1 - nctdtr(freedom, apart, critical)) + wrong_side


def _score_power(design: UnpairedRates, cases: int, difference: float, level: float) -> float:
    other = design.rate + difference
    if not 0 <= other <= 1:
        raise ValueError(f"a pass rate of {design.rate} cannot change by {difference}")
    middle = (design.rate + other) / 2
    equal = sqrt(2 * middle * (1 - middle) * design.shrink)
    apart = sqrt((design.rate * (1 - design.rate) + other * (1 - other)) * design.shrink)
    reach = float(norm.ppf(1 - level / 2)) * equal
    return float(norm.cdf((abs(difference) * sqrt(cases) - reach) / apart))


TOLERANCE = 1e-9


def cases_for_rate(passed: int, judged: int, limit: float) -> int | None:
    """The total number of cases with which the interval of this rate excludes the limit. None: the rate is at the
    limit, or more than ten million cases would be needed."""
    if not judged or abs(passed / judged - limit) < TOLERANCE:
        return None
    rate = passed / judged
    low, high = judged, max(2 * judged, 2)
    if _excludes(rate, low, limit):
        return low
    while not _excludes(rate, high, limit):
        low, high = high, 2 * high
        if high > MOST_CASES:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _excludes(rate, middle, limit) else (middle, high)
    return high


def cases_for_value(value: float, interval: Interval, n: int, limit: float) -> int | None:
    """The same for any estimate: intervals shrink with the square root of the number of cases."""
    gap = value - limit
    reach = value - interval[0] if gap > 0 else interval[1] - value
    if abs(gap) < TOLERANCE:
        return None
    needed = ceil(n * (reach / abs(gap)) ** 2)
    return max(needed, n) if needed <= MOST_CASES else None


def _excludes(rate: float, n: int, limit: float) -> bool:
    # The number of passed cases must be whole.
    passed = round(rate * n)
    found = clopper_pearson(passed, n) if n < EXACT_BELOW else rate_interval(passed, n)
    return found is not None and (found[0] > limit or found[1] < limit)
