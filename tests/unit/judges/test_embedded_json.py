"""JSON found in what models write."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.judges.embedded_json import find_json, replace_lone_surrogates, strip_thinking
from howsure.judges.rulings import UnparsableReply


@pytest.mark.parametrize(
    ("text", "values", "prose"),
    [
        ('{"a": 1}', [{"a": 1}], ""),
        (" [1, 2]\n", [[1, 2]], ""),
        ("3", [3], ""),
        ("true", [True], ""),
        ("plain words", [], "plain words"),
        ('before {"a": 1} after', [{"a": 1}], "before \n after"),
        ('{"a": 1}{"b": 2}', [{"a": 1}, {"b": 2}], "\n\n"),
        ('{"a": [1, 2,], }', [{"a": [1, 2]}], "\n"),
        ('{"a": "one,}",}', [{"a": "one,}"}], "\n"),
        ('{"a": "line\nbreak"}', [{"a": "line\nbreak"}], ""),
        ('a {b} c {"d": 1}', [{"d": 1}], "a {b} c \n"),
        ('x {"a": <1-5>} y {"a": 2}', [{"a": 2}], "x \n y \n"),
        ('x {"a": {"b": 1}, oops} y', [], "x \n y"),
        ("smile :-[ and :-{", [], "smile :-[ and :-{"),
    ],
)
def test_outermost_values_are_found_and_the_rest_is_prose(text: str, values: list[Any], prose: str) -> None:
    found = find_json(text)
    assert list(found.values) == values
    assert found.prose == prose


@pytest.mark.parametrize("text", ['{"a": {"b": 1}, "c": "cut', '{"a": 1', '["x", {"b": 1}', "{'a': 1"])
def test_nothing_is_taken_from_inside_json_that_breaks_off(text: str) -> None:
    with pytest.raises(UnparsableReply, match="breaks off"):
        find_json(text)


def test_thinking_comes_before_the_reply_and_is_no_part_of_it() -> None:
    assert strip_thinking("<think>\nmaybe 5\n</think>\n4") == "\n4"
    assert strip_thinking("maybe 5\n</think>\n4") == "\n4"
    assert strip_thinking("I <think> so") == "I <think> so"
    assert strip_thinking('{"reason": "it wrote </think>"}') == '{"reason": "it wrote </think>"}'
    with pytest.raises(UnparsableReply, match="still thinking"):
        strip_thinking("<think>maybe 5")


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (r'{"a": "\ud83d\ude00"}', r'{"a": "\ud83d\ude00"}'),
        (r'{"a": "\ud83d"}', r'{"a": "\ufffd"}'),
        (r'{"a": "\ude00!"}', r'{"a": "\ufffd!"}'),
        ("a \ud83d b", "a \ufffd b"),
        ("naïve 😀", "naïve 😀"),
    ],
)
def test_half_characters_are_replaced(text: str, whole: str) -> None:
    assert replace_lone_surrogates(text) == whole
