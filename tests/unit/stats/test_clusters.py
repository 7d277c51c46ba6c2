"""Cluster-robust intervals against the matrix formulas and the beta-binomial distribution of scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta, betabinom, binom, norm

from howsure.stats.clusters import (
    ClusterCounts,
    ClusterSums,
    Floats,
    cluster_rate,
    cluster_sums,
    clustered_rate,
    count_clusters,
    mixture_interval,
    robust_mean,
    similarity_levels,
    similarity_weights,
)
from howsure.stats.estimates import clopper_pearson, estimate_mean
from howsure.stats.intervals import IntervalMethod, score_interval, wilson

VALUES = [1.0, 2.0, 4.0, 3.0, 7.0, 5.0, 6.0, 2.0, 9.0]
NAMES = ["a", "a", "a", "b", "b", "c", "d", "d", "d"]


def by_matrices(values: list[float], names: list[str]) -> tuple[float, float]:
    """The CR2 error and Bell and McCaffrey's degrees of freedom of a regression on a constant, written out."""
    y, one = np.array(values), np.ones((len(values), 1))
    hat = one @ one.T / len(y)
    residual_maker = np.eye(len(y)) - hat
    meat, columns = 0.0, []
    for name in dict.fromkeys(names):
        own = np.array([other == name for other in names])
        block = np.eye(own.sum()) - hat[np.ix_(own, own)]
        roots, vectors = np.linalg.eigh(block)
        half = vectors @ np.diag(roots**-0.5) @ vectors.T
        meat += float((one[own].T @ half @ (residual_maker @ y)[own])[0]) ** 2
        columns.append(residual_maker[own].T @ half @ one[own] / len(y))
    spread = np.hstack(columns)
    eigenvalues = np.linalg.eigvalsh(spread.T @ spread)
    return meat**0.5 / len(y), float(eigenvalues.sum() ** 2 / (eigenvalues**2).sum())


def test_the_closed_form_equals_the_matrices() -> None:
    found = robust_mean(cluster_sums(VALUES, NAMES))
    error, freedom = by_matrices(VALUES, NAMES)
    assert found is not None
    assert found.mean == pytest.approx(39 / 9)
    assert found.error == pytest.approx(error, rel=1e-12)
    assert found.freedom == pytest.approx(freedom, rel=1e-9)


def test_clusters_of_one_are_student_s_t() -> None:
    found = robust_mean(cluster_sums([1.0, 2.0, 3.0, 4.0, 5.0], list("abcde")))
    assert found is not None
    assert found.interval() == pytest.approx((1.036757, 4.963243), abs=1e-6)


def test_equal_clusters_are_as_good_as_their_means() -> None:
    values = [-1.0, 1.0, 0.0, 2.0, 4.0, 6.0]
    found = estimate_mean(values, ["a", "a", "b", "b", "c", "c"])
    assert found is not None
    assert found.interval == pytest.approx((-4.572411, 8.572411), abs=1e-6)
    assert (found.n, found.clusters, found.form) == (6, 3, IntervalMethod.CLUSTER_ROBUST)
    together = estimate_mean(values, ["a", "a", "b", "b", "c", "c"], bounds=(-2.0, 6.0))
    means = estimate_mean([0.0, 1.0, 5.0], bounds=(-2.0, 6.0))
    assert together is not None and means is not None
    assert together.interval == pytest.approx(means.interval, abs=1e-9), "between bounds too"


@pytest.mark.parametrize(("values", "names"), [([1.0, 2.0], ["a", "a"]), ([2.0, 2.0], ["a", "b"])])
def test_one_cluster_or_no_spread_has_a_mean_and_no_interval(values: list[float], names: list[str]) -> None:
    found = estimate_mean(values, names)
    assert found is not None
    assert (found.interval, found.form) == (None, None)


def test_of_nothing_there_is_no_mean() -> None:
    assert estimate_mean([], []) is None
    assert clustered_rate([], []) is None


