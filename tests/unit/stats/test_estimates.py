"""Rates, means and percentiles against published tables and scipy, and which interval is chosen for which data."""

from __future__ import annotations

from math import inf
from random import Random

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq
from scipy.stats import binomtest

from howsure.stats.estimates import (
    clopper_pearson,
    estimate_mean,
    estimate_percentile,
    estimate_rate,
    percentile_ranks,
    values_needed,
)
from howsure.stats.intervals import IntervalMethod, wilson

# Newcombe, Statistics in Medicine 17 (1998), 857–872, table I: methods 3 (Wilson) and 5 (Clopper–Pearson).
PUBLISHED = [
    (81, 263, (0.2553, 0.3662), (0.2527, 0.3676)),
    (15, 148, (0.0624, 0.1605), (0.0578, 0.1617)),
    (0, 20, (0.0000, 0.1611), (0.0000, 0.1684)),
    (1, 29, (0.0061, 0.1718), (0.0009, 0.1776)),
]


def printed(interval: tuple[float, float] | None, digits: int) -> tuple[float, float]:
    assert interval is not None
    return round(interval[0], digits), round(interval[1], digits)


@pytest.mark.parametrize(("passed", "judged", "score", "tails"), PUBLISHED)
def test_wilson_and_exact_as_newcombe_printed_them(
    passed: int, judged: int, score: tuple[float, float], tails: tuple[float, float]
) -> None:
    assert printed(wilson(passed, judged), 4) == score
    assert printed(clopper_pearson(passed, judged), 4) == tails


