"""Secrets do not stand in texts."""

from __future__ import annotations

import pytest

from howsure.llm.redact import Redactor


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("key sk-marked-1 was wrong", "key [secret] was wrong"),
        ("sk-marked-1sk-marked-1", "[secret][secret]"),
        ("nothing here", "nothing here"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer [secret]"),
        ("{'authorization': 'Basic dXNlcg=='}", "{'authorization': 'Basic [secret]'}"),
        ('"x-api-key": "abc-123"', '"x-api-key": "[secret]"'),
        ("api-key=abc", "api-key=[secret]"),
        ("https://h/v1?key=abc&alt=json", "https://h/v1?key=[secret]&alt=json"),
        ("proxy http://me:pw@proxy:3128", "proxy http://me:[secret]@proxy:3128"),
        ("sk-proj-abcdefghijklmnopqrstuv is invalid", "[secret] is invalid"),
        ("a bearer of news", "a bearer of news"),
        ("sent Bearer abcdefgh12345678", "sent Bearer [secret]"),
        ("weird%2Fkey%2B1", "[secret]"),
    ],
)
def test_known_keys_and_what_looks_like_one_are_hidden(text: str, clean: str) -> None:
    assert Redactor(["sk-marked-1", "weird/key+1"]).clean(text) == clean


def test_the_longer_of_two_keys_is_hidden_whole() -> None:
    assert Redactor(["abcd", "abcdefgh"]).clean("abcdefgh abcd") == "[secret] [secret]"


def test_a_key_too_short_to_be_one_does_not_eat_the_text() -> None:
    assert Redactor(["", "a", "abc"]).clean("abc banana") == "abc banana"
