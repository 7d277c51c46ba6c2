"""Confidence sequences against a grid of means and every bet written out one by one, and what they promise."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from time import process_time

import numpy as np
import pytest
from bench.coverage_sure import savings

from howsure.stats.confidence_sequences import anytime_interval, capital_after, first_decision, opening_capital

STAKES = [1 / (1 + exp(3.2 - 7.4 * number / 23)) for number in range(24)]
GRID = 2_000


def coins(values: Sequence[float], mean: float, weights: Sequence[float]) -> float:
    """What one coin, shared by all stakes, has become in bets against so small a mean."""
    total = 0.0
    for stake in STAKES:
        coin = 1 / len(STAKES)
        for value, weight in zip(values, weights, strict=True):
            coin *= 1 + stake * weight * (value / mean - 1)
        total += coin
    return total


def grid_interval(lows: Sequence[float], highs: Sequence[float], weights: Sequence[float]) -> tuple[float, float]:
    """The first and the last mean of a grid against which neither side has won forty coins."""
    left = []
    for number in range(1, GRID):
        mean = number / GRID
        above = coins(lows, mean, weights)
        below = coins([1 - high for high in highs], 1 - mean, weights)
        if above < 40 and below < 40:
            left.append(mean)
    return left[0], left[-1]


def drawn(kind: str, n: int) -> tuple[list[float], list[float], list[float]]:
    draw = np.random.default_rng(11)
    if kind == "passes":
        values = (draw.random(n) < 0.7).astype(float)
    elif kind == "means of three tries":
        values = draw.binomial(3, draw.beta(4, 2, n)) / 3
    else:
        values = draw.beta(2, 1, n)
    lows, weights = values.tolist(), [1.0] * n
    highs = list(lows)
    if kind == "one in ten unknown":
        lows = [0.0 if at % 10 == 0 else low for at, low in enumerate(lows)]
        highs = [1.0 if at % 10 == 0 else high for at, high in enumerate(highs)]
    if kind == "clusters of unequal size":
        weights = draw.choice([0.25, 0.5, 1.0], n).tolist()
    return lows, highs, weights


@pytest.mark.parametrize(
    "kind", ["passes", "means of three tries", "scores", "one in ten unknown", "clusters of unequal size"]
)
@pytest.mark.parametrize("n", [8, 60])
def test_an_interval_is_what_a_grid_of_means_leaves(kind: str, n: int) -> None:
    lows, highs, weights = drawn(kind, n)
    low, high = anytime_interval(lows, highs, weights)
    first, last = grid_interval(lows, highs, weights)
    assert first - 1 / GRID <= low <= first
    assert last <= high <= last + 1 / GRID


def test_forty_six_passes_in_a_row_are_more_than_nine_of_ten() -> None:
    passes = [1.0] * 100
    found = first_decision(passes, passes, 0.9)
    assert found is not None
    assert (found.look, found.above) == (46, True)
    assert coins(passes[:46], 0.9, passes[:46]) >= 40 > coins(passes[:45], 0.9, passes[:45])


def test_a_limit_is_first_ruled_out_when_the_interval_leaves_it() -> None:
    lows, highs, _ = drawn("means of three tries", 200)
    found = first_decision(lows, highs, 0.5)
    assert found is not None
    ends = [anytime_interval(lows[:n], highs[:n]) for n in (found.look - 1, found.look)]
    assert [low <= 0.5 <= high for low, high in ends] == [True, False]


def test_nothing_seen_rules_nothing_out() -> None:
    assert anytime_interval([], []) == (0.0, 1.0)
    assert anytime_interval([0.0] * 50, [1.0] * 50) == (0.0, 1.0)


def test_a_look_costs_what_is_new() -> None:
    """The capital goes on from where it was: twenty thousand looks, one at a time, in well under a millisecond each."""
    values = np.random.default_rng(5).random(20_000)
    whole = capital_after(opening_capital(), values, 0.45)[-1]
    began, capital = process_time(), opening_capital()
    for value in values:
        capital = capital_after(capital, [value], 0.45)[-1]
    assert (process_time() - began) / len(values) < 0.0005
    assert capital == pytest.approx(whole, abs=1e-7)


def wrong_share(rate: float, limit: float, draws: int, n: int) -> float:
    """How often looking after every case ever rules a true rate out on the wrong side."""
    draw = np.random.default_rng(3)
    ever = 0
    for _ in range(draws):
        found = first_decision(x := (draw.random(n) < rate).astype(float), x, limit)
        ever += found is not None
    return ever / draws


@pytest.mark.parametrize("rate", [0.5, 0.9, 0.98])
def test_the_true_rate_is_ruled_out_in_at_most_one_of_twenty_runs_however_often_one_looks(rate: float) -> None:
    assert wrong_share(rate, rate, 400, 500) <= 0.05


@pytest.mark.parametrize(("gate", "rate"), [(0.5, 0.6), (0.8, 0.7), (0.8, 0.9)])
def test_three_of_ten_cases_decide_ten_points_from_the_gate_and_hardly_ever_the_opposite(
    gate: float, rate: float
) -> None:
    asked, undecided, opposite = savings(1_000, gate, rate, orders=100, seed=3)
    assert asked <= 0.3
    assert (undecided, opposite) == (0, 0)
