"""Where things stand in a JSON file that is loaded whole."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.dialects.problems import Spot
from howsure.dialects.strict_json import element_lines, head_keys, top_level_keys
from howsure.errors import Level
from json_strategies import texts, values


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('{"a": [1, 2]}', [1, 1]),
        ('{\n"a": [\n1,\n\n2]}', [3, 5]),
        ('{"a": []}', []),
        ('{"a": [\n]}', []),
        ('{"b": [1]}', []),
        ('{"a": "no list"}', []),
        ('{"a": {"a": [1]}}', []),
        ('{"b": {"a": [\n1]}, "a": [\n2]}', [3]),
        ('{"b": "a\\": [", "a":\n[{"x": "],\\n["},\n"}"]}', [2, 3]),
        ('\n\n {"a" :\r\n [ 1 ,\r\n 2 ] }', [4, 5]),
        ("[1]", []),
        ("{}", []),
    ],
    ids=[
        "one line",
        "blank lines count",
        "an empty list",
        "an empty list over two lines",
        "another key",
        "no list",
        "a list deeper down",
        "the top-level one of two",
        "strings that look like structure",
        "spaces and CRLF",
        "no object",
        "an empty object",
    ],
)
def test_every_element_is_found_on_the_line_where_it_starts(text: str, lines: list[int]) -> None:
    assert element_lines(text, "a") == lines


@given(st.lists(values, max_size=5), values)
def test_any_list_written_by_the_json_module_has_a_line_for_each_element(
    elements: list[object], before: object
) -> None:
    text = json.dumps({"before": before, "list": elements}, indent=1)
    lines = element_lines(text, "list")
    assert len(lines) == len(elements)
    assert lines == sorted(lines)


@given(st.dictionaries(texts, values, max_size=5), st.integers(0, 200))
def test_a_text_cut_off_anywhere_shows_the_keys_before_the_cut(whole: dict[str, object], cut: int) -> None:
    text = json.dumps(whole)
    keys = top_level_keys(text[:cut])
    assert keys == list(whole)[: len(keys)]
    assert top_level_keys(text) == list(whole)


@pytest.mark.parametrize(
    ("head", "keys"),
    [
        (b'\xef\xbb\xbf{"a": 1}', ["a"]),
        (b'{"a": {"b": 1}, "c": [1, 2', ["a", "c"]),
        (b'{"a": "cut o', ["a"]),
        (b'{"a', []),
        (b'{"a" 1}', []),
        (b'{"\xc3\xa9": 1, "\xc3', ["é"]),
        (b"[1]", []),
        (b"", []),
        (b"\xff\xfe", []),
        (b'{"a": ' + b"[" * 100_000, ["a"]),
    ],
    ids=[
        "byte order mark",
        "cut in a list",
        "cut in a string",
        "cut in a key",
        "no colon",
        "cut in a character",
        "a list",
        "nothing",
        "not text",
        "endless nesting",
    ],
)
def test_the_keys_at_the_head_of_a_file_are_read_whatever_follows(head: bytes, keys: list[str]) -> None:
    assert head_keys(head) == keys


def test_finding_lines_takes_time_in_proportion_to_the_text() -> None:
    def seconds(count: int) -> float:
        text = json.dumps({"list": [{"text": "[{\\" * 20, "n": number} for number in range(count)]}, indent=1)
        started = time.process_time()
        assert len(element_lines(text, "list")) == count
        return time.process_time() - started

    small, large = min(seconds(2_000) for _ in range(3)), min(seconds(20_000) for _ in range(3))
    assert large < 60 * max(small, 0.001)


def test_a_spot_reports_at_its_place() -> None:
    spot = Spot("a.json", 7).below("items", 2, "a b")
    problem = spot.problem("code", "what", expected="x", found="y", hint="z")
    assert str(problem) == 'a.json:7 `items[2]["a b"]`: what (z) [code]'
    assert (problem.expected, problem.found, problem.level) == ("x", "y", Level.ERROR)
    assert spot.warning("code", "odd", found="y").level is Level.WARNING
