"""Cases as test items: parameters found again, chosen cases that predict, and slices shrunk towards the whole."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from howsure.stats.items import (
    ability_chances,
    choose_items,
    fit_items,
    held_out_errors,
    predict_by_items,
    predict_by_strata,
    shrink_rates,
    strata_by_difficulty,
)

Floats = NDArray[np.float64]


def verdicts(count: int, slopes: Floats, difficulties: Floats, seed: int) -> Floats:
    random = np.random.default_rng(seed)
    chances = expit(slopes * (random.normal(size=(count, 1)) - difficulties))
    found: Floats = (random.random(chances.shape) < chances).astype(np.float64)
    return found


def test_the_parameters_of_a_large_sample_are_found_again() -> None:
    slopes = np.array([0.7, 1.0, 1.4, 1.8, 0.9, 1.2, 1.6, 1.1])
    difficulties = np.array([-1.2, -0.5, 0.0, 0.4, 0.9, 1.3, -0.8, 0.2])
    rows, counts = np.unique(verdicts(200_000, slopes, difficulties, 2), axis=0, return_counts=True)
    model = fit_items(rows, counts.astype(np.float64))
    assert model.slopes == pytest.approx(slopes, abs=0.05)
    assert -model.intercepts / model.slopes == pytest.approx(difficulties, abs=0.05)


def test_it_is_the_most_likely_model_given_its_prior() -> None:
    """Against a likelihood with the abilities integrated by other nodes, for three cases."""
    rows, counts = np.unique(
        verdicts(600, np.array([0.8, 1.2, 1.6]), np.array([-0.5, 0.0, 0.8]), 4), axis=0, return_counts=True
    )

    # Hermite's nodes for exp(-x²), stretched to the normal distribution.
    places, weights = np.polynomial.hermite.hermgauss(80)
    abilities, weights = np.sqrt(2) * places, weights / np.sqrt(np.pi)

    def unlikely(values: Floats) -> float:
        total = float(((values[:3] - 1) ** 2).sum() / 2 + (values[3:] ** 2).sum() / (2 * 2.5**2))
        chances = expit(np.outer(values[:3], abilities) + values[3:, None])
        for row, count in zip(rows, counts, strict=True):
            joint = np.prod(np.where(row[:, None] == 1, chances, 1 - chances), axis=0)
            total -= count * np.log(joint @ weights)
        return total

    best = minimize(unlikely, np.array([1.0] * 3 + [0.0] * 3), method="BFGS").x
    model = fit_items(rows, counts.astype(np.float64))
    assert np.append(model.slopes, model.intercepts) == pytest.approx(best, abs=0.05)


def test_twenty_of_two_hundred_cases_predict_the_rest_better_than_twenty_by_chance() -> None:
    random = np.random.default_rng(8)
    slopes, difficulties = np.exp(random.normal(0.2, 0.4, 200)), random.normal(-0.3, 1.2, 200)
    table = verdicts(60, slopes, difficulties, 8)

    def by_items(rest: Floats, own: Floats) -> Floats:
        model = fit_items(rest)
        chosen = choose_items(model, ability_chances(model, rest).mean(axis=0), 20)
        part = np.full(own.shape, np.nan)
        part[:, chosen] = own[:, chosen]
        return predict_by_items(model, part)

    def by_chance(rest: Floats, own: Floats) -> Floats:
        return np.asarray(own[:, random.permutation(200)[:20]].mean(axis=1))

    items, chance = (np.concatenate(held_out_errors(table, 5, each)) for each in (by_items, by_chance))
    assert np.sqrt((items**2).mean()) < 0.8 * np.sqrt((chance**2).mean())


def test_strata_hold_cases_of_one_difficulty_and_weigh_by_size() -> None:
    table = np.array([[1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0], [1, 1, 0, 0, 0, 0.0]])
    assert strata_by_difficulty(table, 3).tolist() == [2, 2, 1, 1, 0, 0]
    own = np.array([[1.0, np.nan, np.nan, 1.0, 0.0, np.nan]])
    assert predict_by_strata(np.array([1, 1, 1, 1, 0, 0]), own) == pytest.approx([4 / 6])


def test_small_slices_are_drawn_to_the_whole_and_large_ones_stay() -> None:
    passed, judged = np.array([2.0, 160.0, 9.0, 8.0, 7.0, 9.0]), np.array([2.0, 200.0, 10.0, 10.0, 10.0, 10.0])
    (small, interval), (large, _), *_ = shrink_rates(passed, judged)
    assert 0.78 < small < 0.9 and interval[0] > 0.5
    assert large == pytest.approx(0.8, abs=0.01)
