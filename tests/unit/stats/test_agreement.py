"""Agreement: kappa and alpha against published tables, and at the ends."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.stats.agreement import (
    MeasurementLevel,
    agreement,
    cohen_kappa,
    fleiss_counts,
    fleiss_kappa,
    krippendorff_alpha,
)

# Fifty votes: both yes 20, yes/no 5, no/yes 10, both no 15: agreement .7, chance .5, kappa .4.
FIRST = ["yes"] * 25 + ["no"] * 25
SECOND = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15


def test_agreement_counts_equal_pairs_and_has_wilsons_interval() -> None:
    found = agreement(FIRST, SECOND)
    assert (found.agreed, found.n, found.rate) == (35, 50, 0.7)
    assert found.interval is not None
    assert [round(end, 4) for end in found.interval] == [0.5625, 0.809]


def test_agreement_of_nothing_has_no_rate() -> None:
    found = agreement([], [])
    assert (found.rate, found.interval) == (None, None)


def test_lists_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        agreement([1, 2], [1])


def test_kappa_of_the_textbook_table_is_two_fifths() -> None:
    assert cohen_kappa(FIRST, SECOND) == pytest.approx(0.4, abs=1e-15)


@pytest.mark.parametrize(
    ("first", "second", "kappa"),
    [
        ([1, 2, 3], [1, 2, 3], 1.0),
        ([1, 2], [2, 1], -1.0),
        ([1, 1, 2, 2], [1, 2, 1, 2], 0.0),
        ([1, 1], [1, 1], None),
        ([1, 1], [2, 2], 0.0),
        ([], [], None),
        (["a", None], ["a", None], 1.0),
    ],
    ids=["equal", "opposite", "as chance", "no room to disagree", "never equal", "empty", "cannot tell is a category"],
)
def test_kappa_at_its_ends(first: list[object], second: list[object], kappa: float | None) -> None:
    assert cohen_kappa(first, second) == kappa


# By hand: ratings 1 to 3; pairs (1,1) (1,2) (2,2) (3,1): plain 1 − 4·2/10, quadratic 1 − 4·5/16.
@pytest.mark.parametrize(("steps", "kappa"), [(None, 1 - 4 * 2 / 10), ([1, 2, 3], 1 - 4 * 5 / 16)])
def test_weighted_kappa_by_hand(steps: list[int] | None, kappa: float) -> None:
    assert cohen_kappa([1, 1, 2, 3], [1, 2, 2, 1], steps) == pytest.approx(kappa, abs=1e-15)


def test_a_category_that_nobody_used_still_takes_its_place_in_the_order() -> None:
    first, second = [1, 1, 5, 2], [1, 2, 2, 5]
    assert cohen_kappa(first, second, [1, 2, 5]) == pytest.approx(1 - 4 * 3 / 20)
    assert cohen_kappa(first, second, [1, 2, 3, 4, 5]) == pytest.approx(1 - 4 * 19 / 80)


def test_a_value_outside_the_categories_is_refused() -> None:
    with pytest.raises(ValueError, match="9 is none of the categories"):
        cohen_kappa([1, 9], [1, 2], [1, 2, 3])


# Fourteen raters, ten subjects, five categories: the worked table of the encyclopaedias, kappa .210.
FOURTEEN = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


def test_fleiss_kappa_of_the_published_table() -> None:
    kappa = fleiss_kappa(FOURTEEN)
    assert kappa is not None
    assert round(kappa, 3) == 0.210


@pytest.mark.parametrize(
    ("ratings", "kappa"),
    [
        ([["a", "a"], ["b", "b"]], 1.0),
        ([["a", "b"], ["b", "a"]], -1.0),
        ([["a", "a"], ["a", "a"]], None),
        ([], None),
    ],
    ids=["equal", "opposite", "one category", "empty"],
)
def test_fleiss_kappa_at_its_ends(ratings: list[list[str]], kappa: float | None) -> None:
    assert fleiss_kappa(fleiss_counts(ratings)) == kappa


@pytest.mark.parametrize(
    "counts", [[[1, 1], [2, 1]], [[1], [1]], [[2], [1, 1]]], ids=["unequal", "one rater", "ragged"]
)
def test_fleiss_kappa_needs_the_same_raters_everywhere(counts: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="same number of raters"):
        fleiss_kappa(counts)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), max_size=40), st.sampled_from([None, range(1, 6)]))
def test_kappa_does_not_care_who_is_first_and_never_passes_one(
    pairs: list[tuple[int, int]], steps: Sequence[int] | None
) -> None:
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    kappa = cohen_kappa(first, second, steps)
    assert kappa == cohen_kappa(second, first, steps)
    assert kappa is None or -1 <= kappa <= 1


# Four observers, twelve units, holes: the table with which Krippendorff explains the computation (2011, section D).
OBSERVERS: list[list[int | None]] = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
UNITS = list(zip(*OBSERVERS, strict=True))


@pytest.mark.parametrize(
    ("level", "alpha"),
    [(MeasurementLevel.NOMINAL, 0.743), (MeasurementLevel.ORDINAL, 0.815), (MeasurementLevel.INTERVAL, 0.849)],
)
def test_alpha_of_the_published_table(level: MeasurementLevel, alpha: float) -> None:
    found = krippendorff_alpha(UNITS, level)
    assert found is not None
    assert round(found, 3) == alpha


@pytest.mark.parametrize(
    ("units", "alpha"),
    [
        ([("a", "a"), ("b", "b")], 1.0),
        ([("a", "b"), ("b", "a")], -0.5),
        ([("a", "a"), ("a", "a")], None),
        ([("a", None), (None, "b")], None),
        ([], None),
        ([("a", "a"), ("b", "b"), ("c", None)], 1.0),
    ],
    ids=["equal", "opposite", "one value", "no pair", "empty", "a lone value does not count"],
)
def test_alpha_at_its_ends(units: Sequence[Sequence[Hashable | None]], alpha: float | None) -> None:
    assert krippendorff_alpha(units) == alpha


# Krippendorff's nominal example of two observers and ten binary units: .095.
def test_alpha_of_two_observers_and_binary_values() -> None:
    first = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    second = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    alpha = krippendorff_alpha(list(zip(first, second, strict=True)))
    assert alpha is not None
    assert round(alpha, 3) == 0.095


def test_the_order_of_units_and_raters_does_not_matter() -> None:
    turned = [tuple(reversed(unit)) for unit in reversed(UNITS)]
    for level in MeasurementLevel:
        assert krippendorff_alpha(turned, level) == pytest.approx(krippendorff_alpha(UNITS, level))
