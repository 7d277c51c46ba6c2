"""Names in other forms."""

from __future__ import annotations

import pytest

from assay.judges.offline.folding import tokens
from assay.judges.offline.names import is_acronym_of, name_at, same_given_name, same_word, spelled_out


@pytest.mark.parametrize(
    ("name", "text", "there"),
    [
        ("Bhimrao Ramji Ambedkar", "Dr. B.R. Ambedkar wrote it", True),
        ("B. R. Ambedkar", "Bhimrao Ramji Ambedkar", True),
        ("Christopher Allen Lloyd", "It was Christopher Lloyd", True),
        ("Hugh S. Johnson", "Hugh Samuel Johnson", True),
        ("Will Friedle", "William Alan Friedle", True),
        ("Hugh S. Johnson", "Hugh Laurie", False),
        ("George Washington", "Martha Washington", False),
        ("George Washington", "Washington is a state", False),
        ("J. Smith", "Karl Smith", False),
        ("Louis 14", "Louis 15", False),
        ("Cher", "Cher", False),
    ],
)
def test_a_name_is_found_in_its_forms(name: str, text: str, there: bool) -> None:
    assert (name_at(tokens(name), tokens(text)) is not None) is there


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("einstein", "einstien", False),
        ("mississippi", "misissippi", True),
        ("hypertension", "hypotension", False),
        ("interstate", "intrastate", False),
        ("slovakia", "slovenia", False),
        ("tolstoy", "tolstoi", True),
        ("cats", "cat", True),
        ("⌗3aef0b0cb2e3", "⌗3aef0b0cb2e3", True),
        ("⌗3aef0b0cb2e3", "⌗3aef0b0cb2e4", False),
        ("⌗3aef0b0cb2s", "⌗3aef0b0cb2", False),
        ("1984", "1985", False),
        ("paris", "maris", False),
        ("rome", "roma", False),
    ],
)
def test_a_letter_mistyped_is_forgiven_in_long_words(one: str, other: str, same: bool) -> None:
    assert same_word(one, other) is same


def test_short_forms_of_first_names() -> None:
    assert same_given_name("bill", "william")
    assert same_given_name("b", "bhimrao")
    assert not same_given_name("bill", "robert")


@pytest.mark.parametrize(
    ("short", "long", "fits"),
    [
        ("DMV", "Department of Motor Vehicles", True),
        ("NASA", "National Aeronautics and Space Administration", True),
        ("UN", "United Nations", True),
        ("US", "United Nations", False),
        ("A", "Apple", False),
    ],
)
def test_initials(short: str, long: str, fits: bool) -> None:
    assert is_acronym_of(tokens(short), tokens(long)) is fits


def test_an_abbreviation_is_found_spelled_out() -> None:
    assert spelled_out("dmv", tokens("your local Department of Motor Vehicles issues it")) == (2, 6)
    assert spelled_out("dmv", tokens("your local office")) is None
