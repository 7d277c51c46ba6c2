"""The paired permutation test against Fisher's own count, brute force and scipy."""

from __future__ import annotations

from itertools import product
from statistics import fmean

import numpy as np
import pytest
from scipy import stats

from howsure.stats.clusters import ClusterSums, cluster_sums
from howsure.stats.paired_differences import permutation_test

MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
"""Darwin's crossed against self-fertilised maize, in eighths of an inch; Fisher, The Design of Experiments (1935)."""


def single(values: list[float]) -> ClusterSums:
    return ClusterSums(sums=np.array(values, dtype=float), sizes=np.ones(len(values)))


def test_fisher_s_count_of_darwin_s_maize() -> None:
    found = permutation_test(single([float(value) for value in MAIZE]))
    assert found.exact
    assert found.p_value == 1726 / 32768
    assert round(100 * found.p_value, 3) == 5.267


def test_where_the_test_just_does_not_reject_the_interval_just_holds_zero() -> None:
    found = permutation_test(single([float(value) for value in MAIZE]))
    assert found.interval is not None
    assert found.interval[0] < 0 < found.interval[1]
    surer = permutation_test(single([float(value) for value in MAIZE]), confidence=0.94)
    assert surer.interval is not None
    assert surer.interval[0] > 0, "at 94 % the test rejects: p is .0527"


VALUES = [3.0, -1.0, 4.0, 1.5, -0.5, 2.0, 6.0]


def p_by_hand(values: list[float], sizes: list[float], shift: float) -> float:
    moved = [value - shift * size for value, size in zip(values, sizes, strict=True)]
    flips = [
        abs(sum(s * v for s, v in zip(signs, moved, strict=True))) for signs in product((1, -1), repeat=len(moved))
    ]
    return sum(value >= abs(sum(moved)) - 1e-9 for value in flips) / len(flips)


def test_all_ways_by_hand() -> None:
    assert permutation_test(single(VALUES)).p_value == p_by_hand(VALUES, [1.0] * 7, 0)


def test_the_interval_is_what_the_test_does_not_reject() -> None:
    found = permutation_test(single(VALUES))
    assert found.interval is not None
    low, high = found.interval
    for inside in (low + 1e-6, fmean(VALUES), high - 1e-6):
        assert p_by_hand(VALUES, [1.0] * 7, inside) > 0.05
    for outside in (low - 1e-6, high + 1e-6):
        assert p_by_hand(VALUES, [1.0] * 7, outside) <= 0.05


def test_a_cluster_tosses_one_coin() -> None:
    values = [1.0, 1.0, 2.0, -1.0, 3.0, 3.0, 2.0, 2.0, 1.0, 4.0, 5.0, 1.0, 0.0]
    names = list("aabbccddeeffg")
    grouped = cluster_sums(values, names)
    found = permutation_test(grouped)
    assert found.p_value == p_by_hand(list(grouped.sums), list(grouped.sizes), 0)
    assert found.interval is not None
    assert p_by_hand(list(grouped.sums), list(grouped.sizes), found.interval[0] - 1e-6) <= 0.05
    assert p_by_hand(list(grouped.sums), list(grouped.sizes), found.interval[0] + 1e-6) > 0.05


def test_many_values_are_drawn_and_agree_with_scipy_and_with_student() -> None:
    values = [float(value) for value in np.random.default_rng(4).normal(0.2, 1, 80)]
    found = permutation_test(single(values))
    theirs = stats.permutation_test((values,), np.mean, permutation_type="samples", n_resamples=20_000,
                                    rng=np.random.default_rng(1))  # fmt: skip
    student = stats.ttest_1samp(values, 0)
    assert (found.exact, found.drawn) == (False, 20_000)
    assert found.p_value == pytest.approx(theirs.pvalue, abs=0.01)
    assert found.p_value == pytest.approx(student.pvalue, abs=0.01)
    assert found.interval == pytest.approx(tuple(student.confidence_interval()), abs=0.02)
    assert permutation_test(single(values)) == found, "the same seed, the same answer"


def test_equal_differences_are_tossed_together() -> None:
    values = [0.0] * 60_000 + [1.0] * 20_150 + [-1.0] * 19_850
    found = permutation_test(single(values))
    assert found.drawn == 20_000
    assert found.p_value == pytest.approx(float(stats.binomtest(20_150, 40_000).pvalue), abs=0.01)


def test_very_many_distinct_differences_are_student_s() -> None:
    values = [float(value) for value in np.random.default_rng(4).normal(0.02, 1, 5000)]
    found = permutation_test(single(values))
    assert (found.exact, found.drawn) == (False, 0)
    assert found.p_value == pytest.approx(stats.ttest_1samp(values, 0).pvalue)


def test_five_clusters_cannot_reach_five_percent_but_have_student_s_interval() -> None:
    found = permutation_test(single([2.0, 2.5, 1.5, 2.2, 1.8]))
    assert found.p_value == 2 / 32
    assert found.interval == pytest.approx(tuple(stats.ttest_1samp([2.0, 2.5, 1.5, 2.2, 1.8], 0).confidence_interval()))


def test_of_nothing_nothing() -> None:
    found = permutation_test(single([]))
    assert (found.p_value, found.interval) == (1.0, None)
    assert permutation_test(single([0.0, 0.0])).p_value == 1.0
