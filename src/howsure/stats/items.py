"""Cases as test items, from the verdicts of many candidates: how hard each case is and how well it tells good
candidates from poor ones (the two-parameter logistic model, by marginal likelihood); which few cases stand for all, and
what they say about all. For few candidates, strata of equal difficulty. And rates of small slices, shrunk towards the
whole."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.special import betainc, betaln, expit
from scipy.stats import norm

from howsure.stats.intervals import Interval

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

NODES = np.linspace(-4.5, 4.5, 41)
WEIGHTS = norm.pdf(NODES) / norm.pdf(NODES).sum()
PRIOR_SPREADS = np.array([1.0, 2.5])
"""The prior standard deviations of slopes (around 1) and intercepts (around 0): a few candidates cannot make them
infinite."""
STEPS, CLOSE = 200, 1e-3


class ItemModel(Struct, frozen=True, kw_only=True):
    """A candidate of ability t passes a case with log-odds slope x t + intercept. Abilities are normal around 0."""

    slopes: Floats
    intercepts: Floats

    @property
    def chances(self) -> Floats:
        """The probability of a pass, by case and node."""
        found: Floats = expit(self.slopes[:, None] * NODES + self.intercepts[:, None])
        return found

    @property
    def information(self) -> Floats:
        """The information of a verdict about the ability, by case and node."""
        chances = self.chances
        found: Floats = self.slopes[:, None] ** 2 * chances * (1 - chances)
        return found


def fit_items(passed: Floats, counts: Floats | None = None) -> ItemModel:
    """Verdicts by candidate and case: 1, 0, between them for repeats, no number where there is none. `counts`: how many
    candidates have the verdicts of each row."""
    known = ~np.isnan(passed)
    given = np.where(known, passed, 0.0)
    values = np.tile([[1.0], [0.0]], (1, passed.shape[1]))
    for _ in range(STEPS):
        abilities = ability_chances(ItemModel(slopes=values[0], intercepts=values[1]), passed)
        abilities = abilities if counts is None else abilities * counts[:, None]
        tries, passes = known.T @ abilities, given.T @ abilities
        before, values = values, _fit_each(values, tries, passes)
        if np.max(np.abs(values - before), initial=0.0) < CLOSE:
            break
    return ItemModel(slopes=values[0], intercepts=values[1])


def _fit_each(values: Floats, tries: Floats, passes: Floats) -> Floats:
    """Two steps of Newton's method for all cases at once: slope and intercept from tries and passes at each node."""
    for _ in range(2):
        chances = expit(values[0][:, None] * NODES + values[1][:, None])
        left, weight = passes - tries * chances, tries * chances * (1 - chances)
        score = np.array([left @ NODES, left.sum(axis=1)])
        score -= (values - np.array([[1.0], [0.0]])) / PRIOR_SPREADS[:, None] ** 2
        square, mixed, plain = weight @ NODES**2, weight @ NODES, weight.sum(axis=1)
        square, plain = square + PRIOR_SPREADS[0] ** -2, plain + PRIOR_SPREADS[1] ** -2
        whole = square * plain - mixed**2
        step = np.array([plain * score[0] - mixed * score[1], square * score[1] - mixed * score[0]]) / whole
        values = values + np.clip(step, -1, 1)
    return values


def ability_chances(model: ItemModel, passed: Floats) -> Floats:
    """The posterior of each candidate's ability, by candidate and node, given its verdicts."""
    known = ~np.isnan(passed)
    given = np.where(known, passed, 0.0)
    chances = np.clip(model.chances, 1e-12, 1 - 1e-12)
    logs = given @ np.log(chances) + (known - given) @ np.log1p(-chances) + np.log(WEIGHTS)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    found: Floats = weights / weights.sum(axis=1, keepdims=True)
    return found


