"""Importers of multiple-choice benchmarks: MMLU-style questions, INCLUDE, LAR-ECHR, LEXam."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmark_files import (
    Row,
    as_cells,
    as_lines,
    as_table,
    faults,
    imported,
    include,
    lar_echr,
    lexam_choice,
    lexam_open,
    mmlu,
    report,
    written,
)
from howsure.dialects.datasets import detect
from howsure.dialects.importers.choice_benchmarks import (
    PROMPT,
    IncludeImporter,
    LarEchrImporter,
    LexamImporter,
    MmluImporter,
)
from howsure.dialects.plain import PlainDialect
from howsure.errors import InputError
from howsure.model.case import Case, SingleTurn
from howsure.model.expectation import Choice, CorrectChoice, ReferenceAnswer

MMLU = MmluImporter()
LAW = "professional_law_test.csv"


def correct(folder: Path, name: str, text: str) -> list[tuple[str, ...]]:
    expected = [case.expectations[0] for case in imported(MMLU, written(folder, name, text))]
    return [one.correct for one in expected if isinstance(one, CorrectChoice)]


def test_a_table_without_a_header_is_question_choices_and_letter(tmp_path: Path) -> None:
    (case,) = imported(MMLU, written(tmp_path, LAW, as_cells([mmlu()])))
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
    (case,) = imported(MMLU, written(tmp_path, LAW, as_cells([mmlu()])))
    _, again = imported(MMLU, written(tmp_path, "other.csv", as_cells([mmlu("New?"), mmlu()])))
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
    assert MMLU.detect(path, path.read_bytes())
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
    assert faults(MMLU, written(tmp_path, "x.csv", text)) == expected


def test_text_that_is_not_utf8_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes("q,one,two,B\nfrançais,one,two,A\n".encode("latin-1"))
    assert faults(MMLU, path) == [(2, "", "encoding")]


def test_two_equal_choices_are_the_source_s_own_affair(tmp_path: Path) -> None:
    (case,) = imported(MMLU, written(tmp_path, "x.csv", "q,same,same,B\n"))
    (expected,) = case.expectations
    assert isinstance(expected, CorrectChoice)
    assert [choice.text for choice in expected.choices] == ["same", "same"]


def test_repeated_questions_are_reported(tmp_path: Path) -> None:
    found = report(MMLU, written(tmp_path, "x.csv", "q,one,two,B\nq,one,two,B\nq,one,two,A\n"))
    assert [(one.line, one.code) for one in found.warnings] == [(2, "skipped-case"), (3, "repeated-question")]
    assert found.cases == 2


@pytest.mark.parametrize(
    "text",
    ["question,option_a,option_b,answer\n", "question,choices,gold,course\n", "a,b\n", "", "one,two,three,four\n"],
)
def test_files_of_other_sources_are_not_claimed(text: str, tmp_path: Path) -> None:
    assert not MMLU.detect(tmp_path / "x.csv", text.encode())


INCLUDE, ECHR = IncludeImporter(), LarEchrImporter()
TABLES = {
    "question,option_a,option_b,answer\nRed?,sky,rose,B\n": "plain",
    "question,A,B,answer\nRed?,sky,rose,rose\n": "plain",
    "question,choices,answer\nRed?,sky|rose,rose\n": "plain",
    "question,option_a,option_b,answer\nRed?,sky,rose,1\n": "includebase",
    "question,A,B,answer\nRed?,sky,rose,1\n": "mmlu",
}
"""What a run takes a table of choices for: a number may be a place counted from 0, and is not guessed."""


@pytest.mark.parametrize("table", TABLES)
def test_a_table_of_choices_with_letters_or_texts_is_a_plain_one(table: str, tmp_path: Path) -> None:
    path = written(tmp_path, "x.csv", table)
    if TABLES[table] == "plain":
        assert isinstance(detect(path, [PlainDialect()], [MMLU, INCLUDE]), PlainDialect)
        return
    with pytest.raises(InputError, match=f"a file of {TABLES[table]}"):
        detect(path, [PlainDialect()], [MMLU, INCLUDE])


def test_a_table_with_letters_is_converted_too(tmp_path: Path) -> None:
    for importer, head in ((INCLUDE, "question,option_a,option_b,answer"), (MMLU, "question,A,B,answer")):
        for answer in ("B", "1", "rose"):
            path = written(tmp_path, "x.csv", f"{head}\nRed?,sky,rose,{answer}\n")
            (case,) = (each for each in importer.read(path) if isinstance(each, Case))
            (expected,) = case.expectations
            assert isinstance(expected, CorrectChoice)
            assert expected.correct == ("B",), (importer.name, answer)


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


LEXAM = LexamImporter()


def lexam_file(folder: Path, *rows: Row) -> Path:
    return written(folder, "lexam.jsonl", as_lines(rows))


def test_choices_and_open_questions_are_told_apart(tmp_path: Path) -> None:
    choice, open_question = imported(LEXAM, lexam_file(tmp_path, lexam_choice(), lexam_open()))
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
    before = [case.id for case in imported(LEXAM, lexam_file(tmp_path, *rows))]
    assert [id.rsplit(":", 1)[0] for id in before] == ["lexam:mcq:q-1", "lexam:open:q-2"]
    after = [case.id for case in imported(LEXAM, lexam_file(tmp_path, lexam_open(question="New?"), *rows))]
    assert after[1:] == before


def test_variants_of_one_question_have_ids_of_their_own(tmp_path: Path) -> None:
    wider = lexam_choice(choices="['i and ii', 'ii only', \"iii's\", 'iv']")
    ids = [case.id for case in imported(LEXAM, lexam_file(tmp_path, lexam_choice(), wider))]
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
    (case,) = imported(LEXAM, lexam_file(tmp_path, lexam_choice(**fields)))
    assert case.labels["task_type"] == task


def test_more_than_26_choices_go_on_with_numbers(tmp_path: Path) -> None:
    many = [f"text {place}" for place in range(32)]
    (case,) = imported(LEXAM, lexam_file(tmp_path, lexam_choice(choices=many, gold=31.0)))
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
    assert faults(LEXAM, lexam_file(tmp_path, lexam_choice(**fields))) == expected


def test_an_open_question_needs_its_answer(tmp_path: Path) -> None:
    assert faults(LEXAM, lexam_file(tmp_path, lexam_open(answer=" "))) == [(1, "answer", "empty")]


def test_equal_rows_are_left_out_and_others_of_the_same_words_are_numbered(tmp_path: Path) -> None:
    found = report(LEXAM, lexam_file(tmp_path, lexam_open(), lexam_open(), lexam_open(answer="Yes.")))
    assert [(one.line, one.code) for one in found.warnings] == [(2, "skipped-case"), (3, "repeated-question")]
    first, other = imported(LEXAM, lexam_file(tmp_path, lexam_open(), lexam_open(), lexam_open(answer="Yes.")))
    assert other.id == f"{first.id}-2"


def test_a_table_gives_the_same_questions_in_lexam(tmp_path: Path) -> None:
    (table,) = imported(LEXAM, written(tmp_path, "l.csv", as_table([lexam_choice()])))
    (line,) = imported(LEXAM, lexam_file(tmp_path, lexam_choice()))
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
    assert LEXAM.detect(tmp_path / "x.jsonl", as_lines([columns]).encode()) is known
