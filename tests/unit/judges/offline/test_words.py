"""One spelling for everything that is compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.judges.offline.words import (
    coded_share,
    is_code,
    is_number,
    join_words,
    replace_number_words,
    root,
    singular,
    tokens,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Eiffel Tower!", ("eiffel", "tower")),
        ("twenty-one", ("21",)),
        ("21st", ("21",)),
        ("XXI", ("21",)),
        ("Louis XIV’s wig", ("louis", "14", "wig")),
        ("I MIX IL", ("i", "mix", "il")),
        ("Two hundred and five rooms", ("205", "rooms")),
        ("75 million", ("75000000",)),
        ("3.5 million", ("3500000",)),
        ("one two three", ("1", "2", "3")),
        ("two dozen eggs", ("24", "eggs")),
        ("a dozen", ("12",)),
        ("a hundred and one", ("101",)),
        ("a thousand", ("1000",)),
        ("fifteen hundred", ("1500",)),
        ("Elizabeth I", ("elizabeth", "1")),
        ("Henry V of England", ("henry", "5", "of", "england")),
        ("So I went", ("so", "i", "went")),
        ("S03E05", ("season", "3", "episode", "5")),
        ("rock and roll", ("rock", "and", "roll")),
        ("1,000,000.5", ("1000000.5",)),
        ("1,2", ("1", "2")),
        ("B.R. Ambedkar", ("b", "r", "ambedkar")),
        ("U.S.A.", ("u", "s", "a")),
        ("the the", ("the", "the")),
        ("Café Müller", ("cafe", "muller")),
        ("Javier FernÃ¡ndez", ("javier", "fernandez")),
        ("up to 7Â\xa0ml", ("up", "to", "7", "ml")),
        ("P\u200baris", ("paris",)),
        ("ｆｕｌｌ width", ("full", "width")),
        ("Law & Order", ("law", "and", "order")),
        ("-5 °C", ("-5", "°", "c")),
        ("pages 3-4", ("pages", "3", "4")),
        ("don't", ("dont",)),
        ("key 3aef0b0cb2e3 end", ("key", "⌗3aef0b0cb2e3", "end")),
        ("SWdub3JlIGFsbCBpbnN0cnVj", ("⌗swdub3jligfsbcbpbnn0cnvj",)),
        ("id 550e8400-e29b-41d4-a716-446655440000.", ("id", "⌗550e8400e29b41d4a716446655440000")),
        ("COVID19 vaccine", ("covid", "19", "vaccine")),
        ("AZ900/AI102/DP203", ("az", "900", "ai", "102", "dp", "203")),
        ("100kilometres", ("100", "kilometres")),
        ("#blackfriday 0123456789", ("blackfriday", "0123456789")),
        ("Mary’s lamb", ("mary", "lamb")),
        ("", ()),
        ("…!?", ()),
    ],
)
def test_a_text_has_one_spelling(text: str, words: tuple[str, ...]) -> None:
    assert tokens(text) == words


@pytest.mark.parametrize(
    ("words", "figures"),
    [
        (["nine"], ["9"]),
        (["five", "thousand", "three", "hundred", "and", "twenty", "one"], ["5321"]),
        (["hundred"], ["hundred"]),
        (["1984"], ["1984"]),
        (["third", "place"], ["3", "place"]),
        (["one", "hundred", "and", "fish"], ["100", "and", "fish"]),
    ],
)
def test_number_words_become_figures(words: list[str], figures: list[str]) -> None:
    assert replace_number_words(words) == figures


@pytest.mark.parametrize(
    ("word", "one"),
    [("cities", "city"), ("boxes", "box"), ("dogs", "dog"), ("glass", "glass"), ("bus", "bus"), ("his", "his")],
)
def test_plurals_are_set_aside(word: str, one: str) -> None:
    assert singular(word) == one


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("environment", "environmental", True),
        ("refunded", "refunding", True),
        ("1984", "1985", False),
        ("cat", "car", False),
    ],
)
def test_words_of_one_family_share_a_root(one: str, other: str, same: bool) -> None:
    assert (root(one) == root(other)) is same


def test_words_without_their_breaks() -> None:
    assert join_words(("steam", "ship")) == "steamship"


@given(st.text())
def test_any_text_can_be_folded(text: str) -> None:
    assert all(token and (is_number(token) or token == token.casefold()) for token in tokens(text))


def test_a_code_is_a_word_of_its_own_and_no_number() -> None:
    (code,) = tokens("3aef0b0cb2e3")
    assert is_code(code)
    assert not is_number(code)
    assert root(code) == code
    assert not is_code("az")


@pytest.mark.parametrize(
    ("text", "share"),
    [("", 0.0), ("plain words", 0.0), ("3aef0b0cb2e3", 1.0), ("four 3aef0b0cb2e3", 0.75), ("getUserAccountName", 0.0)],
)
def test_the_share_of_codes_is_of_the_characters(text: str, share: float) -> None:
    assert coded_share(text) == share


UNITS = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]  # fmt: skip
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def spelled(number: int) -> list[str]:
    """English words for a number below a million."""
    if number < 20:
        return [UNITS[number]]
    if number < 100:
        rest = [UNITS[number % 10]] if number % 10 else []
        return [TENS[number // 10 - 2], *rest]
    for size, word in ((1000, "thousand"), (100, "hundred")):
        if number >= size:
            rest = spelled(number % size) if number % size else []
            joined = ["and", *rest] if size == 100 and rest else rest
            return [*spelled(number // size), word, *joined]
    raise AssertionError(number)


@given(st.integers(0, 999_999))
def test_every_number_below_a_million_is_read_as_it_is_said(number: int) -> None:
    assert replace_number_words(spelled(number)) == [str(number)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nine", ["9"]),
        ("twenty one days", ["21", "days"]),
        ("one two three", ["1", "2", "3"]),
        ("two hundred and five", ["205"]),
        ("two and five", ["2", "and", "5"]),
        ("a hundred", ["100"]),
        ("a dozen eggs", ["12", "eggs"]),
        ("a dog", ["a", "dog"]),
        ("75 million", ["75000000"]),
        ("1.5 million", ["1500000"]),
        ("75", ["75"]),
        ("007", ["007"]),
        ("3 4", ["3", "4"]),
        ("twentieth first", ["21"]),
        ("hundred years", ["hundred", "years"]),
        ("three thousand and two", ["3002"]),
        ("one million two hundred thousand", ["1200000"]),
        ("twenty ten", ["20", "10"]),
        ("", []),
    ],
)
def test_runs_of_number_words(text: str, expected: list[str]) -> None:
    assert replace_number_words(text.split()) == expected


@pytest.mark.parametrize("text", ["9" * 400 + " thousand", "9" * 400 + " million and one"])
def test_a_number_beyond_all_bounds_is_left_as_it_stands(text: str) -> None:
    words = text.split()
    assert replace_number_words(words)[0] == words[0]
    assert tokens(text)


@given(st.lists(st.sampled_from(["a", "an", "and", "dozen", "hundred", "thousand", "one", "twenty", "12", "x"])))
def test_no_run_of_words_breaks_it_and_words_that_are_none_stay(words: list[str]) -> None:
    assert replace_number_words(words).count("x") == words.count("x")
