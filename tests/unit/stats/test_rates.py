"""Intervals of a rate against published tables, and the choice among them."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest

from howsure.stats.estimates import Form
from howsure.stats.intervals import wilson
from howsure.stats.rates import exact, for_rate, jeffreys

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
    assert printed(exact(passed, judged), 4) == tails


# Brown, Cai and DasGupta, Statistical Science 16 (2001), 101–133, table 5.
@pytest.mark.parametrize(
    ("passed", "judged", "limits"),
    [
        (0, 7, (0.0, 0.292)),
        (1, 7, (0.016, 0.501)),
        (2, 7, (0.065, 0.648)),
        (0, 10, (0.0, 0.217)),
        (1, 10, (0.011, 0.381)),
        (2, 10, (0.044, 0.503)),
        (1, 12, (0.009, 0.328)),
        (2, 12, (0.036, 0.436)),
    ],
)
def test_jeffreys_as_brown_cai_and_dasgupta_printed_it(passed: int, judged: int, limits: tuple[float, float]) -> None:
    assert printed(jeffreys(passed, judged), 3) == limits


@pytest.mark.parametrize("judged", [1, 2, 7, 30, 299])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_exact_and_wilson_equal_scipy_s(judged: int, confidence: float) -> None:
    for passed in {0, 1, judged // 3, judged - 1, judged}:
        test = binomtest(passed, judged)
        assert exact(passed, judged, confidence) == pytest.approx(test.proportion_ci(confidence, "exact"), abs=1e-9)
        assert wilson(passed, judged, confidence) == pytest.approx(test.proportion_ci(confidence, "wilson"), abs=1e-9)


def test_the_exact_ends_leave_exactly_the_tails() -> None:
    limits = exact(3, 12)
    assert limits is not None
    assert binomtest(3, 12, limits[0], "greater").pvalue == pytest.approx(0.025)
    assert binomtest(3, 12, limits[1], "less").pvalue == pytest.approx(0.025)


@pytest.mark.parametrize("interval", [exact, jeffreys])
def test_nothing_judged_gives_no_interval_and_no_rate_is_refused(interval: object) -> None:
    assert callable(interval)
    assert interval(0, 0) is None
    with pytest.raises(ValueError, match="4 of 3 is not a rate"):
        interval(4, 3)
    with pytest.raises(ValueError, match="between 0 and 1"):
        interval(1, 3, 95)


@pytest.mark.parametrize(
    ("passed", "judged", "form", "limits"),
    [
        (8, 13, Form.EXACT, (0.3158, 0.8614)),
        (30, 30, Form.EXACT, (0.8843, 1.0)),
        (299, 299, Form.EXACT, (0.9877, 1.0)),
        (300, 300, Form.WILSON, (0.9874, 1.0)),
        (270, 300, Form.WILSON, (0.8608, 0.9291)),
    ],
)
def test_few_cases_have_the_exact_interval(passed: int, judged: int, form: Form, limits: tuple[float, float]) -> None:
    found = for_rate(passed, judged)
    assert found is not None
    assert (found.value, found.form, found.n, found.clusters) == (passed / judged, form, judged, judged)
    assert printed(found.interval, 4) == limits


def test_verdicts_may_be_given_instead_of_counts() -> None:
    assert for_rate([True] * 8 + [False] * 5) == for_rate(8, 13)
    assert for_rate([]) is None
    assert for_rate(0, 0) is None


def test_a_cluster_each_is_no_cluster() -> None:
    assert for_rate([True, False, True], clusters=["a", "b", "c"]) == for_rate(2, 3)


def test_clusters_widen_the_interval_and_are_counted() -> None:
    verdicts = [True] * 40 + [False] * 20
    together = for_rate(verdicts, clusters=[place // 10 for place in range(60)])
    alone = for_rate(verdicts)
    assert together is not None and alone is not None
    assert together.interval is not None and alone.interval is not None
    assert (together.form, together.n, together.clusters) == (Form.CLUSTER_MIXTURE, 60, 6)
    assert together.value == alone.value
    assert together.interval[0] < alone.interval[0] - 0.1


def test_clusters_of_a_mere_count_cannot_be_told_apart() -> None:
    with pytest.raises(ValueError, match="one verdict for each case"):
        for_rate(2, 3, clusters=["a", "a", "b"])
    with pytest.raises(ValueError, match="2 verdicts are not 3 judged cases"):
        for_rate([True, False], 3)
