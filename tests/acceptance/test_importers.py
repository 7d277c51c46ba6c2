"""Importers against public data that nobody here wrote: everything is read, or it is said precisely why not, and what
is written from it validates."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from howsure.dialects.base import Dialect, Importer
from howsure.dialects.datasets import read_cases, validate
from howsure.dialects.golden import GoldenDialect
from howsure.dialects.importers import importers
from howsure.dialects.importers.choice_benchmarks import LexamImporter, MmluImporter
from howsure.dialects.importers.conversations import ConversationImporter
from howsure.dialects.importers.rubric_benchmarks import AceImporter
from howsure.dialects.importers.tau2 import Tau2GoldenImporter, Tau2Importer
from howsure.dialects.importers.trace_exports import LangfuseImporter
from howsure.dialects.legal import LegalDialect
from howsure.dialects.simulation import SimulationDialect
from howsure.dialects.test_set import TestSetDialect
from howsure.model.case import Case, SingleTurn, opening
from howsure.model.expectation import CorrectChoice, Criteria, ReferenceAnswer, ToolCalls, WeightedCriteria
from howsure.model.transcript import Transcript
from howsure.services.convert.to_test_set import to_test_set
from howsure.traces.read import read_trace

pytestmark = pytest.mark.shared
Shared = Callable[..., Path]


def read(path: Path, importer: Importer) -> list[Case]:
    """Twice, and the same."""
    cases = list(read_cases(path, importer))
    assert list(read_cases(path, importer)) == cases
    return cases


def comes_back(cases: Sequence[Case], dialect: Dialect, path: Path) -> None:
    dialect.write(cases, path)
    assert list(read_cases(path, dialect)) == list(cases)


def alone(path: Path) -> list[str]:
    head = path.read_bytes()[: 1 << 16]
    return [importer.name for importer in importers() if importer.detect(path, head)]


@pytest.mark.parametrize(("domain", "tasks"), [("airline", 50), ("retail", 114), ("mock", 10)])
def test_every_tau2_task_becomes_a_scenario_and_a_golden_question(
    domain: str, tasks: int, shared_data: Shared, tmp_path: Path
) -> None:
    path = shared_data("tau2_bench", domain, "tasks.json")
    assert alone(path) == ["tau2"]
    scenarios, questions = read(path, Tau2Importer()), read(path, Tau2GoldenImporter())
    assert len(scenarios) == len(questions) == tasks
    assert [case.id for case in scenarios] == [case.id for case in questions]
    comes_back(questions, GoldenDialect(), tmp_path / "tau2.json")
    fitted = [fit.case for fit in map(to_test_set, scenarios) if fit.case is not None]
    TestSetDialect().write(fitted, tmp_path / "set.json")
    report = validate(tmp_path / "set.json", TestSetDialect())
    assert (report.cases, report.problems) == (tasks, ())


@pytest.mark.parametrize(
    ("domain", "calls", "criteria"), [("airline", 142, 133), ("retail", 550, 122), ("mock", 8, 14)]
)
def test_no_action_and_no_statement_of_a_tau2_task_is_lost(
    domain: str, calls: int, criteria: int, shared_data: Shared
) -> None:
    cases = read(shared_data("tau2_bench", domain, "tasks.json"), Tau2Importer())
    expected = [one for case in cases for one in case.expectations]
    assert sum(len(one.expected) for one in expected if isinstance(one, ToolCalls)) == calls
    assert sum(len(one.criteria) for one in expected if isinstance(one, Criteria)) == criteria


def test_every_ace_file_becomes_rubrics(shared_data: Shared, tmp_path: Path) -> None:
    found: dict[str, tuple[int, int, int]] = {}
    for path in sorted(shared_data("ace_rubrics", "ace", "dataset").glob("*.csv")):
        assert alone(path) == ["ace"]
        cases = read(path, AceImporter())
        rubrics = [one for case in cases for one in case.expectations if isinstance(one, WeightedCriteria)]
        notes = [note for case in cases for note in case.metadata["criteria"].values()]
        hurdles = sum(note["Hurdle Tag"] == "Hurdle" for note in notes)
        found[path.stem] = (len(cases), sum(len(one.criteria) for one in rubrics), hurdles)
        comes_back(cases, LegalDialect(), tmp_path / f"{path.stem}.jsonl")
    assert found == {
        "ACE-DIY": (20, 210, 20),
        "ACE-Food": (20, 150, 34),
        "ACE-Gaming": (20, 107, 23),
        "ACE-Shopping": (20, 125, 28),
    }


TALKS = {
    "Supported_Evaluation_Metrics/Agent_Evaluation/evaluation_data.jsonl": (5, 14),
    "Supported_Evaluation_Metrics/AI_Judge_Evaluators_Quality/data.jsonl": (4, 0),
    "Supported_Evaluation_Targets/Evaluate_On_Cloud/evaluate_test_data.jsonl": (3, 0),
    "evaluate_with_various_inputs/conversation_data.jsonl": (2, 0),
    "evaluate_with_various_inputs/qr_data.csv": (3, 0),
    "evaluate_with_various_inputs/qr_data.jsonl": (3, 0),
    "samples/agent_evaluators/sample_synthetic_conversations.jsonl": (90, 157),
    "samples/data/evaluate_test_data.jsonl": (3, 0),
}
"""Conversations, and calls of tools in them: each has its result."""
NO_TALKS = {
    "tests/unittests/data/big_f1_data.jsonl": "no-user-inputs",
    "tests/unittests/data/evaluation_util_convert_old_output_test.jsonl": "wrong-kind",
    "tests/unittests/data/evaluation_util_convert_error_summary.json": "wrong-kind",
    "tests/unittests/data/evaluation_util_convert_eval_config.json": "wrong-kind",
    "tests/unittests/data/evaluation_util_convert_eval_meta_data.json": "wrong-kind",
    "tests/unittests/data/evaluation_util_convert_expected_output.json": "wrong-kind",
}
"""Files of the same folder that hold no conversation, and what is said of them."""


def test_every_data_file_of_the_azure_folder_is_in_a_table(shared_data: Shared) -> None:
    folder = shared_data("azure_agent_eval")
    files = [path for path in folder.rglob("*") if path.suffix in (".csv", ".json", ".jsonl")]
    assert sorted(str(path.relative_to(folder)) for path in files) == sorted([*TALKS, *NO_TALKS])


@pytest.mark.parametrize("name", TALKS)
def test_every_azure_conversation_is_imported(name: str, shared_data: Shared, tmp_path: Path) -> None:
    path = shared_data("azure_agent_eval", name)
    assert alone(path) == ["conversations"]
    cases = read(path, ConversationImporter())
    calls = [call for case in cases if isinstance(case.recorded, Transcript) for call in case.recorded.tool_calls]
    assert (len(cases), len(calls)) == TALKS[name]
    assert all(call.name and call.result is not None for call in calls)
    comes_back(cases, SimulationDialect(), tmp_path / "out.jsonl")
    comes_back(cases, SimulationDialect(), tmp_path / "out.csv")


@pytest.mark.parametrize("name", NO_TALKS)
def test_what_is_no_conversation_says_so(name: str, shared_data: Shared) -> None:
    path = shared_data("azure_agent_eval", name)
    assert not ConversationImporter().detect(path, path.read_bytes()[: 1 << 16])
    problems = validate(path, ConversationImporter()).problems
    assert {problem.code for problem in problems} == {NO_TALKS[name]}
    assert all(problem.line and problem.expected for problem in problems)


# What each user said first, and how the answer begins: read off the files by hand.
TRACES = {
    "agno-2025-06-11": ("What is currently trending", "To find out what's currently", ["duckduckgo_search"]),
    "autogen-2025-06-06": ("Say 'Hello World!'", "Hello World!", []),
    "beeai-2025-08-01": ("I'm planning a trip to Barcelona", "Barcelona is a vibrant city", ["search.wikipedia"]),
    "google-adk-2025-08-28": ("hi", "Hello Langfuse", ["say_hello"]),
    "google-gemini-2025-08-01": ("What is Langfuse?", "**Langfuse** is an **open-source", []),
    "google-vertex-tools-langchain-2025-09-19": ("Hello, I'm interested", "Thank you, John Smith.", []),
    "koog-2025-08-26": ("Greet and say goodbye", "Hello my darling Bob! And, bye", ["HelloTool", "ByeTool"]),
    "langgraph-2025-08-22": ("Search the web for 'example'", 'The search for "example"', ["Web-Search"]),
    "llamaindex-2025-06-05": ("What is Langfuse?", "Langfuse is a tool designed", []),
    "microsoft-agent-2025-10-14": ("What's the weather like in Portland?", "The weather in Portland", ["get_weather"]),
    "openai-agents-2025-09-30": ("What's the weather in Tokyo?", "The weather in Tokyo", ["get_weather"]),
    "openai-assistants-2024-05-29": ("I need to solve the equation", "Sure, first subtract 11", []),
    "pydantic-ai-tools-2025-12-04": (
        "programming",
        "Why do programmers hate nature?",
        # The last one is how that library makes a model give a typed result: no tool was run.
        ["get_pun_suggestion", "get_dad_joke_suggestion", "get_one_liner_suggestion", "final_result"],
    ),
}


def test_every_trace_is_in_the_table(shared_data: Shared) -> None:
    assert sorted(path.stem for path in shared_data("langfuse_traces").glob("*.json")) == sorted(TRACES)


@pytest.mark.parametrize("name", TRACES)
def test_every_trace_becomes_a_conversation(name: str, shared_data: Shared, tmp_path: Path) -> None:
    path = shared_data("langfuse_traces", f"{name}.json")
    asked, answered, tools = TRACES[name]
    assert alone(path) == ["langfuse"]
    (case,) = read(path, LangfuseImporter())
    transcript = case.recorded
    assert isinstance(transcript, Transcript)
    assert opening(case.input).startswith(asked)
    assert transcript.answer.startswith(answered)
    assert [call.name for call in transcript.tool_calls] == tools
    assert all(call.result is not None for call in transcript.tool_calls if call.name != "final_result")
    trace = read_trace(transcript.spans or ())
    prompts = [call.usage.prompt_tokens or 0 for call in trace.llm_calls if call.usage]
    assert transcript.usage is not None
    assert transcript.usage.prompt_tokens == sum(prompts)
    assert (transcript.duration_ms or 0) > 0
    comes_back([case], SimulationDialect(), tmp_path / "out.jsonl")


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_all_mmlu_law_questions_come_through_the_csv_of_their_publisher(shared_data: Shared, tmp_path: Path) -> None:
    rows = rows_of(shared_data("mmlu_law", "mmlu_law.legal_eval_v1.jsonl"))
    path = tmp_path / "professional_law_test.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        for row in rows:
            writer.writerow([row["prompt"], *(one["text"] for one in row["choices"]), *row["correct_choice_ids"]])
    assert alone(path) == ["mmlu"]
    report = validate(path, MmluImporter())
    assert report.problems == ()
    left_out = [warning for warning in report.warnings if warning.code == "skipped-case"]
    cases = read(path, MmluImporter())
    assert len(cases) + len(left_out) == len(rows) == 1972
    told = {row["prompt"].strip(): row["correct_choice_ids"] for row in rows}
    for case in cases:
        (expected,) = case.expectations
        assert isinstance(expected, CorrectChoice)
        assert isinstance(case.input, SingleTurn)
        assert list(expected.correct) == told[case.input.message]
    comes_back(cases, LegalDialect(), tmp_path / "law.jsonl")


def test_all_lexam_questions_come_through_the_rows_of_their_publisher(shared_data: Shared, tmp_path: Path) -> None:
    choices = rows_of(shared_data("lexam", "mcq.legal_eval_v1.jsonl"))
    answers = rows_of(shared_data("lexam", "open.legal_eval_v1.jsonl"))
    raw: list[dict[str, Any]] = [
        {
            "id": row["id"].rsplit(":", 1)[1],
            "question": row["prompt"],
            "choices": repr([one["text"] for one in row["choices"]]),
            "gold": [one["id"] for one in row["choices"]].index(row["correct_choice_ids"][0]),
            "course": row["metadata"].get("course"),
        }
        for row in choices
    ]
    raw += [
        {"id": row["id"], "question": row["prompt"], "answer": row["reference_answers"][0], "course": "x"}
        for row in answers
    ]
    path = tmp_path / "lexam.jsonl"
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in raw), encoding="utf-8")
    cases = read(path, LexamImporter())
    kinds = [type(case.expectations[0]) for case in cases]
    assert (kinds.count(CorrectChoice), kinds.count(ReferenceAnswer)) == (200, 100)
    for case, row in zip(cases, choices, strict=False):
        (expected,) = case.expectations
        assert isinstance(expected, CorrectChoice)
        texts = {one["id"]: one["text"] for one in row["choices"]}
        assert {one.text for one in expected.choices if one.id in expected.correct} == {
            texts[id].strip() for id in row["correct_choice_ids"]
        }
    comes_back(cases, LegalDialect(), tmp_path / "out.jsonl")


@pytest.mark.parametrize("place", [0, 7, -1])
def test_a_row_that_is_inserted_changes_no_other_id(place: int, shared_data: Shared, tmp_path: Path) -> None:
    source = shared_data("azure_agent_eval", "samples", "agent_evaluators", "sample_synthetic_conversations.jsonl")
    lines = source.read_text("utf-8").splitlines()
    before = [case.id for case in read(source, ConversationImporter())]
    lines.insert(place, json.dumps({"query": "A new question", "response": "And its answer"}))
    path = tmp_path / "more.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    after = [case.id for case in read(path, ConversationImporter())]
    assert len(after) == len(before) + 1
    assert set(before) < set(after)
