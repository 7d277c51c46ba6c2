"""Where the noise of a score comes from: the cases differ, the agent does not always do the same, the judge does not
always say the same. Repeats of the agent, and of the questions to the judge, tell them apart (method of moments)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from howsure.stats.clusters import Floats
from howsure.stats.estimates import Estimate, Form

DRAWS = 2000
MOSTLY = 0.9
FEW = 5
"""Fewer cases give no interval: a bootstrap of three cases knows nothing of a fourth."""
INSIDE, WIDTH = 5, 12
"""How many sums describe the inside of cases, and how many there are in all."""


class Split(Struct, frozen=True, kw_only=True):
    """Variances, in the square of the score's unit. None: cannot be told. `agent_and_judge` is what is known when each
    try was judged once: the two together."""

    cases: Estimate | None
    agent: Estimate | None
    judge: Estimate | None
    agent_and_judge: Estimate | None
    n: int

    @property
    def judge_share(self) -> float | None:
        """Of the noise within a case, the part that is the judge's."""
        if self.agent is None or self.judge is None:
            return None
        noise = self.agent.value + self.judge.value
        return self.judge.value / noise if noise else None


def split(
    cases: Sequence[Sequence[Sequence[float]]], *, draws: int = DRAWS, seed: int = 0, confidence: float = 0.95
) -> Split:
    """Of each case its tries, of each try the judge's values. Nested analysis of variance; estimates below zero are
    zero. Intervals draw whole cases again."""
    tables = np.array([_moments(tries) for tries in cases if any(tries)], dtype=np.float64).reshape(-1, WIDTH)
    if not len(tables):
        return Split(cases=None, agent=None, judge=None, agent_and_judge=None, n=0)
    seen = _components(tables.sum(axis=0)[None, :])[0]
    picked = np.random.default_rng(seed).multinomial(len(tables), np.full(len(tables), 1 / len(tables)), size=draws)
    drawn = _components(picked.astype(np.float64) @ tables)
    parts = [_estimate(seen[place], drawn[:, place], len(tables), confidence) for place in range(4)]
    return Split(cases=parts[0], agent=parts[1], judge=parts[2], agent_and_judge=parts[3], n=len(tables))


def _moments(tries: Sequence[Sequence[float]]) -> list[float]:
    """What a case adds to the sums: all that the analysis needs is linear in these."""
    asked = [np.asarray(values, dtype=np.float64) for values in tries if len(values)]
    sizes = np.array([len(values) for values in asked], dtype=np.float64)
    means = np.array([values.mean() for values in asked])
    n, squares = float(sizes.sum()), float((sizes**2).sum())
    mean = float((sizes * means).sum() / n)
    within = sum(float(((values - values.mean()) ** 2).sum()) for values in asked)
    between = float((sizes * (means - mean) ** 2).sum())
    inside = [within, n - len(asked), between, len(asked) - 1, n - squares / n]
    return [*inside, 1, n, n * mean, n * mean**2, squares / n, squares, n**2]


def _components(sums: Floats) -> Floats:
    """Per line of sums: the variance of cases, agent, judge, and agent and judge together; NaN where unknown (it does
    not leave this file)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        agent, judge, together = _inside(sums.T)
        count, n, total, squared, ratio, squares, case_squares = sums.T[INSIDE:]
        twice = ~np.isnan(judge)
        noise = (count - 1) * np.where(twice, judge, 0.0) + (ratio - squares / n) * np.where(twice, agent, together)
        apart = squared - total**2 / n
        cases = np.where(count > 1, np.maximum(0, (apart - noise) / (n - case_squares / n)), np.nan)
    return np.stack([cases, agent, judge, together], axis=1)


def _inside(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """The variance of agent, judge, and both, within cases."""
    within, within_df, between, between_df, weight = sums[:INSIDE]
    judge = np.where(within_df > 0, within / within_df, np.nan)
    agent = np.where(weight > 0, np.maximum(0, (between - between_df * judge) / weight), np.nan)
    # Every try judged once: the spread between tries is that of agent and judge together.
    together = np.where(between_df > 0, np.where(within_df > 0, agent + judge, between / between_df), np.nan)
    return agent, judge, together


def _estimate(seen: float, drawn: Floats, cases: int, confidence: float) -> Estimate | None:
    if np.isnan(seen):
        return None
    known = drawn[~np.isnan(drawn)]
    interval = None
    if cases >= FEW and len(known) >= MOSTLY * len(drawn):
        low, high = np.quantile(known, [(1 - confidence) / 2, (1 + confidence) / 2])
        interval = float(low), float(high)
    form = Form.CLUSTER_BOOTSTRAP if interval else None
    return Estimate(value=float(seen), interval=interval, n=cases, clusters=cases, form=form, confidence=confidence)
