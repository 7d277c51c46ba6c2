"""Responses files: answers, transcripts and maps; every problem with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from howsure.dialects.responses import SCHEMA, RecordedResponse, read_responses
from howsure.errors import Problem
from howsure.model.transcript import (
    AgentStep,
    BrokenRecording,
    Message,
    Role,
    Span,
    ToolCall,
    ToolResult,
    ToolStep,
    Transcript,
    Usage,
)


def read(path: Path) -> list[RecordedResponse | Problem]:
    return list(read_responses(path))


def test_the_schema_knows_every_count_of_usage() -> None:
    assert {*SCHEMA["properties"]["usage"]["properties"], "cost_usd"} == set(Usage.__struct_fields__)


def lines(folder: Path, *rows: Any) -> Path:
    path = folder / "responses.jsonl"
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def one(folder: Path, row: Any) -> RecordedResponse:
    (response,) = read(lines(folder, row))
    assert isinstance(response, RecordedResponse), response
    return response


def transcript(folder: Path, **row: Any) -> Transcript:
    recording = one(folder, {"case_id": "a", **row}).recording
    assert isinstance(recording, Transcript)
    return recording


def test_a_plain_answer_names_its_case_in_either_word(tmp_path: Path) -> None:
    for key in ("case_id", "example_id"):
        response = one(tmp_path, {key: "q1", "candidate_name": "juno", "response_text": "B", "repeat": 2})
        assert (response.case_id, response.candidate, response.repeat, response.line) == ("q1", "juno", 2, 1)
        assert response.recording == Transcript(answer="B", messages=(Message(role=Role.ASSISTANT, content="B"),))


def test_an_empty_answer_is_an_answer(tmp_path: Path) -> None:
    assert transcript(tmp_path, response_text="") == Transcript(answer="")


def test_an_error_instead_of_an_answer_is_a_mishap(tmp_path: Path) -> None:
    assert one(tmp_path, {"case_id": "a", "error": "gateway timeout"}).recording == BrokenRecording(
        reason="gateway timeout"
    )


def test_tool_calls_keep_arguments_results_and_errors(tmp_path: Path) -> None:
    calls = [
        {"name": "find", "arguments": '{"id": 7}', "id": "c1"},
        {"name": "pay", "arguments": {"sum": 5}, "error": "declined"},
        {"name": "log", "result": [1, 2]},
        {"name": "wait"},
    ]
    said = transcript(
        tmp_path,
        messages=[
            {"role": "user", "content": "Pay"},
            {"role": "assistant", "content": None, "agent": "billing", "tool_calls": calls},
            {"role": "tool", "tool_call_id": "c1", "content": "found"},
            {"role": "assistant", "content": "Declined, sorry."},
        ],
    )
    assert said.answer == "Declined, sorry."
    assert said.tool_calls == (
        ToolCall(name="find", arguments={"id": 7}, id="c1", result=ToolResult(content="found")),
        ToolCall(name="pay", arguments={"sum": 5}, result=ToolResult(content="declined", failed=True)),
        ToolCall(name="log", result=ToolResult(content=[1, 2])),
        ToolCall(name="wait"),
    )
    assert said.agents == ("billing",)


def test_the_thinking_beside_a_call_is_not_the_answer(tmp_path: Path) -> None:
    messages = [
        {"role": "assistant", "content": "It is 42."},
        {"role": "assistant", "content": "let me check", "tool_calls": [{"name": "check"}]},
    ]
    assert transcript(tmp_path, messages=messages).answer == "It is 42."


def test_calls_without_messages_each_make_a_message(tmp_path: Path) -> None:
    said = transcript(tmp_path, response_text="Done", tool_calls=[{"name": "a"}, {"name": "b"}])
    assert [[call.name for call in message.tool_calls] for message in said.messages] == [["a"], ["b"], []]


def test_steps_state_spans_and_usage_are_kept(tmp_path: Path) -> None:
    said = transcript(
        tmp_path,
        response_text="x",
        agent_steps=[{"agent": "Greeter"}, {"tool": "lookup"}],
        state={"intent": "refund"},
        spans=[{"name": "call_llm", "span_id": "1", "parent_span_id": None, "start_time": 5, "end_time": 9}],
        usage={"prompt_tokens": 12, "completion_tokens": None},
        duration_ms=3.5,
    )
    assert said.steps == (AgentStep(name="Greeter"), ToolStep(name="lookup"))
    assert said.state == {"intent": "refund"}
    assert said.spans == (Span(name="call_llm", span_id="1", start_ns=5, end_ns=9),)
    assert said.usage == Usage(prompt_tokens=12)
    assert said.duration_ms == 3.5


def test_a_plain_map_and_a_list_are_read_from_json(tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    path.write_text('{"a": "yes", "b": ""}', encoding="utf-8")
    assert [(r.case_id, r.recording) for r in read(path) if isinstance(r, RecordedResponse)] == [
        ("a", Transcript(answer="yes")),
        ("b", Transcript(answer="")),
    ]
    path.write_text('[{"example_id": "a", "response_text": "yes"}]', encoding="utf-8")
    assert [r.case_id for r in read(path) if isinstance(r, RecordedResponse)] == ["a"]


def test_blank_lines_and_a_byte_order_mark_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "responses.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"case_id": "a", "response_text": "x"}\r\n\r\n  \n')
    assert len(read(path)) == 1


@pytest.mark.parametrize(
    ("row", "code", "field"),
    [
        ("{", "json-syntax", ""),
        ({"response_text": "x"}, "missing-field", "case_id"),
        ({"case_id": "a"}, "missing-field", "response_text"),
        ({"case_id": "a", "response_text": 5}, "wrong-type", "response_text"),
        ({"case_id": "", "response_text": "x"}, "empty", "case_id"),
        ({"case_id": "a", "response_text": "x", "repeat": 0}, "out-of-range", "repeat"),
        ({"case_id": "a", "messages": [{"role": "bot"}]}, "unknown-value", "messages[0].role"),
        ({"case_id": "a", "messages": [{"role": "user", "tool_calls": [{}]}]}, "missing-field",
         "messages[0].tool_calls[0].name"),
        ({"case_id": "a", "response_text": "x", "tool_calls": [{"name": "f", "arguments": "[1]"}]}, "wrong-type",
         "tool_calls.arguments"),
        ({"case_id": "a", "response_text": "x", "state": []}, "wrong-type", "state"),
        ([1], "wrong-type", ""),
    ],
)  # fmt: skip
def test_every_fault_is_a_problem_with_its_line(tmp_path: Path, row: Any, code: str, field: str) -> None:
    path = lines(tmp_path, {"case_id": "ok", "response_text": "fine"}, row)
    problems = [thing for thing in read(path) if isinstance(thing, Problem)]
    assert [(problem.code, problem.field, problem.line) for problem in problems] == [(code, field, 2)]


def test_a_json_file_of_another_shape_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    path.write_text("3", encoding="utf-8")
    (problem,) = read(path)
    assert isinstance(problem, Problem)
    assert problem.code == "wrong-type"


@pytest.mark.parametrize(
    ("row", "answer", "candidate"),
    [
        ({"id": "a", "response": "B", "model": "juno"}, "B", "juno"),
        ({"id": 7, "answer": "", "model_id": "juno"}, "", "juno"),
        ({"case_id": "a", "output": "B", "candidate": "c"}, "B", "c"),
        ({"example_id": "a", "id": "row 1", "completion": "B"}, "B", ""),
        ({"id": "a", "response_text": "B", "answer": "the reference", "error": None}, "B", ""),
        ({"id": "a", "answer": "B", "response": "B"}, "B", ""),
    ],
)
def test_names_that_people_use_are_understood(tmp_path: Path, row: Any, answer: str, candidate: str) -> None:
    response = next(each for each in read(lines(tmp_path, row)) if isinstance(each, RecordedResponse))
    assert response.case_id == ("7" if row.get("id") == 7 else "a")
    assert isinstance(response.recording, Transcript)
    assert (response.recording.answer, response.candidate) == (answer, candidate)


def test_what_is_not_read_is_named_once_with_the_nearest_name(tmp_path: Path) -> None:
    rows = [{"id": str(at), "response": "B", "latency": 3, "duraton_ms": 5, "run_id": "x"} for at in range(3)]
    found = [each for each in read(lines(tmp_path, *rows)) if isinstance(each, Problem)]
    assert [(each.level.value, each.field, each.line) for each in found] == [
        ("warning", "latency", 1),
        ("warning", "duraton_ms", 1),
    ]
    assert found[1].message == "`duraton_ms` is not a field of recorded answers; it is not read (on 3 lines)"
    assert found[1].hint == "did you mean `duration_ms`?"
    kept = {"case_id": "a", "response_text": "B", "answer": "C"}
    (warning,) = (each for each in read(lines(tmp_path, kept)) if isinstance(each, Problem))
    assert (warning.field, warning.hint) == ("answer", "`response_text` is read")


def test_two_names_for_one_field_are_not_guessed_between_and_problems_name_what_stands_there(tmp_path: Path) -> None:
    both = {"id": "a", "answer": "x", "response": "y"}
    odd = {"id": "a", "output": {"text": "x"}}
    unknown = {"question": "q2", "reply": "Lima"}
    found = [each for each in read(lines(tmp_path, both, odd, unknown)) if isinstance(each, Problem)]
    errors = [each for each in found if each.level.value == "error"]
    assert [(each.code, each.line, each.field) for each in errors] == [
        ("ambiguous-field", 1, "response_text"),
        ("wrong-type", 2, "output"),
        ("missing-field", 3, "case_id"),
        ("missing-field", 3, "response_text"),
    ]
    assert "`response` and `answer` could each be the response_text" in errors[0].message
    assert "the fields here are: `question`, `reply`" in errors[3].hint


def test_answers_may_stand_in_a_table(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text('\ufeffid;response;model;repeat\r\nq1;"A,\nB";juno;2\r\nq2;;juno;\r\n', encoding="utf-8")
    found = [each for each in read(path) if isinstance(each, RecordedResponse)]
    assert [(each.case_id, each.candidate, each.repeat, each.line) for each in found] == [
        ("q1", "juno", 2, 2),
        ("q2", "juno", 1, 4),
    ]
    assert [each.recording.answer for each in found if isinstance(each.recording, Transcript)] == ["A,\nB", ""]


def test_calls_may_stand_as_chat_apis_have_them_and_nulls_are_nothing(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"amount": 5}'}}
    messages = [{"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "assistant", "content": "Done"}]
    found = transcript(tmp_path, messages=messages, answer=None)
    assert [(each.name, each.arguments) for each in found.tool_calls] == [("pay", {"amount": 5})]
    (response,) = read(lines(tmp_path, {"id": "a", "answer": None, "error": "timeout"}))
    assert isinstance(response, RecordedResponse)
    assert response.recording == BrokenRecording(reason="timeout")
