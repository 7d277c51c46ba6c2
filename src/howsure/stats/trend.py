"""A pass rate over many runs: where it changed, and what it was before and after. The series is cut in two where that
explains it best, if chance rarely makes so good a cut; then each part is cut again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct
from scipy.special import xlogy

from howsure.stats.clusters import Floats
from howsure.stats.estimates import estimate_rate
from howsure.stats.intervals import Estimate, Interval, newcombe

Runs = Sequence[tuple[int, int]]
"""(passed, judged) of each run, oldest first."""

DRAWS = 9999
AT_ONCE = 500
"""How many series are drawn together."""
LEVEL = 0.05
TOLERANCE = 1e-9


class TrendChange(Struct, frozen=True, kw_only=True):
    """The rate changed with run `index` (from 0). `interval` is that of the difference between the parts before and
    after, up to the next change. It is a little too favourable, because the cut was chosen where the change looks
    largest."""

    index: int
    before: float
    after: float
    interval: Interval | None
    p_value: float


class TrendLevel(Struct, frozen=True, kw_only=True):
    """Runs from `start` up to, not including, `end`, with one rate (None: they judged nothing)."""

    start: int
    end: int
    rate: Estimate | None


class Trend(Struct, frozen=True, kw_only=True):
    """The levels in order, with a change between two of them."""

    levels: tuple[TrendLevel, ...]
    changes: tuple[TrendChange, ...]


def trend(runs: Runs, *, level: float = LEVEL, draws: int = DRAWS, seed: int = 0, confidence: float = 0.95) -> Trend:
    """Every change that chance makes in fewer than `level` of series without one. Deterministic for the same counts."""
    if strange := [run for run in runs if not 0 <= run[0] <= run[1]]:
        raise ValueError(f"{strange[0][0]} of {strange[0][1]} is not a rate")
    counted, random = np.array(runs, dtype=np.int64).reshape(-1, 2), np.random.default_rng(seed)
    # Most series have no change, and that is clear before all draws are made: `give_up` stops early.
    whole = _best_cut(counted, draws, random, give_up=level)
    cuts = dict(sorted(_cuts(counted, 0, level, draws, random, whole)))
    ends = [0, *cuts, len(runs)] if runs else []
    levels = [
        TrendLevel(start=start, end=end, rate=estimate_rate(*_total(runs, start, end), confidence=confidence))
        for start, end in pairwise(ends)
    ]
    changes = [_change(runs, before, after, cuts[after.start], confidence) for before, after in pairwise(levels)]
    return Trend(levels=tuple(levels), changes=tuple(changes))


def _cuts(runs: np.ndarray[tuple[int, int], np.dtype[np.int64]], start: int, level: float, draws: int,
          random: np.random.Generator, found: tuple[int, float] | None) -> list[tuple[int, float]]:  # fmt: skip
    """`found` is the best cut of these runs."""
    if found is None or found[1] > level:
        return []
    place, p_value = found
    before, after = runs[:place], runs[place:]
    left = _cuts(before, start, level, draws, random, _best_cut(before, draws, random))
    right = _cuts(after, start + place, level, draws, random, _best_cut(after, draws, random))
    return [*left, (start + place, p_value), *right]


def _best_cut(runs: np.ndarray[tuple[int, int], np.dtype[np.int64]], draws: int,
              random: np.random.Generator, give_up: float = 1.0) -> tuple[int, float] | None:  # fmt: skip
    """The best cut and its p-value. Without a change, the passes would be spread over the runs at random, so they are
    drawn again with the same total of passes and the same cases in each run. None as soon as chance makes as good a cut
    in more than the share `give_up` of the draws."""
    passed, judged = runs[:, 0], runs[:, 1]
    if np.count_nonzero(judged) < 2:
        return None
    seen = _gains(passed[None, :], judged)[0]
    as_good = 0
    for start in range(0, draws, AT_ONCE):
        size = min(AT_ONCE, draws - start)
        again = random.multivariate_hypergeometric(judged, int(passed.sum()), size=size, method="marginals")
        as_good += int(np.count_nonzero(_gains(again, judged).max(axis=1) >= seen.max() - TOLERANCE))
        if as_good + 1 > give_up * (draws + 1):
            return None
    return int(seen.argmax()) + 1, (as_good + 1) / (draws + 1)


def _gains(passed: np.ndarray[tuple[int, int], np.dtype[np.int64]],
           judged: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:  # fmt: skip
    """The gain in log-likelihood of each series by each cut."""
    up_to, total = passed.cumsum(axis=1)[:, :-1], passed.sum(axis=1, keepdims=True)
    cases, all_cases = judged.cumsum()[:-1], judged.sum()
    gains: Floats = _fit(up_to, cases) + _fit(total - up_to, all_cases - cases) - _fit(total, all_cases)
    return gains


def _fit(passed: Floats, judged: Floats) -> Floats:
    fit: Floats = xlogy(passed, passed) + xlogy(judged - passed, judged - passed) - xlogy(judged, judged)
    return fit


def _change(runs: Runs, before: TrendLevel, after: TrendLevel, p_value: float, confidence: float) -> TrendChange:
    counts_before, counts_after = _total(runs, before.start, before.end), _total(runs, after.start, after.end)
    return TrendChange(
        index=after.start,
        before=counts_before[0] / counts_before[1],
        after=counts_after[0] / counts_after[1],
        interval=newcombe(counts_before, counts_after, confidence),
        p_value=p_value,
    )


def _total(runs: Runs, start: int, end: int) -> tuple[int, int]:
    part = runs[start:end]
    return sum(passed for passed, _ in part), sum(judged for _, judged in part)
