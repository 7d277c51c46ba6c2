"""Sentences, and runs of words in them."""

from __future__ import annotations

import pytest

from howsure.judges.offline.lexicon import aliases
from howsure.judges.offline.sentences import (
    comparable_words,
    content_words,
    find_run,
    is_negated,
    offered_with_another,
    refuses,
    split_sentences,
    text_after_correction,
)
from howsure.judges.offline.words import tokens


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. B. R. Ambedkar wrote it. He was wise.", ["Dr. B. R. Ambedkar wrote it.", "He was wise."]),
        ("It costs 3.50 euros. That is cheap.", ["It costs 3.50 euros.", "That is cheap."]),
        ("See Art. 12 of it. Then go.", ["See Art. 12 of it.", "Then go."]),
        ("- one\n- two\n\n- three", ["- one", "- two", "- three"]),
        ("first; second", ["first", "second"]),
        ("the U.S. army", ["the U.S. army"]),
        ("…\n!!", []),
        ("", []),
    ],
)
def test_a_text_in_sentences(text: str, sentences: list[str]) -> None:
    assert [passage.text for passage in split_sentences(text)] == sentences


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the United States of America", "U.S.A."),
        ("Great Britain", "the U.K."),
        ("World War Two", "WWII"),
        ("twenty percent", "20%"),
        ("New York City", "N.Y.C."),
        ("a French film", "France movie"),
    ],
)
def test_one_name_for_what_has_several(one: str, other: str) -> None:
    assert comparable_words(one) == comparable_words(other)


def test_the_pronoun_is_no_country() -> None:
    assert comparable_words("tell us") == ("tell", "us")


def test_content_words_or_all_when_there_are_none() -> None:
    assert content_words(tokens("This is the answer")) == ("answer",)
    assert content_words(tokens("Who is it")) == ("who", "is", "it")


@pytest.mark.parametrize(
    ("wanted", "text", "place"),
    [
        ("new york", "in upstate New York today", (2, 4)),
        ("sedimentary rock", "Sedimentary rocks form", (0, 2)),
        ("spiderman", "It is Spider-Man", (2, 4)),
        ("spider man", "It is Spiderman", (2, 3)),
        ("einstein", "by Einsten", (1, 2)),
        ("york new", "New York", None),
        ("art", "smart", None),
        ("1984", "1985", None),
        ("", "anything", None),
        ("a long run of words", "short", None),
    ],
)
def test_where_a_run_of_words_stands(wanted: str, text: str, place: tuple[int, int] | None) -> None:
    assert find_run(tokens(wanted), tokens(text)) == place


@pytest.mark.parametrize(
    ("sentence", "denied"),
    [
        ("It is Paris", False),
        ("It is not Paris", True),
        ("It isn't really Paris", True),
        ("not London but Paris", False),
        ("not only Paris", False),
        ("rather than Paris", True),
        ("instead of Paris", True),
        ("anything except Paris", True),
        ("Paris is not it", True),
        ("Paris wasn't it", True),
        ("no Paris", True),
        ("It never was Paris", True),
        ("Paris was never beaten", False),
        ("I do not think that anyone would say that it was ever called Paris", False),
    ],
)
def test_negation_reaches_its_words(sentence: str, denied: bool) -> None:
    words = tokens(sentence)
    place = words.index("paris")
    assert is_negated(words, place, place + 1) is denied


@pytest.mark.parametrize(
    ("sentence", "guess"), [("Paris or London", True), ("London or Paris", True), ("in Paris", False)]
)
def test_one_of_several_guesses(sentence: str, guess: bool) -> None:
    words = tokens(sentence)
    place = words.index("paris")
    assert offered_with_another(words, place, place + 1) is guess


@pytest.mark.parametrize(
    ("text", "declines"),
    [
        ("I don't know.", True),
        ("I’m not sure about that.", True),
        ("I cannot help with that.", True),
        ("As an AI, I have no opinion.", True),
        ("There is no definitive answer.", True),
        ("It is unclear.", True),
        ("You cannot return it after 14 days.", False),
        ("Paris.", False),
    ],
)
def test_refusals(text: str, declines: bool) -> None:
    assert refuses(text) is declines


@pytest.mark.parametrize(
    ("text", "last"),
    [("Paris. No wait, London.", " London."), ("Paris. Correction: London", " London"), ("Paris", "Paris")],
)
def test_a_correction_counts_from_there_on(text: str, last: str) -> None:
    assert text_after_correction(text) == last


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
