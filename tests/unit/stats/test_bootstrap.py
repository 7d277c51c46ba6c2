"""The bootstrap: reproducible, honest about clusters, and silent where nothing can be said."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from statistics import fmean

import pytest

from howsure.stats.bootstrap import bootstrap_interval, quantile


def mean(values: Sequence[float]) -> float | None:
    return fmean(values)


def test_the_same_randomness_gives_the_same_interval() -> None:
    values = [float(value) for value in range(20)]
    first = bootstrap_interval(values, mean, Random(7), draws=200)
    assert first == bootstrap_interval(values, mean, Random(7), draws=200)
    assert first is not None
    low, high = first
    assert low < 9.5 < high


def test_the_interval_of_a_rate_is_about_as_wide_as_theory_says() -> None:
    values = [1.0] * 300 + [0.0] * 100
    interval = bootstrap_interval(values, mean, Random(1), draws=1000)
    assert interval is not None
    assert interval == pytest.approx((0.7075, 0.7925), abs=0.01)


def test_clusters_drawn_whole_give_a_wider_interval() -> None:
    values = [(group, float(group % 2)) for group in range(10) for _ in range(10)]

    def rate(drawn: Sequence[tuple[int, float]]) -> float | None:
        return fmean(value for _, value in drawn)

    alone = bootstrap_interval(values, rate, Random(3), draws=400)
    together = bootstrap_interval(values, rate, Random(3), draws=400, cluster=lambda pair: pair[0])
    assert alone is not None
    assert together is not None
    assert together[1] - together[0] > 2 * (alone[1] - alone[0])


def test_one_observation_or_one_cluster_says_nothing() -> None:
    assert bootstrap_interval([1.0], mean, Random(1)) is None
    assert bootstrap_interval([1.0, 2.0], mean, Random(1), cluster=lambda _: "same") is None


def test_a_statistic_that_is_mostly_undefined_has_no_interval() -> None:
    assert bootstrap_interval([1.0, 2.0], lambda _: None, Random(1), draws=10) is None


@pytest.mark.parametrize(("confidence", "draws"), [(0.0, 10), (1.0, 10), (0.95, 0)])
def test_senseless_requests_are_refused(confidence: float, draws: int) -> None:
    with pytest.raises(ValueError, match="no interval"):
        bootstrap_interval([1.0, 2.0], mean, Random(1), draws=draws, confidence=confidence)


def test_a_quantile_is_interpolated() -> None:
    assert [quantile([0.0, 10.0, 20.0], share) for share in (0.0, 0.25, 0.5, 1.0)] == [0.0, 5.0, 10.0, 20.0]
