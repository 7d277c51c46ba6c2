"""Where the noise of a score comes from: cases differ, the agent does not always do the same, and the judge does not
always rule the same. Repeats of the agent and of the questions to the judge separate the three (method of moments)."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, sqrt

import numpy as np
from msgspec import Struct
from scipy.stats import chi2, skew
from scipy.stats import t as student

from howsure.stats.clusters import Floats
from howsure.stats.intervals import Estimate, Interval, IntervalMethod

FEW, FEW_TELLING = 8, 5
"""With fewer cases, or fewer in which something differs, there is no interval: they say too little about others."""
MOST_LOG = 4.0
"""No end of an interval lies further away than this factor, as a logarithm."""
INSIDE, WIDTH = 5, 12
"""How many sums describe the inside of cases, and how many there are in all."""
HIDDEN, EXCESS, EXCESS_OF_FEW, FEW_CASES = 3, 2, 5, 20
"""Cases show too little of how much their spreads differ: what they show is raised by 1 + HIDDEN / cases, and what lies
beyond that of a normal distribution counts EXCESS times, of fewer than FEW_CASES more often."""


class VarianceSplit(Struct, frozen=True, kw_only=True):
    """Variances, in the square of the unit of the score. None: unknown. `agent_and_judge` is the sum of the two, which
    is known even if each try was judged once."""

    cases: Estimate | None
    agent: Estimate | None
    judge: Estimate | None
    agent_and_judge: Estimate | None
    n: int


def split_variance(cases: Sequence[Sequence[Sequence[float]]], *, confidence: float = 0.95) -> VarianceSplit:
    """Nested analysis of variance. `cases` has the tries of each case, and for each try the values of the judge.
    Estimates below zero are zero. The intervals are modified large sample ones (Burdick and Graybill), for as many
    degrees of freedom as leaving out one case at a time shows (the jackknife)."""
    tables = np.array([_moments(tries) for tries in cases if any(tries)], dtype=np.float64).reshape(-1, WIDTH)
    if not len(tables):
        return VarianceSplit(cases=None, agent=None, judge=None, agent_and_judge=None, n=0)
    total = tables.sum(axis=0)
    seen, left_out = _components(total[None, :])[0], _components(total - tables)
    judged_apart, apart = tables[:, 0] > SAME, tables[:, [0, 2]].max(axis=1) > SAME
    telling = [int(np.count_nonzero(each)) for each in (tables[:, 5], apart, judged_apart, apart)]
    parts = [
        _estimate(
            seen[place],
            left_out[:, place],
            freedom,
            confidence,
            known=len(tables) >= FEW and telling[place] >= FEW_TELLING,
        )
        for place, freedom in enumerate(_freedom(total, seen))
    ]
    return VarianceSplit(cases=parts[0], agent=parts[1], judge=parts[2], agent_and_judge=parts[3], n=len(tables))


SAME = 1e-12
"""Spreads below this come from rounding."""


def _moments(tries: Sequence[Sequence[float]]) -> list[float]:
    """The terms that a case adds to the sums. The analysis is linear in these."""
    judged = [np.asarray(values, dtype=np.float64) for values in tries if len(values)]
    sizes = np.array([len(values) for values in judged], dtype=np.float64)
    means = np.array([values.mean() for values in judged])
    n, squares = float(sizes.sum()), float((sizes**2).sum())
    mean = float((sizes * means).sum() / n)
    within = sum(float(((values - values.mean()) ** 2).sum()) for values in judged)
    between = float((sizes * (means - mean) ** 2).sum())
    inside = [within, n - len(judged), between, len(judged) - 1, n - squares / n]
    return [*inside, 1, n, n * mean, n * mean**2, squares / n, squares, n**2]


def _components(sums: Floats) -> Floats:
    """For each row of sums the four variances, of cases, agent, judge, and agent and judge together: what is seen, and
    how much of that is noise from below. Their difference may fall below zero by chance; NaN if unknown."""
    with np.errstate(divide="ignore", invalid="ignore"):
        within, within_df, between, between_df, weight = sums.T[:INSIDE]
        count, n, total, squared, ratio, squares, case_squares = sums.T[INSIDE:]
        judge = np.where(within_df > 0, within / within_df, np.nan)
        tries = np.where(weight > 0, between / weight, np.nan)
        below = between_df * judge / weight
        # If every try was judged once, the spread between tries is that of agent and judge together.
        once = np.where(between_df > 0, between / between_df, np.nan)
        together = np.where((between_df > 0) & (within_df > 0), tries - below + judge, once)
        agent = np.where(within_df > 0, tries - below, together)
        noise = (count - 1) * np.where(within_df > 0, judge, 0.0) + (ratio - squares / n) * agent
        room = np.where(count > 1, n - case_squares / n, np.nan)
        seen = [(squared - total**2 / n) / room, tries, judge, together]
        return np.stack([np.stack(seen, axis=1), np.stack([noise / room, below, 0 * judge, 0 * together], axis=1)], 2)


def _freedom(total: Floats, seen: Floats) -> list[tuple[float, float]]:
    """The degrees of freedom of both terms of each component, were all distributions normal."""
    _, within_df, _, between_df, _, count = total[: INSIDE + 1]
    between, within = max(between_df, 1.0), max(within_df, 1.0)
    together = between
    if within_df > 0 and between_df > 0:
        tries = seen[1, 0]
        rest = seen[3, 0] - tries
        together = (tries + rest) ** 2 / max(tries**2 / between + rest**2 / within, SAME)
    return [(max(count - 1, 1.0), between), (between, within), (within, within), (max(together, 1.0), 1.0)]


def _estimate(
    seen: Floats, left_out: Floats, freedom: tuple[float, float], confidence: float, *, known: bool
) -> Estimate | None:
    value = float(seen[0] - seen[1])
    if np.isnan(value):
        return None
    count, interval = len(left_out), None
    if known and not np.isnan(left_out).any():
        ends = [_large_sample(seen, left_out, freedom, confidence), *_skewed(value, left_out, confidence)]
        interval = max(0.0, min(low for low, _ in ends)), max(0.0, *(high for _, high in ends))
    form = IntervalMethod.JACKKNIFE if interval else None
    return Estimate(value=max(0.0, value), interval=interval, n=count, clusters=count, form=form, confidence=confidence)


def _large_sample(seen: Floats, left_out: Floats, freedom: tuple[float, float], confidence: float) -> Interval:
    """The modified large sample interval of a difference of two mean squares."""
    tail, count, reaches = (1 - confidence) / 2, len(left_out), []
    for place, normal in enumerate(freedom):
        if seen[place] <= SAME:
            reaches.append((0.0, 0.0))
            continue
        spread = (count - 1) / count * float(((left_out[:, place] - left_out[:, place].mean()) ** 2).sum())
        shown = spread / (2 * seen[place] ** 2) * (1 + HIDDEN / count)
        excess = EXCESS if count >= FEW_CASES else EXCESS_OF_FEW
        degrees = 1 / (1 / normal + excess * max(0.0, shown - 1 / normal))
        below, above = 1 - degrees / chi2.isf(tail, degrees), min(degrees / chi2.ppf(tail, degrees), exp(MOST_LOG)) - 1
        reaches.append((float(below * seen[place]), float(above * seen[place])))
    (first_down, first_up), (second_down, second_up) = reaches
    value = float(seen[0] - seen[1])
    return value - sqrt(first_down**2 + second_up**2), value + sqrt(first_up**2 + second_down**2)


def _skewed(value: float, left_out: Floats, confidence: float) -> list[Interval]:
    """Student's t over the pseudo-values of the jackknife, corrected for their skewness (Hall 1992): it holds where a
    few cases have most of the spread. None where no case changes anything."""
    count = len(left_out)
    own = count * value - (count - 1) * (left_out[:, 0] - left_out[:, 1])
    error = float(own.std(ddof=1)) / sqrt(count)
    if error <= SAME:
        return []
    bend, root = float(skew(own, bias=False)) / (3 * sqrt(count)), float(student.ppf((1 + confidence) / 2, count - 1))
    if abs(bend) < SAME:
        return [(value - root * error, value + root * error)]
    low, high = (value - error * (float(np.cbrt(1 + 3 * bend * (z - bend / 2))) - 1) / bend for z in (root, -root))
    return [(low, high)]
