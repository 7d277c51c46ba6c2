"""The dataset of most tests of commands and services: multiple-choice questions q1, q2 … of which A is right."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dialect_rows import Row, write_rows
from dialect_rows import mcq as legal_mcq


def mcq(number: int, **fields: Any) -> Row:
    choices = [{"id": "A", "text": "Yes"}, {"id": "B", "text": "No"}]
    return legal_mcq(
        f"q{number}", **{"dataset": "house", "prompt": f"Question {number}?", "choices": choices, **fields}
    )


def lines(path: Path, *objects: Row) -> Path:
    """A file of one JSON object a line."""
    return write_rows(path, objects)


def asked_and_answered(folder: Path, questions: Iterable[Row], answers: Iterable[Row]) -> tuple[Path, Path]:
    """A dataset and the responses to it."""
    return write_rows(folder / "cases.jsonl", questions), write_rows(folder / "answers.jsonl", answers)
