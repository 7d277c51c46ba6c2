"""Cluster-robust intervals against the matrix formulas they are the closed form of."""

from __future__ import annotations

import numpy as np
import pytest

from howsure.stats.clusters import (
    cluster_bootstrap,
    cluster_sums,
    clustered_mean,
    clustered_rate,
    robust,
    score_interval,
)
from howsure.stats.estimates import Form
from howsure.stats.intervals import mean_interval, wilson

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
    found = robust(cluster_sums(VALUES, NAMES))
    error, freedom = by_matrices(VALUES, NAMES)
    assert found is not None
    assert found.mean == pytest.approx(39 / 9)
    assert found.error == pytest.approx(error, rel=1e-12)
    assert found.freedom == pytest.approx(freedom, rel=1e-9)


def test_without_the_correction_it_is_the_plain_sandwich() -> None:
    found = robust(cluster_sums([0.0, 2.0, 4.0, 6.0], ["a", "a", "b", "b"]), corrected=False)
    assert found is not None
    # Residual sums of −4 and +4 over four values: √32 / 4.
    assert found.error == pytest.approx(32**0.5 / 4)
    assert found.freedom == 1


def test_clusters_of_one_are_student_s_t() -> None:
    found = clustered_mean([1.0, 2.0, 3.0, 4.0, 5.0], list("abcde"))
    assert found is not None
    assert found.interval == pytest.approx(mean_interval([1.0, 2.0, 3.0, 4.0, 5.0]), abs=1e-9)
    assert found.form is Form.CLUSTER_ROBUST


def test_equal_clusters_are_as_good_as_their_means() -> None:
    found = clustered_mean([1.0, 3.0, 2.0, 4.0, 6.0, 8.0], ["a", "a", "b", "b", "c", "c"])
    assert found is not None
    assert found.interval == pytest.approx(mean_interval([2.0, 3.0, 7.0]), abs=1e-9)
    assert (found.n, found.clusters) == (6, 3)


@pytest.mark.parametrize(("values", "names"), [([1.0, 2.0], ["a", "a"]), ([2.0, 2.0], ["a", "b"])])
def test_one_cluster_or_no_spread_has_a_mean_and_no_interval(values: list[float], names: list[str]) -> None:
    found = clustered_mean(values, names)
    assert found is not None
    assert (found.interval, found.form) == (None, None)


def test_of_nothing_there_is_no_mean() -> None:
    assert clustered_mean([], []) is None
    assert clustered_rate([], []) is None


def test_a_bounded_mean_stays_on_its_scale() -> None:
    found = clustered_mean([0.0, 0.1, 1.0, 1.0], ["a", "a", "b", "b"], bounds=(0.0, 1.0))
    assert found is not None
    assert found.interval == (0.0, 1.0)


def test_copies_of_a_verdict_are_worth_nothing() -> None:
    verdicts = [True, True, False, True, False, True, True, True]
    copied = [verdict for verdict in verdicts for _ in range(5)]
    found = clustered_rate(copied, [place // 5 for place in range(40)])
    assert found is not None and found.interval is not None
    # Near the 0.41 to 0.93 of Wilson's interval for eight cases, far from the 0.60 to 0.86 for forty.
    assert found.interval == pytest.approx((0.387, 0.928), abs=1e-3)


def test_where_many_clusters_have_both_kinds_the_variance_of_the_clusters_is_trusted() -> None:
    verdicts = [place < count for count in [10, 8, 6, 4] * 15 for place in range(10)]
    found = clustered_rate(verdicts, [place // 10 for place in range(600)])
    assert found is not None and found.form is Form.CLUSTER_SCORE
    # Cluster rates of 1, .8, .6 and .4: a variance of .05 · 60/59 over 60 clusters, with t of 59 degrees (2.000995).
    worth = 0.7 * 0.3 / (0.05 * 60 / 59 / 60)
    assert found.interval == pytest.approx(score_interval(0.7, worth, 2.000995), abs=1e-6)


@pytest.mark.parametrize(("failing", "form"), [(39, Form.CLUSTER_MIXTURE), (40, Form.CLUSTER_SCORE)])
def test_below_forty_clusters_with_a_failure_every_plausible_variance_counts(failing: int, form: Form) -> None:
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
    assert found.interval == pytest.approx((0.740, 1.0), abs=1e-3)
    assert found.form is Form.CLUSTER_MIXTURE, "not the 0.96 of a hundred unrelated cases"


def test_one_cluster_has_a_rate_and_no_interval() -> None:
    found = clustered_rate([True, False], ["a", "a"])
    assert found is not None
    assert (found.value, found.interval) == (0.5, None)


def test_the_cluster_bootstrap_of_three_clusters_draws_all_ten_mixtures() -> None:
    # Cluster means 0, 3 and 6: of 27 equally likely draws one has mean 0 and one has mean 6, so 2.5 % lies at an end.
    found = cluster_bootstrap([0.0, 0.0, 3.0, 3.0, 6.0, 6.0], ["a", "a", "b", "b", "c", "c"], draws=20_000)
    assert found == (0.0, 6.0)


def test_the_cluster_bootstrap_weighs_clusters_by_their_size_and_is_repeatable() -> None:
    names = [place // 4 for place in range(200)]
    values = [float(place % 7) for place in range(200)]
    first, again = cluster_bootstrap(values, names, seed=3), cluster_bootstrap(values, names, seed=3)
    found = robust(cluster_sums(values, names))
    assert first is not None and found is not None
    assert first == again
    assert first == pytest.approx(found.interval(), abs=0.03)
    assert cluster_bootstrap([1.0, 2.0], ["a", "a"]) is None
    assert cluster_bootstrap([1.0, 2.0]) is not None


def test_values_without_their_clusters_are_refused() -> None:
    with pytest.raises(ValueError, match="2 values cannot have 1 clusters"):
        cluster_sums([1.0, 2.0], ["a"])
    with pytest.raises(ValueError, match="finite"):
        cluster_sums([1.0, float("nan")], ["a", "b"])
