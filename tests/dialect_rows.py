"""Rows of legal and explain files that are valid, to be changed in one place; `...` leaves a field out."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def _legal(id: Any, task: str, fields: Row) -> Row:
    return _given({"schema_version": "legal_eval_v1", "id": id, "dataset": "d", "task_type": task, **fields})


def mcq(id: Any = "r1", **fields: Any) -> Row:
    choices = [{"id": "A", "text": "yes"}, {"id": "B", "text": "no"}]
    return _legal(id, "mcq", {"prompt": "Is it?", "choices": choices, "correct_choice_ids": ["A"], **fields})


def reference_qa(id: Any = "r1", **fields: Any) -> Row:
    return _legal(id, "reference_qa", {"prompt": "Why?", "reference_answers": ["Because."], **fields})


def rubric_qa(id: Any = "r1", **fields: Any) -> Row:
    rubric = [{"id": "c1", "title": "Cites the Act", "weight": 5}]
    return _legal(id, "rubric_qa", {"prompt": "Advise.", "rubric": rubric, **fields})


def explain(number: int = 1, **fields: Any) -> Row:
    """A row with one eval; its payload follows its question and answer."""
    agent = fields.get("agent_name", "learning-path-curator")
    row: Row = {
        "case_id": f"{agent}-{number:03}",
        "scenario_id": "SCN-001",
        "agent_name": agent,
        "phase": "preparation",
        "difficulty": "easy",
        "quality_band": "good",
        "topic_family": "AZ-900",
        "learner_level": "beginner",
        "question": "What should I study?",
        "model_answer": "Start with the basics.",
        "required_evals": ["CoherenceExplain"],
        "explain_inputs": {"CoherenceExplain": {"input": "Start with the basics.", "question": "What should I study?"}},
        "threshold_profile": "prep_default",
    }
    return _given({**row, **fields})


def _given(row: Row) -> Row:
    return {key: value for key, value in row.items() if value is not ...}


def write_rows(path: Path, rows: Iterable[Row | bytes]) -> Path:
    """One row a line; bytes as they are."""
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path
