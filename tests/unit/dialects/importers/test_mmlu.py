"""The importer of MMLU-style questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmark_files import as_cells, as_lines, faults, imported, mmlu, report, written
from howsure.dialects.importers.choice_benchmarks import MmluImporter
from howsure.model.expectation import Choice, CorrectChoice

IMPORTER = MmluImporter()
LAW = "professional_law_test.csv"


def correct(folder: Path, name: str, text: str) -> list[tuple[str, ...]]:
    expected = [case.expectations[0] for case in imported(IMPORTER, written(folder, name, text))]
    return [one.correct for one in expected if isinstance(one, CorrectChoice)]


def test_a_table_without_a_header_is_question_choices_and_letter(tmp_path: Path) -> None:
    (case,) = imported(IMPORTER, written(tmp_path, LAW, as_cells([mmlu()])))
    assert case.expectations == (
        CorrectChoice(
            choices=(
                Choice(id="A", text="a cake"),
                Choice(id="B", text="a civil wrong"),
                Choice(id="C", text="a crime"),
                Choice(id="D", text="a contract"),
            ),
            correct=("B",),
        ),
    )
    assert case.metadata == {"subject": "professional_law", "split": "test"}
    assert case.labels == {"dataset": "mmlu", "task_type": "mcq"}


def test_the_id_depends_on_the_question_alone(tmp_path: Path) -> None:
    (case,) = imported(IMPORTER, written(tmp_path, LAW, as_cells([mmlu()])))
    _, again = imported(IMPORTER, written(tmp_path, "other.csv", as_cells([mmlu("New?"), mmlu()])))
    assert again.id == case.id
    assert again.metadata == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.csv", "question,A,B,answer\nq,one,two,B\n"),
        ("x.csv", "Question,a,b,Answer\nq,one,two,b\n".replace("Question", "question")),
        ("x.csv", "question,A,B,C,answer\nq,one,two,,1\n"),
        ("x.csv", 'question,choices,answer\nq,"[""one"", ""two""]",1\n'),
        ("x.csv", "question,choices,answer\nq,\"['one', 'two']\",B\n"),
        ("x.csv", "q,one,two,B\n"),
        ("x.csv", "\ufeffq,one,two,B\n"),
        ("x.jsonl", as_lines([{"question": "q", "choices": ["one", "two"], "answer": 1, "subject": "law"}])),
        ("x.jsonl", as_lines([{"question": "q", "choices": ["one", "two"], "answer": "B"}])),
        ("x.json", json.dumps([{"question": "q", "choices": ["one", "two"], "answer": 1}])),
    ],
    ids=["header", "small letters", "empty last", "json", "printed", "bare", "bom", "lines", "letter", "a list"],
)
def test_all_the_forms_are_known_and_mean_the_same(name: str, text: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, text)
    assert IMPORTER.detect(path, path.read_bytes())
    assert correct(tmp_path, name, text) == [("B",)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("question,A,B,answer\nq,one,two,C\n", [(2, "answer", "unknown-correct-id")]),
        ("question,A,B,answer\nq,one,two,maybe\n", [(2, "answer", "wrong-type")]),
        ("question,A,B,answer\nq,one,,A\n", [(2, "choices", "empty")]),
        ("question,A,B,answer\n,one,two,A\n", [(2, "question", "empty")]),
        ("question,A,B,answer\nq,one,two\n", [(2, "", "wrong-columns")]),
        ("q,one,two,B\nq2,one,two,three\n", [(2, "", "wrong-columns")]),
        ("id,text\n1,2\n", [(1, "", "wrong-columns")]),
        ('q,one,two,B\n"open,one\n', [(2, "", "csv-syntax")]),
    ],
    ids=["no such letter", "no letter", "one choice", "no question", "ragged", "no answer", "wrong kind", "cut off"],
)
def test_what_is_wrong_is_told_with_its_place(text: str, expected: list[Any], tmp_path: Path) -> None:
    assert faults(IMPORTER, written(tmp_path, "x.csv", text)) == expected


def test_text_that_is_not_utf8_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes("q,one,two,B\nfrançais,one,two,A\n".encode("latin-1"))
    assert faults(IMPORTER, path) == [(2, "", "encoding")]


def test_two_equal_choices_are_the_source_s_own_affair(tmp_path: Path) -> None:
    (case,) = imported(IMPORTER, written(tmp_path, "x.csv", "q,same,same,B\n"))
    (expected,) = case.expectations
    assert isinstance(expected, CorrectChoice)
    assert [choice.text for choice in expected.choices] == ["same", "same"]


def test_repeated_questions_are_reported(tmp_path: Path) -> None:
    found = report(IMPORTER, written(tmp_path, "x.csv", "q,one,two,B\nq,one,two,B\nq,one,two,A\n"))
    assert [(one.line, one.code) for one in found.warnings] == [(2, "skipped-case"), (3, "repeated-question")]
    assert found.cases == 2


@pytest.mark.parametrize(
    "text",
    ["question,option_a,option_b,answer\n", "question,choices,gold,course\n", "a,b\n", "", "one,two,three,four\n"],
)
def test_files_of_other_sources_are_not_claimed(text: str, tmp_path: Path) -> None:
    assert not IMPORTER.detect(tmp_path / "x.csv", text.encode())
