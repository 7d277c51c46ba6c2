"""Two runs on the same cases: which test is used, against textbook tables and brute force; and what follows from it."""

from __future__ import annotations

from itertools import product
from math import sqrt

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import xlogy

from howsure.model.score import Direction
from howsure.stats.intervals import Interval
from howsure.stats.paired_differences import (
    PairedDifference,
    PairedMethod,
    holm,
    mcnemar,
    pair_cases,
    paired_means,
    paired_rates,
    tango,
)

BEFORE = [1.0] * 22 + [0.0] * 28
AFTER = [1.0] * 20 + [0.0] * 2 + [1.0] * 12 + [0.0] * 16
"""Armitage and Berry's table: 20 pass both, 12 only after, 2 only before, 16 neither."""


def found(difference: PairedDifference | None) -> PairedDifference:
    assert difference is not None
    return difference


def test_single_verdicts_have_mcnemar_s_test_and_tango_s_interval() -> None:
    compared = found(paired_rates(BEFORE, AFTER))
    assert (compared.before, compared.after) == (0.44, 0.64)
    assert compared.difference == pytest.approx(0.2)
    assert round(compared.p_value, 4) == 0.0129
    assert compared.interval == pytest.approx((0.0611, 0.3447), abs=1e-4)
    assert (compared.raised, compared.lowered, compared.same, compared.n) == (12, 2, 36, 50)
    assert compared.method is PairedMethod.MCNEMAR


def test_a_cluster_each_is_no_cluster() -> None:
    assert paired_rates(BEFORE, AFTER, list(range(50))) == paired_rates(BEFORE, AFTER)


@pytest.mark.parametrize(
    ("direction", "gain"),
    [(Direction.HIGHER, 0.2), (Direction.LOWER, -0.2)],
)
def test_what_is_better_depends_on_the_direction(direction: Direction, gain: float) -> None:
    compared = found(paired_rates(BEFORE, AFTER, direction=direction))
    assert compared.difference == pytest.approx(0.2)
    assert compared.gain == pytest.approx(gain)


def test_where_neither_end_is_good_nothing_is_gained() -> None:
    compared = found(paired_rates(BEFORE, AFTER, direction=Direction.NEITHER))
    assert compared.gain is None


