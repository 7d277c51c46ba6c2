"""When runs are equal, and how many pairs would settle what is open."""

from __future__ import annotations

import pytest

from howsure.stats.concluding import is_equal, pairs_to_settle
from howsure.stats.paired import Difference, paired_means, paired_rates


def rates(gained: int, lost: int, same: int) -> Difference:
    found = paired_rates([0] * gained + [1] * (lost + same), [1] * gained + [0] * lost + [1] * same)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("found", "margin", "equal"),
    [
        (rates(0, 0, 10), 0.0, True),
        (rates(0, 0, 9), 0.0, False),
        (rates(5, 5, 990), 0.05, True),
        (rates(5, 5, 10), 0.05, False),
        (rates(5, 5, 10), 0.5, True),
        (rates(30, 0, 70), 0.05, False),
    ],
    ids=["ten alike", "nine alike", "a thousand nearly alike", "too few", "a wide margin", "different"],
)
def test_equal_is_what_leaves_no_room_beyond_the_margin(found: Difference, margin: float, equal: bool) -> None:
    assert is_equal(found, margin) is equal


def test_the_nearer_of_the_two_answers_decides_how_many_are_needed() -> None:
    """Two points of ten: eight to the margin, so many as a difference of eight points would need."""
    near_margin = pairs_to_settle(rates(6, 4, 90), margin=0.10)
    near_zero = pairs_to_settle(rates(10, 0, 90), margin=0.02)
    assert near_margin is not None
    assert near_zero is not None
    assert 100 < near_zero < near_margin < 400


def test_a_smaller_effect_needs_more() -> None:
    needs = [pairs_to_settle(rates(50 + gap, 50 - gap, 900), margin=0.0) for gap in (8, 4, 2)]
    known = [need for need in needs if need is not None]
    assert len(known) == 3
    assert known == sorted(known)
    # Half the difference needs four times as many.
    assert known[1] / known[0] == pytest.approx(4, rel=0.15)
    assert known[2] / known[1] == pytest.approx(4, rel=0.15)


def test_clusters_and_means_go_by_what_their_interval_allows() -> None:
    found = paired_means([1, 2, 3, 4, 5, 3, 2, 4], [2, 2, 3, 5, 5, 2, 3, 4])
    assert found is not None
    needed = pairs_to_settle(found, margin=0.2)
    assert needed is not None
    assert needed > 8


@pytest.mark.parametrize(
    ("found", "margin"),
    [(rates(0, 0, 5), 0.0), (paired_means([1.0], [2.0]), 0.1)],
    ids=["no difference and no margin", "no interval"],
)
def test_what_nobody_can_say_is_not_said(found: Difference | None, margin: float) -> None:
    assert found is not None
    assert pairs_to_settle(found, margin) is None
