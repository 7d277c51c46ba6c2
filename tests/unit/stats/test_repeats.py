"""pass@k and pass^k against every choice of k tries written out."""

from __future__ import annotations

from itertools import combinations

import pytest

from howsure.stats.estimates import pass_at_k, pass_hat_k, reliability
from howsure.stats.intervals import IntervalMethod


@pytest.mark.parametrize("judged", range(1, 8))
def test_every_choice_of_k_tries_enumerated(judged: int) -> None:
    for passed in range(judged + 1):
        tries = [True] * passed + [False] * (judged - passed)
        for k in range(1, judged + 1):
            chosen = list(combinations(tries, k))
            assert pass_hat_k(passed, judged, k) == pytest.approx(sum(map(all, chosen)) / len(chosen))
            assert pass_at_k(passed, judged, k) == pytest.approx(sum(map(any, chosen)) / len(chosen))


@pytest.mark.parametrize(
    ("passed", "judged", "k", "at", "hat"),
    [
        (3, 4, 1, 0.75, 0.75),
        (3, 4, 2, 1.0, 0.5),
        (3, 4, 3, 1.0, 0.25),
        (3, 4, 4, 1.0, 0.0),
        (2, 8, 2, 13 / 28, 1 / 28),
        (0, 3, 2, 0.0, 0.0),
        (3, 3, 3, 1.0, 1.0),
    ],
)
def test_by_hand(passed: int, judged: int, k: int, at: float, hat: float) -> None:
    assert pass_at_k(passed, judged, k) == pytest.approx(at)
    assert pass_hat_k(passed, judged, k) == pytest.approx(hat)


def test_more_tries_than_were_made_cannot_be_known() -> None:
    assert pass_at_k(2, 2, 3) is None
    assert pass_hat_k(2, 2, 3) is None
    with pytest.raises(ValueError, match="k counts tries"):
        pass_hat_k(2, 2, 0)
    with pytest.raises(ValueError, match="3 of 2 is not a rate"):
        pass_at_k(3, 2, 1)


def test_over_cases_every_case_counts_the_same_and_the_interval_is_over_cases() -> None:
    tries = [(4, 4), (2, 4), (0, 4), (1, 1)] * 4
    hat, at = reliability(tries, 2, every=True), reliability(tries, 2, every=False)
    assert hat is not None and at is not None
    assert hat.value == pytest.approx((1 + 1 / 6 + 0) / 3)
    assert at.value == pytest.approx((1 + 5 / 6 + 0) / 3)
    assert hat.interval == pytest.approx((0.1526, 0.6685), abs=1e-4)
    assert hat.n == at.n == 12


def test_tries_that_all_agree_are_a_rate_of_cases() -> None:
    found = reliability([(3, 3)] * 9 + [(0, 3)], 3, every=True)
    assert found is not None
    assert (found.value, found.form) == (0.9, IntervalMethod.EXACT)
    assert found.interval == pytest.approx((0.5550, 0.9975), abs=1e-4)


def test_all_passing_is_not_certainty() -> None:
    found = reliability([(4, 4)] * 20, 4, every=True)
    assert found is not None and found.interval is not None
    assert found.interval[0] == pytest.approx(0.8316, abs=1e-4)


def test_clusters_of_cases_widen_it() -> None:
    cases = [(4, 4), (3, 4), (4, 4), (1, 4), (0, 4), (0, 4)] * 3
    names = [place // 3 for place in range(18)]
    together, alone = reliability(cases, 2, names, every=True), reliability(cases, 2, every=True)
    assert together is not None and together.interval is not None
    assert alone is not None and alone.interval is not None
    assert together.clusters == 6
    assert together.interval[1] - together.interval[0] > alone.interval[1] - alone.interval[0]


def test_no_case_tried_often_enough_gives_no_estimate() -> None:
    assert [reliability([(1, 1), (0, 1)], 2, every=every) for every in (True, False)] == [None, None]
