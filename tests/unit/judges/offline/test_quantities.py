"""Numbers with units, and when two of them agree."""

from __future__ import annotations

import pytest

from howsure.judges.offline.dates import (
    CenturyPart,
    DateFit,
    PartialDate,
    compare_dates,
    find_dates,
    find_year_spans,
    is_dates,
)
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


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("November 8, 1968", [PartialDate(year=1968, month=11, day=8)]),
        ("8 November 1968", [PartialDate(year=1968, month=11, day=8)]),
        ("8th of November 1968", [PartialDate(year=1968, month=11, day=8)]),
        ("1968-11-08", [PartialDate(year=1968, month=11, day=8)]),
        ("Nov 1968", [PartialDate(year=1968, month=11)]),
        ("April 7", [PartialDate(month=4, day=7)]),
        ("in 1968", [PartialDate(year=1968)]),
        ("the 1960s", [PartialDate(decade=1960)]),
        ("the sixteenth century", [PartialDate(century=16)]),
        ("late 6th century BC", [PartialDate(century=-6, part=CenturyPart.LATE)]),
        ("the mid 1960s", [PartialDate(decade=1960, part=CenturyPart.MID)]),
        ("the 1700s", [PartialDate(century=18)]),
        ("the 2000s", [PartialDate(decade=2000)]),
        ("late 1968", [PartialDate(year=1968)]),
        ("496 BC", [PartialDate(year=-496)]),
        ("from 1900 to 1946", [PartialDate(year=1900), PartialDate(year=1946)]),
        ("you may go", []),
        ("room 404", []),
        ("12345", []),
        ("2000 grams", []),
    ],
)
def test_dates_are_found(text: str, days: list[PartialDate]) -> None:
    assert find_dates(tokens(text)) == days


@pytest.mark.parametrize(
    ("text", "only"),
    [("late 1968", True), ("between 1881 and 1885", True), ("season 9", False), ("1984 by Orwell", False), ("", False)],
)
def test_what_is_a_date_and_nothing_else(text: str, only: bool) -> None:
    assert is_dates(tokens(text)) is only


YEAR, MONTH, DAY = PartialDate(year=1995), PartialDate(year=1995, month=3), PartialDate(year=1995, month=3, day=18)


@pytest.mark.parametrize(
    ("expected", "stated", "how"),
    [
        (DAY, DAY, DateFit.SAME),
        (YEAR, DAY, DateFit.FINER),
        (DAY, YEAR, DateFit.COARSER),
        (DAY, PartialDate(year=1995, month=3, day=19), DateFit.CONFLICT),
        (MONTH, PartialDate(year=1995, month=4), DateFit.CONFLICT),
        (YEAR, PartialDate(month=3, day=18), DateFit.CONFLICT),
        (PartialDate(year=1524), PartialDate(century=16), DateFit.COARSER),
        (PartialDate(century=16), PartialDate(year=1524), DateFit.FINER),
        (PartialDate(year=1524), PartialDate(century=15), DateFit.CONFLICT),
        (PartialDate(year=-406), PartialDate(century=-5), DateFit.COARSER),
        (PartialDate(year=1600), PartialDate(century=16), DateFit.COARSER),
        (PartialDate(decade=1960), PartialDate(year=1968), DateFit.FINER),
        (PartialDate(year=1968), PartialDate(decade=1960), DateFit.COARSER),
        (PartialDate(decade=1960), PartialDate(decade=1970), DateFit.CONFLICT),
        (PartialDate(year=1971), PartialDate(decade=1960), DateFit.CONFLICT),
        (PartialDate(year=1524), PartialDate(century=16, part=CenturyPart.LATE), DateFit.CONFLICT),
        (PartialDate(year=1590), PartialDate(century=16, part=CenturyPart.LATE), DateFit.COARSER),
        (PartialDate(century=16, part=CenturyPart.EARLY), PartialDate(year=1524), DateFit.FINER),
        (
            PartialDate(century=16, part=CenturyPart.EARLY),
            PartialDate(century=16, part=CenturyPart.LATE),
            DateFit.CONFLICT,
        ),
        (PartialDate(century=16, part=CenturyPart.EARLY), PartialDate(century=16), DateFit.COARSER),
        (PartialDate(century=-6, part=CenturyPart.LATE), PartialDate(year=-510), DateFit.FINER),
        (PartialDate(century=-6, part=CenturyPart.LATE), PartialDate(year=-590), DateFit.CONFLICT),
        (PartialDate(year=1961), PartialDate(decade=1960, part=CenturyPart.LATE), DateFit.CONFLICT),
    ],
)
def test_how_two_dates_agree(expected: PartialDate, stated: PartialDate, how: DateFit) -> None:
    assert compare_dates(expected, stated) is how


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("from 1914 to 1918", [(1914, 1918)]),
        ("1914–1918", [(1914, 1918)]),
        ("between 1881 and 1885", [(1881, 1885)]),
        ("1918 to 1914", []),
        ("in 1914, and once more in 1918", []),
        ("1914", []),
    ],
)
def test_years_from_one_to_another(text: str, spans: list[tuple[int, int]]) -> None:
    assert find_year_spans(tokens(text)) == spans
