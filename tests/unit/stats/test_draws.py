"""Drawing answers to label: reproducible, in parts as at once, and as likely as is said."""

from __future__ import annotations

from collections import Counter

import pytest

from howsure.stats.draws import doubt_chances, doubts_about, draw_order, stratum_chances

NAMES = [f"case {number}" for number in range(200)]


def test_forty_at_once_are_twenty_and_then_twenty_more() -> None:
    order = draw_order(NAMES, [1.0] * 200)
    assert sorted(order) == list(range(200))
    assert order == draw_order(NAMES, [1.0] * 200)
    assert order != draw_order(NAMES, [1.0] * 200, seed="another")
    assert order[:10] != list(range(10))


def test_a_rare_verdict_is_likelier_and_nothing_is_less_likely_than_half() -> None:
    chances = stratum_chances(["failed"] * 20 + ["passed"] * 180)
    # .5 + .5 × 200 / (2 × 20) and .5 + .5 × 200 / (2 × 180)
    assert chances[0] == 5.5 / 2 + 0.25
    assert chances[-1] == pytest.approx(0.5 + 0.5 * 200 / 360)
    assert sum(chances) == pytest.approx(200)


def test_doubt_is_mixed_with_a_plain_draw_and_never_below_a_quarter_of_it() -> None:
    assert doubt_chances([0.0, 0.0, 1.0, 1.0]) == [0.25, 0.25, 1.75, 1.75]
    assert doubt_chances([0.0, 0.0]) == [1.0, 1.0]


def test_doubt_is_nearness_to_where_passes_begin() -> None:
    # Between 3 and 4 lies the border, 3.5; 1 is farthest from it.
    assert doubts_about([1, 3, 4, 5], [False, False, True, True]) == pytest.approx([0.0, 0.8, 0.8, 0.4])
    assert doubts_about([5, 4, 1], [True, True, True]) == pytest.approx([0.0, 0.25, 1.0])
    # Where low is good, the border is between the same two.
    assert doubts_about([1, 2, 5], [True, True, False]) == pytest.approx([0.0, 0.4, 0.4], abs=0.01)


def test_answers_are_drawn_as_often_as_their_chance_says() -> None:
    chances = [0.25, 0.5, 1.0, 2.25] * 50
    drawn = Counter(place % 4 for seed in range(400) for place in draw_order(NAMES, chances, seed=str(seed))[:20])
    # 8,000 draws in proportion 0.25 : 0.5 : 1 : 2.25.
    assert [round(drawn[kind] / 8000, 2) for kind in range(4)] == pytest.approx([0.0625, 0.125, 0.25, 0.5625], abs=0.02)
