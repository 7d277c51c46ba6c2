"""Names in other forms."""

from __future__ import annotations

import pytest

from howsure.judges.offline.word_forms import (
    find_name,
    find_spelled_out,
    is_acronym_of,
    is_proper,
    same_family,
    same_given_name,
    same_word,
    strip_titles,
)
from howsure.judges.offline.words import tokens


@pytest.mark.parametrize(
    ("name", "text", "there"),
    [
        ("Bhimrao Ramji Ambedkar", "Dr. B.R. Ambedkar wrote it", True),
        ("B. R. Ambedkar", "Bhimrao Ramji Ambedkar", True),
        ("Christopher Allen Lloyd", "It was Christopher Lloyd", True),
        ("Hugh S. Johnson", "Hugh Samuel Johnson", True),
        ("Will Friedle", "William Alan Friedle", True),
        ("James Paul Weller", "It was Paul Weller.", True),
        ('Greta "Mimi" Halvorsen', "Mimi Halvorsen", True),
        ("Martin Luther King Jr.", "Martin Luther King", True),
        ("Hugh S. Johnson", "Hugh Laurie", False),
        ("George Washington", "Martha Washington", False),
        ("George Washington", "Washington is a state", False),
        ("J. Smith", "Karl Smith", False),
        ("Louis 14", "Louis 15", False),
        ("Cher", "Cher", False),
    ],
)
def test_a_name_is_found_in_its_forms(name: str, text: str, there: bool) -> None:
    assert (find_name(tokens(name), tokens(text)) is not None) is there


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("einstein", "einstien", True),
        ("angel", "angle", False),
        ("martial", "marital", False),
        ("horse", "house", False),
        ("martin", "marvin", False),
        ("plant", "planet", False),
        ("county", "country", False),
        ("austin", "austen", True),
        ("claire", "clair", True),
        ("honour", "honor", True),
        ("brasil", "brazil", True),
        ("philip", "phillip", True),
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


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("bill", "william", True),
        ("b", "bhimrao", True),
        ("danny", "daniel", True),
        ("charlie", "charles", True),
        ("alex", "alexander", True),
        ("ted", "edward", True),
        ("ted", "theodore", True),
        ("bob", "rob", True),
        ("bill", "robert", False),
        ("paul", "paula", False),
        ("george", "georgina", False),
        ("joe", "joel", False),
        ("don", "donna", False),
        ("mary", "marion", False),
    ],
)
def test_short_forms_of_first_names(one: str, other: str, same: bool) -> None:
    assert same_given_name(one, other) is same
    assert same_given_name(other, one) is same


@pytest.mark.parametrize(
    ("words", "bare"),
    [
        ("Dr. Martin Luther King Jr.", ("martin", "luther", "king")),
        ("Queen Anna", ("anna",)),
        ("President", ("president",)),
        ("Sir", ("sir",)),
    ],
)
def test_titles_stand_around_a_name_and_not_in_it(words: str, bare: tuple[str, ...]) -> None:
    assert strip_titles(tokens(words)) == bare


@pytest.mark.parametrize(
    ("text", "proper"),
    [
        ("Anna Berg", True),
        ("Ludwig van Beethoven", True),
        ("Bank of England", True),
        ("the left ventricle", False),
        ("Sedimentary rock", False),
        ("", False),
    ],
)
def test_what_is_written_like_a_name(text: str, proper: bool) -> None:
    assert is_proper(text) is proper


@pytest.mark.parametrize(
    ("short", "long", "fits"),
    [
        ("DMV", "Department of Motor Vehicles", True),
        ("NASA", "National Aeronautics and Space Administration", True),
        ("UN", "United Nations", True),
        ("P&G", "Procter & Gamble", True),
        ("BBC", "UK Broadcasting Corporation", True),
        ("US", "United Nations", False),
        ("A", "Apple", False),
    ],
)
def test_initials(short: str, long: str, fits: bool) -> None:
    assert is_acronym_of(tokens(short), tokens(long)) is fits


def test_an_abbreviation_is_found_spelled_out() -> None:
    assert find_spelled_out("dmv", tokens("your local Department of Motor Vehicles issues it")) == (2, 6)
    assert find_spelled_out("dmv", tokens("your local office")) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("environment", "environmental"),
        ("legislature", "legislative"),
        ("pollute", "pollution"),
        ("explode", "explosion"),
        ("colony", "colonial"),
        ("economy", "economic"),
        ("agriculture", "agricultural"),
        ("bake", "baking"),
        ("carry", "carried"),
        ("tax", "taxes"),
        ("swim", "swimming"),
        ("farming", "farmers"),
        ("detoxification", "detoxifies"),
        ("mitochondria", "mitochondrion"),
        ("fungus", "fungi"),
        ("wood", "wooden"),
        ("democracy", "democratic"),
        ("removal", "removing"),
        ("go", "went"),
        ("die", "death"),
        ("destroyed", "destruction"),
        ("islam", "muslims"),
        ("1984", "1984"),
    ],
)
def test_forms_of_one_word_are_kin(one: str, other: str) -> None:
    assert same_family(one, other)
    assert same_family(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("internal", "international"),
        ("community", "communism"),
        ("general", "generation"),
        ("state", "station"),
        ("count", "county"),
        ("part", "party"),
        ("moth", "mother"),
        ("corn", "corner"),
        ("germ", "german"),
        ("plan", "plane"),
        ("main", "maine"),
        ("port", "portal"),
        ("car", "care"),
        ("paris", "parisian"),
        ("alexander", "alexandria"),
        ("hyper", "hypertension"),
        ("increase", "decrease"),
        ("1984", "1985"),
        ("⌗3aef0b0cb2e3", "⌗3aef0b0cb2e3s"),
    ],
)
def test_words_that_only_begin_alike_are_not(one: str, other: str) -> None:
    assert not same_family(one, other)
    assert not same_family(other, one)
