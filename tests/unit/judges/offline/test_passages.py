"""Sentences, and runs of words in them."""

from __future__ import annotations

import pytest

from howsure.judges.offline.sentences import comparable_words, content_words, find_run, split_sentences
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
