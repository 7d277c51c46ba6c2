"""Text compared as people compare it."""

from __future__ import annotations

import pytest

from howsure.matching.text import squeeze_text, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Larceny, by  trick.", "larceny by trick"),
        ("  (a) «quoted» — text… ", "a quoted text"),
        ("i, ii", "i ii"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("ﬁne Ａ①", "fine a1"),
        ("soft\u00adhyphen", "softhyphen"),
        ("non\u00a0breaking", "non breaking"),
        ("$500 + 5 %", "$500 + 5 %"),
        ("§ 12(a)", "§ 12 a"),
        ("a_b`c", "a b c"),
        ("Ünïcode", "ünïcode"),
        ("U\u0308ber", "über"),
        ("", ""),
        (" .,!? ", ""),
        ("答案，是", "答案 是"),
    ],
)
def test_words_keep_their_breaks_and_lose_the_rest(text: str, expected: str) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("New York", "new-york", True),
        ("New York", "NEWYORK", True),
        ("U.S.A.", "usa", True),
        ("don't", "dont", True),
        ("1.5", "15", False),
        ("1.5", "1,5", True),
        ("2024-01-02", "2024/01/02", True),
        ("2024-01-02", "20240102", False),
        ("room 12", "room12", True),
        ("C++", "C", False),
        ("$5", "5", False),
        ("café", "cafe", False),
        ("CAFÉ", "cafe\u0301", True),
        ("100 %", "100%", True),
    ],
)
def test_squeezed_drops_breaks_except_between_digits(one: str, other: str, same: bool) -> None:
    assert (squeeze_text(one) == squeeze_text(other)) is same
