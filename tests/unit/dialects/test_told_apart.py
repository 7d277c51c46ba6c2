"""Files that look like those of another tool or dialect, and what is said of files that are nearly right."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from howsure.dialects.datasets import detect, validate
from howsure.dialects.tool_results.deepeval_runs import DeepEvalRunReader
from howsure.dialects.tool_results.experiment_tables import LangfuseRunReader
from howsure.errors import InputError
from howsure.kit import Kit
from howsure.kit.plugins import builtin_kit
from howsure.model.score import Score, Unscored


@pytest.fixture(scope="module")
def kit() -> Kit:
    return builtin_kit([])


def written(folder: Path, name: str, *rows: Any) -> Path:
    path = folder / name
    lines = path.suffix == ".jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) if lines else json.dumps(rows[0]), encoding="utf-8")
    return path


def results_of(path: Path, kit: Kit) -> list[str]:
    return [each.name for each in kit.results_readers if each.detect(path, path.read_bytes())]


TRACE = {"id": "t1", "input": "Q1", "output": "a", "scores": [{"name": "correctness", "value": 1}], "latency": 1.5}


def test_scores_in_a_list_are_langfuse_s_and_in_an_object_braintrust_s(tmp_path: Path, kit: Kit) -> None:
    assert results_of(written(tmp_path, "a.jsonl", TRACE), kit) == ["langfuse"]
    assert results_of(written(tmp_path, "b.jsonl", {**TRACE, "scores": {"correctness": 1}}), kit) == ["braintrust"]
    record = LangfuseRunReader().sample(TRACE)
    (score,) = record.grades
    assert isinstance(score, Score)
    assert (score.name, score.value, record.seconds) == ("correctness", 1, 1.5)
    with pytest.raises(ValueError, match="named by their ids only"):
        LangfuseRunReader().sample({**TRACE, "scores": ["7f3a"]})


def test_an_evaluation_of_vertex_is_no_history_of_adk(tmp_path: Path, kit: Kit) -> None:
    case = {"eval_case_index": 0, "response_candidate_results": []}
    assert results_of(written(tmp_path, "a.json", {"eval_case_results": [case]}), kit) == []
    assert results_of(written(tmp_path, "b.json", {"eval_case_results": [{"eval_id": "c"}]}), kit) == ["adk"]


def test_a_broken_metric_of_deepeval_keeps_its_mark(tmp_path: Path) -> None:
    metric = {"name": "Faithfulness", "threshold": 0.7, "success": False, "score": None, "error": "timeout"}
    case = {"name": "a", "input": "Q", "actualOutput": "b", "success": False, "metricsData": [metric]}
    path = written(tmp_path, "run.json", {"testRunData": {"testCases": [case]}})
    sample = next(iter(DeepEvalRunReader().read(path)))
    grades: Sequence[Any] = getattr(sample, "grades", ())
    assert [(each.name, each.pass_mark) for each in grades if isinstance(each, Unscored)] == [("Faithfulness", 0.7)]


def test_rows_of_requests_and_responses_are_a_plain_table(tmp_path: Path, kit: Kit) -> None:
    path = written(tmp_path, "a.jsonl", {"request": "Capital of Peru?", "response": "Lima", "expected": "Lima"})
    assert detect(path, kit.dialects).name == "plain"
    own = written(tmp_path, "b.jsonl", {"request": {}, "response": {}, "session_trace": []})
    assert detect(own, kit.dialects).name == "simulation"


def test_lines_that_name_their_version_are_legal_whatever_they_lack(tmp_path: Path, kit: Kit) -> None:
    path = written(tmp_path, "a.jsonl", {"id": "a", "schema_version": "legal_eval_v1"})
    dialect = detect(path, kit.dialects)
    assert dialect.name == "legal"
    assert [each.field for each in validate(path, dialect).problems] == ["dataset", "task_type", "prompt"]


def test_a_list_of_golden_questions_is_told_what_it_lacks(tmp_path: Path, kit: Kit) -> None:
    path = written(tmp_path, "a.json", [{"id": "g", "user_inputs": ["Hi"], "reference_data": {}}])
    with pytest.raises(
        InputError, match=r"a list of golden questions; put it under their name: jq '\{golden_questions"
    ):
        detect(path, kit.dialects)


def test_references_beside_a_conversation_are_said_to_check_nothing(tmp_path: Path, kit: Kit) -> None:
    row = {"question_id": "a", "user_inputs": ["Hi"], "final_response": "Hello", "expected_response": "Hello"}
    path = written(tmp_path, "a.jsonl", row)
    (warning,) = validate(path, kit.dialects["simulation"]).warnings
    assert (warning.field, "belongs into `reference_data`" in warning.hint) == ("expected_response", True)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "a.jsonl",
            '{"input": "Q", "expected": "a"},\n{"input": "R", "expected": "a"},\n',
            "take out the comma behind",
        ),
        ("a.jsonl", '{\n"input": "Q",\n"expected": "a"\n}\n', "one whole object on each line: jq -c"),
        ("a.csv", "Results of May,,\n,,\nquestion,expected,response\nQ,a,a\n", "the first line looks like a title"),
        ("a.csv", "id,question,expected\n1,Q,a\nTotal,,1\n", "if it is no case (a total, a note), take it out"),
    ],
)
def test_what_is_nearly_right_is_told_what_to_do(tmp_path: Path, kit: Kit, name: str, text: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    try:
        told = str(validate(path, detect(path, kit.dialects)).problems[0])
    except InputError as error:
        told = str(error)
    assert said in told
