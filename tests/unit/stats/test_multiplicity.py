"""Adjusted p-values against the data of the paper that introduced one of them."""

from __future__ import annotations

import pytest
from scipy.stats import false_discovery_control

from howsure.stats.multiplicity import benjamini_hochberg, holm

# Benjamini and Hochberg, JRSS B 57 (1995), 289–300: fifteen hypotheses about thrombolysis.
HEARTS = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
          0.7590, 1.0]  # fmt: skip


def test_the_paper_s_four_discoveries_and_holm_s_three() -> None:
    assert sum(value <= 0.05 for value in benjamini_hochberg(HEARTS)) == 4
    assert sum(value <= 0.05 for value in holm(HEARTS)) == 3


def test_the_paper_s_adjusted_values() -> None:
    assert benjamini_hochberg(HEARTS)[:5] == pytest.approx([0.0015, 0.003, 0.0095, 0.035625, 0.0603])
    assert benjamini_hochberg(HEARTS) == pytest.approx(list(false_discovery_control(HEARTS)))


def test_holm_by_hand_in_the_order_of_the_questions() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_one_question_needs_no_adjustment_and_none_gives_none() -> None:
    assert holm([0.03]) == benjamini_hochberg([0.03]) == [0.03]
    assert holm([]) == benjamini_hochberg([]) == []


def test_nothing_exceeds_one_and_equal_values_stay_equal() -> None:
    assert holm([0.6, 0.6, 0.9]) == [1.0, 1.0, 1.0]
    assert benjamini_hochberg([0.02, 0.02]) == [0.02, 0.02]


@pytest.mark.parametrize("bad", [-0.1, 1.1, float("nan")])
def test_what_is_no_p_value_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="a p-value lies between 0 and 1"):
        holm([0.5, bad])
    with pytest.raises(ValueError, match="a p-value lies between 0 and 1"):
        benjamini_hochberg([bad])
