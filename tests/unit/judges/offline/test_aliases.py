"""One name for what has several."""

from __future__ import annotations

import pytest

from howsure.judges.offline.lexicon import aliases
from howsure.judges.offline.sentences import comparable_words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the United States of America", "U.S.A."),
        ("in the US", "in America"),
        ("us", "United States"),
        ("the Dutch", "Holland"),
        ("Norwegian", "Norway"),
        ("Germans", "Germany"),
        ("Second World War", "WWII"),
        ("World War I", "the First World War"),
        ("New York City", "NYC"),
        ("Washington, D.C.", "Washington DC"),
        ("carbon dioxide", "CO2"),
        ("water", "H2O"),
        ("heart attack", "myocardial infarction"),
        ("20 per cent", "20%"),
        ("100 °C", "100 degrees Celsius"),
        ("the sixties", "the 1960s"),
        ("the 60s", "the 1960s"),
        ("60 miles per hour", "60 mph"),
        ("grey", "gray"),
        ("the third season", "Season 3"),
        ("1 . 5 million", "1.5 million"),
        ("Christmas Day", "December 25"),
    ],
)
def test_two_names_of_one_thing_are_compared_as_one(one: str, other: str) -> None:
    assert comparable_words(one) == comparable_words(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("South America", "the United States"),
        ("New Mexico", "Mexico"),
        ("hypertension", "hypotension"),
        ("tell us", "tell the US"),
        ("no", "number"),
        ("North Korea", "South Korea"),
    ],
)
def test_names_that_hold_other_names_are_left_whole(one: str, other: str) -> None:
    assert comparable_words(one) != comparable_words(other)


def test_no_name_is_renamed_twice() -> None:
    names = aliases().names
    twice = {name: known for name, known in names.items() if names.get(known, known) != known}
    assert twice == {}
