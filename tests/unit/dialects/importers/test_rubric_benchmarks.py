"""Importers of benchmarks with rubrics: PRBench, ACE, APEX."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmark_files import (
    Row,
    ace,
    apex,
    as_lines,
    as_table,
    faults,
    imported,
    prbench,
    prbench_criterion,
    report,
    written,
)
from howsure.dialects.importers.rubric_benchmarks import AceImporter, ApexImporter, PrBenchImporter
from howsure.model.case import Attachment, SingleTurn
from howsure.model.expectation import Criterion, WeightedCriteria, text_id
from howsure.model.transcript import Message, Role

PRBENCH = PrBenchImporter()


def file_of(folder: Path, *rows: Row) -> Path:
    return written(folder, "prbench.jsonl", as_lines(rows))


def criteria(folder: Path, *given: Any) -> tuple[Criterion, ...]:
    (case,) = imported(PRBENCH, file_of(folder, prbench(rubric=list(given))))
    (expected,) = case.expectations
    assert isinstance(expected, WeightedCriteria)
    return expected.criteria


def test_a_row_becomes_a_rubric_question_with_its_conversation(tmp_path: Path) -> None:
    (case,) = imported(PRBENCH, file_of(tmp_path, prbench()))
    assert case.id == "prbench:t-1"
    assert case.world == "legal"
    assert case.labels == {"dataset": "prbench", "task_type": "rubric_qa", "policy_id": "prbench_v1"}
    assert case.input == SingleTurn(
        message="In Vienna.",
        context="Reference text 1:\nSection 9",
        history=(
            Message(
                role=Role.USER,
                content="Reference text 1:\nSection 1\n\nReference text 2:\nSection 2\n\nMay I cancel the lease?",
            ),
            Message(role=Role.ASSISTANT, content="Where do you live?"),
        ),
    )


def test_criteria_carry_weights_and_their_notes_stay_in_the_metadata(tmp_path: Path) -> None:
    (case,) = imported(PRBENCH, file_of(tmp_path, prbench()))
    assert case.expectations == (
        WeightedCriteria(
            criteria=(
                Criterion(id="c1", text="Names the Act", weight=6.0),
                Criterion(id="c2", text="Invents a deadline", weight=-5.0),
            )
        ),
    )
    assert case.metadata["criteria"]["c2"] == {
        "criteria_category": "Accuracy",
        "weight_class": "detrimental",
        "detrimental_weight": -5,
    }
    assert case.metadata["topic"] == "Contracts"
    assert case.metadata["canary"] == "the same in every row"
    assert "scratchpad" not in case.metadata


@pytest.mark.parametrize(
    ("annotations", "weight"),
    [
        ({"weight_class": "important", "important_weight": 5, "critically_important_weight": 9}, 5.0),
        ({"weight_class": "critically detrimental", "critically_detrimental_weight": -9, "important_weight": 4}, -9.0),
        ({"weight_class": "slightly important", "slightly_important_weight": 1.0}, 1.0),
        ({"important_weight": 0, "detrimental_weight": -4}, -4.0),
        ({"important_weight": None}, None),
        ({}, None),
    ],
    ids=["the class decides, not the first", "two words", "a float", "zero is none", "null is none", "no weight"],
)
def test_the_weight_is_the_one_of_the_named_class(annotations: Row, weight: float | None, tmp_path: Path) -> None:
    (criterion,) = criteria(tmp_path, {"id": "c", "title": "T", "annotations": annotations})
    assert criterion.weight == weight


@pytest.mark.parametrize(
    ("annotations", "code"),
    [
        ({"important_weight": 5, "detrimental_weight": -5}, "ambiguous-weight"),
        ({"weight_class": "important", "detrimental_weight": -5}, "missing-field"),
    ],
    ids=["two weights and no class", "the class has no weight"],
)
def test_a_weight_is_never_guessed(annotations: Row, code: str, tmp_path: Path) -> None:
    path = file_of(tmp_path, prbench(rubric=[{"id": "c", "title": "T", "annotations": annotations}]))
    assert faults(PRBENCH, path) == [(1, "rubric[0].annotations", code)]


def test_a_criterion_is_its_title_and_the_description_explains_it(tmp_path: Path) -> None:
    (one, other) = criteria(
        tmp_path,
        {"id": "c", "title": "Names the Act", "annotations": {"criteria_description": "By name or number."}},
        {"annotations": {"criteria_description": "Warns of costs"}},
    )
    assert one == Criterion(id="c", text="Names the Act", description="By name or number.")
    assert other == Criterion(id=text_id("Warns of costs"), text="Warns of costs")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"task": ..., "id": "x"}, "prbench:x"),
        ({"task": None, "id": 12}, "prbench:12"),
    ],
    ids=["no task", "a number"],
)
def test_the_id_is_the_source_s_own(fields: Row, expected: str, tmp_path: Path) -> None:
    (case,) = imported(PRBENCH, file_of(tmp_path, prbench(**fields)))
    assert case.id == expected


def test_without_an_id_it_is_a_hash_of_what_was_said_and_no_canary_or_line(tmp_path: Path) -> None:
    first, second = prbench(task=..., prompt_1="In Graz."), prbench(task=...)
    ids = [case.id for case in imported(PRBENCH, file_of(tmp_path, first, second))]
    assert len(set(ids)) == 2
    assert [case.id for case in imported(PRBENCH, file_of(tmp_path, second))] == ids[1:]


def test_a_row_that_stands_twice_is_left_out_and_the_first_place_is_named(tmp_path: Path) -> None:
    found = report(PRBENCH, file_of(tmp_path, prbench(), prbench(task="t-2"), prbench()))
    assert found.valid
    assert found.cases == 2
    assert [(one.line, one.code, one.message) for one in found.warnings] == [
        (3, "skipped-case", "left out: the same as line 1 (prbench:t-1)")
    ]


def test_an_id_with_two_contents_is_a_problem(tmp_path: Path) -> None:
    (problem,) = report(PRBENCH, file_of(tmp_path, prbench(), prbench(topic="Other"))).problems
    assert (problem.line, problem.field, problem.code) == (2, "task", "duplicate-id")
    assert problem.message == 'the id "prbench:t-1" stands on line 1 already, with other content'


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"prompt_0": "", "prompt_1": ""}, [(1, "prompt_0", "missing-field")]),
        ({"prompt_1": None, "prompt_2": "And now?"}, [(1, "prompt_1", "missing-field")]),
        ({"prompt_0": ["a"]}, [(1, "prompt_0", "wrong-type"), (1, "prompt_0", "missing-field")]),
        ({"rubric": ...}, [(1, "rubric", "missing-field")]),
        ({"rubric": None}, [(1, "rubric", "wrong-type")]),
        ({"rubric": []}, [(1, "rubric", "empty")]),
        ({"rubric": "{"}, [(1, "rubric", "json-syntax")]),
        ({"rubric": [3]}, [(1, "rubric[0]", "wrong-type")]),
        ({"rubric": [{"id": "c"}]}, [(1, "rubric[0].title", "missing-field")]),
        (
            {"rubric": [prbench_criterion(), prbench_criterion()]},
            [(1, "rubric[1].id", "duplicate-criterion-id")],
        ),
        ({"reference_texts_0": "no list"}, [(1, "reference_texts_0", "json-syntax")]),
    ],
)
def test_what_is_wrong_is_told_with_its_place(fields: Row, expected: list[Any], tmp_path: Path) -> None:
    assert faults(PRBENCH, file_of(tmp_path, prbench(**fields))) == expected


def test_a_table_holds_lists_as_json(tmp_path: Path) -> None:
    lines = imported(PRBENCH, file_of(tmp_path, prbench()))
    table = imported(PRBENCH, written(tmp_path, "prbench.csv", as_table([prbench()])))
    assert table[0].expectations == lines[0].expectations
    assert table[0].input == lines[0].input
    assert table[0].id == lines[0].id


def test_the_answer_that_the_source_has_to_the_last_turn_is_kept_apart(tmp_path: Path) -> None:
    (case,) = imported(PRBENCH, file_of(tmp_path, prbench(response_1="You may.")))
    assert case.metadata["answer_in_source"] == "You may."
    assert isinstance(case.input, SingleTurn)
    assert "You may." not in [message.content for message in case.input.history]


ACE = AceImporter()


def ace_file(folder: Path, *rows: Row) -> Path:
    return written(folder, "ACE-DIY.csv", as_table(rows))


def second(**fields: Any) -> Row:
    return ace(**{"Criterion ID": "873", "Description": "Says why", "Hurdle Tag": "Not", **fields})


def test_the_rows_of_a_task_become_one_case(tmp_path: Path) -> None:
    (case,) = imported(ACE, ace_file(tmp_path, ace(), second()))
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
    cases = imported(ACE, ace_file(tmp_path, ace(), other, second()))
    assert [case.id for case in cases] == ["ace:4", "ace:9"]
    assert isinstance(cases[0].expectations[0], WeightedCriteria)
    assert len(cases[0].expectations[0].criteria) == 2


def test_a_weight_is_read_where_there_is_a_column(tmp_path: Path) -> None:
    (case,) = imported(ACE, ace_file(tmp_path, ace(Weight="3"), second(Weight="")))
    (expected,) = case.expectations
    assert isinstance(expected, WeightedCriteria)
    assert [criterion.weight for criterion in expected.criteria] == [3.0, None]


def test_the_plain_prompt_is_used_where_there_is_no_other(tmp_path: Path) -> None:
    (case,) = imported(ACE, ace_file(tmp_path, ace(**{"Specified Prompt": ""})))
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
def test_what_is_wrong_is_told_with_its_place_in_ace(row: Row, expected: list[Any], tmp_path: Path) -> None:
    assert faults(ACE, ace_file(tmp_path, ace(), row)) == expected


def test_a_missing_column_is_one_problem(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", as_table([ace(Description=...), second(Description=...)]))
    assert faults(ACE, path) == [(1, "Description", "missing-field")]


def test_a_truncated_table_is_a_problem(tmp_path: Path) -> None:
    text = as_table([ace(), second(Description='Says "why", and how')])
    path = written(tmp_path, "a.csv", text[:-8])
    (problem,) = report(ACE, path).problems
    assert problem.line == 3
    assert problem.code in ("csv-syntax", "wrong-columns")


def test_lines_give_the_same_cases(tmp_path: Path) -> None:
    rows = [ace(), second()]
    lines = imported(ACE, written(tmp_path, "a.jsonl", as_lines(rows)))
    assert lines == imported(ACE, ace_file(tmp_path, *rows))


APEX = ApexImporter()


def apex_file(folder: Path, *rows: Row) -> Path:
    return written(folder, "apex.jsonl", as_lines(rows))


def rubric(**criteria: Any) -> Row:
    return {"Rubric JSON": criteria}


def test_a_criterion_is_judged_by_its_sentence_and_not_by_its_justification(tmp_path: Path) -> None:
    (case,) = imported(APEX, apex_file(tmp_path, apex()))
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
    found = report(APEX, apex_file(tmp_path, apex()))
    assert found.warnings == ()
    (case,) = imported(APEX, apex_file(tmp_path, apex()))
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
    (case,) = imported(APEX, apex_file(tmp_path, apex(**{"File Attachments": given})))
    assert isinstance(case.input, SingleTurn)
    assert [(one.path, one.kind) for one in case.input.attachments] == paths


@pytest.mark.parametrize("path", ["../secret.pdf", "/etc/passwd", "C:\\x.pdf"])
def test_an_attachment_stays_in_its_folder(path: str, tmp_path: Path) -> None:
    file = apex_file(tmp_path, apex(**{"File Attachments": path}))
    assert faults(APEX, file) == [(1, '["File Attachments"]', "attachment-escapes")]


def test_a_document_that_is_missing_is_worth_a_warning(tmp_path: Path) -> None:
    found = report(APEX, apex_file(tmp_path, apex()))
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
    found = report(APEX, apex_file(tmp_path, row))
    assert [warning.code for warning in found.warnings] == codes
    (case,) = imported(APEX, apex_file(tmp_path, row))
    (expected,) = case.expectations
    assert isinstance(expected, WeightedCriteria)
    assert expected.criteria[0].weight == number
    assert ("weight" in case.metadata.get("criteria", {}).get("one", {})) is bool(codes)


def test_without_a_task_id_the_prompt_and_documents_are_hashed(tmp_path: Path) -> None:
    bare = {"Task ID": None, "File Attachments": None}
    rows = [apex(**bare), apex(**bare, Prompt="Another."), apex(**{**bare, "File Attachments": "a.pdf"})]
    ids = [case.id for case in imported(APEX, apex_file(tmp_path, *rows))]
    assert len(set(ids)) == 3
    assert [case.id for case in imported(APEX, apex_file(tmp_path, rows[1]))] == [ids[1]]


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
def test_what_is_wrong_is_told_with_its_place_in_apex(fields: Row, expected: list[Any], tmp_path: Path) -> None:
    assert faults(APEX, apex_file(tmp_path, apex(**fields))) == expected


def test_a_table_gives_the_same_cases(tmp_path: Path) -> None:
    row = apex(**{"File Attachments": None, "Rubric JSON": json.dumps({"c": {"description": "D", "weight": 1}})})
    assert imported(APEX, written(tmp_path, "a.csv", as_table([row]))) == imported(APEX, apex_file(tmp_path, row))
