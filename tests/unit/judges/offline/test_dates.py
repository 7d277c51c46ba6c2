"""Dates in part or whole, and when two of them agree."""

from __future__ import annotations

import pytest

from howsure.judges.offline.dates import Day, Fit, Part, dates_in, fit, is_dates, spans_in
from howsure.judges.offline.folding import tokens


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("November 8, 1968", [Day(year=1968, month=11, day=8)]),
        ("8 November 1968", [Day(year=1968, month=11, day=8)]),
        ("8th of November 1968", [Day(year=1968, month=11, day=8)]),
        ("1968-11-08", [Day(year=1968, month=11, day=8)]),
        ("Nov 1968", [Day(year=1968, month=11)]),
        ("April 7", [Day(month=4, day=7)]),
        ("in 1968", [Day(year=1968)]),
        ("the 1960s", [Day(decade=1960)]),
        ("the sixteenth century", [Day(century=16)]),
        ("late 6th century BC", [Day(century=-6, part=Part.LATE)]),
        ("the mid 1960s", [Day(decade=1960, part=Part.MID)]),
        ("the 1700s", [Day(century=18)]),
        ("the 2000s", [Day(decade=2000)]),
        ("late 1968", [Day(year=1968)]),
        ("496 BC", [Day(year=-496)]),
        ("from 1900 to 1946", [Day(year=1900), Day(year=1946)]),
        ("you may go", []),
        ("room 404", []),
        ("12345", []),
        ("2000 grams", []),
    ],
)
def test_dates_are_found(text: str, days: list[Day]) -> None:
    assert dates_in(tokens(text)) == days


@pytest.mark.parametrize(
    ("text", "only"),
    [("late 1968", True), ("between 1881 and 1885", True), ("season 9", False), ("1984 by Orwell", False), ("", False)],
)
def test_what_is_a_date_and_nothing_else(text: str, only: bool) -> None:
    assert is_dates(tokens(text)) is only


YEAR, MONTH, DAY = Day(year=1995), Day(year=1995, month=3), Day(year=1995, month=3, day=18)


@pytest.mark.parametrize(
    ("expected", "stated", "how"),
    [
        (DAY, DAY, Fit.SAME),
        (YEAR, DAY, Fit.FINER),
        (DAY, YEAR, Fit.COARSER),
        (DAY, Day(year=1995, month=3, day=19), Fit.CONFLICT),
        (MONTH, Day(year=1995, month=4), Fit.CONFLICT),
        (YEAR, Day(month=3, day=18), Fit.CONFLICT),
        (Day(year=1524), Day(century=16), Fit.COARSER),
        (Day(century=16), Day(year=1524), Fit.FINER),
        (Day(year=1524), Day(century=15), Fit.CONFLICT),
        (Day(year=-406), Day(century=-5), Fit.COARSER),
        (Day(year=1600), Day(century=16), Fit.COARSER),
        (Day(decade=1960), Day(year=1968), Fit.FINER),
        (Day(year=1968), Day(decade=1960), Fit.COARSER),
        (Day(decade=1960), Day(decade=1970), Fit.CONFLICT),
        (Day(year=1971), Day(decade=1960), Fit.CONFLICT),
        (Day(year=1524), Day(century=16, part=Part.LATE), Fit.CONFLICT),
        (Day(year=1590), Day(century=16, part=Part.LATE), Fit.COARSER),
        (Day(century=16, part=Part.EARLY), Day(year=1524), Fit.FINER),
        (Day(century=16, part=Part.EARLY), Day(century=16, part=Part.LATE), Fit.CONFLICT),
        (Day(century=16, part=Part.EARLY), Day(century=16), Fit.COARSER),
        (Day(century=-6, part=Part.LATE), Day(year=-510), Fit.FINER),
        (Day(century=-6, part=Part.LATE), Day(year=-590), Fit.CONFLICT),
        (Day(year=1961), Day(decade=1960, part=Part.LATE), Fit.CONFLICT),
    ],
)
def test_how_two_dates_agree(expected: Day, stated: Day, how: Fit) -> None:
    assert fit(expected, stated) is how


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
    assert spans_in(tokens(text)) == spans
