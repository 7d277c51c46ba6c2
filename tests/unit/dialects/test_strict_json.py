"""Strict JSON: problems with their place, repeated keys, the lines of list elements, the keys of a cut-off text."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.dialects.problems import Spot
from howsure.dialects.strict_json import (
    MAX_DEPTH,
    duplicate_free,
    element_lines,
    field_path,
    head_keys,
    parse_json,
    top_level_keys,
)
from howsure.errors import Level, Problem
from json_strategies import texts, values


def only(text: bytes, line: int | None = 7) -> Problem:
    _, problems = parse_json(text, file="f.jsonl", line=line)
    assert len(problems) == 1, problems
    return problems[0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a": [1, 2.5, "x", true, null]}', {"a": [1, 2.5, "x", True, None]}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b'  {"a" : 1}\r\n', {"a": 1}),
        (rb'"\ud83d\ude00"', "\U0001f600"),
        (b"123456789012345678901234567890", 123456789012345678901234567890),
        (b"-0.5e-3", -0.0005),
        (b"null", None),
    ],
    ids=["everything", "byte order mark", "spaces", "surrogate pair", "long integer", "exponent", "null is a value"],
)
def test_good_json_is_read_without_a_problem(text: bytes, value: Any) -> None:
    assert parse_json(text, file="f") == (value, [])


@pytest.mark.parametrize(
    ("text", "code", "column", "field"),
    [
        (b'{"a": 1,}', "json-syntax", 9, ""),
        (b'{"a" 1}', "json-syntax", 6, ""),
        (b"{'a': 1}", "json-syntax", 2, ""),
        (b'{"a": 1} {"b": 2}', "json-syntax", 10, ""),
        (b'{"a": "x', "json-syntax", 7, ""),
        (b'{"a": "tab\there"}', "json-syntax", 11, ""),
        (b"", "json-syntax", 1, ""),
        (b'{"a": tru}', "json-syntax", 7, ""),
        (b'{"a": 01}', "json-syntax", 8, ""),
        (b'{"a": 1, "a": 2}', "json-duplicate-key", 10, "a"),
        (b'{"a": {"b": [0, {"c": 1, "c" : 2}]}}', "json-duplicate-key", 26, "a.b[1].c"),
        (rb'{"a": 1, "\u0061": 2}', "json-duplicate-key", 10, "a"),
        (b'{"a": NaN}', "json-not-finite", 7, "a"),
        (b'{"a": [0, -Infinity]}', "json-not-finite", 11, "a[1]"),
        (b'{"a": 1e999}', "json-not-finite", 7, "a"),
        (rb'{"a": "\ud800"}', "json-surrogate", 7, "a"),
        (rb'{"a": "x\udc00y"}', "json-surrogate", 7, "a"),
        (b'{"a": ' + b"9" * 5000 + b"}", "json-number-too-long", 7, "a"),
        (b'{"a": "\xff"}', "encoding", 8, ""),
        (b'{"a": "\xc3\xa9\xed\xa0\x80"}', "encoding", 9, ""),
        (b"[" * 100_000, "json-depth", 1, ""),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "json-depth", MAX_DEPTH + 1, ""),
    ],
)
def test_each_fault_is_named_with_its_place(text: bytes, code: str, column: int, field: str) -> None:
    problem = only(text)
    assert (problem.code, problem.file, problem.line, problem.column) == (code, "f.jsonl", 7, column)
    assert problem.field == field


def test_every_fault_of_a_text_is_told() -> None:
    _, problems = parse_json(rb'{"a": NaN, "a": "\ud800", "b": [1e400, {"c": 1, "c": 2}]}', file="f")
    assert [(problem.code, problem.field) for problem in problems] == [
        ("json-not-finite", "a"),
        ("json-duplicate-key", "a"),
        ("json-surrogate", "a"),
        ("json-not-finite", "b[0]"),
        ("json-duplicate-key", "b[1].c"),
    ]


def test_the_line_is_that_of_the_fault_when_a_text_has_several() -> None:
    assert (only(b'{\n "a": 1,\n "b" 2}', line=1).line, only(b'{\n "a": 1,\n "b" 2}', line=1).column) == (3, 6)
    assert only(b'{\n "a": 1,\n "a": 2}', line=10).line == 12
    assert only(b'{\n "a": "\xff"}', line=1).line == 2


def test_a_text_without_a_place_gives_problems_without_one() -> None:
    problem = only(b"{", line=None)
    assert (problem.line, problem.column) == (None, None)


def test_what_cannot_be_read_has_no_value_and_what_can_be_has_the_last_of_two() -> None:
    assert parse_json(b'{"a":', file="f")[0] is None
    assert parse_json(b'{"a": 1, "a": 2}', file="f")[0] == {"a": 2}


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (b"{'a': 1}", "strings need double quotes"),
        (b'{"a": 1} {', "one JSON value is expected here; a line format needs one object on each line"),
        ("{}".encode("utf-16"), "this looks like UTF-16; save it as UTF-8"),
        (b'{"a": 1, "a": 2}', "remove one of them; readers keep the last"),
    ],
)
def test_the_hint_says_what_to_do(text: bytes, hint: str) -> None:
    assert only(text).hint == hint


def test_a_problem_about_half_a_character_can_be_printed() -> None:
    problem = only(rb'{"\ud800 x": 1}')
    assert str(problem).encode("utf-8")


@pytest.mark.parametrize(
    ("text", "certain"),
    [
        (b'{"a":1,"b":{"c":2}}', True),
        (b'{"a": 1, "b": {"c": 2}}', True),
        (b'{"a":1,"a":2}', False),
        (b'{"a" :1,"a":2}', False),
        (b'{"a"\t:1,"a":2}', False),
        (b'{"a"  \r\n :1,"a":2}', False),
        (b'{"a" :1,"b"  :2}', True),
        (rb'{"a":"he said \":\" twice","b":2}', True),
        (rb'{"a":"x\":","a" :2}', False),
        (b'{"a":":","a" :1}', False),
        (rb'{"a\\":1,"b":2}', True),
        (b'{"a":"fin : voil\xc3\xa0"}', True),
        (b'{"a":"x:y","b":"z:"}', True),
        (b'{"a":"x:y","a":1}', False),
        (b'{"a":1,"a":"x:y"}', False),
        (rb'{"a":1,"a":"x\u003ay"}', False),
        (rb'{"a":1,"a":"x\u003Ay"}', False),
        (rb'{"a":1,"b":"x\u003cy"}', True),
        (rb'{"a":"\n:"}', True),
    ],
)
def test_repeated_keys_are_noticed_however_they_are_written(text: bytes, certain: bool) -> None:
    assert duplicate_free(text, json.loads(text)) is certain


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)
separators = st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : "), (",", "  :")])


@given(json_values, separators, st.booleans())
def test_whatever_json_can_say_is_read_back(value: Any, separators: tuple[str, str], ascii: bool) -> None:
    text = json.dumps(value, separators=separators, ensure_ascii=ascii).encode()
    assert parse_json(text, file="f") == (value, [])


@given(st.dictionaries(st.text(max_size=3), json_values, min_size=1, max_size=4), separators)
def test_a_key_written_twice_is_always_found(value: dict[str, Any], separators: tuple[str, str]) -> None:
    inside = json.dumps(value, separators=separators)[1:-1]
    text = f"{{{inside}{separators[0]}{inside}}}".encode()
    _, problems = parse_json(text, file="f")
    assert [problem.code for problem in problems] == ["json-duplicate-key"] * len(value)


@given(st.binary(max_size=40))
def test_no_bytes_make_the_reader_fall_over(text: bytes) -> None:
    value, problems = parse_json(text, file="f")
    assert problems or json.dumps(value) is not None


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        (["choices", 2, "id"], "choices[2].id"),
        (["metadata", "a b"], 'metadata["a b"]'),
        (["a.b"], '["a.b"]'),
        ([0, "x"], "[0].x"),
        (["prüfung"], "prüfung"),
    ],
)
def test_a_path_reads_like_code(parts: list[str | int], path: str) -> None:
    assert field_path(parts) == path
    assert field_path(["x"], "rows[3]") == "rows[3].x"


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
