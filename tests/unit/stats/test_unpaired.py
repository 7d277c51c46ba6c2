"""Two groups of different cases against published values and scipy."""

from __future__ import annotations

import pytest
from scipy import stats

from howsure.model.score import Direction
from howsure.stats.paired import Method
from howsure.stats.unpaired import rates_apart, unpaired_means, unpaired_rates


# Newcombe, Statistics in Medicine 17 (1998), 873–890, table II, method 10.
@pytest.mark.parametrize(
    ("before", "after", "limits"),
    [
        ((48, 80), (56, 70), (0.0524, 0.3339)),
        ((3, 10), (9, 10), (0.1705, 0.8090)),
        ((0, 29), (5, 56), (-0.0381, 0.1926)),
        ((0, 10), (0, 20), (-0.2775, 0.1611)),
        ((0, 10), (10, 10), (0.6075, 1.0)),
    ],
)
def test_the_difference_as_newcombe_printed_it(
    before: tuple[int, int], after: tuple[int, int], limits: tuple[float, float]
) -> None:
    found = rates_apart(before, after)
    assert found is not None
    assert (round(found[0], 4), round(found[1], 4)) == limits


def test_the_lady_tasting_tea() -> None:
    found = unpaired_rates((1, 4), (3, 4))
    assert found is not None
    assert round(found.p_value, 4) == 0.4857, "34 of 70 ways, Fisher (1935)"
    assert (found.before, found.after, found.n, found.method) == (0.25, 0.75, 4, Method.FISHER)


def test_a_fall_may_be_a_gain() -> None:
    found = unpaired_rates((56, 70), (48, 80), direction=Direction.LOWER)
    assert found is not None
    assert found.gain == pytest.approx(0.2)
    assert found.gain_interval == pytest.approx((0.0524, 0.3339), abs=1e-4)
    assert found.conclusive


def test_an_empty_side_cannot_be_compared() -> None:
    assert unpaired_rates((0, 0), (1, 2)) is None
    assert rates_apart((1, 2), (0, 0)) is None
    assert unpaired_means([], [1.0]) is None


def test_means_by_welch() -> None:
    before, after = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0], [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]  # fmt: skip  # noqa: E501
    found = unpaired_means(before, after)
    assert found is not None and found.interval is not None
    assert round(found.p_value, 5) == 0.07939, "Student's sleep data, unpaired: p is .0794"
    assert [round(end, 3) for end in found.interval] == [-0.205, 3.365]
    assert found.p_value == pytest.approx(stats.ttest_ind(after, before, equal_var=False).pvalue)


@pytest.mark.parametrize(("before", "after"), [([1.0], [2.0, 3.0]), ([1.0, 1.0], [1.0, 1.0])])
def test_without_spread_nothing_can_be_said(before: list[float], after: list[float]) -> None:
    found = unpaired_means(before, after)
    assert found is not None
    assert (found.p_value, found.interval) == (1.0, None)
