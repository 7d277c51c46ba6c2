"""Krippendorff's alpha: his own worked table, and the ends."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import pytest

from howsure.stats.krippendorff import Level, krippendorff_alpha

# Four observers, twelve units, holes: the table with which Krippendorff explains the computation (2011, section D).
OBSERVERS: list[list[int | None]] = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
UNITS = list(zip(*OBSERVERS, strict=True))


@pytest.mark.parametrize(("level", "alpha"), [(Level.NOMINAL, 0.743), (Level.ORDINAL, 0.815), (Level.INTERVAL, 0.849)])
def test_alpha_of_the_published_table(level: Level, alpha: float) -> None:
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
    for level in Level:
        assert krippendorff_alpha(turned, level) == pytest.approx(krippendorff_alpha(UNITS, level))
