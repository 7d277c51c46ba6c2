"""Intervals of agreement that stay honest with few cases. Cohen's kappa and F1 of two verdicts: the percentile
bootstrap holds the true value 25 to 90 times of 100 with ten or twenty cases, so the four counts are given a Jeffreys
prior instead. How far grades follow quality bands: a bootstrap over whole cases."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.stats import t as student

from howsure.stats.intervals import Interval
from howsure.stats.rate_correction import exact_interval

Floats = NDArray[np.float64]

SEED = 20_240_229
DRAWS = 4000
BAND_DRAWS = 1000
FEWEST = 8
"""With fewer cases there is no interval."""
TAILS = ((10, 0.3), (30, 0.4), (101, 0.5), (201, 0.7))
"""With fewer cases than the first number, each tail is cut to the second: counts of few cases are coarse, and the
interval would hold the true kappa only 88 to 93 times of 100."""
MANY = 30
"""From this many cases on, whole cases are drawn where a case has several verdicts. With fewer, each case counts as one
verdict: that is never too sure."""
KENDALL = 0.66
"""The spread of Kendall's tau beside that of a correlation."""
MOSTLY_DEFINED = 0.9
PRIOR = 0.5


def kappas(tables: Floats) -> Floats:
    """Cohen's kappa of each table (pass and pass, pass and fail, fail and pass, fail and fail); not a number where
    chance leaves no room."""
    both, first, second, neither = tables.T
    n = tables.sum(axis=1)
    chance = (both + first) * (both + second) + (second + neither) * (first + neither)
    room = n * n - chance
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where(room > 1e-12 * n * n, (n * (both + neither) - chance) / room, np.nan)
    return found


def _numbers(cases: Sequence[Hashable]) -> NDArray[np.int64]:
    places: dict[Hashable, int] = {}
    return np.array([places.setdefault(case, len(places)) for case in cases], dtype=np.int64)


def weighted_rate(
    held: Sequence[bool], cases: Sequence[Hashable], weights: Sequence[float], confidence: float = 0.95
) -> tuple[float, Interval]:
    """A share of weighted observations, with the exact interval for as many cases as they are worth (Kish)."""
    shares = np.asarray(weights) / np.sum(weights)
    rate = min(1.0, float((shares * np.asarray(held, dtype=np.float64)).sum()))
    by_case = np.bincount(_numbers(cases), weights=shares)
    return rate, exact_interval(rate, 1 / float((by_case**2).sum()), confidence)


def f1_of_passes(tables: Floats) -> Floats:
    """The F1 of passes of each table: the harmonic mean of precision and recall. Not a number where nobody passes
    anything."""
    both, first, second, _ = tables.T
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = 2 * both / (2 * both + first + second)
    return found


def f1_of_fails(tables: Floats) -> Floats:
    """The same of fails."""
    return f1_of_passes(tables[:, ::-1])


def case_tables(
    first: Sequence[bool], second: Sequence[bool], cases: Sequence[Hashable], weights: Sequence[float]
) -> Floats:
    """Verdicts of two as a table for each case: pass and pass, pass and fail, fail and pass, fail and fail."""
    cells = np.array([2 * (not one) + (not other) for one, other in zip(first, second, strict=True)], dtype=np.int64)
    numbers = _numbers(cases)
    tables = np.zeros((int(numbers.max(initial=-1)) + 1, 4))
    np.add.at(tables, (numbers, cells), np.asarray(weights, dtype=np.float64))
    return tables


def table_figure(
    tables: Floats, statistic: Callable[[Floats], Floats] = kappas, confidence: float = 0.95
) -> tuple[float | None, Interval | None]:
    """A statistic of the tables of all cases, and its interval. No interval: fewer than eight cases. No statistic: not
    defined, as kappa where both always say the same one verdict."""
    total = tables.sum(axis=0)
    value = float(statistic(total[None, :])[0]) if len(tables) else np.nan
    if np.isnan(value):
        return None, None
    count = len(tables)
    if count < FEWEST:
        return value, None
    random = np.random.default_rng(SEED)
    tail = (1 - confidence) / 2 * next((part for limit, part in TAILS if count < limit), 1.0)
    drawn = np.zeros(0)
    if count >= MANY and (np.count_nonzero(tables, axis=1) > 1).any():
        kinds, times = np.unique(tables, axis=0, return_counts=True)
        drawn = statistic(random.multinomial(count, times / count, size=DRAWS) @ kinds)
        drawn = drawn[~np.isnan(drawn)]
    if len(drawn) < MOSTLY_DEFINED * DRAWS:
        worth = total.sum() ** 2 / (tables.sum(axis=1) ** 2).sum()
        drawn = statistic(random.dirichlet(total * worth / total.sum() + PRIOR, size=DRAWS))
        drawn = drawn[~np.isnan(drawn)]
    low, high = (float(each) for each in np.quantile(drawn, (tail, 1 - tail)))
    # Without a single disagreement, complete agreement stays possible.
    return value, (min(low, value), 1.0 if total[1] + total[2] == 0 else max(high, value))


