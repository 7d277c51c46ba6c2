"""How alike cases of a cluster are, against scipy's beta-binomial distribution and integrals written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta, betabinom, norm

from howsure.stats.intervals import wilson
from howsure.stats.rates import exact
from howsure.stats.resemblance import Counted, Floats, counted, levels, plausible_rates, weights

PASSES = np.array([10.0, 9.0, 10.0, 2.0, 10.0, 3.0])
SIZES = np.full(6, 10.0)


def worth_of(seen: Counted) -> Floats:
    found: Floats = 1 / (levels() * seen.spread + (1 - levels()) / seen.cases)
    return found


def test_clusters_of_the_same_passes_and_cases_are_counted_together() -> None:
    seen = counted(np.array([1.0, 2.0, 1.0, 1.0]), np.array([2.0, 2.0, 2.0, 3.0]))
    assert (seen.passes.tolist(), seen.sizes.tolist(), seen.times.tolist()) == ([1, 2, 1], [2, 2, 3], [2, 1, 1])
    assert seen.cases == 9
    assert seen.rate == pytest.approx(5 / 9)


def test_six_clusters_of_ten_leave_a_fifth_of_a_cluster_s_variance() -> None:
    # 1/6 of the variance is left in a mean of six; that they are six and not many costs one of them: 1/5.
    assert counted(PASSES, SIZES).spread == pytest.approx(1 / 5)


def test_the_levels_are_those_of_the_beta_distribution_before_anything_is_seen() -> None:
    assert levels() == pytest.approx(beta(1 / 3, 1 / 2).ppf((np.arange(16) + 0.5) / 16).clip(1e-6, 0.995))
    assert levels()[0] < 0.001 < 0.9 < levels()[-1]


def test_levels_are_weighed_by_how_well_they_explain_the_clusters() -> None:
    def chance(rate: float, level: float) -> float:
        strength = 1 / level - 1
        own = betabinom(10, rate * strength, (1 - rate) * strength)
        return float(np.prod(own.pmf(PASSES)))

    expected = np.array([quad(chance, 0, 1, args=(level,), limit=200)[0] for level in levels()[4:]])
    found = weights(counted(PASSES, SIZES), worth_of(counted(PASSES, SIZES)))[4:]
    assert found / found.sum() == pytest.approx(expected / expected.sum(), abs=0.01)


def test_clusters_that_agree_too_well_are_taken_for_unrelated_cases() -> None:
    # Eight of ten in every one of thirty clusters: less spread than chance alone makes.
    low, high = plausible_rates(np.full(30, 8.0), np.full(30, 10.0))
    expected = wilson(240, 300)
    assert expected is not None
    assert (low, high) == pytest.approx(expected, abs=0.012)


def test_copies_are_worth_one_case_each() -> None:
    passes = np.array([5.0] * 30 + [0.0] * 10)
    low, high = plausible_rates(passes, np.full(40, 5.0))
    expected = wilson(30, 40)
    assert expected is not None
    assert (low, high) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("passed", [True, False])
def test_where_all_are_the_same_the_outer_end_is_that_of_the_scale(passed: bool) -> None:
    low, high = plausible_rates(np.full(10, 10.0 * passed), np.full(10, 10.0))
    alone, together = exact(10, 10), exact(100, 100)
    assert alone is not None and together is not None
    assert (high if passed else low) == float(passed)
    inner = low if passed else 1 - high
    assert alone[0] < inner < together[0], "between ten cases and a hundred: nobody knows how alike they are"
    assert inner == pytest.approx(0.740, abs=0.001)


def test_passes_and_failures_are_treated_alike() -> None:
    low, high = plausible_rates(PASSES, SIZES)
    assert plausible_rates(SIZES - PASSES, SIZES) == pytest.approx((1 - high, 1 - low), abs=1e-6)


def test_a_surer_interval_is_wider() -> None:
    usual, sure = plausible_rates(PASSES, SIZES), plausible_rates(PASSES, SIZES, 0.99)
    assert sure[0] < usual[0] < 44 / 60 < usual[1] < sure[1]


def test_one_huge_cluster_among_small_ones_says_next_to_nothing() -> None:
    low, high = plausible_rates(np.array([500.0, 1.0, 1.0]), np.array([1000.0, 1.0, 1.0]))
    assert low < 0.05 and high > 0.95


def test_many_clusters_of_which_few_fail_are_no_trouble() -> None:
    passes = np.concatenate([np.full(2000, 50.0), np.full(20, 45.0)])
    low, high = plausible_rates(passes, np.full(2020, 50.0))
    # Twenty failing clusters: a relative error of about 1/√20 on a failure rate of 0.1 %.
    assert low < 0.99901 < high
    assert (1 - low) / 0.00099 == pytest.approx(1 + norm.ppf(0.975) / 20**0.5 * 2, abs=0.5)
