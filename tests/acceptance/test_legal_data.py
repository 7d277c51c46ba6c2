"""Every row of the public legal data reads, and is written back as it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from howsure.dialects.datasets import detect, read_cases, validate
from howsure.dialects.legal import LegalDialect
from howsure.model.expectation import CorrectChoice, ReferenceAnswer

pytestmark = pytest.mark.shared

FILES = {
    ("mmlu_law", "mmlu_law.legal_eval_v1.jsonl"): 1972,
    ("lexam", "mcq.legal_eval_v1.jsonl"): 200,
    ("lexam", "open.legal_eval_v1.jsonl"): 100,
}


def test_all_2272_rows_are_valid(shared_data: Callable[..., Path]) -> None:
    reports = [validate(shared_data(*parts), LegalDialect()) for parts in FILES]
    assert [(report.cases, report.problems, report.warnings) for report in reports] == [
        (1972, (), ()),
        (200, (), ()),
        (100, (), ()),
    ]
    assert sum(report.cases for report in reports) == 2272


@pytest.mark.parametrize("parts", FILES, ids=lambda parts: parts[1])
def test_a_file_is_recognised_and_written_back_equal(
    parts: tuple[str, str], shared_data: Callable[..., Path], tmp_path: Path
) -> None:
    path = shared_data(*parts)
    dialect = detect(path, [LegalDialect()])
    cases = list(read_cases(path, dialect))
    dialect.write(cases, tmp_path / "again.jsonl")
    assert rows(tmp_path / "again.jsonl") == rows(path)
    assert list(read_cases(tmp_path / "again.jsonl", dialect)) == cases


def test_every_multiple_choice_case_knows_its_answer(shared_data: Callable[..., Path]) -> None:
    cases = [case for parts in FILES for case in read_cases(shared_data(*parts), LegalDialect())]
    choices = [each for case in cases for each in case.expectations if isinstance(each, CorrectChoice)]
    references = [each for case in cases for each in case.expectations if isinstance(each, ReferenceAnswer)]
    assert (len(choices), len(references)) == (2172, 100)
    assert all({choice.id for choice in each.choices} >= set(each.correct) for each in choices)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
