"""Numbers with units, and when two of them agree."""

from __future__ import annotations

import pytest

from howsure.judges.offline.quantities import Exactness, Quantity, agrees, find_quantities, find_ranges, is_quantities
from howsure.judges.offline.words import tokens


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("up to 7 ml", [Quantity(value=7, unit="ml")]),
        ("about 3.99 degrees", [Quantity(value=3.99, unit="degree", exactness=Exactness.NEAR)]),
        ("more than 80", [Quantity(value=80, exactness=Exactness.MORE)]),
        ("less than 5 kg", [Quantity(value=5, unit="kg", exactness=Exactness.LESS)]),
        ("$57,617", [Quantity(value=57617, unit="$")]),
        ("twenty percent", [Quantity(value=20, unit="percent")]),
        ("6 ft 3 in", [Quantity(value=6.25, unit="ft")]),
        ("1 hour 30 minutes", [Quantity(value=1.5, unit="hour")]),
        ("3 kg 5 km", [Quantity(value=3, unit="kg"), Quantity(value=5, unit="km")]),
        ("nothing", []),
        ("on 3 March 2026", []),
    ],
)
def test_numbers_are_found(text: str, found: list[Quantity]) -> None:
    assert find_quantities(tokens(text)) == found


def quantity(text: str) -> Quantity:
    (found,) = find_quantities(tokens(text))
    return found


@pytest.mark.parametrize(
    ("expected", "stated", "same"),
    [
        ("14 days", "fourteen days", True),
        ("14 days", "two weeks", True),
        ("14 days", "30 days", False),
        ("14 days", "14 weeks", False),
        ("14", "14 days", True),
        ("5 km", "5000 m", True),
        ("5 km", "5 miles", False),
        ("26.2 miles", "42.2 km", True),
        ("5 kg", "5 km", False),
        ("20 %", "20 dollars", False),
        ("about 100", "103", True),
        ("100", "103", False),
        ("more than 80", "89", True),
        ("more than 80", "70", False),
        ("more than 80", "800", False),
        ("less than 80", "70", True),
        ("-5", "5", False),
        ("10", "10.0", True),
        ("1,253", "about 1,250", True),
        ("1,253", "about 1,300", True),
        ("1,253", "about 1,200", False),
        ("1,253", "1,250", False),
        ("3.99 degrees", "about 4 degrees", True),
        ("20", "about 19", False),
        ("6 ft 2 in", "188 cm", True),
        ("60 mph", "60 kmh", False),
        ("100 kmh", "62.14 mph", True),
        ("100 degrees", "100 celsius", True),
        ("100 fahrenheit", "100 celsius", False),
    ],
)
def test_when_two_numbers_agree(expected: str, stated: str, same: bool) -> None:
    assert agrees(quantity(expected), quantity(stated)) is same


@pytest.mark.parametrize(
    ("text", "only"), [("about 3.99 degrees", True), ("775 rooms", False), ("season 9", False), ("degrees", False)]
)
def test_what_is_a_number_and_nothing_else(text: str, only: bool) -> None:
    assert is_quantities(tokens(text)) is only


def test_what_the_question_counts_belongs_to_the_number() -> None:
    assert is_quantities(tokens("775 rooms"), frozenset({"rooms"}))


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("5 to 10", [(5, 10)]),
        ("5-10 %", [(5, 10)]),
        ("between 5 and 10 km", [(5, 10)]),
        ("200 mg to 500 mg", [(200, 500)]),
        ("5 and 10", []),
        ("10 to 5", []),
        ("5", []),
    ],
)
def test_ranges_of_numbers(text: str, ranges: list[tuple[float, float]]) -> None:
    assert find_ranges(tokens(text)) == ranges