def choose_items(model: ItemModel, abilities: Floats, count: int) -> Whole:
    """This number of cases that together say most about candidates of these abilities (probabilities by node). Each
    step takes the case that adds most, so that all abilities are covered."""
    information, total, chosen = model.information, np.ones(len(NODES)), []
    open_ones = np.ones(len(model.slopes), dtype=bool)
    for _ in range(count):
        gain = np.log1p(information / total) @ abilities
        best = int(np.argmax(np.where(open_ones, gain, -np.inf)))
        open_ones[best] = False
        total = total + information[best]
        chosen.append(best)
    return np.array(sorted(chosen), dtype=np.int64)


def predict_by_items(model: ItemModel, passed: Floats) -> Floats:
    """The rate of each candidate over all cases: known verdicts as they are, the others as its ability suggests."""
    expected = ability_chances(model, passed) @ model.chances.T
    found: Floats = np.where(np.isnan(passed), expected, passed).mean(axis=1)
    return found


def strata_by_difficulty(passed: Floats, count: int) -> Whole:
    """The stratum of each case: as many as asked for, of equal size, from the hardest to the easiest."""
    with np.errstate(invalid="ignore"):
        rates = np.nansum(passed, axis=0) / np.maximum((~np.isnan(passed)).sum(axis=0), 1)
    found = np.empty(len(rates), dtype=np.int64)
    found[np.argsort(rates, kind="stable")] = np.arange(len(rates)) * count // len(rates)
    return found


def predict_by_strata(strata: Whole, passed: Floats) -> Floats:
    """The rate of each candidate over all cases: the mean of each stratum that has verdicts, by its size."""
    sizes, names = np.bincount(strata).astype(np.float64), np.arange(strata.max() + 1)
    member = (strata[:, None] == names).astype(np.float64)
    known = ~np.isnan(passed)
    counts, sums = known @ member, np.where(known, passed, 0.0) @ member
    means = np.where(counts > 0, sums / np.maximum(counts, 1), 0.0)
    weights = sizes * (counts > 0)
    found: Floats = (means * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-12)
    return found


def held_out_errors(passed: Floats, folds: int, predict: Callable[[Floats, Floats], Floats]) -> list[Floats]:
    """Predicted minus true rates of held-out candidates, fold by fold, in the order of the candidates. `predict` takes
    the other candidates and the held-out ones."""
    found = []
    for fold in np.array_split(np.arange(len(passed)), min(folds, len(passed))):
        rest = np.delete(passed, fold, axis=0)
        found.append(predict(rest, passed[fold]) - np.nanmean(passed[fold], axis=1))
    return found


def shrink_rates(passed: Floats, judged: Floats, confidence: float = 0.95) -> list[tuple[float, Interval]]:
    """Rates of slices, shrunk towards the overall rate as far as slices resemble each other: empirical Bayes with a
    beta distribution of rates, averaged over its plausible means and spreads."""
    # Slices with the same counts have the same answer: of ten thousand small ones few are different.
    pairs, slice_of, times = np.unique(
        np.column_stack([passed, judged]), axis=0, return_inverse=True, return_counts=True
    )
    passed, judged = pairs.T
    means, spreads = np.linspace(0.01, 0.99, 50), np.linspace(0.03, 0.7, 24)
    mean, size = (each.ravel() for each in np.meshgrid(means, 1 / spreads**2 - 1))
    a, b = (mean * size)[:, None], ((1 - mean) * size)[:, None]
    logs = (betaln(a + passed, b + judged - passed) - betaln(a, b)) @ times
    weights = np.exp(logs - logs.max())
    kept = weights > 1e-4
    a, b, weights = a[kept], b[kept], weights[kept] / weights[kept].sum()
    first, second = a + passed, b + judged - passed

    def quantile(share: float) -> Floats:
        low, high = np.zeros(len(passed)), np.ones(len(passed))
        for _ in range(40):
            middle = (low + high) / 2
            below = weights @ betainc(first, second, middle) < share
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2

    values = weights @ (first / (first + second))
    lows, highs = quantile((1 - confidence) / 2), quantile((1 + confidence) / 2)
    found = [(float(value), (float(low), float(high))) for value, low, high in zip(values, lows, highs, strict=True)]
    return [found[place] for place in slice_of]
