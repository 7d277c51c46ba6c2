"""A pass rate over many runs: where it changed, and what it was before and after. The series is cut in two where that
explains it best, if chance rarely makes so good a cut; then each part is cut again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct
from scipy.special import xlogy

from howsure.stats.clusters import Floats
from howsure.stats.estimates import Estimate
from howsure.stats.intervals import Interval
from howsure.stats.rates import for_rate
from howsure.stats.unpaired import rates_apart

Runs = Sequence[tuple[int, int]]
"""Of each run, oldest first: (passed, judged)."""

DRAWS = 9999
AT_ONCE = 500
"""Drawn, and looked at, together."""
LEVEL = 0.05
NEAR = 1e-9


class Change(Struct, frozen=True, kw_only=True):
    """From run `index` on (counted from 0) the rate is another one. `interval` is that of the difference of the parts
    before and after, up to the next change; the cut was chosen for it, so it flatters a little."""

    index: int
    before: float
    after: float
    interval: Interval | None
    p_value: float


class Level(Struct, frozen=True, kw_only=True):
    """Runs from `start` up to, not including, `end`, with one rate (None: they judged nothing)."""

    start: int
    end: int
    rate: Estimate | None


class Trend(Struct, frozen=True, kw_only=True):
    """The levels, in order; between two of them lies a change."""

    levels: tuple[Level, ...]
    changes: tuple[Change, ...]


def trend(runs: Runs, *, level: float = LEVEL, draws: int = DRAWS, seed: int = 0, confidence: float = 0.95) -> Trend:
    """Every change that chance makes in fewer than `level` of equal series. The same counts give the same answer."""
    if strange := [run for run in runs if not 0 <= run[0] <= run[1]]:
        raise ValueError(f"{strange[0][0]} of {strange[0][1]} is not a rate")
    counted, random = np.array(runs, dtype=np.int64).reshape(-1, 2), np.random.default_rng(seed)
    # Where the whole series has no change, nothing more is drawn: that can be told before all draws are made.
    whole = _best_cut(counted, draws, random, give_up=level)
    cuts = dict(sorted(_cuts(counted, 0, level, draws, random, whole)))
    ends = [0, *cuts, len(runs)] if runs else []
    levels = [_level(runs, start, end, confidence) for start, end in pairwise(ends)]
    changes = [_change(runs, before, after, cuts[after.start], confidence) for before, after in pairwise(levels)]
    return Trend(levels=tuple(levels), changes=tuple(changes))


def best_cut(runs: Runs, *, draws: int = DRAWS, seed: int = 0) -> tuple[int, float] | None:
    """Where one cut explains the series best, and how often chance makes as good a one. None for fewer than two runs
    that judged something."""
    return _best_cut(np.array(runs, dtype=np.int64).reshape(-1, 2), draws, np.random.default_rng(seed))


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
    """Were there no change, the passes would be spread over the runs like balls drawn without looking: they are drawn
    again, with as many passes in all and as many cases in each run. None as soon as chance makes as good a cut more
    often than in the share `give_up` of all draws."""
    passed, judged = runs[:, 0], runs[:, 1]
    if np.count_nonzero(judged) < 2:
        return None
    seen = _gains(passed[None, :], judged)[0]
    as_good = 0
    for start in range(0, draws, AT_ONCE):
        size = min(AT_ONCE, draws - start)
        again = random.multivariate_hypergeometric(judged, int(passed.sum()), size=size, method="marginals")
        as_good += int(np.count_nonzero(_gains(again, judged).max(axis=1) >= seen.max() - NEAR))
        if as_good + 1 > give_up * (draws + 1):
            return None
    return int(seen.argmax()) + 1, (as_good + 1) / (draws + 1)


def _gains(passed: np.ndarray[tuple[int, int], np.dtype[np.int64]],
           judged: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:  # fmt: skip
    """By how much each cut raises the log-likelihood of each series."""
    up_to, total = passed.cumsum(axis=1)[:, :-1], passed.sum(axis=1, keepdims=True)
    cases, all_cases = judged.cumsum()[:-1], judged.sum()
    gains: Floats = _fit(up_to, cases) + _fit(total - up_to, all_cases - cases) - _fit(total, all_cases)
    return gains


def _fit(passed: Floats, judged: Floats) -> Floats:
    fit: Floats = xlogy(passed, passed) + xlogy(judged - passed, judged - passed) - xlogy(judged, judged)
    return fit


def _level(runs: Runs, start: int, end: int, confidence: float) -> Level:
    passed, judged = _total(runs, start, end)
    return Level(start=start, end=end, rate=for_rate(passed, judged, confidence=confidence))


def _change(runs: Runs, before: Level, after: Level, p_value: float, confidence: float) -> Change:
    ones, others = _total(runs, before.start, before.end), _total(runs, after.start, after.end)
    return Change(
        index=after.start,
        before=ones[0] / ones[1],
        after=others[0] / others[1],
        interval=rates_apart(ones, others, confidence),
        p_value=p_value,
    )


def _total(runs: Runs, start: int, end: int) -> tuple[int, int]:
    part = runs[start:end]
    return sum(passed for passed, _ in part), sum(judged for _, judged in part)
