"""Numbers, codes and dates in what people write: which there are, what they are worth, whether they are known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.judges.offline.dates import PartialDate
from howsure.users.checks.specifics import (
    codes_in,
    counted_nouns,
    figure_values,
    find_days,
    find_figures,
    is_derivable,
    is_known,
    letters_and_digits,
    numbers_in,
    same_day,
)


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("5", (5.0,)),
        ("007", (7.0,)),
        ("12.5", (12.5,)),
        ("12,50", (12.5,)),
        ("1.150", (1.15, 1150.0)),
        ("1,150", (1.15, 1150.0)),
        ("1.234,56", (1234.56,)),
        ("1,234.56", (1234.56,)),
        ("1'234", (1234.0,)),
        ("1'234.50", (1234.5,)),
        ("1’234.50", (1234.5,)),
        ("2'500'000.75", (2500000.75,)),
        ("1.000.000", (1000.0, 1000000.0)),
        (".5", (0.5,)),
        ("$45", (45.0,)),
        ("45€", (45.0,)),
        ("20%", (20.0,)),
        ("3rd", (3.0,)),
        ("21st", (21.0,)),
        ("9am", (9.0,)),
        ("16GB", (16.0,)),
        ("#12", (12.0,)),
        ("٣", (3.0,)),
        ("A-17", ()),
        ("A17", ()),
        ("1/2", ()),
        ("9:30", ()),
        ("9h", (9.0,)),
        ("", ()),
        (".,'", ()),
        ("½", ()),
    ],
)
def test_what_a_run_of_digits_may_be_worth(run: str, expected: tuple[float, ...]) -> None:
    assert figure_values(run) == expected


WHOLE = st.integers(0, 10**7)


def swiss(value: int, cents: int) -> str:
    return f"{value:,}".replace(",", "'") + f".{cents:02}"


@given(WHOLE, st.integers(0, 99))
def test_an_amount_is_worth_the_same_however_its_thousands_are_set_apart(value: int, cents: int) -> None:
    amount = round(value + cents / 100, 2)
    english, swiss_made = f"{value:,}.{cents:02}", swiss(value, cents)
    german = english.translate(str.maketrans(",.", ".,"))
    for written in (f"{value}.{cents:02}", english, german, swiss_made, swiss_made.replace("'", "’")):
        assert figure_values(written) == (amount,), written


@given(st.text("0123456789.,'’-/:%aAé ", max_size=12))
def test_whatever_is_written_has_values_or_none_and_never_breaks(run: str) -> None:
    assert all(value >= 0 for value in figure_values(run))
    assert list(figure_values(run)) == sorted(figure_values(run))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("no digits here", []),
        ("order 77120", [("77120", "77120")]),
        ("order A-17, please", [("A-17", "a17")]),
        ("ORD_55/9.", [("ORD_55/9", "ord559")]),
        ("on the 3rd", [("3rd", "3")]),
        ("1,150 euros", [("1,150", "1150")]),
        ("at 9:30.", [("9:30", "930")]),
        ("write to a1@b2.example", []),
        ("see https://example.com/17 or www.x1.example/2", []),
        ("a1@b2.example and 17", [("17", "17")]),
        ("CHF 1'234.50!", [("1'234.50", "123450")]),
        ("two: 2, three: 3", [("2", "2"), ("3", "3")]),
    ],
)
def test_every_run_with_a_digit_is_a_figure(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(figure.text, figure.key) for figure in find_figures(text)] == expected


@given(st.text("ab17 .,-/:@'€$%_\n", max_size=30))
def test_a_figure_stands_where_it_says(text: str) -> None:
    for figure in find_figures(text):
        assert text[figure.start :].startswith(figure.text)
        assert any(map(str.isdigit, figure.text))
        assert figure.key in letters_and_digits(text)


@pytest.mark.parametrize(
    ("text", "is_code"),
    [("77120", False), ("A-17", True), ("3rd", False), ("1.150", False), ("X1Y2", True), ("2nd", False)],
)
def test_a_code_has_letters_that_are_no_ending(text: str, is_code: bool) -> None:
    (figure,) = find_figures(text)
    assert figure.is_code is is_code


@pytest.mark.parametrize(
    ("text", "known", "unknown"),
    [
        ("11:20", {11.0, 20.0}, {1120.5}),
        ("two bags", {2.0}, {3.0}),
        ("zwei Koffer und drei Taschen", {2.0, 3.0}, {4.0}),
        ("deux valises", {2.0}, {3.0}),
        ("dos maletas", {2.0}, {3.0}),
        ("1.150 euros", {1.15, 1150.0}, {115.0}),
        ("twenty-five nights", {25.0}, {24.0}),
        ("first line 7\nsecond line 8", {7.0, 8.0}, {78.0}),
        ("", set(), {0.0}),
    ],
)
def test_the_numbers_of_a_text_in_figures_and_in_words(text: str, known: set[float], unknown: set[float]) -> None:
    assert known <= numbers_in(text)
    assert not unknown & numbers_in(text)


@given(st.lists(st.text("ab 17.,:-", max_size=10), max_size=4))
def test_a_text_knows_what_its_lines_know(lines: list[str]) -> None:
    whole = "\n".join(lines)
    assert numbers_in(whole) == frozenset().union(*map(numbers_in, whole.split("\n")))
    assert codes_in(whole) == frozenset().union(*map(codes_in, whole.split("\n")))


@pytest.mark.parametrize(
    ("said", "text", "expected"),
    [
        ("77120", "order number: 77120", True),
        ("77120", "order number: 77 120", True),
        ("77-120", "order number: 77120", True),
        ("77121", "order number: 77120", False),
        ("L5512", "order: l-5512", True),
        ("1150", "income: 1,150 euros", True),
        ("12", "the code is 4123", False),
        ("4123", "the codes are 41 and 23", False),
        ("3rd", "on May 3", True),
    ],
    ids=[
        "as it stands", "in groups", "with a dash", "another", "case and dash", "thousands", "short ones stand alone",
        "words between are no separator", "an ordinal",
    ],
)  # fmt: skip
def test_a_figure_is_known_in_any_form(said: str, text: str, expected: bool) -> None:
    (figure,) = find_figures(said)
    assert is_known(figure, text) is expected


@pytest.mark.parametrize(
    ("value", "text", "cue", "expected"),
    [
        (80.0, "40 euros, 2 nights", False, True),
        (70.0, "40 euros, 30 with a card", False, True),
        (10.0, "40 euros, 30 with a card", False, True),
        (30.0, "40 euros, 25 percent less", False, True),
        (50.0, "40 euros, 25 percent more", False, True),
        (20.0, "40 for 2", False, True),
        (67.0, "40 euros, 2 nights", False, False),
        (480.0, "40 a month", False, False),
        (480.0, "40 a month", True, True),
        (20000.0, "100 and 200", False, False),
        (5.0, "", True, False),
    ],
    ids=[
        "a product", "a sum", "a difference", "a discount", "a surcharge", "a share", "nothing of the kind",
        "a year of months needs a word such as so", "with one", "too large to be worked out", "nothing known",
    ],
)  # fmt: skip
def test_a_number_may_be_worked_out_of_two_known_ones(value: float, text: str, cue: bool, expected: bool) -> None:
    assert is_derivable((value,), text, cue) is expected


def test_a_number_with_two_readings_is_worked_out_when_one_of_them_is() -> None:
    assert is_derivable((1.15, 80.0), "40 euros, 2 nights", cue=False)
    assert not is_derivable((), "40 euros, 2 nights", cue=True)


MAY_3 = PartialDate(month=5, day=3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3 May", {(5, 3)}),
        ("May 3rd", {(5, 3)}),
        ("the third of May", {(5, 3)}),
        ("3. Mai", {(5, 3)}),
        ("le 3 mai", {(5, 3)}),
        ("3 de mayo", {(5, 3)}),
        ("3 maggio", {(5, 3)}),
        ("3 mei", {(5, 3)}),
        ("12 to 14 June", {(6, 12), (6, 14)}),
        ("2024-05-03", {(5, 3)}),
        ("2024-13-03", set()),
        ("31/12", {(12, 31)}),
        ("13/14", set()),
        ("9.30", set()),
        ("3-5", set()),
        ("in May", set()),
        ("room 3", set()),
        ("", set()),
    ],
)
def test_dates_are_read_in_words_and_in_figures(text: str, expected: set[tuple[int, int]]) -> None:
    assert {(day.month, day.day) for day in find_days(text)} == expected


def test_a_date_in_figures_has_both_readings_where_both_are_dates() -> None:
    assert {(day.month, day.day) for day in find_days("3/4")} == {(3, 4), (4, 3)}
    assert {(day.month, day.day, day.year) for day in find_days("3.4.2026")} == {(3, 4, 2026), (4, 3, 2026)}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (MAY_3, PartialDate(month=5, day=3), True),
        (MAY_3, PartialDate(month=5, day=3, year=2024), True),
        (PartialDate(month=5, day=3, year=24), PartialDate(month=5, day=3, year=2024), True),
        (PartialDate(month=5, day=3, year=2025), PartialDate(month=5, day=3, year=2024), False),
        (MAY_3, PartialDate(month=5, day=4), False),
        (MAY_3, PartialDate(month=6, day=3), False),
    ],
    ids=["equal", "a year on one side", "two digits of it", "another year", "another day", "another month"],
)
def test_two_days_are_the_same_unless_something_known_differs(
    one: PartialDate, other: PartialDate, expected: bool
) -> None:
    assert same_day(one, other) is expected
    assert same_day(other, one) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("two nights", [(2.0, "nights")]),
        ("2 nights and 3 guests", [(2.0, "nights"), (3.0, "guests")]),
        ("drei Gäste", [(3.0, "gaste")]),
        ("sei bitte schnell", []),
        ("we are five", [(5.0, "")]),
        ("a line: 4\nanother: 5", [(4.0, ""), (5.0, "")]),
        ("nothing", []),
    ],
)
def test_numbers_come_with_the_word_after_them(text: str, expected: list[tuple[float, str]]) -> None:
    assert counted_nouns(text) == expected