@pytest.mark.parametrize("judged", [1, 2, 7, 30, 299])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_exact_and_wilson_equal_scipy_s(judged: int, confidence: float) -> None:
    for passed in {0, 1, judged // 3, judged - 1, judged}:
        test = binomtest(passed, judged)
        assert clopper_pearson(passed, judged, confidence) == pytest.approx(
            test.proportion_ci(confidence, "exact"), abs=1e-9
        )
        assert wilson(passed, judged, confidence) == pytest.approx(test.proportion_ci(confidence, "wilson"), abs=1e-9)


def test_the_exact_ends_leave_exactly_the_tails() -> None:
    limits = clopper_pearson(3, 12)
    assert limits is not None
    assert binomtest(3, 12, limits[0], "greater").pvalue == pytest.approx(0.025)
    assert binomtest(3, 12, limits[1], "less").pvalue == pytest.approx(0.025)


def test_nothing_judged_gives_no_interval_and_no_rate_is_refused() -> None:
    assert clopper_pearson(0, 0) is None
    with pytest.raises(ValueError, match="4 of 3 is not a rate"):
        clopper_pearson(4, 3)
    with pytest.raises(ValueError, match="between 0 and 1"):
        clopper_pearson(1, 3, 95)


@pytest.mark.parametrize(
    ("passed", "judged", "form", "limits"),
    [
        (8, 13, IntervalMethod.EXACT, (0.3158, 0.8614)),
        (30, 30, IntervalMethod.EXACT, (0.8843, 1.0)),
        (299, 299, IntervalMethod.EXACT, (0.9877, 1.0)),
        (300, 300, IntervalMethod.WILSON, (0.9874, 1.0)),
        (270, 300, IntervalMethod.WILSON, (0.8608, 0.9291)),
    ],
)
def test_few_cases_have_the_exact_interval(
    passed: int, judged: int, form: IntervalMethod, limits: tuple[float, float]
) -> None:
    found = estimate_rate(passed, judged)
    assert found is not None
    assert (found.value, found.form, found.n, found.clusters) == (passed / judged, form, judged, judged)
    assert printed(found.interval, 4) == limits


def test_verdicts_may_be_given_instead_of_counts() -> None:
    assert estimate_rate([True] * 8 + [False] * 5) == estimate_rate(8, 13)
    assert estimate_rate([]) is None
    assert estimate_rate(0, 0) is None


def test_a_cluster_each_is_no_cluster() -> None:
    assert estimate_rate([True, False, True], clusters=["a", "b", "c"]) == estimate_rate(2, 3)


def test_clusters_widen_the_interval_and_are_counted() -> None:
    verdicts = [True] * 40 + [False] * 20
    together = estimate_rate(verdicts, clusters=[place // 10 for place in range(60)])
    alone = estimate_rate(verdicts)
    assert together is not None and alone is not None
    assert together.interval is not None and alone.interval is not None
    assert (together.form, together.n, together.clusters) == (IntervalMethod.CLUSTER_MIXTURE, 60, 6)
    assert together.value == alone.value
    assert together.interval[0] < alone.interval[0] - 0.1


def test_clusters_of_a_mere_count_cannot_be_told_apart() -> None:
    with pytest.raises(ValueError, match="one verdict for each case"):
        estimate_rate(2, 3, clusters=["a", "a", "b"])
    with pytest.raises(ValueError, match="2 verdicts are not 3 judged cases"):
        estimate_rate([True, False], 3)


SLEEP = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
"""Student's own data (Biometrika 6, 1908): hours of sleep gained by one drug over another."""
LATENCIES = [float(value) for value in np.random.default_rng(5).lognormal(0, 1, 60)]


def test_student_s_own_data_have_student_s_interval() -> None:
    found = estimate_mean([value - 2 for value in SLEEP])
    assert found is not None and found.interval is not None
    assert found.value == pytest.approx(-0.42)
    assert [round(end + 2, 4) for end in found.interval] == [0.7001, 2.4599]
    assert found.form is IntervalMethod.STUDENT, "what may be negative is no amount"


def test_amounts_have_an_interval_that_reaches_towards_the_tail() -> None:
    found = estimate_mean(LATENCIES)
    assert found is not None and found.interval is not None
    assert found.form is IntervalMethod.SKEWED
    assert found.interval[1] - found.value > 1.5 * (found.value - found.interval[0])
    even = estimate_mean([float(place) for place in range(50)])
    assert even is not None
    assert even.interval == pytest.approx((20.357155, 28.642845), abs=1e-6)


def test_hall_s_transformation_by_hand() -> None:
    """Where an amount is zero, the amounts are not lognormal."""
    values = [0.0] + [1.0] * 4 + [2.0] * 4 + [7.0]
    found = estimate_mean(values)
    assert found is not None
    assert found.interval == pytest.approx(by_hand(values), abs=1e-9)


def by_hand(values: list[float]) -> tuple[float, float]:
    n, mean = len(values), float(np.mean(values))
    apart = np.array(values) - mean
    skewness = (
        n / ((n - 1) * (n - 2)) * float((apart**3).sum()) / float(np.std(values, ddof=1)) ** 3 * (1 + 5 / max(n, 10))
    )
    critical, error = float(stats.t.ppf(0.975, n - 1)), float(np.std(values, ddof=1)) / n**0.5

    def transformed(t: float) -> float:
        """Hall (1992): t + g t²/(3√n) + g² t³/(27 n) + g/(6√n)."""
        return float(t + skewness * t**2 / (3 * n**0.5) + skewness**2 * t**3 / (27 * n) + skewness / (6 * n**0.5))

    low, high = (brentq(lambda t, end=end: transformed(t) - end, -1e4, 1e4) for end in (critical, -critical))
    return max(0.0, mean - low * error), mean - high * error


def test_few_amounts_may_have_a_long_tail() -> None:
    """Logarithms 0, 0.5, 1: mean 0.5, variance 0.25. They have no skewness and a kurtosis of −1.5, which is
    3 · 1.5² / 24 = 0.28 from a normal curve, so Zou's interval has a share of 1 / (1 + (0.28125 / 3)²) = 0.9913."""
    values = [float(np.exp(place / 2)) for place in range(3)]
    found = estimate_mean(values)
    assert found is not None and found.interval is not None
    assert found.form is IntervalMethod.SKEWED
    few, many = (2 / float(stats.chi2.ppf(tail, 2)) for tail in (0.025, 0.975))
    of_mean = 4.302653 * (0.25 / 3) ** 0.5
    low = float(np.exp(0.625 - np.hypot(of_mean, 0.125 * (1 - many))))
    high = float(np.exp(0.625 + np.hypot(of_mean, 0.125 * (few - 1))))
    hall = by_hand(values)
    assert found.interval[0] == pytest.approx(min(hall[0], 0.9913 * low + 0.0087 * hall[0]), rel=1e-4)
    assert found.interval[1] == pytest.approx(high**0.9913 * hall[1] ** 0.0087, rel=1e-3)


def test_many_lognormal_amounts_have_nearly_cox_s_interval_and_others_hall_s() -> None:
    even = (np.arange(1000) + 0.5) / 1000
    lognormal = np.exp(1.5 * stats.norm.ppf(even))
    found, logs = estimate_mean(lognormal.tolist()), np.log(lognormal)
    variance = float(logs.var(ddof=1))
    half = 1.96 * (variance / 1000 + variance**2 / 2 / 999) ** 0.5
    assert found is not None and found.interval is not None
    assert found.interval[1] == pytest.approx(float(np.exp(variance / 2 + half)), rel=0.01)
    exponential = (-np.log(even)).tolist()
    other = estimate_mean(exponential)
    assert other is not None and other.interval is not None
    assert other.interval == pytest.approx((0.940, 1.064), abs=2e-3), "not Cox's, which is twice as wide"


def test_few_amounts_that_differ_by_much_have_an_end_that_can_be_read() -> None:
    found = estimate_mean([0.01, 1.0, 40.0])
    assert found is not None and found.interval is not None
    assert found.interval[0] == 0.0
    assert 1_000 < found.interval[1] < 10_000_000


def test_few_amounts_that_lean_down_reach_up_as_far_as_student_s_t() -> None:
    found = estimate_mean([0.0, 1.0, 1.0])
    assert found is not None and found.interval is not None
    assert found.interval[0] == 0.0
    assert found.interval[1] == pytest.approx(2 / 3 + 4.302653 / 3, abs=1e-6)


def test_clusters_of_amounts_that_differ_in_size_keep_their_mean_inside() -> None:
    values = [1.0] * 40 + [9.0, 4.0, 6.0]
    found = estimate_mean(values, clusters=["big"] * 40 + ["a", "b", "c"])
    assert found is not None and found.interval is not None
    assert found.interval[0] < found.value < found.interval[1]


def test_few_amounts_that_hardly_differ_have_a_short_interval() -> None:
    near = estimate_mean([1.0, 1.1, 0.9, 1.2, 1.0])
    assert near is not None
    assert near.interval == pytest.approx((0.910, 1.256), abs=1e-3), "Student's t has 0.898 to 1.182"


def test_values_at_the_ends_of_a_scale_have_the_interval_of_a_rate() -> None:
    found = estimate_mean([5.0] * 9 + [1.0], bounds=(1.0, 5.0))
    assert found is not None
    assert found.form is IntervalMethod.EXACT
    low, high = stats.binomtest(9, 10).proportion_ci(0.95, "exact")
    assert found.interval == pytest.approx((1 + 4 * low, 1 + 4 * high), abs=1e-9)


@pytest.mark.parametrize(("times", "unseen"), [(1, 0.5), (2, 0.2 + 6 / 22), (9, 0.4)])
def test_at_each_end_of_a_scale_up_to_half_a_value_may_hide(times: int, unseen: float) -> None:
    found = estimate_mean(([1.0] * 9 + [0.5, 0.0]) * times, bounds=(0.0, 1.0))
    assert found is not None
    assert found.form is IntervalMethod.BOUNDED

    def lower(total: float, squares: float) -> float:
        """Of 11 values and the unseen zeros: the beta distribution with their mean and their spread."""
        count = 11 * times + unseen
        centre = total * times / count
        variance = (squares * times / count - centre**2) / (count + 1)
        strength = centre * (1 - centre) / variance - 1
        return float(stats.beta.ppf(0.025, centre * strength, (1 - centre) * strength))

    assert found.interval == pytest.approx((lower(9.5, 9.25), 1 - lower(1.5, 1.25)), abs=1e-9)


@pytest.mark.parametrize("n", [8, 15, 30])
@pytest.mark.parametrize(
    "shares", [(0.02, 0.03, 0.05, 0.2, 0.7), (0.05, 0, 0, 0.38, 0.57), (0, 0, 0.02, 0.38, 0.6), (0.7, 0.2, 0.1, 0, 0)]
)
def test_grades_near_an_end_are_held(n: int, shares: tuple[float, ...]) -> None:
    random, truth, held = np.random.default_rng(4), float(np.dot([1, 2, 3, 4, 5], shares)), 0
    for drawn in random.choice([1.0, 2.0, 3.0, 4.0, 5.0], size=(600, n), p=shares).tolist():
        found = estimate_mean(drawn, bounds=(1.0, 5.0))
        assert found is not None and found.interval is not None
        held += found.interval[0] <= truth <= found.interval[1]
    assert held / 600 >= 0.925


def test_thirty_grades_of_4_and_5_are_not_much_wider_than_student_s() -> None:
    found = estimate_mean([5.0] * 18 + [4.0] * 12, bounds=(1.0, 5.0))
    assert found is not None and found.interval is not None
    plain = 2 * float(stats.t.ppf(0.975, 29)) * (0.24 * 30 / 29 / 30) ** 0.5
    assert found.interval[1] - found.interval[0] < 1.25 * plain


@pytest.mark.parametrize("n", [5, 15, 30, 60])
@pytest.mark.parametrize("spread", [0.5, 1.0, 1.5])
def test_means_of_skewed_costs_are_held(n: int, spread: float) -> None:
    held, truth = 0, float(np.exp(spread**2 / 2))
    for drawn in np.random.default_rng(6).lognormal(0, spread, size=(800, n)).tolist():
        found = estimate_mean(drawn)
        assert found is not None and found.interval is not None
        held += found.interval[0] <= truth <= found.interval[1]
    assert held / 800 >= 0.925


def test_no_value_no_mean_and_one_value_no_interval() -> None:
    assert estimate_mean([]) is None
    one = estimate_mean([4.0], bounds=(1.0, 5.0))
    assert one is not None
    assert (one.value, one.interval, one.form) == (4.0, None, None)


def test_ten_times_the_same_is_not_certainty() -> None:
    found = estimate_mean([5.0] * 10, bounds=(1.0, 5.0))
    assert found is not None
    # 0 of 10 has the exact upper limit .3085: so often a 1 may have escaped us.
    assert found.interval == pytest.approx((5 - 0.308497 * 4, 5.0), abs=1e-5)
    assert found.form is IntervalMethod.NO_SPREAD


def test_the_same_without_a_scale_has_no_interval() -> None:
    found = estimate_mean([5.0] * 10)
    assert found is not None
    assert (found.interval, found.form) == (None, None)


def test_the_interval_stays_on_the_scale() -> None:
    found = estimate_mean([0.0, 1.0, 1.0], bounds=(0.0, 1.0))
    assert found is not None
    assert found.interval is not None
    assert 0.0 <= found.interval[0] < found.interval[1] <= 1.0


def test_clusters_are_heeded_and_counted() -> None:
    values = [-1.0, -0.9, 1.0, 1.1, 3.0, 3.1]
    found = estimate_mean(values, clusters=["a", "a", "b", "b", "c", "c"])
    alone = estimate_mean(values)
    assert found is not None and alone is not None
    assert found.interval is not None and alone.interval is not None
    assert (found.form, found.clusters) == (IntervalMethod.CLUSTER_ROBUST, 3)
    assert found.interval[0] < alone.interval[0]


def test_clusters_without_spread_count_as_one_value_each() -> None:
    found = estimate_mean([1.0] * 6, clusters=["a", "a", "b", "b", "c", "c"], bounds=(0.0, 1.0))
    assert found is not None
    assert found.interval == pytest.approx((1 - 0.707598, 1.0), abs=1e-5), "0 of 3, exactly"


@pytest.mark.parametrize(
    ("n", "share", "expected"),
    [
        (6, 0.5, (1, 6)),
        (9, 0.5, (2, 8)),
        (10, 0.5, (2, 9)),
        (20, 0.5, (6, 15)),
        (5, 0.5, (0, 6)),
        (71, 0.95, (63, 72)),
        (73, 0.95, (65, 73)),
        (100, 0.95, (90, 100)),
    ],
)
def test_the_ranks_of_an_interval_are_those_of_published_tables(
    n: int, share: float, expected: tuple[int, int]
) -> None:
    assert percentile_ranks(n, share) == expected


@pytest.mark.parametrize(("share", "above", "expected"), [(0.5, True, 6), (0.95, True, 72), (0.99, True, 368),
                                                          (0.95, False, 2), (0.5, False, 6)])  # fmt: skip
def test_how_many_values_an_end_takes(share: float, above: bool, expected: int) -> None:
    assert values_needed(share, above=above) == expected


def test_a_percentile_lies_between_values_that_were_seen() -> None:
    found = estimate_percentile([float(number) for number in range(100, 0, -1)], 0.95)
    assert found is not None
    assert (found.value, found.interval, found.n, found.form) == (95.0, (90.0, 100.0), 100, IntervalMethod.ORDER)


def test_with_too_few_values_the_upper_end_is_not_known() -> None:
    found = estimate_percentile([1.0, 2.0, 3.0], 0.95)
    assert found is not None
    assert found.value == 3.0
    assert found.interval == (2.0, inf)


def test_a_value_that_is_not_known_counts_as_the_worst() -> None:
    found = estimate_percentile([*range(1, 96), inf, inf, inf, inf, inf], 0.9)
    assert found is not None
    assert found.value == 90
    assert found.interval == (84, inf)


def test_repeats_of_one_case_count_less_than_cases() -> None:
    values = [float(number) for number in range(100)]
    apart = estimate_percentile(values, 0.9)
    together = estimate_percentile(values, 0.9, [number // 5 for number in range(100)])
    assert apart is not None and together is not None
    assert apart.interval == (83.0, 95.0)
    assert together.interval is not None
    assert together.interval[0] < 83.0
    assert together.clusters == 20


def test_nothing_has_no_percentile() -> None:
    assert estimate_percentile([], 0.5) is None


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 95.0])
def test_a_share_outside_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="a percentile lies between 0 and 1"):
        estimate_percentile([1.0], share)


@pytest.mark.parametrize(("n", "share"), [(30, 0.5), (100, 0.95), (200, 0.9)])
def test_the_interval_covers_as_often_as_it_promises(n: int, share: float) -> None:
    random, covered = Random(7), 0
    for _ in range(400):
        found = estimate_percentile([random.random() for _ in range(n)], share)
        assert found is not None and found.interval is not None
        covered += found.interval[0] <= share <= found.interval[1]
    assert covered >= 0.93 * 400