def test_copies_of_a_verdict_are_worth_nothing() -> None:
    verdicts = [True, True, False, True, False, True, True, True]
    copied = [verdict for verdict in verdicts for _ in range(5)]
    found = clustered_rate(copied, [place // 5 for place in range(40)])
    assert found is not None and found.interval is not None
    # Near the exact interval for eight cases, far from the 0.60 to 0.86 for forty.
    assert found.interval == pytest.approx(clopper_pearson(6, 8), abs=0.01)


def test_where_many_clusters_have_both_kinds_the_variance_of_the_clusters_is_trusted() -> None:
    verdicts = [place < count for count in [10, 8, 6, 4] * 15 for place in range(10)]
    found = clustered_rate(verdicts, [place // 10 for place in range(600)])
    assert found is not None and found.form is IntervalMethod.CLUSTER_SCORE
    # Cluster rates of 1, .8, .6 and .4: a variance of .05 · 60/59 over 60 clusters, with t of 59 degrees (2.000995).
    worth = 0.7 * 0.3 / (0.05 * 60 / 59 / 60)
    assert found.interval == pytest.approx(score_interval(0.7, worth, 2.000995), abs=1e-6)


@pytest.mark.parametrize(
    ("failing", "form"), [(39, IntervalMethod.CLUSTER_MIXTURE), (40, IntervalMethod.CLUSTER_SCORE)]
)
def test_below_forty_clusters_with_a_failure_every_plausible_variance_counts(
    failing: int, form: IntervalMethod
) -> None:
    verdicts = [not (cluster < failing and place == 0) for cluster in range(100) for place in range(5)]
    found = clustered_rate(verdicts, [place // 5 for place in range(500)])
    other = clustered_rate([not each for each in verdicts], [place // 5 for place in range(500)])
    assert found is not None and other is not None and found.interval is not None and other.interval is not None
    assert (found.form, other.form) == (form, form)
    assert other.interval == pytest.approx((1 - found.interval[1], 1 - found.interval[0]), abs=1e-6)


def test_a_score_interval_of_whole_cases_is_wilson_s() -> None:
    assert score_interval(0.3, 50, 1.959963984540054) == pytest.approx(wilson(15, 50), abs=1e-12)


def test_where_all_pass_clusters_are_not_taken_for_unrelated_cases() -> None:
    found = clustered_rate([True] * 100, [place // 10 for place in range(100)])
    assert found is not None and found.interval is not None
    assert found.interval == pytest.approx((0.724, 1.0), abs=1e-3)
    assert found.form is IntervalMethod.CLUSTER_MIXTURE, "not the 0.96 of a hundred unrelated cases"


def test_one_cluster_has_a_rate_and_no_interval() -> None:
    found = clustered_rate([True, False], ["a", "a"])
    assert found is not None
    assert (found.value, found.interval) == (0.5, None)


def test_values_without_their_clusters_are_refused() -> None:
    with pytest.raises(ValueError, match="2 values cannot have 1 clusters"):
        cluster_sums([1.0, 2.0], ["a"])
    with pytest.raises(ValueError, match="finite"):
        cluster_sums([1.0, float("nan")], ["a", "b"])


PASSES = np.array([10.0, 9.0, 10.0, 2.0, 10.0, 3.0])
SIZES = np.full(6, 10.0)


def worth_of(seen: ClusterCounts) -> Floats:
    found: Floats = 1 / (similarity_levels() * seen.spread + (1 - similarity_levels()) / seen.cases)
    return found


def test_clusters_of_the_same_passes_and_cases_are_counted_together() -> None:
    seen = count_clusters(np.array([1.0, 2.0, 1.0, 1.0]), np.array([2.0, 2.0, 2.0, 3.0]))
    assert (seen.passes.tolist(), seen.sizes.tolist(), seen.times.tolist()) == ([1, 2, 1], [2, 2, 3], [2, 1, 1])
    assert seen.cases == 9
    assert seen.rate == pytest.approx(5 / 9)


def test_six_clusters_of_ten_leave_a_fifth_of_a_cluster_s_variance() -> None:
    # 1/6 of the variance is left in a mean of six; that they are six and not many costs one of them: 1/5.
    assert count_clusters(PASSES, SIZES).spread == pytest.approx(1 / 5)


def test_the_levels_are_those_of_the_beta_distribution_before_anything_is_seen() -> None:
    assert similarity_levels() == pytest.approx(beta(1 / 3, 1 / 2).ppf((np.arange(16) + 0.5) / 16).clip(1e-6, 0.995))
    assert similarity_levels()[0] < 0.001 < 0.9 < similarity_levels()[-1]


def test_levels_are_weighed_by_how_well_they_explain_the_clusters() -> None:
    def chance(rate: float, level: float) -> float:
        strength = 1 / level - 1
        own = betabinom(10, rate * strength, (1 - rate) * strength)
        return float(np.prod(own.pmf(PASSES)))

    expected = np.array([quad(chance, 0, 1, args=(level,), limit=200)[0] for level in similarity_levels()[4:]])
    found = similarity_weights(count_clusters(PASSES, SIZES), worth_of(count_clusters(PASSES, SIZES)))[4:]
    assert found / found.sum() == pytest.approx(expected / expected.sum(), abs=0.01)


def test_clusters_that_agree_too_well_are_taken_for_unrelated_cases() -> None:
    # Eight of ten in every one of thirty clusters: less spread than chance alone makes.
    low, high = mixture_interval(np.full(30, 8.0), np.full(30, 10.0))
    expected = wilson(240, 300)
    assert expected is not None
    assert (low, high) == pytest.approx(expected, abs=0.012)


def test_copies_are_worth_one_case_each() -> None:
    passes = np.array([5.0] * 30 + [0.0] * 10)
    low, high = mixture_interval(passes, np.full(40, 5.0))
    expected = wilson(30, 40)
    assert expected is not None
    assert (low, high) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("passed", [True, False])
def test_where_all_are_the_same_the_outer_end_is_that_of_the_scale(passed: bool) -> None:
    low, high = mixture_interval(np.full(10, 10.0 * passed), np.full(10, 10.0))
    alone, together = clopper_pearson(10, 10), clopper_pearson(100, 100)
    assert alone is not None and together is not None
    assert (high if passed else low) == float(passed)
    inner = low if passed else 1 - high
    assert alone[0] < inner < together[0], "between ten cases and a hundred: nobody knows how alike they are"
    assert inner == pytest.approx(0.724, abs=0.001)


def test_passes_and_failures_are_treated_alike() -> None:
    low, high = mixture_interval(PASSES, SIZES)
    assert mixture_interval(SIZES - PASSES, SIZES) == pytest.approx((1 - high, 1 - low), abs=1e-6)


def test_a_surer_interval_is_wider() -> None:
    usual, sure = mixture_interval(PASSES, SIZES), mixture_interval(PASSES, SIZES, 0.99)
    assert sure[0] < usual[0] < 44 / 60 < usual[1] < sure[1]


def test_one_huge_cluster_among_small_ones_says_next_to_nothing() -> None:
    low, high = mixture_interval(np.array([500.0, 1.0, 1.0]), np.array([1000.0, 1.0, 1.0]))
    assert low < 0.05 and high > 0.95


def test_many_clusters_of_which_few_fail_are_no_trouble() -> None:
    passes = np.concatenate([np.full(2000, 50.0), np.full(20, 45.0)])
    low, high = mixture_interval(passes, np.full(2020, 50.0))
    # Twenty failing clusters: a relative error of about 1/√20 on a failure rate of 0.1 %.
    assert low < 0.99901 < high
    assert (1 - low) / 0.00099 == pytest.approx(1 + norm.ppf(0.975) / 20**0.5 * 2, abs=0.5)


@pytest.mark.parametrize("clusters", [5, 10, 20])
@pytest.mark.parametrize("rate", [0.97, 0.99])
def test_few_clusters_that_pass_or_fail_as_one_are_held(clusters: int, rate: float) -> None:
    """Summed over how many of them fail."""
    held = 0.0
    for failed in range(clusters + 1):
        sums = np.array([0.0] * failed + [10.0] * (clusters - failed))
        low, high = mixture_interval(sums, np.full(clusters, 10.0))
        held += float(binom.pmf(failed, clusters, 1 - rate)) * (low <= rate <= high)
    assert held >= 0.93


@pytest.mark.parametrize("clusters", [4, 10, 20, 31, 39, 60])
def test_clusters_of_copies_are_held_at_every_rate(clusters: int) -> None:
    """Summed over how many of them fail: the worst rate from 50 to 99.5 %."""
    limits = [
        cluster_rate(
            ClusterSums(sums=np.repeat([10.0, 0.0], [passed, clusters - passed]), sizes=np.full(clusters, 10.0))
        )
        for passed in range(clusters + 1)
    ]
    for rate in np.arange(0.5, 0.996, 0.005):
        inside = [bool(each.interval and each.interval[0] <= rate <= each.interval[1]) for each in limits]
        assert float(binom.pmf(np.arange(clusters + 1), clusters, rate) @ inside) >= 0.93, rate


def test_clusters_that_are_all_alike_have_an_interval() -> None:
    alike = clustered_rate([True, False] * 60, [number // 2 for number in range(120)])
    assert alike is not None
    assert alike.value == 0.5
    assert alike.interval is not None
    assert alike.interval == pytest.approx(wilson(60, 120), abs=0.01)
