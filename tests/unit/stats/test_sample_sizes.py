"""What is settled, and how many cases would settle what is open: by simulation, four times of five."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from howsure.stats.estimates import estimate_rate
from howsure.stats.paired_differences import PairedDifference, mcnemar, paired_means, paired_rates, tango
from howsure.stats.sample_sizes import cases_for_rate, cases_for_value, is_equal, pairs_to_settle


def rates(gained: int, lost: int, same: int) -> PairedDifference:
    found = paired_rates([0] * gained + [1] * (lost + same), [1] * gained + [0] * lost + [1] * same)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("found", "margin", "equal"),
    [
        (rates(0, 0, 10), 0.05, False),
        (rates(0, 0, 72), 0.05, False),
        (rates(0, 0, 73), 0.05, True),
        (rates(5, 5, 990), 0.05, True),
        (rates(5, 5, 10), 0.05, False),
        (rates(5, 5, 10), 0.5, True),
        (rates(30, 0, 70), 0.05, False),
    ],
    ids=["ten alike", "72 alike", "73 alike", "a thousand nearly alike", "too few", "a wide margin", "different"],
)
def test_equal_is_what_leaves_no_room_beyond_the_margin(found: PairedDifference, margin: float, equal: bool) -> None:
    assert is_equal(found, margin) is equal


@pytest.mark.parametrize("n", [10, 30, 80, 200, 500])
def test_a_run_that_is_worse_by_the_margin_is_hardly_ever_called_equal(n: int) -> None:
    """Five points worse, nothing gained: summed over every number of losses."""
    wrong = sum(float(binom.pmf(lost, n, 0.05)) for lost in range(n // 4) if is_equal(rates(0, lost, n - lost), 0.05))
    assert wrong <= 0.035


def share_settled(gained: float, lost: float, pairs: int, margin: float, draws: int = 1500) -> float:
    drawn = np.random.default_rng(3).multinomial(pairs, [gained, lost, 1 - gained - lost], size=draws)
    ways, counts = np.unique(drawn[:, :2], axis=0, return_counts=True)
    settled = 0
    for (up, down), times in zip(ways.tolist(), counts.tolist(), strict=True):
        limits = tango(up, down, pairs)
        assert limits is not None
        different = mcnemar(up, down) <= 0.05 and not limits[0] <= 0 <= limits[1]
        settled += times * (different or max(map(abs, limits)) <= margin)
    return settled / draws


@pytest.mark.parametrize(
    ("gained", "lost", "n", "margin", "expected"),
    [(5, 5, 100, 0.05, 422), (20, 6, 100, 0.05, 112), (4, 2, 50, 0.1, 170)],
    ids=["no difference", "a large one", "between"],
)
def test_as_many_pairs_settle_it_four_times_of_five(
    gained: int, lost: int, n: int, margin: float, expected: int
) -> None:
    needed = pairs_to_settle(rates(gained, lost, n - gained - lost), margin)
    assert needed == expected
    assert 0.775 <= share_settled(gained / n, lost / n, needed, margin) <= 0.825


def test_pairs_that_all_agree_need_more_of_them_to_be_called_equal() -> None:
    assert pairs_to_settle(rates(0, 0, 10), 0.05) == 250, "half a flip in ten is assumed"


def test_a_smaller_effect_needs_more() -> None:
    needs = [pairs_to_settle(rates(50 + gap, 50 - gap, 900), margin=0.0) for gap in (8, 4, 2)]
    known = [need for need in needs if need is not None]
    assert len(known) == 3
    # Half the difference needs four times as many.
    assert known[1] / known[0] == pytest.approx(4, rel=0.15)
    assert known[2] / known[1] == pytest.approx(4, rel=0.15)


@pytest.mark.parametrize("shift", [0.0, 0.4], ids=["no difference", "a difference"])
def test_means_are_settled_four_times_of_five_too(shift: float) -> None:
    random = np.random.default_rng(8)
    apart = random.normal(0, 1, 60)
    apart = (apart - apart.mean()) / apart.std(ddof=1) + shift
    found = paired_means([0.0] * 60, apart.tolist())
    assert found is not None
    needed = pairs_to_settle(found, margin=0.3)
    assert needed is not None
    settled = 0
    for _ in range(400):
        drawn = random.normal(shift, 1, needed)
        reach = 1.97 * drawn.std(ddof=1) / np.sqrt(needed)
        settled += abs(drawn.mean()) > reach or abs(drawn.mean()) + reach < 0.3
    assert 0.74 <= settled / 400 <= 0.88, "the interval of the flips is a little wider than Student's"


@pytest.mark.parametrize(
    ("found", "margin"),
    [(rates(0, 0, 5), 0.0), (paired_means([1.0], [2.0]), 0.1)],
    ids=["no difference and no margin", "no interval"],
)
def test_what_nobody_can_say_is_not_said(found: PairedDifference | None, margin: float) -> None:
    assert found is not None
    assert pairs_to_settle(found, margin) is None


@pytest.mark.parametrize(
    ("passed", "judged", "limit", "expected"),
    [
        (10, 10, 0.9, 36),
        (0, 10, 0.1, 36),
        (20, 20, 0.95, 72),
        (100, 100, 0.9, 100),
        (9, 10, 0.9, None),
        (0, 0, 0.9, None),
    ],
    ids=["0.9 to the 36th is 0.0225", "the same from below", "0.95 to the 72nd is 0.0249", "settled already",
         "on the limit", "nothing judged"],
)  # fmt: skip
def test_the_cases_that_settle_a_rate(passed: int, judged: int, limit: float, expected: int | None) -> None:
    assert cases_for_rate(passed, judged, limit) == expected


@pytest.mark.parametrize(("passed", "judged", "limit"), [(45, 50, 0.8), (30, 50, 0.7), (190, 200, 0.93), (3, 20, 0.3)])
def test_so_many_cases_settle_it_four_times_of_five(passed: int, judged: int, limit: float) -> None:
    enough = cases_for_rate(passed, judged, limit)
    assert enough is not None and enough > judged
    decided = 0.0
    for count in range(enough + 1):
        found = estimate_rate(count, enough)
        assert found is not None and found.interval is not None
        decided += (found.interval[0] > limit or found.interval[1] < limit) * binom.pmf(count, enough, passed / judged)
    assert 0.8 <= decided <= 0.83


@pytest.mark.parametrize(
    ("value", "interval", "n", "limit", "expected"),
    [
        (4.2, (3.8, 4.6), 25, 4.0, 187),
        (-0.01, (-0.05, 0.03), 100, -0.02, 3192),
        (2.0, (1.0, 3.0), 10, 2.5, 64),
        (4.0, (3.5, 4.5), 25, 4.0, None),
        (4.0, (3.9, 4.1), 25, 3.0, 25),
        (4.000001, (3.0, 5.0), 25, 4.0, None),
    ],
    ids=["a fifth of a point", "a drop", "from below", "on the limit", "settled already", "too near"],
)
def test_other_intervals_shrink_with_the_root(
    value: float, interval: tuple[float, float], n: int, limit: float, expected: int | None
) -> None:
    assert cases_for_value(value, interval, n, limit) == expected
