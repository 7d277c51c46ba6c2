"""Bradley and Terry's model: by hand, against a likelihood written out here and maximised by a library."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from howsure.stats.rankings import Comparisons, StrengthModel, bradley_terry, rank_intervals, value_interval


def compared(*rows: tuple[int, int, float], times: int = 1, controls: NDArray[np.float64] | None = None) -> Comparisons:
    """Each row `times` times: who met whom, and what came of it. Every comparison is a case of its own."""
    every = [row for row in rows for _ in range(times)]
    return Comparisons(
        first=np.array([row[0] for row in every]),
        second=np.array([row[1] for row in every]),
        outcome=np.array([row[2] for row in every]),
        cluster=np.arange(len(every)),
        controls=np.zeros((len(every), 0)) if controls is None else controls,
    )


def fitted(sides: int, seen: Comparisons) -> StrengthModel:
    model = bradley_terry(sides, seen)
    assert model is not None
    return model


def test_seven_wins_to_three_are_odds_of_seven_to_three() -> None:
    model = fitted(2, compared(*[(0, 1, 1.0)] * 7, *[(0, 1, 0.0)] * 3))
    assert np.exp(model.strengths[0] - model.strengths[1]) == pytest.approx(7 / 3)
    assert model.strengths.sum() == pytest.approx(0)


def test_ties_are_davidson_s() -> None:
    # 6 wins, 2 losses, 4 ties: strengths 6 to 2, and ties in proportion to 4 / sqrt(6 x 2).
    model = fitted(2, compared(*[(0, 1, 1.0)] * 6, *[(0, 1, 0.0)] * 2, *[(0, 1, 0.5)] * 4))
    assert np.exp(model.strengths[0] - model.strengths[1]) == pytest.approx(3)
    assert model.tie is not None
    assert np.exp(model.tie) == pytest.approx(4 / np.sqrt(12))


def test_many_sides_with_ties_and_controls_are_the_most_likely_ones() -> None:
    random = np.random.default_rng(7)
    pairs = [(one, other) for one in range(5) for other in range(one + 1, 5)] * 40
    controls = np.column_stack([random.choice([-1.0, 1.0], len(pairs)), random.normal(size=len(pairs))])
    truth = np.array([0.9, 0.4, 0.0, -0.3, -1.0])
    rows = []
    for (one, other), (shown, longer) in zip(pairs, controls, strict=True):
        gap = truth[one] - truth[other] + 0.4 * shown + 0.2 * longer
        weights = np.array([np.exp(gap), 1.0, 0.8 * np.exp(gap / 2)])
        rows.append((one, other, float(random.choice([1.0, 0.0, 0.5], p=weights / weights.sum()))))

    def unlikely(values: NDArray[np.float64]) -> float:
        strengths = np.append(values[:4], -values[:4].sum())
        total = 0.0
        for (one, other, outcome), (shown, longer) in zip(rows, controls, strict=True):
            odds = np.exp(strengths[one] - strengths[other] + values[4] * shown + values[5] * longer)
            tie = np.exp(values[6]) * np.sqrt(odds)
            total -= np.log({1.0: odds, 0.0: 1.0, 0.5: tie}[outcome] / (odds + 1 + tie))
        return total

    best = minimize(unlikely, np.zeros(7), method="BFGS", options={"gtol": 1e-7}).x
    model = fitted(5, compared(*rows, controls=controls))
    assert model.strengths == pytest.approx(np.append(best[:4], -best[:4].sum()), abs=1e-4)
    assert model.effects == pytest.approx(best[4:6], abs=1e-4)
    assert model.tie == pytest.approx(best[6], abs=1e-4)


def test_the_interval_is_that_of_log_odds_where_cases_are_apart() -> None:
    model = fitted(2, compared(*[(0, 1, 1.0)] * 60, *[(0, 1, 0.0)] * 40))
    found = value_interval(model, 0)
    assert found is not None
    # Half of log(60 / 40), and half of 1.984 (Student, 99 degrees) x sqrt(1 / 60 + 1 / 40).
    assert found == pytest.approx((0.2027 - 0.2025, 0.2027 + 0.2025), abs=0.004)


def test_ten_copies_of_a_case_are_one_case() -> None:
    rows = [(0, 1, 1.0)] * 14 + [(0, 1, 0.0)] * 6
    once, often = compared(*rows), compared(*rows, times=10)
    copied = Comparisons(
        first=often.first, second=often.second, outcome=often.outcome, cluster=often.cluster // 10,
        controls=often.controls,
    )  # fmt: skip
    alone, together = fitted(2, once).covariance, fitted(2, copied).covariance
    assert alone is not None and together is not None
    assert together[0, 0] == pytest.approx(alone[0, 0], rel=0.02)


def test_ranks_overlap_where_nobody_can_tell() -> None:
    near = fitted(3, compared((0, 1, 1.0), (1, 0, 1.0), (0, 2, 1.0), (1, 2, 1.0), (2, 1, 1.0), (2, 0, 1.0), times=30))
    assert rank_intervals(near) == [(1, 3)] * 3
    strong = [(0, 2, 1.0)] * 9 + [(2, 0, 1.0)] + [(1, 2, 1.0)] * 9 + [(2, 1, 1.0)]
    apart = fitted(3, compared(*strong, *[(0, 1, 1.0), (1, 0, 1.0)] * 5, times=4))
    assert rank_intervals(apart) == [(1, 2), (1, 2), (3, 3)]


def test_who_never_lost_is_not_infinitely_strong_and_five_wins_prove_nothing() -> None:
    few, many = (fitted(2, compared((0, 1, 1.0), times=count)) for count in (5, 30))
    assert few.bounded and few.strengths[0] == pytest.approx(np.log(5.5 / 0.5) / 2)
    assert rank_intervals(few) == [(1, 2), (1, 2)]
    assert rank_intervals(many) == [(1, 1), (2, 2)]


def test_who_wins_or_ties_and_never_loses_is_ahead_of_all() -> None:
    """Davidson's likelihood has no maximum here: the strength grew to +29 [-397 +456], and nobody was ahead."""
    model = fitted(2, compared(*[(0, 1, 1.0)] * 40, *[(0, 1, 0.5)] * 160))
    assert model.bounded and model.strengths[0] < 4
    # 40.5 wins to half a win: odds of 81.
    assert np.exp(model.strengths[0] - model.strengths[1]) == pytest.approx(81)
    assert rank_intervals(model) == [(1, 1), (2, 2)]


def test_sides_that_never_met_have_no_order_and_four_cases_no_interval() -> None:
    assert bradley_terry(4, compared((0, 1, 1.0), (2, 3, 1.0), times=9)) is None
    four = fitted(2, compared((0, 1, 1.0), (0, 1, 0.0), times=2))
    assert four.covariance is None and rank_intervals(four) == [(1, 2), (1, 2)]
