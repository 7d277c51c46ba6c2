"""A target's block read strictly, and its secrets kept out of messages and answers."""

from __future__ import annotations

import pytest
from msgspec import Struct, field

from howsure.errors import ConfigInvalid
from howsure.targets.base import TargetRequest
from howsure.targets.settings import Secrets, SettingProblems, check_seconds, filled_headers, read_block


class Bot(Struct, frozen=True, kw_only=True):
    url: str = ""
    seconds: float = 1.0
    headers: dict[str, str] = field(default_factory=dict)


def test_what_is_right_is_taken_and_the_rest_keeps_its_default() -> None:
    problems = SettingProblems(TargetRequest(name="shop"))
    assert read_block({"url": "http://x", "seconds": 3}, Bot, problems) == Bot(url="http://x", seconds=3.0)
    problems.raise_if_any()


def test_every_wrong_setting_is_named_with_its_place() -> None:
    problems = SettingProblems(TargetRequest(name="shop"))
    read_block({"urll": "x", "seconds": "soon", "headers": []}, Bot, problems)
    check_seconds("seconds", float("nan"), problems)
    with pytest.raises(ConfigInvalid) as caught:
        problems.raise_if_any()
    assert str(caught.value) == (
        "`targets.shop.urll`: is not a setting; did you mean `url`? known: url, seconds, headers; "
        "`targets.shop.seconds`: Expected `float`, got `str`; "
        "`targets.shop.headers`: Expected `object`, got `array`; "
        "`targets.shop.seconds`: expected a number of seconds above 0, found nan"
    )


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("inf")])
def test_a_limit_is_a_number_of_seconds(seconds: float) -> None:
    problems = SettingProblems(TargetRequest(name="shop"))
    check_seconds("turn_seconds", seconds, problems)
    assert len(problems.messages) == 1


def test_headers_are_filled_from_the_environment() -> None:
    problems = SettingProblems(TargetRequest(name="shop"))
    given = {"Authorization": "Bearer ${SHOP_KEY}", "X-Team": "moss", "X-Both": "${A}-${B}"}
    headers = filled_headers(given, {"SHOP_KEY": "k1", "A": "1", "B": "2"}, problems)
    assert headers.filled == {"Authorization": "Bearer k1", "X-Team": "moss", "X-Both": "1-2"}
    assert headers.secrets == ("k1", "1", "2")
    assert problems.messages == []


@pytest.mark.parametrize("name", ["Authorization", "x-api-key", "Cookie", "X-Auth-Token", "api_key"])
def test_a_secret_that_stands_in_the_file_is_refused_and_not_repeated(name: str) -> None:
    problems = SettingProblems(TargetRequest(name="shop"))
    filled_headers({name: "swordfish"}, {}, problems)
    (said,) = problems.messages
    assert said.startswith(f"`targets.shop.headers.{name}`: a secret may not stand in a file")
    assert "swordfish" not in said


def test_a_variable_that_is_not_set_is_named() -> None:
    problems = SettingProblems(TargetRequest(name="shop"))
    filled_headers({"X-Key": "${SHOP_KEY}"}, {"SHOP_KEY": ""}, problems)
    assert problems.messages == [
        "`targets.shop.headers.X-Key`: the environment has no 'SHOP_KEY'; set it, or write the name of another variable"
    ]


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
