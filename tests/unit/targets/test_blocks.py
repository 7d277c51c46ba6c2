"""Blocks of settings: strict, and every wrong setting in one error."""

from __future__ import annotations

import pytest
from msgspec import Struct, field

from howsure.errors import ConfigInvalid
from howsure.targets.base import TargetRequest
from howsure.targets.settings import SettingProblems, check_seconds, filled_headers, read_block


class Bot(Struct, frozen=True, kw_only=True):
    url: str = ""
    seconds: float = 1.0
    headers: dict[str, str] = field(default_factory=dict)


def test_what_is_right_is_taken_and_the_rest_keeps_its_default() -> None:
    wrong = SettingProblems(TargetRequest(name="shop"))
    assert read_block({"url": "http://x", "seconds": 3}, Bot, wrong) == Bot(url="http://x", seconds=3.0)
    wrong.settle()


def test_every_wrong_setting_is_named_with_its_place() -> None:
    wrong = SettingProblems(TargetRequest(name="shop"))
    read_block({"urll": "x", "seconds": "soon", "headers": []}, Bot, wrong)
    check_seconds("seconds", float("nan"), wrong)
    with pytest.raises(ConfigInvalid) as caught:
        wrong.settle()
    assert str(caught.value) == (
        "`targets.shop.urll`: is not a setting; did you mean `url`? known: url, seconds, headers; "
        "`targets.shop.seconds`: Expected `float`, got `str`; "
        "`targets.shop.headers`: Expected `object`, got `array`; "
        "`targets.shop.seconds`: expected a number of seconds above 0, found nan"
    )


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("inf")])
def test_a_limit_is_a_number_of_seconds(seconds: float) -> None:
    wrong = SettingProblems(TargetRequest(name="shop"))
    check_seconds("turn_seconds", seconds, wrong)
    assert len(wrong.found) == 1


def test_headers_are_filled_from_the_environment() -> None:
    wrong = SettingProblems(TargetRequest(name="shop"))
    given = {"Authorization": "Bearer ${SHOP_KEY}", "X-Team": "moss", "X-Both": "${A}-${B}"}
    headers = filled_headers(given, {"SHOP_KEY": "k1", "A": "1", "B": "2"}, wrong)
    assert headers.filled == {"Authorization": "Bearer k1", "X-Team": "moss", "X-Both": "1-2"}
    assert headers.secrets == ("k1", "1", "2")
    assert wrong.found == []


@pytest.mark.parametrize("name", ["Authorization", "x-api-key", "Cookie", "X-Auth-Token", "api_key"])
def test_a_secret_that_stands_in_the_file_is_refused_and_not_repeated(name: str) -> None:
    wrong = SettingProblems(TargetRequest(name="shop"))
    filled_headers({name: "swordfish"}, {}, wrong)
    (said,) = wrong.found
    assert said.startswith(f"`targets.shop.headers.{name}`: a secret may not stand in a file")
    assert "swordfish" not in said


def test_a_variable_that_is_not_set_is_named() -> None:
    wrong = SettingProblems(TargetRequest(name="shop"))
    filled_headers({"X-Key": "${SHOP_KEY}"}, {"SHOP_KEY": ""}, wrong)
    assert wrong.found == [
        "`targets.shop.headers.X-Key`: the environment has no 'SHOP_KEY'; set it, or write the name of another variable"
    ]
