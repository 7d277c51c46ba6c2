"""The importer of agent conversations with tool definitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmark_files import Row, as_lines, as_table, conversation, faults, imported, written
from howsure.dialects.datasets import read_cases
from howsure.dialects.importers.conversations import ConversationImporter
from howsure.dialects.simulation import SimulationDialect
from howsure.model.case import Script
from howsure.model.transcript import Message, Role, Tool, ToolCall, ToolResult, Transcript

IMPORTER = ConversationImporter()


def file_of(folder: Path, *rows: Row) -> Path:
    return written(folder, "talks.jsonl", as_lines(rows))


def test_a_conversation_becomes_a_transcript_with_calls_results_and_tools(tmp_path: Path) -> None:
    (case,) = imported(IMPORTER, file_of(tmp_path, conversation()))
    call = ToolCall(name="find", arguments={"order": "7"}, id="c1", result=ToolResult(content={"at": "depot"}))
    assert case.input == Script(turns=("Where is order 7?",))
    assert case.recorded == Transcript(
        answer="At the depot.",
        messages=(
            Message(role=Role.SYSTEM, content="Be kind."),
            Message(role=Role.USER, content="Where is order 7?"),
            Message(role=Role.ASSISTANT, tool_calls=(call,)),
            Message(role=Role.ASSISTANT, content="At the depot."),
        ),
    )
    assert case.tools == (Tool(name="find", description="Finds.", parameters={"type": "object"}),)
    assert case.labels == {"repeat": "1"}


def test_what_messages_say_about_themselves_is_kept(tmp_path: Path) -> None:
    (case,) = imported(IMPORTER, file_of(tmp_path, conversation()))
    assert case.metadata == {
        "message_details": [
            {"field": "messages[0]", "createdAt": 1},
            {"field": "messages[2]", "run_id": "r"},
        ]
    }


@pytest.mark.parametrize(
    "row",
    [
        {"query": "Hi?", "response": "Hello."},
        {
            "conversation": {
                "messages": [{"role": "user", "content": "Hi?"}, {"role": "assistant", "content": "Hello."}]
            }
        },
        {"messages": [{"role": "user", "content": "Hi?"}, {"role": "assistant", "content": "Hello."}]},
        {
            "query": [{"role": "user", "content": [{"type": "text", "text": "Hi?"}]}],
            "response": [{"role": "assistant", "content": [{"type": "text", "text": "Hello."}]}],
            "tool_definitions": [],
        },
    ],
    ids=["texts", "conversation", "messages", "lists"],
)
def test_all_the_shapes_say_the_same(row: Row, tmp_path: Path) -> None:
    path = file_of(tmp_path, row)
    assert IMPORTER.detect(path, path.read_bytes())
    (case,) = imported(IMPORTER, path)
    assert case.input == Script(turns=("Hi?",))
    assert isinstance(case.recorded, Transcript)
    assert case.recorded.answer == "Hello."
    assert case.tools is None


def test_a_table_of_questions_and_answers_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, "qr.csv", as_table([{"query": "Hi?", "response": "Hello."}]))
    assert IMPORTER.detect(path, path.read_bytes())
    (case,) = imported(IMPORTER, path)
    assert isinstance(case.recorded, Transcript)
    assert case.recorded.answer == "Hello."


def test_a_question_without_an_answer_has_no_recording_and_its_truth_is_a_reference(tmp_path: Path) -> None:
    (case,) = imported(IMPORTER, file_of(tmp_path, {"query": "Capital?", "context": "France", "ground_truth": "Paris"}))
    assert case.recorded is None
    assert case.metadata == {"context": "France", "reference_data": {"expected_response": "Paris"}}


def test_an_empty_answer_is_an_answer(tmp_path: Path) -> None:
    (case,) = imported(IMPORTER, file_of(tmp_path, {"query": "Hi?", "response": ""}))
    assert case.recorded == Transcript(answer="", messages=(Message(role=Role.USER, content="Hi?"),))


def test_words_after_the_user_s_last_are_the_answer_and_none_are_none(tmp_path: Path) -> None:
    row = {
        "messages": [
            {"role": "user", "content": "Hi?"},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "Still there?"},
        ],
        "tools": [],
    }
    (case,) = imported(IMPORTER, file_of(tmp_path, row))
    assert isinstance(case.recorded, Transcript)
    assert case.recorded.answer == ""


def test_ids_are_hashes_of_the_user_s_words_and_equals_are_numbered(tmp_path: Path) -> None:
    rows = [{"query": "Hi?", "response": "a"}, {"query": "Ho?", "response": "b"}, {"query": "Hi?", "response": "c"}]
    first, second, again = imported(IMPORTER, file_of(tmp_path, *rows))
    assert first.id.startswith("sim-")
    assert again.id == f"{first.id}#2"
    assert again.labels == {"repeat": "2"}
    _, *rest = imported(IMPORTER, file_of(tmp_path, {"query": "New", "response": "x"}, *rows))
    assert [case.id for case in rest] == [first.id, second.id, again.id]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"response": "x", "ground_truth": "y"}, [(1, "query", "no-user-inputs")]),
        ({"query": "", "response": "x"}, [(1, "query", "no-user-inputs")]),
        ({"query": 3, "response": "x"}, [(1, "query", "wrong-type")]),
        ({"messages": [{"role": "user", "content": {"x": 1}}]}, [(1, "messages[0]", "bad-message")]),
        ({"query": "q", "response": "x", "tools": "none"}, [(1, "tools", "wrong-type")]),
        ({"query": "q", "outputs.x": 1, "inputs.item": {}}, [(1, "", "wrong-kind")]),
    ],
    ids=["no query", "empty", "a number", "no message", "no tools", "results"],
)
def test_what_is_wrong_is_told_with_its_place(row: Row, expected: list[Any], tmp_path: Path) -> None:
    assert faults(IMPORTER, file_of(tmp_path, row)) == expected


@pytest.mark.parametrize(
    "row",
    [
        {"query": "q"},
        {"query": "q", "expected_tool_use": []},
        {"messages": [], "task_type": "mcq", "prompt": "p"},
        {"query": "q", "response": "r", "outputs.f1": 1},
        {"messages": [], "owner": "x"},
    ],
)
def test_files_of_other_kinds_are_not_claimed(row: Row) -> None:
    assert not IMPORTER.detect(Path("x.jsonl"), as_lines([row]).encode())


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv"])
def test_what_is_written_as_simulation_reads_back_equal(name: str, tmp_path: Path) -> None:
    cases = imported(IMPORTER, file_of(tmp_path, conversation(), {"query": "Hi?", "response": "a"}))
    SimulationDialect().write(cases, tmp_path / name)
    assert list(read_cases(tmp_path / name, SimulationDialect())) == cases
