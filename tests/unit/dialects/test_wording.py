"""How values and names are shown in problems."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.dialects.problems import did_you_mean, kind_of, shown, with_article


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x", '"x"'),
        (["é", 1, None], '["é", 1, null]'),
        ("x" * 100, '"' + "x" * 59 + "…"),
        ("\ud800", '"\\ud800"'),
        ({"a": {1, 2}.__class__}, '{"a": "<class \'set\'>"}'),
        (float("nan"), "NaN"),
        ("a\nb", '"a\\nb"'),
    ],
    ids=["text", "list", "long", "half a character", "no JSON", "not finite", "line break"],
)
def test_a_value_is_shown_in_one_short_line(value: Any, text: str) -> None:
    assert shown(value) == text
    assert shown(value).encode("utf-8")


@pytest.mark.parametrize(
    ("value", "kind"),
    [(None, "null"), (True, "boolean"), (1, "integer"), (1.0, "number"), ("", "string"), ([], "array"), ({}, "object")],
)
def test_kinds_have_the_names_of_json(value: Any, kind: str) -> None:
    assert kind_of(value) == kind


def test_articles_follow_the_sound() -> None:
    assert [with_article("array"), with_article("object or string"), with_article("string")] == [
        "an array",
        "an object or string",
        "a string",
    ]


@pytest.mark.parametrize(
    ("name", "guess"),
    [
        ("promt", "did you mean `prompt`?"),
        ("ID", "did you mean `id`?"),
        ("choice_ids", "did you mean `correct_choice_ids`?"),
        ("zebra", ""),
        ("", ""),
    ],
)
def test_a_guess_is_made_only_where_something_is_close(name: str, guess: str) -> None:
    assert did_you_mean(name, ["prompt", "id", "correct_choice_ids"]) == guess
