"""The shared readers of results: JSON that is streamed, in whatever pieces it comes, and what a sample is made of."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.dialects.tool_results import streams
from howsure.dialects.tool_results.base import SampleResult, UnreadableRecord
from howsure.dialects.tool_results.samples import (
    SampleRecord,
    number_score,
    plain_text,
    read_messages,
    read_records,
    read_score,
)
from howsure.dialects.tool_results.streams import JsonStream
from howsure.errors import DatasetInvalid
from howsure.model.score import Scale, Score, Unscored

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text('abc\u00e9"\\ ', max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


def stream_of(document: Any, indent: int | None = None) -> JsonStream:
    text = json.dumps(document, indent=indent, ensure_ascii=False).encode()
    return JsonStream(Path("log.json"), io.BytesIO(text), at=("results", "rows"))


@given(
    rows=st.lists(VALUES, max_size=6),
    before=VALUES,
    after=VALUES,
    piece=st.integers(1, 40),
    indent=st.sampled_from([None, 1]),
)
def test_a_document_is_the_same_in_whatever_pieces_it_is_read(
    rows: list[Any], before: Any, after: Any, piece: int, indent: int | None
) -> None:
    document = {"before": before, "results": {"first": before, "rows": rows, "last": after}, "after": after}
    stream = stream_of(document, indent)
    whole, streams.CHUNK = streams.CHUNK, piece
    try:
        assert list(stream.elements()) == rows
    finally:
        streams.CHUNK = whole
    assert stream.rest == {"before": before, "results": {"first": before, "last": after}, "after": after}
    assert stream.found


@pytest.mark.parametrize(("text", "code", "line"), [
    (b'{"results": {"rows": [1, 2', "cut-off", 1),
    (b'{"results": {"rows": [1,\n "abc', "cut-off", 2),
    (b'{"results": {"rows": [1,\n {"a" 1}]}, "and": "much more text"}', "json-syntax", 2),
    (b'{"results": {"rows": [1]}} {"more": "text that follows"}', "json-syntax", 1),
    (b'{"results": {"rows": ["\xff"]}}', "encoding", None),
    (b"[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]", "json-syntax", 1),
], ids=["in a list", "in a text", "no colon", "two documents", "not UTF-8", "a list"])  # fmt: skip
def test_a_broken_document_is_named_with_its_line(text: bytes, code: str, line: int | None) -> None:
    with pytest.raises(DatasetInvalid) as refused:
        list(JsonStream(Path("log.json"), io.BytesIO(text), at=("results", "rows")).elements())
    (problem,) = refused.value.problems
    assert (problem.code, problem.line) == (code, line)


def test_a_document_without_the_list_says_so() -> None:
    stream = stream_of({"results": {"rows": 5}})
    assert (list(stream.elements()), stream.found, stream.rest) == ([], False, {"results": {"rows": 5}})


@pytest.mark.parametrize(("value", "scale"), [
    (0.25, Scale(0, 1)),
    (1, Scale(0, 1)),
    (37, Scale(0, None)),
    (-2.5, Scale(-2.5, None)),
])  # fmt: skip
def test_a_number_of_a_tool_gets_a_scale_that_it_is_on(value: float, scale: Scale) -> None:
    score = number_score("f1", value, giver="tool")
    assert isinstance(score, Score)
    assert (score.value, score.scale, score.pass_mark, score.judge) == (value, scale, None, "tool")


def test_a_number_that_is_none_has_no_value() -> None:
    assert isinstance(number_score("f1", float("nan"), giver="tool"), Unscored)


def test_calls_have_the_results_of_their_tools() -> None:
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"order": 7}'}},
        {"id": "c2", "function": "refund", "arguments": {"order": 7}},
        {"id": "c3", "function": {"name": "odd", "arguments": "not JSON"}},
    ]
    raw = [
        {"role": "developer", "content": "Be kind."},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "paid"}]},
        {"role": "tool", "tool_call_id": "c2", "content": "no", "error": {"message": "no"}},
    ]
    system, said = read_messages(raw, plain_text)
    assert (system.role.value, system.content) == ("system", "Be kind.")
    assert [(call.name, call.arguments) for call in said.tool_calls] == [
        ("look_up", {"order": 7}), ("refund", {"order": 7}), ("odd", {"": "not JSON"})]  # fmt: skip
    results = [call.result for call in said.tool_calls]
    assert [(each.content, each.failed) if each else None for each in results] == [("paid", False), ("no", True), None]


@pytest.mark.parametrize(("value", "number", "passed"), [
    (True, 1.0, True),
    ("No", 0.0, False),
    (" yes ", 1.0, True),
    (0.7, 0.7, None),
    ("37", 37.0, None),
    ("rather good", None, None),
    (None, None, None),
    ({"a": 1}, None, None),
])  # fmt: skip
def test_yes_and_no_decide_numbers_measure_and_other_values_are_none(
    value: Any, number: float | None, passed: bool | None
) -> None:
    grade = read_score("right", value, giver="tool")
    known = (grade.value, grade.passed) if isinstance(grade, Score) else (None, None)
    assert known == (number, passed)


def test_a_record_becomes_a_case_its_repeats_and_its_answer_in_whatever_shape_the_tool_has_them() -> None:
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "1+1?"}]
    rows: list[Any] = [
        {"asked": chat, "said": {"output": "2"}, "expected": {"answer": ["2", "two"]}, "seconds": 0.5},
        {"asked": chat, "said": [{"role": "assistant", "content": "3"}], "id": ""},
        {"asked": {"question": "2+2?"}, "error": {"message": "rate limit"}, "id": 7},
        {"asked": json.dumps(chat), "seconds": float("nan"), "said": ""},
        {"said": "no question"},
    ]
    made = list(read_records(((f"row {at}", row) for at, row in enumerate(rows)), lambda row: SampleRecord(**row)))
    first, again, broken, quoted = [each for each in made if isinstance(each, SampleResult)]
    assert (first.case.id, first.repeat, again.repeat) == (again.case.id, 1, 2)
    assert first.case.input == quoted.case.input and first.case.input.message == "1+1?"  # type: ignore[union-attr]
    assert [each.transcript and each.transcript.answer for each in (first, again, broken, quoted)] == [
        "2",
        "3",
        None,
        "",
    ]
    assert [each.transcript and each.transcript.duration_ms for each in (first, quoted)] == [500.0, None]
    assert first.case.expectations[0].answers == ("2", "two")  # type: ignore[union-attr]
    assert (broken.case.id, broken.error) == ("7", "rate limit")
    assert isinstance(made[-1], UnreadableRecord)
