"""Cursors: whatever place they say, they say it again; what is none is refused; the next page's address is whole."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi import Request
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from howsure.api.pages import NEXT_CURSOR, page, read_cursor, read_number


def asked(path: str = "/api/v1/runs", query: str = "") -> Request:
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": [],
             "server": ("127.0.0.1", 8002), "scheme": "http"}  # fmt: skip
    return Request(scope)


@settings(max_examples=200, deadline=None)
@given(place=st.text(min_size=1).filter(lambda text: text.isprintable()))
def test_a_place_is_read_as_it_was_written(place: str) -> None:
    cursor = page(asked(), [], place).headers[NEXT_CURSOR]
    assert read_cursor(cursor) == place
    assert all(letter.isalnum() or letter in "-_=" for letter in cursor)


@settings(max_examples=100, deadline=None)
@given(number=st.integers(0, 999_999_999))
def test_a_number_is_read_as_it_was_written(number: int) -> None:
    assert read_number(page(asked(), [], str(number)).headers[NEXT_CURSOR]) == number


@pytest.mark.parametrize("cursor", [None, ""])
def test_no_cursor_is_the_beginning(cursor: str | None) -> None:
    assert (read_cursor(cursor), read_number(cursor)) == (None, None)


@pytest.mark.parametrize("cursor", ["a", "_w==", "gA==", "abc"], ids=str)
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(HTTPException) as raised:
        read_cursor(cursor)
    assert raised.value.status_code == 422
    assert NEXT_CURSOR in str(raised.value)


@pytest.mark.parametrize("place", ["x", "-1", "1.5", "9999999999", "\u0663", "2026-11-15T09:30:00Z~id"])
def test_a_cursor_of_another_list_is_refused(place: str) -> None:
    with pytest.raises(HTTPException, match="of another list"):
        read_number(page(asked(), [], place).headers[NEXT_CURSOR])


def test_the_last_page_has_no_next_one() -> None:
    answer = page(asked(), [{"a": 1}], None)
    assert (json.loads(bytes(answer.body)), NEXT_CURSOR in answer.headers, "link" in answer.headers) == (
        [{"a": 1}],
        False,
        False,
    )


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("", {}),
        ("limit=5", {"limit": ["5"]}),
        ("limit=5&cursor=old", {"limit": ["5"]}),
        ("kind=a&kind=b", {"kind": ["a", "b"]}),
        ("name=a%26b%3D%C3%A9", {"name": ["a&b=é"]}),
    ],
    ids=["nothing", "a limit", "an old cursor goes", "twice the same", "odd letters"],
)
def test_the_next_page_is_asked_for_as_this_one_was(query: str, kept: dict[str, Any]) -> None:
    answer = page(asked("/api/v1/runs/ä b/results", query), [], "7")
    link = answer.headers["link"]
    assert link.endswith('>; rel="next"')
    address = urlsplit(link[1:].partition(">")[0])
    assert address.path == "/api/v1/runs/%C3%A4%20b/results"
    assert parse_qs(address.query) == {**kept, "cursor": [answer.headers[NEXT_CURSOR]]}
