"""The importers of INCLUDE and LAR-ECHR."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmark_files import Row, as_lines, as_table, faults, imported, include, lar_echr, report, written
from howsure.dialects.importers.choice_benchmarks import PROMPT, IncludeImporter, LarEchrImporter
from howsure.model.case import SingleTurn
from howsure.model.expectation import Choice, CorrectChoice

INCLUDE, ECHR = IncludeImporter(), LarEchrImporter()


def file_of(folder: Path, *rows: Row) -> Path:
    return written(folder, "rows.jsonl", as_lines(rows))


def test_empty_options_are_dropped_and_the_others_keep_their_letters(tmp_path: Path) -> None:
    (case,) = imported(INCLUDE, file_of(tmp_path, include()))
    assert case.expectations == (
        CorrectChoice(
            choices=(Choice(id="A", text="Α"), Choice(id="B", text="Β"), Choice(id="D", text="Δ")), correct=("D",)
        ),
    )
    assert case.labels == {"dataset": "includebase", "task_type": "mcq", "policy_id": "includebase_default_v1"}
    assert case.metadata["country"] == "Greece"
    assert case.metadata["source_file"] == "law.csv"


def test_the_id_of_an_include_question_is_a_hash_of_what_is_asked(tmp_path: Path) -> None:
    (case,) = imported(INCLUDE, file_of(tmp_path, include()))
    (moved,) = imported(INCLUDE, file_of(tmp_path, include(source_file="other.csv", answer=0, level="easy")))
    assert case.id == moved.id
    assert case.id.startswith("includebase:")
    _, second = imported(INCLUDE, file_of(tmp_path, include(question="Another?"), include()))
    assert second.id == case.id


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"answer": 2}, [(1, "answer", "unknown-correct-id")]),
        ({"answer": 4}, [(1, "answer", "unknown-correct-id")]),
        ({"answer": "one"}, [(1, "answer", "wrong-type")]),
        ({"answer": None}, [(1, "answer", "wrong-type")]),
        ({"question": None}, [(1, "question", "empty")]),
        ({"option_b": "", "option_d": "", "answer": 0}, [(1, "option_b", "empty")]),
    ],
    ids=["an empty option", "beyond", "no number", "null", "no question", "one option"],
)
def test_what_is_wrong_with_an_include_row_is_told(fields: Row, expected: list[Any], tmp_path: Path) -> None:
    assert faults(INCLUDE, file_of(tmp_path, include(**fields))) == expected


def test_facts_and_arguments_are_the_context_of_the_question(tmp_path: Path) -> None:
    (case,) = imported(ECHR, file_of(tmp_path, lar_echr()))
    assert case.input == SingleTurn(
        message=PROMPT,
        context=("Facts:\nThe applicant was detained.\n\nArguments:\nThe Court recalls that detention must be lawful."),
    )
    (expected,) = case.expectations
    assert isinstance(expected, CorrectChoice)
    assert expected.correct == ("A",)
    assert [choice.id for choice in expected.choices] == ["A", "B", "C", "D"]
    assert case.metadata == {
        "case_id": "001-1",
        "case_no": "12/99",
        "toughness_score": 0.7,
        "source_id": "001-1",
        "policy_id": "lar_echr_mcq_v1",
    }


def test_two_questions_of_one_case_have_two_ids(tmp_path: Path) -> None:
    one, other = imported(ECHR, file_of(tmp_path, lar_echr(), lar_echr(context="The Government disagree.")))
    assert one.id.startswith("lar_echr:001-1:")
    assert other.id.startswith("lar_echr:001-1:")
    assert one.id != other.id


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"facts": ""}, [(1, "facts", "empty")]),
        ({"context": ...}, [(1, "context", "missing-field")]),
        ({"label": "E"}, [(1, "label", "unknown-correct-id")]),
        ({"label": ""}, [(1, "label", "empty")]),
        ({"b": None, "c": None, "d": None}, [(1, "b", "empty")]),
        ({"label": "c", "c": ""}, [(1, "label", "unknown-correct-id")]),
    ],
)
def test_what_is_wrong_with_an_echr_row_is_told(fields: Row, expected: list[Any], tmp_path: Path) -> None:
    assert faults(ECHR, file_of(tmp_path, lar_echr(**fields))) == expected


def test_the_other_name_of_the_arguments_is_known(tmp_path: Path) -> None:
    (case,) = imported(ECHR, file_of(tmp_path, lar_echr(context=..., context_arguments="So far.")))
    assert isinstance(case.input, SingleTurn)
    assert case.input.context.endswith("Arguments:\nSo far.")


@pytest.mark.parametrize(("importer", "row"), [(INCLUDE, include()), (ECHR, lar_echr())], ids=["include", "echr"])
def test_a_table_gives_the_same_questions(importer: Any, row: Row, tmp_path: Path) -> None:
    (table,) = imported(importer, written(tmp_path, "t.csv", as_table([row])))
    (line,) = imported(importer, file_of(tmp_path, row))
    assert (table.id, table.input, table.expectations) == (line.id, line.input, line.expectations)


@pytest.mark.parametrize(("importer", "row"), [(INCLUDE, include()), (ECHR, lar_echr())], ids=["include", "echr"])
def test_an_equal_row_is_reported_with_the_first_place(importer: Any, row: Row, tmp_path: Path) -> None:
    found = report(importer, file_of(tmp_path, row, row))
    assert found.cases == 1
    assert [(one.line, one.code) for one in found.warnings] == [(2, "skipped-case")]
    assert "line 1" in found.warnings[0].message
