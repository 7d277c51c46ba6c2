"""Correlation: by hand, against published values, and where nothing can be said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.stats.agreement import kendall, pearson, ranks, spearman

Correlation = Callable[[Sequence[float], Sequence[float]], float | None]

# The textbook's ten people: intelligence and hours of television a week; rho is −29/165.
IQ = [106, 100, 86, 101, 99, 103, 97, 113, 112, 110]
HOURS = [7, 27, 2, 50, 28, 29, 20, 12, 6, 17]


def test_pearson_by_hand() -> None:
    # deviations (−1.5, −.5, .5, 1.5) and (−1, 0, −1, 2): 4 / sqrt(5 · 6)
    assert pearson([1, 2, 3, 4], [1, 2, 1, 4]) == pytest.approx(4 / sqrt(30), abs=1e-15)


def test_spearman_of_the_textbook() -> None:
    assert spearman(IQ, HOURS) == pytest.approx(-29 / 165, abs=1e-15)


def test_kendall_with_ties_as_published() -> None:
    assert kendall([12, 2, 1, 12, 2], [1, 4, 7, 1, 0]) == pytest.approx(-0.47140452079103173, abs=1e-15)


def test_ranks_are_shared_by_equals() -> None:
    assert ranks([10, 20, 10, 30, 10]) == [2, 4, 2, 5, 2]
    assert ranks([]) == []


@pytest.mark.parametrize("correlation", [pearson, spearman, kendall])
@pytest.mark.parametrize(
    ("first", "second", "value"),
    [
        ([1, 2, 3], [1, 2, 3], 1.0),
        ([1, 2, 3], [3, 2, 1], -1.0),
        ([1, 2], [5, 5], None),
        ([0.1, 0.1, 0.1], [1, 2, 3], None),
        ([1], [1], None),
        ([], [], None),
    ],
    ids=["same order", "opposite", "no variation", "no variation, inexact mean", "one pair", "empty"],
)
def test_the_ends(correlation: Correlation, first: list[float], second: list[float], value: float | None) -> None:
    assert correlation(first, second) == (None if value is None else pytest.approx(value))


@pytest.mark.parametrize("correlation", [pearson, spearman, kendall])
def test_what_cannot_be_paired_or_is_no_number_is_refused(correlation: Correlation) -> None:
    with pytest.raises(ValueError, match="2 values cannot be paired with 1"):
        correlation([1, 2], [1])
    with pytest.raises(ValueError, match="finite"):
        correlation([1, float("nan")], [1, 2])


def slow_kendall(first: Sequence[int], second: Sequence[int]) -> float | None:
    """The definition, pair by pair."""
    pairs = list(combinations(zip(first, second, strict=True), 2))
    sign = [((a > c) - (a < c)) * ((b > d) - (b < d)) for (a, b), (c, d) in pairs]
    free_one = sum(a != c for (a, _), (c, _) in pairs)
    free_other = sum(b != d for (_, b), (_, d) in pairs)
    return sum(sign) / sqrt(free_one * free_other) if free_one and free_other else None


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30))
def test_the_fast_way_to_kendall_gives_what_the_definition_gives(pairs: list[tuple[int, int]]) -> None:
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    slow = slow_kendall(first, second)
    assert kendall(first, second) == (None if slow is None else pytest.approx(slow))


@pytest.mark.parametrize("unit", [1e-200, 1e-5, 1.0, 1e200, 5e307])
def test_the_unit_of_measurement_does_not_matter(unit: float) -> None:
    up, down = [1 * unit, 2 * unit, 3 * unit], [3 * unit, 2 * unit, 1 * unit]
    assert pearson(up, [1, 2, 3]) == pytest.approx(1)
    assert pearson(up, down) == pytest.approx(-1)
    assert pearson([0.875 * unit] * 3, up) is None
