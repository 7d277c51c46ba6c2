"""Question sets as datasets: asked as they stand, held against answers, criteria or both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from howsure.dialects.reading import read_cases, validate
from howsure.kit.builtins import builtin_kit
from howsure.policies.profiles import builtin_profiles
from howsure.services.hosting.questions import as_dataset

HEAD = {"schema_version": "legal_eval_v1", "id": "q1", "dataset": "House", "prompt": "Who are you?"}


def line(**given: Any) -> dict[str, Any]:
    body = {"questions": [{"question_id": "q1", "question": "Who are you?", **given}]}
    found: dict[str, Any] = json.loads(as_dataset("House", body))
    return found


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"expected_answer": "A bot"},
            {"task_type": "reference_qa", "reference_answers": ["A bot"], "metadata": {}},
        ),
        (
            {"criteria": ["Says so", "Is kind"]},
            {
                "task_type": "rubric_qa",
                "rubric": [{"id": "c1", "title": "Says so"}, {"id": "c2", "title": "Is kind"}],
                "metadata": {},
            },
        ),
        (
            {"criteria": ["Says so"], "expected_answer": "A bot"},
            {
                "task_type": "rubric_qa",
                "rubric": [{"id": "c1", "title": "Says so"}],
                "reference_answers": ["A bot"],
                "metadata": {},
            },
        ),
        (
            {"expected_answer": "A bot", "context": "At the desk", "tags": ["intro"]},
            {
                "task_type": "reference_qa",
                "reference_answers": ["A bot"],
                "context": "At the desk",
                "metadata": {"tags": ["intro"]},
            },
        ),
    ],
    ids=["an answer", "criteria", "both", "context and tags"],
)
def test_a_question_becomes_a_line(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert line(**given) == {**HEAD, **expected}


def test_a_question_set_without_a_name_is_called_something() -> None:
    body = {"questions": [{"question_id": "q1", "question": "Who?", "expected_answer": "Ada"}]}
    assert json.loads(as_dataset("", body))["dataset"] == "questions"


def test_no_question_is_no_line() -> None:
    assert as_dataset("House", {"questions": []}) == b""
    assert as_dataset("House", {}) == b""


def test_what_is_written_is_a_dataset_that_reads_without_a_problem(tmp_path: Path) -> None:
    held: list[dict[str, Any]] = [
        {"expected_answer": "Ada"},
        {"criteria": ["Names Ada"]},
        {"criteria": ["Kind"], "expected_answer": "Ada"},
    ]
    questions = [
        {"question_id": f"q{number}", "question": f"Who is {number}?", **given} for number, given in enumerate(held)
    ]
    path = tmp_path / "questions.jsonl"
    path.write_bytes(as_dataset("House", {"questions": questions}))
    legal = builtin_kit(builtin_profiles()).dialects["legal"]
    assert validate(path, legal).problems == ()
    assert [case.id for case in read_cases(path, legal)] == ["q0", "q1", "q2"]
