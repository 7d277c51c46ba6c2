"""Two runs on the same cases: what is compared, by which test, and in which direction."""

from __future__ import annotations

import numpy as np
import pytest

from howsure.model.score import Direction
from howsure.stats.paired import Difference, Method, matched, paired_means, paired_rates

BEFORE = [1.0] * 22 + [0.0] * 28
AFTER = [1.0] * 20 + [0.0] * 2 + [1.0] * 12 + [0.0] * 16
"""Armitage and Berry's table: 20 pass both, 12 only after, 2 only before, 16 neither."""


def found(difference: Difference | None) -> Difference:
    assert difference is not None
    return difference


def test_single_verdicts_have_mcnemar_s_test_and_tango_s_interval() -> None:
    compared = found(paired_rates(BEFORE, AFTER))
    assert (compared.before, compared.after) == (0.44, 0.64)
    assert compared.difference == pytest.approx(0.2)
    assert round(compared.p_value, 4) == 0.0129
    assert compared.interval == pytest.approx((0.0611, 0.3447), abs=1e-4)
    assert (compared.raised, compared.lowered, compared.same, compared.n) == (12, 2, 36, 50)
    assert compared.method is Method.MCNEMAR
    assert compared.conclusive


def test_a_cluster_each_is_no_cluster() -> None:
    assert paired_rates(BEFORE, AFTER, list(range(50))) == paired_rates(BEFORE, AFTER)


@pytest.mark.parametrize(
    ("direction", "gain", "low", "high"),
    [
        (Direction.HIGHER, 0.2, 0.0611, 0.3447),
        (Direction.LOWER, -0.2, -0.3447, -0.0611),
    ],
)
def test_what_is_better_depends_on_the_direction(direction: Direction, gain: float, low: float, high: float) -> None:
    compared = found(paired_rates(BEFORE, AFTER, direction=direction))
    assert compared.difference == pytest.approx(0.2)
    assert compared.gain == pytest.approx(gain)
    assert compared.gain_interval == pytest.approx((low, high), abs=1e-4)


def test_where_neither_end_is_good_nothing_is_gained() -> None:
    compared = found(paired_rates(BEFORE, AFTER, direction=Direction.NEITHER))
    assert (compared.gain, compared.gain_interval) == (None, None)


def test_copies_of_every_case_in_one_cluster_change_nothing_much() -> None:
    ones, others = [value for value in BEFORE for _ in range(4)], [value for value in AFTER for _ in range(4)]
    naive = found(paired_rates(ones, others))
    clustered = found(paired_rates(ones, others, [place // 4 for place in range(200)]))
    assert naive.p_value < 1e-7
    assert clustered.method is Method.DRAWN_FLIPS
    assert clustered.p_value == pytest.approx(0.0129, abs=0.004)
    assert (clustered.n, clustered.clusters) == (200, 50)
    assert clustered.interval == pytest.approx((0.06, 0.34), abs=0.02)


def test_repeats_are_averaged_within_a_case_and_tossed() -> None:
    before = {f"c{place}": [1, 0, 0] for place in range(8)}
    after = {f"c{place}": [1, 1, 0] for place in range(8)}
    after["c7"] = [0, 0, 1]
    both = matched(before, after)
    assert both.before == pytest.approx(np.full(8, 1 / 3))
    compared = found(paired_rates(both.before, both.after))
    assert compared.method is Method.ALL_FLIPS
    assert compared.p_value == 2 / 128, "seven differ, all in one direction"
    assert (compared.raised, compared.lowered, compared.same) == (7, 0, 1)


def test_only_cases_that_both_judged_are_compared_and_the_rest_is_counted() -> None:
    both = matched({"a": [1.0], "b": [None], "c": [0.0, None], "x": [1.0]}, {"a": [0.0], "b": [1.0], "c": [1.0, 1.0]})
    assert both.cases == ("a", "c")
    assert (list(both.before), list(both.after)) == ([1.0, 0.0], [0.0, 1.0])
    assert (both.only_before, both.only_after) == (1, 1)


def test_runs_that_share_no_case_cannot_be_compared() -> None:
    both = matched({"a": [1.0]}, {"b": [1.0]})
    assert paired_rates(both.before, both.after) is None
    assert paired_means([], []) is None


def test_no_case_differs_and_still_they_may_not_be_equal() -> None:
    compared = found(paired_rates([1.0] * 50, [1.0] * 50))
    assert compared.p_value == 1
    assert compared.interval == pytest.approx((-0.0713, 0.0713), abs=1e-4)
    clustered = found(paired_rates([1.0] * 50, [1.0] * 50, [place // 5 for place in range(50)]))
    assert clustered.interval == pytest.approx((-0.2775, 0.2775), abs=1e-4), "ten clusters are ten cases"
    assert not clustered.conclusive


def test_means_by_sign_flips() -> None:
    sleep = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
    compared = found(paired_means([0.0] * 10, sleep))
    assert compared.p_value == 2 / 512, "nine of ten gained, none lost"
    assert compared.difference == pytest.approx(1.58)
    assert compared.interval == pytest.approx((0.95, 2.5), abs=0.15)
    assert (compared.raised, compared.lowered, compared.same) == (9, 0, 1)


def test_means_without_spread_have_no_interval() -> None:
    compared = found(paired_means([1.0, 1.0], [1.0, 1.0]))
    assert (compared.p_value, compared.interval, compared.conclusive) == (1.0, None, False)


def test_latency_that_falls_is_a_gain() -> None:
    before = [3.0, 2.8, 3.5, 4.0, 3.3, 2.9, 3.1, 3.8]
    compared = found(paired_means(before, [value - 0.5 for value in before[:-1]] + [3.4], direction=Direction.LOWER))
    assert compared.gain == pytest.approx((7 * 0.5 + 0.4) / 8)
    assert compared.p_value == 2 / 256


def test_what_cannot_be_paired_is_refused() -> None:
    with pytest.raises(ValueError, match="2 values cannot be paired with 1"):
        paired_means([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="finite"):
        paired_means([1.0], [float("nan")])
    with pytest.raises(ValueError, match="a pass rate lies between 0 and 1"):
        paired_rates([1.0], [2.0])


def test_a_hundred_thousand_cases_with_repeats() -> None:
    random = np.random.default_rng(0)
    before, after = random.integers(0, 4, 100_000) / 3, random.integers(0, 4, 100_000) / 3
    compared = found(paired_rates(before, after))
    assert compared.method is Method.DRAWN_FLIPS
    assert compared.interval is not None
    assert compared.interval[1] - compared.interval[0] == pytest.approx(2 * 1.96 * 0.527 / 316.2, rel=0.03)