def correlation_interval(
    value: float, left_out: Sequence[float | None], cases: int, confidence: float = 0.95
) -> Interval:
    """Of a correlation, or an agreement beyond chance, by the jackknife: `left_out` has its values without one group of
    cases each. On Fisher's scale, where it is nearly normal; never surer than a normal correlation of so few cases."""
    most = 1 - 2 / cases
    turned = np.arctanh(np.clip([value if each is None else each for each in left_out], -most, most))
    groups, sure = len(turned), abs(value) < most
    least = (1.0 if cases < MANY or not sure else KENDALL) / np.sqrt(cases - 3)
    spread = np.sqrt((groups - 1) / groups * float(((turned - turned.mean()) ** 2).sum()))
    half = float(student.ppf((1 + confidence) / 2, groups - 1)) * max(float(spread), float(least))
    middle = float(np.arctanh(np.clip(value, -most, most)))
    low, high = (float(np.tanh(end)) for end in (middle - half, middle + half))
    return -1.0 if value <= -most else min(low, value), 1.0 if value >= most else max(high, value)


class BandAgreement(Struct, frozen=True, kw_only=True):
    """How far values follow the order of bands: Spearman's correlation, and the share of the `pairs` from different
    bands that are in the right order (equal values count a half)."""

    spearman: float | None
    spearman_interval: Interval | None
    ordered: float | None
    ordered_interval: Interval | None
    pairs: int


def band_agreement(bands: Sequence[float], values: Sequence[float], cases: Sequence[Hashable]) -> BandAgreement:
    """Both figures with bootstrap intervals over whole cases; no interval below thirty cases."""
    band, value = np.asarray(bands, dtype=np.float64), np.asarray(values, dtype=np.float64)
    numbers = _numbers(cases)
    count = int(numbers.max(initial=-1)) + 1
    spearman, ordered = _follow(band, value, np.ones(len(band)))
    found: list[tuple[float | None, float | None]] = []
    if count >= MANY:
        picked = np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / count), size=BAND_DRAWS)
        found = [_follow(band, value, weights[numbers].astype(np.float64)) for weights in picked]
    counts = np.unique(band, return_counts=True)[1]
    return BandAgreement(
        spearman=spearman,
        spearman_interval=_percentiles([each[0] for each in found]),
        ordered=ordered,
        ordered_interval=_percentiles([each[1] for each in found]),
        pairs=int((counts.sum() ** 2 - (counts**2).sum()) // 2) if len(counts) else 0,
    )


def _percentiles(drawn: Sequence[float | None]) -> Interval | None:
    known = [each for each in drawn if each is not None]
    if not known or len(known) < MOSTLY_DEFINED * len(drawn):
        return None
    low, high = np.quantile(known, (0.025, 0.975))
    return float(low), float(high)


def _follow(band: Floats, value: Floats, weights: Floats) -> tuple[float | None, float | None]:
    """Spearman's correlation and the share in the right order, from the table of bands and values."""
    (bands, band_at), (values, value_at) = np.unique(band, return_inverse=True), np.unique(value, return_inverse=True)
    table = np.zeros((len(bands), len(values)))
    np.add.at(table, (band_at, value_at), weights)
    rows, columns, n = table.sum(axis=1), table.sum(axis=0), table.sum()
    # The mean rank of equal ones, less the middle.
    row_ranks, column_ranks = (np.cumsum(each) - each / 2 - n / 2 for each in (rows, columns))
    spread = float((rows * row_ranks**2).sum() * (columns * column_ranks**2).sum())
    spearman = float(row_ranks @ table @ column_ranks) / spread**0.5 if spread > 0 else None
    pairs = float(n * n - (rows**2).sum()) / 2
    below = np.cumsum(np.vstack([np.zeros(len(values)), table]), axis=0)[:-1]
    lower = np.cumsum(below, axis=1) - below / 2
    right = float((table * lower).sum())
    return spearman, right / pairs if pairs > 0 else None
