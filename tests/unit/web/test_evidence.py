"""Quotes are found again in what was said, whatever their spaces and capitals; what is not there is called missing."""

from __future__ import annotations

import pytest

from howsure.web.evidence import Numbering, Piece


def numbered(texts: list[str], *quotes: str) -> Numbering:
    numbering = Numbering(texts)
    for quote in quotes:
        numbering.quote(quote)
    return numbering


@pytest.mark.parametrize(
    ("said", "quote", "found"),
    [
        ("I refunded 18 dollars.", "refunded 18", True),
        ("I refunded\n  18 dollars.", "refunded 18", True),
        ("I refunded 18 dollars.", "REFUNDED 18", True),
        ("I refunded 18 dollars.", "“refunded 18…”", True),
        ("I refunded 18 dollars.", "refunded 19", False),
        ("a.c", "abc", False),
        ("anything", "", False),
        ("anything", " … ", False),
    ],
    ids=["exact", "spaces", "capitals", "quotation marks", "other words", "no pattern", "empty", "marks only"],
)
def test_a_quote_is_found_where_its_words_are(said: str, quote: str, found: bool) -> None:
    assert Numbering([said]).quote(quote).found is found


def test_the_same_words_have_one_number() -> None:
    numbering = Numbering(["one two"])
    assert [numbering.quote(text).number for text in ("one", "two", "one")] == [1, 2, 1]


def test_text_is_cut_where_quotes_begin_and_end() -> None:
    numbering = numbered(["I refunded 18 dollars."], "refunded 18")
    assert numbering.pieces("I refunded 18 dollars.") == (
        Piece("I "),
        Piece("refunded 18", (1,), (1,)),
        Piece(" dollars."),
    )


def test_quotes_over_each_other_stack_their_numbers() -> None:
    numbering = numbered(["one two three"], "one two", "two three")
    assert [(piece.text, piece.numbers) for piece in numbering.pieces("one two three")] == [
        ("one ", (1,)),
        ("two", (1, 2)),
        (" three", (2,)),
    ]


def test_only_the_first_place_of_a_quote_is_where_links_lead() -> None:
    numbering = numbered(["yes", "yes"], "yes")
    assert [piece.anchors for text in ("yes", "yes") for piece in numbering.pieces(text)] == [(1,), ()]


def test_nothing_said_is_no_piece() -> None:
    assert numbered(["x"], "x").pieces("") == ()
