"""Intervals of a mean against published values and scipy's bootstrap."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from howsure.stats.estimates import Form
from howsure.stats.means import bca, for_mean

SLEEP = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
"""Student's own data (Biometrika 6, 1908): hours of sleep gained by one drug over another."""
LATENCIES = [float(value) for value in np.random.default_rng(5).lognormal(0, 1, 60)]


def test_student_s_own_data_have_student_s_interval() -> None:
    found = for_mean(SLEEP)
    assert found is not None and found.interval is not None
    assert found.value == pytest.approx(1.58)
    assert [round(end, 4) for end in found.interval] == [0.7001, 2.4599]
    assert found.form is Form.STUDENT, "ten values are too few for a bootstrap, lopsided or not"


def test_bca_equals_scipy_s() -> None:
    theirs = stats.bootstrap((LATENCIES,), np.mean, method="BCa", n_resamples=20_000, rng=np.random.default_rng(1))
    limits = theirs.confidence_interval
    assert bca(LATENCIES, draws=20_000) == pytest.approx((limits.low, limits.high), abs=0.02)


def test_many_lopsided_values_have_a_lopsided_interval() -> None:
    found = for_mean(LATENCIES)
    assert found is not None and found.interval is not None
    assert found.form is Form.BCA
    assert found.interval[1] - found.value > 1.2 * (found.value - found.interval[0])
    assert for_mean(LATENCIES) == found, "the same values, the same interval"


def test_many_even_values_have_student_s() -> None:
    found = for_mean([float(place) for place in range(50)])
    assert found is not None
    assert found.form is Form.STUDENT


@pytest.mark.parametrize("values", [[], [3.0]])
def test_bca_of_too_little_is_none(values: list[float]) -> None:
    assert bca(values) is None


def test_bca_of_no_spread_is_none_and_of_no_number_refused() -> None:
    assert bca([2.0, 2.0, 2.0]) is None
    with pytest.raises(ValueError, match="finite"):
        bca([1.0, float("inf")])


def test_no_value_no_mean_and_one_value_no_interval() -> None:
    assert for_mean([]) is None
    one = for_mean([4.0], bounds=(1.0, 5.0))
    assert one is not None
    assert (one.value, one.interval, one.form) == (4.0, None, None)


def test_ten_times_the_same_is_not_certainty() -> None:
    found = for_mean([5.0] * 10, bounds=(1.0, 5.0))
    assert found is not None
    # 0 of 10 has the exact upper limit .3085: so often a 1 may have escaped us.
    assert found.interval == pytest.approx((5 - 0.308497 * 4, 5.0), abs=1e-5)
    assert found.form is Form.NO_SPREAD


def test_the_same_without_a_scale_has_no_interval() -> None:
    found = for_mean([5.0] * 10)
    assert found is not None
    assert (found.interval, found.form) == (None, None)


def test_the_interval_stays_on_the_scale() -> None:
    found = for_mean([0.0, 1.0, 1.0], bounds=(0.0, 1.0))
    assert found is not None
    assert found.interval == (0.0, 1.0)


def test_clusters_are_heeded_and_counted() -> None:
    values = [1.0, 1.1, 3.0, 3.1, 5.0, 5.1]
    found = for_mean(values, clusters=["a", "a", "b", "b", "c", "c"])
    alone = for_mean(values)
    assert found is not None and alone is not None
    assert found.interval is not None and alone.interval is not None
    assert (found.form, found.clusters) == (Form.CLUSTER_ROBUST, 3)
    assert found.interval[0] < alone.interval[0]


def test_clusters_without_spread_count_as_one_value_each() -> None:
    found = for_mean([1.0] * 6, clusters=["a", "a", "b", "b", "c", "c"], bounds=(0.0, 1.0))
    assert found is not None
    assert found.interval == pytest.approx((1 - 0.707598, 1.0), abs=1e-5), "0 of 3, exactly"
