"""Numbers written as words become figures, and nothing else does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.judges.offline.words import replace_number_words, tokens

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
