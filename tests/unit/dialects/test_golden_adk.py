"""Criteria and rubrics of ADK in golden files: checked as they are read, kept as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from howsure.dialects.datasets import read_cases, validate
from howsure.dialects.golden import GoldenDialect
from howsure.dialects.reference_data import SCHEMA
from howsure.model.adk_criteria import NAMES


def golden(folder: Path, reference: Any) -> Path:
    question = {"id": "q", "user_inputs": ["a", "b"], "agents_evaluated": [], "reference_data": reference}
    path = folder / "x.json"
    path.write_text(json.dumps({"golden_questions": [question]}))
    return path


SOUND = {
    "reference_tool_interactions": [{"tool_name": "find", "input_arguments": {}, "turn": 2}],
    "adk_criteria": {name: {"threshold": 0.5, "match_type": "IN_ORDER", "ignore_args": True} for name in NAMES}
    | {"safety_v1": 1},
    "adk_rubrics": [{"rubric_id": "r", "text": "Holds.", "type": "T", "description": "d", "turn": 1}],
}


def test_they_come_back_as_they_were_written(tmp_path: Path) -> None:
    (case,) = read_cases(golden(tmp_path, SOUND), GoldenDialect())
    copy = tmp_path / "copy.json"
    GoldenDialect().write([case], copy)
    assert list(read_cases(copy, GoldenDialect())) == [case]
    assert json.loads(copy.read_text())["golden_questions"][0]["reference_data"] == SOUND


@pytest.mark.parametrize(
    ("reference", "code", "field"),
    [
        ({"adk_criteria": {"safety": 1.0}}, "unknown-field", "adk_criteria.safety"),
        ({"adk_criteria": {"safety_v1": {}}}, "missing-field", "adk_criteria.safety_v1.threshold"),
        (
            {"adk_criteria": {"tool_trajectory_avg_score": {"threshold": 1, "match_type": "LOOSE"}}},
            "unknown-value",
            "adk_criteria.tool_trajectory_avg_score.match_type",
        ),
        ({"adk_rubrics": [{"rubric_id": "r"}]}, "missing-field", "adk_rubrics[0].text"),
        (
            {"reference_tool_interactions": [{"tool_name": "a", "turn": 0}]},
            "out-of-range",
            "reference_tool_interactions[0].turn",
        ),
    ],
)
def test_what_is_wrong_with_them_is_a_problem_with_its_place(
    reference: Any, code: str, field: str, tmp_path: Path
) -> None:
    (problem,) = validate(golden(tmp_path, reference), GoldenDialect()).problems
    assert (problem.code, problem.field) == (code, f"golden_questions[0].reference_data.{field}")


def test_the_schema_knows_every_criterion() -> None:
    (pattern,) = SCHEMA["properties"]["adk_criteria"]["patternProperties"]
    assert pattern == f"^({'|'.join(NAMES)})$"
