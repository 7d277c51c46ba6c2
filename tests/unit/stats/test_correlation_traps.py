"""Correlations and classes where rounding, overflow or careless labels would give a wrong number."""

from __future__ import annotations

import pytest

from howsure.stats.classification import classification
from howsure.stats.correlation import pearson


@pytest.mark.parametrize("unit", [1e-200, 1e-5, 1.0, 1e200, 5e307])
def test_the_unit_of_measurement_does_not_matter(unit: float) -> None:
    up, down = [1 * unit, 2 * unit, 3 * unit], [3 * unit, 2 * unit, 1 * unit]
    assert pearson(up, [1, 2, 3]) == pytest.approx(1)
    assert pearson(up, down) == pytest.approx(-1)
    assert pearson([0.875 * unit] * 3, up) is None


def test_a_label_that_is_left_out_is_refused_and_one_named_twice_counts_once() -> None:
    with pytest.raises(ValueError, match="'b' is none of the labels"):
        classification(["a", "b"], ["a", "b"], labels=["a"])
    assert classification(["a", "a"], ["a", "a"], labels=["a", "a", "z"]).accuracy == 1.0
