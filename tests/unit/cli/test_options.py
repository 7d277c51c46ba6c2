"""The small languages of options: what they mean, and what is refused with the option's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import pytest
from click.testing import CliRunner

from howsure.cli.options import (
    option_callback,
    read_names,
    read_normalization,
    read_pairs,
    read_values_by_key,
    split_pair,
)
from howsure.errors import ConfigInvalid
from howsure.model.verdict import Normalization


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, None),
        ("a", ("a",)),
        ("a,b", ("a", "b")),
        (" a , b ,", ("a", "b")),
        ("a,a", ("a", "a")),
    ],
)
def test_names_are_separated_by_commas(text: str | None, expected: tuple[str, ...] | None) -> None:
    assert read_names(text, "--graders") == expected


@pytest.mark.parametrize("text", ["", ",", " , "])
def test_no_name_at_all_is_refused(text: str) -> None:
    with pytest.raises(ConfigInvalid, match="--graders expects names, not"):
        read_names(text, "--graders")


def test_a_normalization_is_one_of_two() -> None:
    assert read_normalization(None, "--normalization") is None
    assert read_normalization("points", "--normalization") is Normalization.POINTS
    assert read_normalization("min_max", "--normalization") is Normalization.MIN_MAX
    for wrong in ("loud", "", "POINTS"):
        with pytest.raises(ConfigInvalid, match=f"--normalization expects points or min_max, not '{wrong}'"):
            read_normalization(wrong, "--normalization")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a:b", ("a", "b")),
        (" a : b ", ("a", "b")),
        ("a:b:c", ("a", "b:c")),
        ("a:", ("a", "")),
        ("url:http://x/y", ("url", "http://x/y")),
    ],
)
def test_a_pair_is_split_at_its_first_colon(text: str, expected: tuple[str, str]) -> None:
    assert split_pair(text, "--state") == expected


@pytest.mark.parametrize("text", ["a", "", ":b", " :b", "a=b"])
def test_a_pair_without_key_or_colon_is_refused(text: str) -> None:
    with pytest.raises(ConfigInvalid, match="--state expects KEY:VALUE, not"):
        split_pair(text, "--state")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], {}),
        (["plan:pro"], {"plan": "pro"}),
        (["n:3", "x:1.5", "on:true", "none:null"], {"n": 3, "x": 1.5, "on": True, "none": None}),
        (['cart:{"apples": [1, 2]}'], {"cart": {"apples": [1, 2]}}),
        (['text:"3"'], {"text": "3"}),
        (["broken:{1", "empty:", "zip:0123"], {"broken": "{1", "empty": "", "zip": "0123"}),
        (["a:1", "a:2"], {"a": 2}),
        (["word:NaN"], {"word": "NaN"}),
        (
            ["app:season:winter", "app:b:1", "user:n:3", "temp:a : b:c", 'app:{"a": 1}', "user:http://x/y"],
            {"app:season": "winter", "app:b": 1, "user:n": 3, "temp:a": "b:c", "app": {"a": 1}, "user": "http://x/y"},
        ),
        (["name:na\udcc3\udcafve", "odd:\udcff"], {"name": "naïve", "odd": "\\xff"}),
    ],
    ids=[
        "none",
        "text",
        "numbers",
        "JSON",
        "a quoted number",
        "no JSON",
        "the last counts",
        "NaN",
        "prefixes",
        "raw bytes",
    ],
)
def test_the_value_of_a_pair_is_json_or_text(texts: list[str], expected: dict[str, Any]) -> None:
    assert read_pairs(texts, "--state") == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], {}),
        (["tag:hr"], {"tag": ("hr",)}),
        (["tag:hr, legal"], {"tag": ("hr", "legal")}),
        (["tag:hr", "id:q1", "tag:legal"], {"tag": ("hr", "legal"), "id": ("q1",)}),
        (["n:3"], {"n": ("3",)}),
    ],
)
def test_a_filter_names_any_of_several_values(texts: list[str], expected: dict[str, tuple[str, ...]]) -> None:
    assert read_values_by_key(texts, "--filter") == expected


@pytest.mark.parametrize(
    ("reader", "given", "told"),
    [
        (read_names, ",", "--thing expects names, not ','"),
        (read_normalization, "loud", "--thing expects points or min_max, not 'loud'"),
    ],
)
def test_what_a_reader_refuses_is_a_usage_error(reader: Callable[[Any, str], Any], given: str, told: str) -> None:
    @click.command()
    @click.option("--thing", callback=option_callback(reader))
    def command(thing: Any) -> None:
        click.echo(repr(thing))

    refused = CliRunner().invoke(command, ["--thing", given])
    assert refused.exit_code == 2
    assert told in refused.stderr
    assert CliRunner().invoke(command, []).stdout == "None\n"
