"""The importer of Langfuse traces, and how spans become a conversation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmark_files import Row, faults, imported, langfuse, observation, report, written
from howsure.dialects.datasets import read_cases
from howsure.dialects.importers.trace_exports import LangfuseImporter
from howsure.dialects.simulation import SimulationDialect
from howsure.model.case import Case, Script
from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Transcript, Usage

IMPORTER = LangfuseImporter()


def file_of(folder: Path, trace: Any) -> Path:
    return written(folder, "trace.json", json.dumps(trace, indent=1))


def only(folder: Path, *observations: Row, **trace: Any) -> Case:
    document = langfuse(trace={"id": "tr-1", **trace}, observations=list(observations))
    (case,) = imported(IMPORTER, file_of(folder, document))
    return case


def recorded(case: Case) -> Transcript:
    assert isinstance(case.recorded, Transcript)
    return case.recorded


def test_a_trace_becomes_a_conversation(tmp_path: Path) -> None:
    (case,) = imported(IMPORTER, file_of(tmp_path, langfuse()))
    transcript = recorded(case)
    call = ToolCall(name="find", arguments={"order": "7"}, id="c1", result=ToolResult(content="depot"))
    assert case.id == "tr-1"
    assert case.input == Script(turns=("Where is order 7?",))
    assert transcript.answer == "At the depot."
    assert transcript.messages == (
        Message(role=Role.SYSTEM, content="Be kind."),
        Message(role=Role.USER, content="Where is order 7?"),
        Message(role=Role.ASSISTANT, agent="clerk", tool_calls=(call,)),
        Message(role=Role.ASSISTANT, agent="clerk", content="At the depot."),
    )


def test_tokens_times_and_spans_are_there(tmp_path: Path) -> None:
    (case,) = imported(IMPORTER, file_of(tmp_path, langfuse()))
    transcript = recorded(case)
    assert transcript.usage == Usage(prompt_tokens=30, completion_tokens=7)
    assert transcript.duration_ms == 5000.0
    assert not transcript.invented_times
    assert transcript.spans is not None
    assert [span.name for span in transcript.spans] == ["invoke_agent clerk", "chat m", "find", "chat m"]
    assert case.metadata == {"name": "run", "tags": ["x"], "agent_name": "clerk"}
    assert case.labels == {"agent": "clerk", "repeat": "1"}


def test_the_run_s_own_input_tells_what_the_user_said(tmp_path: Path) -> None:
    asked = [{"role": "user", "content": "Be helpful!"}, {"role": "user", "content": "Hi?"}]
    case = only(tmp_path, observation("s", "GENERATION", "m", input=asked, output="Hello."), input='"Hi?"')
    assert case.input == Script(turns=("Hi?",))
    assert [(one.role, one.content) for one in recorded(case).messages] == [
        (Role.SYSTEM, "Be helpful!"),
        (Role.USER, "Hi?"),
        (Role.ASSISTANT, "Hello."),
    ]


def test_the_run_s_own_output_is_the_answer_where_no_model_says_it(tmp_path: Path) -> None:
    generation = observation("s", "GENERATION", "m", input="Hi?", output=None)
    case = only(tmp_path, generation, output="\"{'role': 'assistant', 'text': 'Hello.'}\"")
    assert recorded(case).answer == "Hello."


def test_text_that_was_encoded_twice_is_one_text(tmp_path: Path) -> None:
    case = only(tmp_path, observation("s", "GENERATION", "m", input="Hi?", output="Hello."), output='"\\"Hello.\\""')
    assert [one.content for one in recorded(case).messages] == ["Hi?", "Hello."]


def test_what_another_agent_was_told_is_not_the_user_s_word(tmp_path: Path) -> None:
    later = {"startTime": "2026-01-01T10:00:03.000Z", "endTime": "2026-01-01T10:00:04.000Z"}
    case = only(
        tmp_path,
        observation("s1", "GENERATION", "m", input=[{"role": "user", "content": "A joke?"}], output="Knock."),
        observation("s2", "GENERATION", "m", input=[{"role": "user", "content": "Rate it."}], output="Good.", **later),
    )
    assert case.input == Script(turns=("A joke?",))
    assert [one.content for one in recorded(case).messages] == ["A joke?", "Knock.", "Good."]


def test_a_tool_that_no_message_asked_for_is_still_a_call(tmp_path: Path) -> None:
    case = only(
        tmp_path,
        observation("s1", "GENERATION", "m", input="Hi?", output="Hello."),
        observation("s2", "TOOL", "find", input={"x": 1}, output={"y": 2}),
    )
    (call,) = recorded(case).tool_calls
    assert call == ToolCall(name="find", arguments={"x": 1}, result=ToolResult(content={"y": 2}))
    assert recorded(case).answer == "Hello."


@pytest.mark.parametrize(
    "attributes",
    [
        {
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": "Hi?",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": "Hello.",
        },
        {
            "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.0.content": "Hi?",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "Hello.",
        },
        {
            "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Hi?"}]}]),
            "gen_ai.output.messages": json.dumps(
                [{"role": "assistant", "parts": [{"type": "text", "content": "Hello."}]}]
            ),
        },
        {"input.value": json.dumps({"messages": [{"role": "user", "content": "Hi?"}]}), "output.value": "Hello."},
    ],
    ids=["openinference", "openllmetry", "opentelemetry", "values"],
)
def test_attributes_of_every_library_are_read(attributes: Row, tmp_path: Path) -> None:
    case = only(tmp_path, observation("s", "GENERATION", "chat m", metadata={"attributes": attributes}))
    assert case.input == Script(turns=("Hi?",))
    assert recorded(case).answer == "Hello."


def test_calls_spread_over_attributes_are_put_together(tmp_path: Path) -> None:
    prefix = "llm.output_messages.0.message"
    attributes = {
        f"{prefix}.role": "assistant",
        f"{prefix}.tool_calls.0.tool_call.id": "c1",
        f"{prefix}.tool_calls.0.tool_call.function.name": "find",
        f"{prefix}.tool_calls.0.tool_call.function.arguments": '{"x": 1}',
    }
    case = only(tmp_path, observation("s", "GENERATION", "m", input="Hi?", metadata={"attributes": attributes}))
    assert recorded(case).tool_calls == (ToolCall(name="find", arguments={"x": 1}, id="c1"),)


def test_messages_printed_in_one_text_are_told_apart(tmp_path: Path) -> None:
    printed = "system: Be kind.\nuser: Hi?\nand more: yes\nassistant: None"
    case = only(tmp_path, observation("s", "GENERATION", "chat m", input=printed, output="Hello."))
    assert case.input == Script(turns=("Hi?\nand more: yes",))
    assert [one.role for one in recorded(case).messages] == [Role.SYSTEM, Role.USER, Role.ASSISTANT]


def test_spans_without_any_words_are_a_problem_that_says_why(tmp_path: Path) -> None:
    path = file_of(tmp_path, langfuse(trace={"id": "x"}, observations=[observation("s", "SPAN", "work")]))
    (problem,) = report(IMPORTER, path).problems
    assert problem.code == "no-user-inputs"
    assert problem.found == "work"
    assert "recorded" in problem.hint


def test_a_run_without_an_answer_is_read_with_a_warning(tmp_path: Path) -> None:
    path = file_of(
        tmp_path, langfuse(trace={"id": "x"}, observations=[observation("s", "GENERATION", "m", input="Hi?")])
    )
    found = report(IMPORTER, path)
    assert found.valid
    assert [one.code for one in found.warnings] == ["no-answer"]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"trace": {}}, [(1, "", "wrong-kind")]),
        ({"observations": 3}, [(1, "", "wrong-kind")]),
        ([], [(1, "", "wrong-kind")]),
        ({"observations": [{"id": "s"}]}, [(3, "observations[0].type", "missing-field")]),
        ({"observations": [3]}, [(3, "observations[0]", "wrong-type")]),
        ({"observations": [observation("s", "SPAN", "x", startTime="soon")]}, [(3, "observations[0]", "bad-span")]),
    ],
)
def test_what_is_wrong_is_told_with_its_place(document: Any, expected: list[Any], tmp_path: Path) -> None:
    assert faults(IMPORTER, file_of(tmp_path, document)) == expected


def test_a_truncated_file_is_a_problem_with_its_place(tmp_path: Path) -> None:
    text = json.dumps(langfuse(), indent=1)
    ((line, _, code),) = faults(IMPORTER, written(tmp_path, "trace.json", text[: len(text) // 2]))
    assert code == "json-syntax"
    assert line is not None
    assert line > 10


def test_what_is_written_as_simulation_reads_back_equal(tmp_path: Path) -> None:
    cases = imported(IMPORTER, file_of(tmp_path, langfuse()))
    SimulationDialect().write(cases, tmp_path / "out.jsonl")
    assert list(read_cases(tmp_path / "out.jsonl", SimulationDialect())) == cases