def test_copies_of_every_case_in_one_cluster_change_nothing_much() -> None:
    ones, others = [value for value in BEFORE for _ in range(4)], [value for value in AFTER for _ in range(4)]
    naive = found(paired_rates(ones, others))
    clustered = found(paired_rates(ones, others, [place // 4 for place in range(200)]))
    assert naive.p_value < 1e-7
    assert clustered.method is PairedMethod.DRAWN_FLIPS
    assert clustered.p_value == pytest.approx(0.0129, abs=0.004)
    assert (clustered.n, clustered.clusters) == (200, 50)
    assert clustered.interval == pytest.approx((0.06, 0.34), abs=0.02)


def test_repeats_are_averaged_within_a_case_and_tossed() -> None:
    before = {f"c{place}": [1, 0, 0] for place in range(8)}
    after = {f"c{place}": [1, 1, 0] for place in range(8)}
    after["c7"] = [0, 0, 1]
    both = pair_cases(before, after)
    assert both.before == pytest.approx(np.full(8, 1 / 3))
    compared = found(paired_rates(both.before, both.after))
    assert compared.method is PairedMethod.ALL_FLIPS
    assert compared.p_value == 2 / 128, "seven differ, all in one direction"
    assert (compared.raised, compared.lowered, compared.same) == (7, 0, 1)


def test_only_cases_that_both_judged_are_compared() -> None:
    both = pair_cases(
        {"a": [1.0], "b": [None], "c": [0.0, None], "x": [1.0]}, {"a": [0.0], "b": [1.0], "c": [1.0, 1.0]}
    )
    assert both.cases == ("a", "c")
    assert (list(both.before), list(both.after)) == ([1.0, 0.0], [0.0, 1.0])


def test_runs_that_share_no_case_cannot_be_compared() -> None:
    both = pair_cases({"a": [1.0]}, {"b": [1.0]})
    assert paired_rates(both.before, both.after) is None
    assert paired_means([], []) is None


def test_no_case_differs_and_still_they_may_not_be_equal() -> None:
    compared = found(paired_rates([1.0] * 50, [1.0] * 50))
    assert compared.p_value == 1
    assert compared.interval == pytest.approx((-0.0713, 0.0713), abs=1e-4)
    clustered = found(paired_rates([1.0] * 50, [1.0] * 50, [place // 5 for place in range(50)]))
    assert clustered.interval == pytest.approx((-0.2775, 0.2775), abs=1e-4), "ten clusters are ten cases"


def test_means_by_sign_flips() -> None:
    sleep = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
    compared = found(paired_means([0.0] * 10, sleep))
    assert compared.p_value == 2 / 512, "nine of ten gained, none lost"
    assert compared.difference == pytest.approx(1.58)
    assert compared.interval == pytest.approx((0.95, 2.5), abs=0.15)
    assert (compared.raised, compared.lowered, compared.same) == (9, 0, 1)


def test_means_without_spread_have_no_interval() -> None:
    compared = found(paired_means([1.0, 1.0], [1.0, 1.0]))
    assert (compared.p_value, compared.interval) == (1.0, None)


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
    assert compared.method is PairedMethod.DRAWN_FLIPS
    assert compared.interval is not None
    assert compared.interval[1] - compared.interval[0] == pytest.approx(2 * 1.96 * 0.527 / 316.2, rel=0.03)


def printed(interval: Interval | None, digits: int) -> tuple[float, float]:
    assert interval is not None
    return round(interval[0], digits), round(interval[1], digits)


@pytest.mark.parametrize(
    ("gained", "lost", "digits", "p_value"),
    [
        (12, 2, 4, 0.0129),  # Armitage and Berry (1994), two media for culturing tubercle bacilli
        (1, 7, 4, 0.0703),  # Fagerland, Lydersen and Laake (2013), airway hyper-responsiveness
        (6, 0, 5, 0.03125),
        (5, 0, 4, 0.0625),
        (3, 3, 1, 1.0),
        (0, 0, 1, 1.0),
    ],
)
def test_the_exact_p_value_of_the_textbooks(gained: int, lost: int, digits: int, p_value: float) -> None:
    assert round(mcnemar(gained, lost), digits) == p_value
    assert mcnemar(lost, gained) == mcnemar(gained, lost)


def test_every_split_of_eight_by_brute_force() -> None:
    for gained in range(9):
        far = abs(2 * gained - 8)
        as_far = sum(abs(2 * sum(toss) - 8) >= far for toss in product((0, 1), repeat=8))
        assert mcnemar(gained, 8 - gained) == pytest.approx(as_far / 256)


def test_many_discordant_cases_agree_with_the_sum_of_few() -> None:
    assert mcnemar(540, 461) == pytest.approx(mcnemar(540, 460), rel=0.1)
    assert mcnemar(25_400, 24_600) == pytest.approx(0.000352, abs=2e-6)


def test_tango_s_interval_of_the_airway_data() -> None:
    """Fagerland, Lydersen and Laake, Statistics in Medicine 33 (2014), 2850–2875."""
    assert printed(tango(1, 7, 21), 3) == (-0.517, -0.026)


def score_by_search(gained: int, lost: int, n: int, difference: float) -> float:
    """Tango's statistic with the likelihood maximised by a search instead of his closed form."""

    def unlikely(falling: float) -> float:
        rising = falling + difference
        same = 1 - rising - falling
        return -float(xlogy(gained, rising) + xlogy(lost, falling) + xlogy(n - gained - lost, same))

    low, high = max(0.0, -difference), (1 - difference) / 2
    falling = minimize_scalar(unlikely, bounds=(low + 1e-12, high - 1e-12), options={"xatol": 1e-13}).x
    variance = (2 * falling + difference - difference**2) / n
    return float(((gained - lost) / n - difference) / sqrt(variance))


@pytest.mark.parametrize(("gained", "lost", "n"), [(12, 2, 50), (1, 7, 21), (40, 20, 160), (3, 3, 10)])
def test_at_tango_s_ends_the_score_is_exactly_two_sigma(gained: int, lost: int, n: int) -> None:
    found = tango(gained, lost, n)
    assert found is not None
    assert score_by_search(gained, lost, n, found[0]) == pytest.approx(1.95996, abs=1e-3)
    assert score_by_search(gained, lost, n, found[1]) == pytest.approx(-1.95996, abs=1e-3)


@pytest.mark.parametrize(
    ("gained", "lost", "n", "limits"),
    [
        (0, 0, 50, (-0.0713, 0.0713)),
        (50, 0, 50, (0.8573, 1.0)),
        (0, 50, 50, (-1.0, -0.8573)),
    ],
    ids=["none differs", "all gained", "all lost"],
)
def test_tango_has_width_and_bounds_at_the_ends(gained: int, lost: int, n: int, limits: tuple[float, float]) -> None:
    assert printed(tango(gained, lost, n), 4) == limits


def test_of_no_case_nothing_is_known_and_no_counts_are_refused() -> None:
    assert tango(0, 0, 0) is None
    with pytest.raises(ValueError, match="3 gained and 2 lost are not among 4 cases"):
        tango(3, 2, 4)
    with pytest.raises(ValueError, match="no counts"):
        mcnemar(-1, 2)
    with pytest.raises(ValueError, match="between 0 and 1"):
        tango(1, 1, 4, confidence=2)


# Benjamini and Hochberg, JRSS B 57 (1995), 289–300: fifteen hypotheses about thrombolysis.
HEARTS = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
          0.7590, 1.0]  # fmt: skip


def test_holm_finds_three_of_the_paper_s_hypotheses() -> None:
    assert sum(value <= 0.05 for value in holm(HEARTS)) == 3


def test_holm_by_hand_in_the_order_of_the_questions() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_one_question_needs_no_adjustment_and_none_gives_none() -> None:
    assert holm([0.03]) == [0.03]
    assert holm([]) == []


def test_nothing_exceeds_one_and_equal_values_stay_equal() -> None:
    assert holm([0.6, 0.6, 0.9]) == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("bad", [-0.1, 1.1, float("nan")])
def test_what_is_no_p_value_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="a p-value lies between 0 and 1"):
        holm([0.5, bad])
