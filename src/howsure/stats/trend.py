"""A pass rate over many runs: where it changed, and what it was before and after. The series is cut in two where that
explains it best, if chance rarely makes such a good cut; then each part is cut again. Chance is more than the draw of
the cases: runs of one agent vary (a model behaves differently on another day), and cases flip together. So the noise of
a run is estimated from the runs themselves, by the usual step from one run to the next, without the largest quarter of
the steps, which may be real changes. It is never less than the flips of single cases make."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from math import ceil, sqrt

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.stats import t as student

from howsure.stats.clusters import Floats
from howsure.stats.intervals import Interval, clip_interval

DRAWS = 4999
LEVEL = 0.04
"""A little less than the 5 % that is promised: rates are not quite normal."""
TOLERANCE = 1e-9
LEFT_OUT = 0.25
"""The share of the steps between runs, the largest ones, that may be real changes."""
SHARED = 0.5
"""Runs are paired by case if they judged this share of all their cases together."""
FIT_STEPS = 30


class RunRates(Struct, frozen=True, kw_only=True):
    """The rate of each run, oldest first, over so many `cases` (0: it judged nothing), and the `noise`: the variance of
    one case in one run."""

    rates: Floats
    cases: Floats
    noise: float


class TrendChange(Struct, frozen=True, kw_only=True):
    """The rate changed with run `index` (from 0). `interval` is that of the difference between the parts before and
    after, up to the next change. It is a little too favourable, because the cut was chosen where the change looks
    largest."""

    index: int
    before: float
    after: float
    interval: Interval | None
    p_value: float


def count_rates(runs: Sequence[tuple[float, float]]) -> RunRates:
    """Rates from (passed, judged) alone, where it is not known which cases passed."""
    if strange := [run for run in runs if not 0 <= run[0] <= run[1]]:
        raise ValueError(f"{strange[0][0]} of {strange[0][1]} is not a rate")
    passed, judged = np.array(runs, dtype=np.float64).reshape(-1, 2).T
    total = judged.sum()
    rate = float(passed.sum() / total) if total else 0.0
    return RunRates(rates=passed / np.maximum(judged, 1), cases=judged, noise=rate * (1 - rate))


def paired_rates_of_runs(values: Floats, clusters: Sequence[Hashable] | None = None) -> RunRates | None:
    """Rates of runs over the same cases: one row for each run, one column for each case (the share of its tries that
    passed; NaN: not judged). A case that some runs lack is not held against them: each run is compared on the cases it
    shares with others. Cases of one cluster flip together. None: too few are shared."""
    known = ~np.isnan(values)
    cases = known.sum(axis=1).astype(np.float64)
    if known.sum() < SHARED * known.size or len(values) < 2:
        return None
    filled = np.where(known, values, 0.0)
    runs, ease = np.zeros(len(values)), np.zeros(values.shape[1])
    # A run's part and a case's part, in turn: one step is enough where every run judged every case.
    for _ in range(1 if known.all() else FIT_STEPS):
        ease = ((filled - runs[:, None]) * known).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        runs = ((filled - ease) * known).sum(axis=1) / np.maximum(cases, 1)
    rest = np.where(known, filled - ease - runs[:, None], 0.0)
    if clusters is not None:
        places = {name: place for place, name in enumerate(dict.fromkeys(clusters))}
        groups = np.array([places[name] for name in clusters])
        rest = np.stack([np.bincount(groups, weights=row, minlength=len(places)) for row in rest])
    noise = float((rest**2).sum() / cases.sum() * len(values) / (len(values) - 1))
    return RunRates(rates=runs + float(ease[known.any(axis=0)].mean()), cases=cases, noise=noise)


def trend(runs: RunRates, *, level: float = LEVEL, draws: int = DRAWS, seed: int = 0,
          confidence: float = 0.95) -> tuple[TrendChange, ...]:  # fmt: skip
    """The changes that are found by chance in fewer than `level` of series without one. Deterministic for the same
    rates."""
    places = np.flatnonzero(runs.cases > 0)
    rates, cases = runs.rates[places], runs.cases[places]
    if len(places) < 3:
        return ()
    # Series without a change: the same cases in each run, and their noise estimated in the same way.
    drawn = np.random.default_rng(seed).normal(size=(draws, len(cases))) / np.sqrt(cases)
    usual = _steps(drawn, cases)
    noise = max(runs.noise, float(_steps(rates[None, :], cases)[0] / usual.mean()), TOLERANCE)
    drawn /= np.sqrt(usual / usual.mean())[:, None]
    cuts = sorted(_cuts(rates, cases, noise, drawn, (0, len(cases)), level))
    ends = [0, *(cut for cut, _ in cuts), len(cases)]
    parts = [slice(start, end) for start, end in pairwise(ends)]
    means = [float(np.average(rates[part], weights=cases[part])) for part in parts]
    left = sum(float((cases[part] * (rates[part] - mean) ** 2).sum()) for part, mean in zip(parts, means, strict=True))
    freedom = max(1, len(cases) - len(parts))
    error = sqrt(max(left / freedom, runs.noise))
    reach = float(student.ppf((1 + confidence) / 2, freedom)) * error
    return tuple(
        TrendChange(
            index=int(places[cut]),
            before=means[place],
            after=means[place + 1],
            interval=_difference(means[place], means[place + 1],
                                 reach * sqrt(1 / cases[parts[place]].sum() + 1 / cases[parts[place + 1]].sum())),
            p_value=p_value,
        )
        for place, (cut, p_value) in enumerate(cuts)
    )  # fmt: skip


def _difference(before: float, after: float, reach: float) -> Interval:
    return clip_interval((after - before - reach, after - before + reach), (-1.0, 1.0))


def _steps(rates: Floats, cases: Floats) -> Floats:
    """For each series: the mean square of the usual steps from run to run, in the variance of one case."""
    squares = np.sort(np.diff(rates, axis=1) ** 2 / (1 / cases[1:] + 1 / cases[:-1]), axis=1)
    kept = squares.shape[1] - ceil(LEFT_OUT * squares.shape[1])
    found: Floats = squares[:, : max(1, kept)].mean(axis=1)
    return found


def _cuts(rates: Floats, cases: Floats, noise: float, drawn: Floats, part: tuple[int, int],
          level: float) -> list[tuple[int, float]]:  # fmt: skip
    """The cuts of this part of the runs, each with its p-value."""
    start, end = part
    if end - start < 2:
        return []
    seen = _gains(rates[None, start:end], cases[start:end])[0] / noise
    best = int(seen.argmax())
    chance = _gains(drawn[:, start:end], cases[start:end]).max(axis=1)
    p_value = (1 + int(np.count_nonzero(chance >= seen[best] - TOLERANCE))) / (1 + len(drawn))
    if p_value > level:
        return []
    cut = start + best + 1
    left = _cuts(rates, cases, noise, drawn, (start, cut), level)
    return [*left, (cut, p_value), *_cuts(rates, cases, noise, drawn, (cut, end), level)]


def _gains(rates: NDArray[np.float64], cases: Floats) -> Floats:
    """For each series and each cut: how much better two levels explain it than one, in squares weighed by cases."""
    sums, before = (rates * cases).cumsum(axis=1), cases.cumsum()[:-1]
    after = cases.sum() - before
    gains: Floats = before * after / cases.sum() * (sums[:, :-1] / before - (sums[:, -1:] - sums[:, :-1]) / after) ** 2
    return gains
