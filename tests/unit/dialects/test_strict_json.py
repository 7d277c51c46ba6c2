"""JSON, read strictly."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.dialects.strict_json import MAX_DEPTH, duplicate_free, field_path, parse_json
from howsure.errors import Problem


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
