"""Intervals against values from published tables."""

from __future__ import annotations

from math import log

import pytest

from howsure.stats.intervals import rate_interval, wilson


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (8, 13, 0.355229, 0.822903),
        (0, 10, 0.0, 0.277533),
        (10, 10, 0.722467, 1.0),
        (1, 1, 0.206549, 1.0),
        (0, 1, 0.0, 0.793451),
        (5, 10, 0.236593, 0.763407),
        (81, 263, 0.255289, 0.366210),
        (500_000, 1_000_000, 0.499020, 0.500980),
    ],
)
def test_wilson(successes: int, n: int, low: float, high: float) -> None:
    assert wilson(successes, n) == pytest.approx((low, high), abs=1e-6)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        # Half of the 5 % points of chi-square with 2, 4 and 6 degrees of freedom (0.1026, 0.7107, 1.6354), by n.
        (1, 10, 0.005129, 0.404150),
        (2, 10, 0.035536, 0.509838),
        (9, 10, 0.595850, 0.994871),
        (8, 10, 0.490162, 0.964464),
        (1, 60, 0.000855, 0.088551),
        (3, 60, 0.013628, 0.137005),
        (57, 60, 0.862995, 0.986372),
        (1, 3, 0.017098, 0.792340),
        (2, 3, 0.207660, 0.982902),
    ],
)
def test_next_to_none_and_all_the_outer_end_is_that_of_a_rare_event(
    successes: int, n: int, low: float, high: float
) -> None:
    assert rate_interval(successes, n) == pytest.approx((low, high), abs=1e-6)


@pytest.mark.parametrize(("successes", "n"), [(0, 10), (10, 10), (3, 10), (7, 10), (4, 60), (1, 2), (1, 1), (0, 1)])
def test_everywhere_else_it_is_wilson_s(successes: int, n: int) -> None:
    assert rate_interval(successes, n) == wilson(successes, n)


def test_three_are_few_of_more_than_fifty() -> None:
    assert rate_interval(3, 50) == wilson(3, 50)
    assert rate_interval(3, 51) != wilson(3, 51)


def test_the_modified_ends_rise_with_what_was_seen_and_hold_the_rate() -> None:
    for n in (3, 4, 7, 10, 50, 51, 300):
        found = [rate_interval(successes, n) or (1.0, 0.0) for successes in range(n + 1)]
        assert found == sorted(found)
        assert all(low <= successes / n <= high for successes, (low, high) in enumerate(found))


@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.99])
def test_at_another_confidence_the_rare_events_are_those_of_that(confidence: float) -> None:
    low, high = rate_interval(1, 20, confidence) or (1.0, 0.0)
    assert low == pytest.approx(-log(confidence) / 20)
    assert rate_interval(19, 20, confidence) == pytest.approx((1 - high, 1 - low))


def test_of_nothing_no_rate_is_known() -> None:
    assert wilson(0, 0) is None
    assert rate_interval(0, 0) is None


def test_surer_means_wider() -> None:
    assert wilson(8, 13, confidence=0.99) == pytest.approx((0.290913, 0.861877), abs=2e-6)
    assert wilson(8, 13, confidence=0.9) == pytest.approx((0.392607, 0.798409), abs=2e-6)


def test_none_and_all_stay_inside_the_scale_exactly() -> None:
    nothing, everything = wilson(0, 7), wilson(7, 7)
    assert nothing is not None and nothing[0] == 0.0
    assert everything is not None and everything[1] == 1.0


@pytest.mark.parametrize(("successes", "n"), [(-1, 3), (4, 3), (0, -1), (1, 0)])
def test_what_is_no_rate_is_refused(successes: int, n: int) -> None:
    with pytest.raises(ValueError, match=f"{successes} of {n} is not a rate"):
        wilson(successes, n)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, 95])
def test_a_confidence_lies_between_nothing_and_everything(confidence: float) -> None:
    with pytest.raises(ValueError, match="a confidence lies between 0 and 1"):
        wilson(1, 2, confidence)
