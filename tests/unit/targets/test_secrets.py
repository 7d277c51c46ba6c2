"""Secrets are hidden wherever a bot may repeat them; ordinary words are not."""

from __future__ import annotations

import pytest

from howsure.targets.settings import Secrets

KEY = 'k"ey-123456789'


def test_a_secret_is_hidden_in_messages_answers_and_bodies() -> None:
    secrets = Secrets([KEY])
    assert secrets.clean(f"401: {KEY}") == "401: [secret]"
    assert secrets.clean_text(f"Your key is {KEY}.") == "Your key is [secret]."
    assert secrets.clean_bytes(b'{"a": "k\\"ey-123456789"}') == b'{"a": "[secret]"}'
    assert secrets.clean_bytes(KEY.encode()) == b"[secret]"


def test_the_key_inside_a_value_is_a_secret_too() -> None:
    secrets = Secrets(["Bearer abcdefghijklmnop"])
    assert secrets.clean_text("abcdefghijklmnop") == "[secret]"
    assert secrets.clean_text("Bearer of news") == "Bearer of news"


@pytest.mark.parametrize("value", ["demo", "eu-west"])
def test_short_values_are_words_that_a_bot_may_say(value: str) -> None:
    secrets = Secrets([value])
    assert secrets.clean_text(f"the {value} shop") == f"the {value} shop"
    assert secrets.clean(f"the {value} shop") == "the [secret] shop"


def test_without_secrets_nothing_is_changed() -> None:
    assert Secrets().clean_bytes(b"abc") == b"abc"
    assert Secrets(["", " "]).clean_text("abc") == "abc"
