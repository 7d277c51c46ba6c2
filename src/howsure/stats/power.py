"""How many cases it takes to see a difference, how large a difference so many cases show, and how likely they show it.
For two runs on the same cases (paired) or on different ones, for pass rates and for means, with repeats."""

from __future__ import annotations

from collections.abc import Callable
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

MOST = 10_000_000
"""Nobody runs more cases than that."""
SURE = 0.80
LEVEL = 0.05
NORMAL = 100_000
"""From so many degrees of freedom on, Student's t is the normal distribution."""
TABLED = 4096
"""Up to so many discordant cases what rejects is looked up."""
FAR = 5.0
"""A difference of so many standard errors is never found in the wrong direction."""


class _Repeated(Struct, frozen=True, kw_only=True):
    """`repeats` tries of each case are averaged. `correlation` is how alike two tries of one case are (of the
    difference, where runs are paired): 1, and repeating tells nothing new; 0, and a repeat is worth a case."""

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
        """By how much averaging repeats lowers the variance of a case."""
        alike = 1.0 if self.correlation is None else self.correlation
        return alike + (1 - alike) / self.repeats


class PairedRates(_Repeated, frozen=True, kw_only=True):
    """Two runs' verdicts on the same cases; `discordant` is the share of cases on which they differ."""

    discordant: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.discordant <= 1:
            raise ValueError(f"a share of discordant cases lies between 0 and 1, not at {self.discordant}")


class UnpairedRates(_Repeated, frozen=True, kw_only=True):
    """Verdicts on different cases, so many in each group; `rate` is the pass rate of the first."""

    rate: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.rate < 1:
            raise ValueError(f"a pass rate to start from lies between 0 and 1, not at {self.rate}")


class PairedMeans(_Repeated, frozen=True, kw_only=True):
    """Two runs' values on the same cases; `deviation` is the standard deviation of a case's difference."""

    deviation: float


class UnpairedMeans(_Repeated, frozen=True, kw_only=True):
    """Values on different cases, so many in each group; `deviation` is the standard deviation of a value."""

    deviation: float


Design = PairedRates | UnpairedRates | PairedMeans | UnpairedMeans


def power(design: Design, cases: int, difference: float, level: float = LEVEL) -> float:
    """The chance that so many cases (in each group, where unpaired) make a true difference of this size significant.
    Paired verdicts: exact, of McNemar's exact test; means: of Student's t; unpaired rates: by the normal score test."""
    if cases < 2:
        return 0.0
    match design:
        case PairedRates(repeats=1):
            return _mcnemar_power(design.discordant, cases, difference, level)
        case PairedRates():
            variance = (_discordant(design, difference) - difference**2) * design.shrink
            return _t_power(sqrt(variance / cases), cases - 1, difference, level)
        case PairedMeans():
            return _t_power(design.deviation * sqrt(design.shrink / cases), cases - 1, difference, level)
        case UnpairedMeans():
            return _t_power(design.deviation * sqrt(2 * design.shrink / cases), 2 * cases - 2, difference, level)
        case UnpairedRates():
            return _score_power(design, cases, difference, level)


def needed(design: Design, difference: float, sure: float = SURE, level: float = LEVEL) -> int | None:
    """The fewest cases (in each group, where unpaired) that see this difference with this chance. None: not even ten
    million."""
    if difference == 0 or not 0 < sure < 1:
        raise ValueError(f"nobody can plan to see a difference of {difference} with a chance of {sure}")
    return _needed(design, difference, sure, level)


@lru_cache(maxsize=4096)
def _needed(design: Design, difference: float, sure: float, level: float) -> int | None:
    """A comparison asks for many graders and slices, and mostly the same of each."""
    low, high = 1, 2
    while power(design, high, difference, level) < sure:
        low, high = high, high * 2
        if high > MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(design, middle, difference, level) >= sure else (middle, high)
    return _past_the_teeth(lambda cases: power(design, cases, difference, level) >= sure, high)


def detectable(design: Design, cases: int, sure: float = SURE, level: float = LEVEL) -> float | None:
    """The smallest difference that so many cases see with this chance. None: not even the largest there could be."""
    limit = _largest(design)
    sign = -1 if isinstance(design, UnpairedRates) and design.rate > 0.5 else 1

    def lacking(difference: float) -> float:
        return power(design, cases, sign * difference, level) - sure

    if cases < 2 or lacking(limit) < 0:
        return None
    return float(brentq(lacking, limit * 1e-9, limit, xtol=1e-9 * limit))


def _past_the_teeth(enough: Callable[[int], bool], cases: int) -> int:
    """Exact power goes up in teeth: a few cases more may do with less. Take the first number after which the next
    twenty hold too."""
    failing = [more for more in range(cases, cases + 20) if not enough(more)]
    return failing[-1] + 1 if failing else cases


def _largest(design: Design) -> float:
    match design:
        case PairedRates():
            return design.discordant * (1 - 1e-9)
        case UnpairedRates():
            return max(design.rate, 1 - design.rate) * (1 - 1e-9)
        case PairedMeans() | UnpairedMeans():
            return 1000 * design.deviation


def _discordant(design: PairedRates, difference: float) -> float:
    """Runs cannot differ by more than the cases on which they differ."""
    if abs(difference) > design.discordant:
        raise ValueError(f"a difference of {difference} needs more than {design.discordant} discordant cases")
    return design.discordant


def _mcnemar_power(discordant: float, cases: int, difference: float, level: float) -> float:
    """Summed over how many cases turn out discordant, and how they split."""
    if abs(difference) > discordant:
        raise ValueError(f"a difference of {difference} needs more than {discordant} discordant cases")
    middle, reach = cases * discordant, 10 * sqrt(cases * discordant * (1 - discordant)) + 10
    counts = np.arange(max(0, floor(middle - reach)), min(cases, ceil(middle + reach)) + 1)
    fewest = _table(level)[counts] if counts[-1] < TABLED else _rejecting(level, counts)
    share = (discordant + difference) / (2 * discordant)
    rejected = binom.cdf(fewest, counts, share) + binom.sf(counts - fewest - 1, counts, share)
    return float((binom.pmf(counts, cases, discordant) * np.where(fewest >= 0, rejected, 0.0)).sum())


@lru_cache(maxsize=16)
def _table(level: float) -> Floats:
    """Of few cases: asked for again and again while a number is looked for."""
    return _rejecting(level, np.arange(TABLED))


def _rejecting(level: float, counts: NDArray[np.int64]) -> Floats:
    """For each number of discordant cases: McNemar's test rejects where the rarer way has no more than this; -1:
    never."""
    fewest = binom.ppf(level / 2, counts, 0.5)
    rejecting: Floats = np.where(binom.cdf(fewest, counts, 0.5) > level / 2, fewest - 1, fewest)
    return rejecting


def _t_power(error: float, freedom: float, difference: float, level: float) -> float:
    """Of a two-sided t test, both tails."""
    if error == 0:
        return 1.0
    critical, apart = float(student.ppf(1 - level / 2, freedom)), abs(difference) / error
    if freedom > NORMAL:
        return float(norm.sf(critical - apart) + norm.cdf(-critical - apart))
    wrong_side = float(nctdtr(freedom, apart, -critical)) if apart < FAR else 0.0
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
