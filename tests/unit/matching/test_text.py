"""Text compared as people compare it."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from howsure.matching.text import not_after, parse_moment, same_moment, squeeze_text, words


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


NEW_YEAR = date(2024, 1, 1)


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("2024-01-01", NEW_YEAR),
        ("2024-01-01T00:00:00Z", datetime(2024, 1, 1, tzinfo=UTC)),
        ("2024-01-01t00:00z", datetime(2024, 1, 1, tzinfo=UTC)),
        ("2024-01-01 10:30", datetime(2024, 1, 1, 10, 30)),
        ("2024-01-01 10:30:00 +0000", datetime(2024, 1, 1, 10, 30, tzinfo=UTC)),
        ("2024-01-01T10:30:00,5", datetime(2024, 1, 1, 10, 30, 0, 500_000)),
        (NEW_YEAR, NEW_YEAR),
        ("20240101", None),
        ("2024-13-01", None),
        ("2024-02-30", None),
        ("2024-01-01 and more", None),
        ("on 2024-01-01", None),
        ("2024-01", None),
        (20240101, None),
        (None, None),
        ("", None),
    ],
)
def test_only_whole_iso_texts_name_a_moment(value: Any, named: date | datetime | None) -> None:
    assert parse_moment(value) == named


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2024-01-01", "2024-01-01T00:00:00Z", True),
        ("2024-01-01", "2024-01-01 00:00", True),
        ("2024-01-01", "2024-01-01T00:00:00+02:00", True),
        ("2024-01-01", "2024-01-01T00:00:01Z", False),
        ("2024-01-01", "2024-01-02", False),
        ("2024-01-01T12:00:00Z", "2024-01-01T14:00:00+02:00", True),
        ("2024-01-01T12:00:00Z", "2024-01-01T12:00:00.000Z", True),
        ("2024-01-01T12:00:00Z", "2024-01-01T12:00:00+02:00", False),
        ("2024-01-01T12:00:00", "2024-01-01T12:00:00Z", False),
        ("2024-01-01T12:00", "2024-01-01 12:00:00", True),
    ],
)
def test_the_same_moment_may_be_spelled_in_many_ways(one: str, other: str, same: bool) -> None:
    first, second = parse_moment(one), parse_moment(other)
    assert first is not None
    assert second is not None
    assert same_moment(first, second) is same
    assert same_moment(second, first) is same


@pytest.mark.parametrize(
    ("one", "other", "answer"),
    [
        ("2024-01-01", "2024-01-02", True),
        ("2024-01-02", "2024-01-01", False),
        ("2024-01-01", "2024-01-01T00:00:00Z", True),
        ("2024-01-01T10:00", "2024-01-01T09:00Z", None),
    ],
)
def test_order_is_unknown_where_only_one_time_has_an_offset(one: str, other: str, answer: bool | None) -> None:
    first, second = parse_moment(one), parse_moment(other)
    assert first is not None
    assert second is not None
    assert not_after(first, second) is answer
