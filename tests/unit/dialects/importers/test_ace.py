"""The importer of ACE-style rubric tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmark_files import Row, ace, as_lines, as_table, faults, imported, report, written
from howsure.dialects.importers.rubric_benchmarks import AceImporter
from howsure.model.case import SingleTurn
from howsure.model.expectation import Criterion, WeightedCriteria

IMPORTER = AceImporter()


def file_of(folder: Path, *rows: Row) -> Path:
    return written(folder, "ACE-DIY.csv", as_table(rows))


def second(**fields: Any) -> Row:
    return ace(**{"Criterion ID": "873", "Description": "Says why", "Hurdle Tag": "Not", **fields})


def test_the_rows_of_a_task_become_one_case(tmp_path: Path) -> None:
    (case,) = imported(IMPORTER, file_of(tmp_path, ace(), second()))
    assert case.id == "ace:4"
    assert case.input == SingleTurn(message="The light is out. Name each step.")
    assert case.expectations == (
        WeightedCriteria(
            criteria=(
                Criterion(id="872", text="Recommends checking the breaker"),
                Criterion(id="873", text="Says why"),
            )
        ),
    )
    assert case.labels == {"dataset": "ace", "task_type": "rubric_qa"}
    assert case.metadata == {
        "workflow": "Repairs",
        "criteria": {
            "872": {"Hurdle Tag": "Hurdle", "Criteria type": "Steps"},
            "873": {"Hurdle Tag": "Not", "Criteria type": "Steps"},
        },
        "prompt_in_source": "The light is out.",
    }


def test_tasks_come_in_the_order_of_the_file_and_rows_need_not_be_together(tmp_path: Path) -> None:
    other = ace(**{"Task ID": "9", "Criterion ID": "1"})
    cases = imported(IMPORTER, file_of(tmp_path, ace(), other, second()))
    assert [case.id for case in cases] == ["ace:4", "ace:9"]
    assert isinstance(cases[0].expectations[0], WeightedCriteria)
    assert len(cases[0].expectations[0].criteria) == 2


def test_a_weight_is_read_where_there_is_a_column(tmp_path: Path) -> None:
    (case,) = imported(IMPORTER, file_of(tmp_path, ace(Weight="3"), second(Weight="")))
    (expected,) = case.expectations
    assert isinstance(expected, WeightedCriteria)
    assert [criterion.weight for criterion in expected.criteria] == [3.0, None]


def test_the_plain_prompt_is_used_where_there_is_no_other(tmp_path: Path) -> None:
    (case,) = imported(IMPORTER, file_of(tmp_path, ace(**{"Specified Prompt": ""})))
    assert case.input == SingleTurn(message="The light is out.")
    assert "prompt_in_source" not in case.metadata


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (second(Prompt="Another."), [(3, "Prompt", "contradiction")]),
        (second(Workflow="Paint"), [(3, "Workflow", "contradiction")]),
        (second(**{"Criterion ID": "872"}), [(3, '["Criterion ID"]', "duplicate-criterion-id")]),
        (second(Description=" "), [(3, "Description", "empty")]),
        (second(**{"Task ID": "", "Prompt": ""}), [(3, '["Task ID"]', "empty"), (3, "Prompt", "empty")]),
    ],
)
def test_what_is_wrong_is_told_with_its_place(row: Row, expected: list[Any], tmp_path: Path) -> None:
    assert faults(IMPORTER, file_of(tmp_path, ace(), row)) == expected


def test_a_missing_column_is_one_problem(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", as_table([ace(Description=...), second(Description=...)]))
    assert faults(IMPORTER, path) == [(1, "Description", "missing-field")]


def test_a_truncated_table_is_a_problem(tmp_path: Path) -> None:
    text = as_table([ace(), second(Description='Says "why", and how')])
    path = written(tmp_path, "a.csv", text[:-8])
    (problem,) = report(IMPORTER, path).problems
    assert problem.line == 3
    assert problem.code in ("csv-syntax", "wrong-columns")


def test_lines_give_the_same_cases(tmp_path: Path) -> None:
    rows = [ace(), second()]
    lines = imported(IMPORTER, written(tmp_path, "a.jsonl", as_lines(rows)))
    assert lines == imported(IMPORTER, file_of(tmp_path, *rows))
