"""The importer of LEXam."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmark_files import Row, as_lines, as_table, faults, imported, lexam_choice, lexam_open, report, written
from howsure.dialects.importers.choice_benchmarks import LexamImporter
from howsure.model.expectation import Choice, CorrectChoice, ReferenceAnswer

IMPORTER = LexamImporter()


def file_of(folder: Path, *rows: Row) -> Path:
    return written(folder, "lexam.jsonl", as_lines(rows))


def test_choices_and_open_questions_are_told_apart(tmp_path: Path) -> None:
    choice, open_question = imported(IMPORTER, file_of(tmp_path, lexam_choice(), lexam_open()))
    assert choice.expectations == (
        CorrectChoice(
            choices=(Choice(id="A", text="i and ii"), Choice(id="B", text="ii only"), Choice(id="C", text="iii's")),
            correct=("C",),
        ),
    )
    assert choice.labels == {"dataset": "lexam", "task_type": "mcq", "policy_id": "lexam_mcq_v1"}
    assert open_question.expectations == (ReferenceAnswer(answers=("No, art. 20 OR.",)),)
    assert open_question.labels["policy_id"] == "lexam_oq_v1"
    assert choice.metadata == {
        "question_type": "mcq",
        "course": "Criminal law",
        "language": "en",
        "source_id": "q-1",
        "policy_id": "lexam_mcq_v1",
    }


def test_ids_hold_the_source_s_id_and_a_hash_and_no_line(tmp_path: Path) -> None:
    rows = [lexam_choice(), lexam_open()]
    before = [case.id for case in imported(IMPORTER, file_of(tmp_path, *rows))]
    assert [id.rsplit(":", 1)[0] for id in before] == ["lexam:mcq:q-1", "lexam:open:q-2"]
    after = [case.id for case in imported(IMPORTER, file_of(tmp_path, lexam_open(question="New?"), *rows))]
    assert after[1:] == before


def test_variants_of_one_question_have_ids_of_their_own(tmp_path: Path) -> None:
    wider = lexam_choice(choices="['i and ii', 'ii only', \"iii's\", 'iv']")
    ids = [case.id for case in imported(IMPORTER, file_of(tmp_path, lexam_choice(), wider))]
    assert len(set(ids)) == 2


@pytest.mark.parametrize(
    ("fields", "task"),
    [
        ({"question_type": ..., "answer": "x", "choices": ..., "gold": ...}, "reference_qa"),
        ({"question_type": ""}, "mcq"),
        ({"question_type": "MCQ"}, "mcq"),
    ],
    ids=["by its answer", "by its choices", "capitals"],
)
def test_the_kind_is_told_by_the_fields_where_nobody_says_it(fields: Row, task: str, tmp_path: Path) -> None:
    (case,) = imported(IMPORTER, file_of(tmp_path, lexam_choice(**fields)))
    assert case.labels["task_type"] == task


def test_more_than_26_choices_go_on_with_numbers(tmp_path: Path) -> None:
    many = [f"text {place}" for place in range(32)]
    (case,) = imported(IMPORTER, file_of(tmp_path, lexam_choice(choices=many, gold=31.0)))
    (expected,) = case.expectations
    assert isinstance(expected, CorrectChoice)
    assert [choice.id for choice in expected.choices[24:28]] == ["Y", "Z", "CHOICE_26", "CHOICE_27"]
    assert expected.correct == ("CHOICE_31",)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"question": ""}, [(1, "question", "empty")]),
        ({"choices": "['one']"}, [(1, "choices", "empty")]),
        ({"choices": "[1, 2]", "gold": 0}, [(1, "choices[0]", "wrong-type"), (1, "choices[1]", "wrong-type")]),
        ({"choices": "['a', "}, [(1, "choices", "json-syntax")]),
        ({"choices": "open('x')"}, [(1, "choices", "json-syntax")]),
        ({"gold": 3}, [(1, "gold", "unknown-correct-id")]),
        ({"gold": -1}, [(1, "gold", "unknown-correct-id")]),
        ({"gold": 1.5}, [(1, "gold", "wrong-type")]),
        ({"gold": "C"}, [(1, "gold", "wrong-type")]),
        ({"gold": True}, [(1, "gold", "wrong-type")]),
        ({"gold": ...}, [(1, "gold", "missing-field")]),
    ],
)
def test_what_is_wrong_with_a_choice_is_told(fields: Row, expected: list[Any], tmp_path: Path) -> None:
    assert faults(IMPORTER, file_of(tmp_path, lexam_choice(**fields))) == expected


def test_an_open_question_needs_its_answer(tmp_path: Path) -> None:
    assert faults(IMPORTER, file_of(tmp_path, lexam_open(answer=" "))) == [(1, "answer", "empty")]


def test_equal_rows_are_left_out_and_others_of_the_same_words_are_numbered(tmp_path: Path) -> None:
    found = report(IMPORTER, file_of(tmp_path, lexam_open(), lexam_open(), lexam_open(answer="Yes.")))
    assert [(one.line, one.code) for one in found.warnings] == [(2, "skipped-case"), (3, "repeated-question")]
    first, other = imported(IMPORTER, file_of(tmp_path, lexam_open(), lexam_open(), lexam_open(answer="Yes.")))
    assert other.id == f"{first.id}-2"


def test_a_table_gives_the_same_questions(tmp_path: Path) -> None:
    (table,) = imported(IMPORTER, written(tmp_path, "l.csv", as_table([lexam_choice()])))
    (line,) = imported(IMPORTER, file_of(tmp_path, lexam_choice()))
    assert table == line


@pytest.mark.parametrize(
    ("columns", "known"),
    [
        ({"question": "q", "course": "c", "gold": 1}, True),
        ({"question": "q", "course": "c", "answer": "a"}, True),
        ({"question": "q", "course": "c"}, False),
        ({"question": "q", "answer": "a"}, False),
    ],
)
def test_a_file_is_known_by_its_columns(columns: Row, known: bool, tmp_path: Path) -> None:
    assert IMPORTER.detect(tmp_path / "x.jsonl", as_lines([columns]).encode()) is known
