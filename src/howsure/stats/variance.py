"""Where the noise of a score comes from: cases differ, the agent does not always do the same, and the judge does not
always rule the same. Repeats of the agent and of the questions to the judge separate the three (method of moments)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from scipy.stats import t as student

from howsure.stats.clusters import Floats
from howsure.stats.intervals import Estimate, IntervalMethod

FEW = 8
"""With fewer cases there is no interval: they say too little about the spread of others."""
MOST_LOG = 4.0
"""No interval reaches further than this factor, as a logarithm."""
INSIDE, WIDTH = 5, 12
"""How many sums describe the inside of cases, and how many there are in all."""


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
    Estimates below zero are zero. The intervals come from leaving out one case at a time (the jackknife)."""
    tables = np.array([_moments(tries) for tries in cases if any(tries)], dtype=np.float64).reshape(-1, WIDTH)
    if not len(tables):
        return VarianceSplit(cases=None, agent=None, judge=None, agent_and_judge=None, n=0)
    total = tables.sum(axis=0)
    seen, left_out = _components(total[None, :])[0], _components(total - tables)
    parts = [_estimate(seen[place], left_out[:, place], confidence) for place in range(4)]
    return VarianceSplit(cases=parts[0], agent=parts[1], judge=parts[2], agent_and_judge=parts[3], n=len(tables))


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
    """For each row of sums: the variance of cases, agent, judge, and agent and judge together, which chance may take
    below zero; NaN if unknown. Neither leaves this file."""
    with np.errstate(divide="ignore", invalid="ignore"):
        agent, judge, together = _inside(sums.T)
        count, n, total, squared, ratio, squares, case_squares = sums.T[INSIDE:]
        twice = ~np.isnan(judge)
        noise = (count - 1) * np.where(twice, judge, 0.0) + (ratio - squares / n) * np.where(twice, agent, together)
        apart = squared - total**2 / n
        cases = np.where(count > 1, (apart - noise) / (n - case_squares / n), np.nan)
    return np.stack([cases, agent, judge, together], axis=1)


def _inside(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """The variance of agent, judge, and both, within cases."""
    within, within_df, between, between_df, weight = sums[:INSIDE]
    judge = np.where(within_df > 0, within / within_df, np.nan)
    agent = np.where(weight > 0, (between - between_df * judge) / weight, np.nan)
    # If every try was judged once, the spread between tries is that of agent and judge together.
    together = np.where(between_df > 0, np.where(within_df > 0, agent + judge, between / between_df), np.nan)
    return agent, judge, together


def _estimate(seen: float, left_out: Floats, confidence: float) -> Estimate | None:
    """Where the part is there, with an interval of its logarithm: that of a variance reaches further up."""
    if np.isnan(seen):
        return None
    count, interval, value = len(left_out), None, max(0.0, float(seen))
    if count >= FEW and not np.isnan(left_out).any():
        root = float(student.ppf((1 + confidence) / 2, count - 1))
        reach = root * _jackknife_error(left_out)
        interval = max(0.0, float(seen) - reach), max(0.0, float(seen) + reach)
        if value > 0 and left_out.min() > 0:
            factor = float(np.exp(min(root * _jackknife_error(np.log(left_out)), MOST_LOG)))
            interval = value / factor if interval[0] > 0 else 0.0, max(interval[1], value * factor)
    form = IntervalMethod.JACKKNIFE if interval else None
    return Estimate(value=value, interval=interval, n=count, clusters=count, form=form, confidence=confidence)


def _jackknife_error(left_out: Floats) -> float:
    return float(np.sqrt((len(left_out) - 1) / len(left_out) * ((left_out - left_out.mean()) ** 2).sum()))
