"""The importer of APEX."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmark_files import Row, apex, as_lines, as_table, faults, imported, report, written
from howsure.dialects.importers.rubric_benchmarks import ApexImporter
from howsure.model.case import Attachment, SingleTurn
from howsure.model.expectation import Criterion, WeightedCriteria

IMPORTER = ApexImporter()


def file_of(folder: Path, *rows: Row) -> Path:
    return written(folder, "apex.jsonl", as_lines(rows))


def rubric(**criteria: Any) -> Row:
    return {"Rubric JSON": criteria}


def test_a_criterion_is_judged_by_its_sentence_and_not_by_its_justification(tmp_path: Path) -> None:
    (case,) = imported(IMPORTER, file_of(tmp_path, apex()))
    assert case.expectations == (
        WeightedCriteria(
            criteria=(
                Criterion(id="criterion 1", text="States that notice was late", description="See §3.", weight=2.5),
                Criterion(id="criterion 2", text="Advises to settle"),
            )
        ),
    )
    assert case.metadata["criteria"] == {"criterion 2": {"sources": "memo"}}


def test_attachments_and_labels_are_carried(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "memo.pdf").write_bytes(b"%PDF")
    found = report(IMPORTER, file_of(tmp_path, apex()))
    assert found.warnings == ()
    (case,) = imported(IMPORTER, file_of(tmp_path, apex()))
    assert case.id == "apexv1:1037"
    assert case.input == SingleTurn(
        message="Advise the client.", attachments=(Attachment(path="docs/memo.pdf", kind="pdf"),)
    )
    assert case.labels == {"dataset": "apexv1", "task_type": "rubric_qa", "policy_id": "apexv1_extended_v1"}
    assert case.metadata["Domain"] == "Legal"


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ("a.pdf\n b.txt \n", [("a.pdf", "pdf"), ("b.txt", "file")]),
        (["a, b.PDF"], [("a, b.PDF", "pdf")]),
        ("", []),
        (None, []),
    ],
    ids=["lines", "a list", "empty", "null"],
)
def test_attachments_may_be_several(given: Any, paths: list[tuple[str, str]], tmp_path: Path) -> None:
    (case,) = imported(IMPORTER, file_of(tmp_path, apex(**{"File Attachments": given})))
    assert isinstance(case.input, SingleTurn)
    assert [(one.path, one.kind) for one in case.input.attachments] == paths


@pytest.mark.parametrize("path", ["../secret.pdf", "/etc/passwd", "C:\\x.pdf"])
def test_an_attachment_stays_in_its_folder(path: str, tmp_path: Path) -> None:
    file = file_of(tmp_path, apex(**{"File Attachments": path}))
    assert faults(IMPORTER, file) == [(1, '["File Attachments"]', "attachment-escapes")]


def test_a_document_that_is_missing_is_worth_a_warning(tmp_path: Path) -> None:
    found = report(IMPORTER, file_of(tmp_path, apex()))
    assert [(one.code, one.found) for one in found.warnings] == [("attachment-missing", '"docs/memo.pdf"')]


@pytest.mark.parametrize(
    ("weight", "number", "codes"),
    [
        (3, 3.0, []),
        ("2.5", 2.5, []),
        (-4, -4.0, []),
        ("", None, []),
        ("Primary objective(s)", None, ["weight-in-words"]),
        (True, None, ["weight-in-words"]),
    ],
)
def test_a_weight_is_a_number_or_stays_a_note(weight: Any, number: Any, codes: list[str], tmp_path: Path) -> None:
    row = apex(**rubric(one={"description": "D", "weight": weight}), **{"File Attachments": None})
    found = report(IMPORTER, file_of(tmp_path, row))
    assert [warning.code for warning in found.warnings] == codes
    (case,) = imported(IMPORTER, file_of(tmp_path, row))
    (expected,) = case.expectations
    assert isinstance(expected, WeightedCriteria)
    assert expected.criteria[0].weight == number
    assert ("weight" in case.metadata.get("criteria", {}).get("one", {})) is bool(codes)


def test_without_a_task_id_the_prompt_and_documents_are_hashed(tmp_path: Path) -> None:
    bare = {"Task ID": None, "File Attachments": None}
    rows = [apex(**bare), apex(**bare, Prompt="Another."), apex(**{**bare, "File Attachments": "a.pdf"})]
    ids = [case.id for case in imported(IMPORTER, file_of(tmp_path, *rows))]
    assert len(set(ids)) == 3
    assert [case.id for case in imported(IMPORTER, file_of(tmp_path, rows[1]))] == [ids[1]]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"Prompt": " "}, [(1, "Prompt", "empty")]),
        ({"Rubric JSON": "{"}, [(1, '["Rubric JSON"]', "json-syntax")]),
        ({"Rubric JSON": "[]"}, [(1, '["Rubric JSON"]', "wrong-type")]),
        ({"Rubric JSON": "{}"}, [(1, '["Rubric JSON"]', "empty")]),
        ({"Rubric JSON": ...}, [(1, '["Rubric JSON"]', "missing-field")]),
        ({"Rubric JSON": {"one": "text"}}, [(1, '["Rubric JSON"].one', "wrong-type")]),
        ({"Rubric JSON": {"one": {"weight": 1}}}, [(1, '["Rubric JSON"].one.description', "missing-field")]),
        ({"Rubric JSON": {" ": {"description": "D"}}}, [(1, '["Rubric JSON"][" "]', "empty")]),
    ],
)
def test_what_is_wrong_is_told_with_its_place(fields: Row, expected: list[Any], tmp_path: Path) -> None:
    assert faults(IMPORTER, file_of(tmp_path, apex(**fields))) == expected


def test_a_table_gives_the_same_cases(tmp_path: Path) -> None:
    row = apex(**{"File Attachments": None, "Rubric JSON": json.dumps({"c": {"description": "D", "weight": 1}})})
    assert imported(IMPORTER, written(tmp_path, "a.csv", as_table([row]))) == imported(IMPORTER, file_of(tmp_path, row))
