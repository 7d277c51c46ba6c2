"""What turns a statement round."""

from __future__ import annotations

import pytest

from howsure.judges.offline.sentences import is_negated, offered_with_another, refuses, text_after_correction
from howsure.judges.offline.words import tokens


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
