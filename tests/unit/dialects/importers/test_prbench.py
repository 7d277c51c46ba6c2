"""The importer of PRBench."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmark_files import Row, as_lines, as_table, faults, imported, prbench, prbench_criterion, report, written
from howsure.dialects.importers.rubric_benchmarks import PrBenchImporter
from howsure.model.case import SingleTurn
from howsure.model.expectation import Criterion, WeightedCriteria, text_id
from howsure.model.transcript import Message, Role

IMPORTER = PrBenchImporter()


def file_of(folder: Path, *rows: Row) -> Path:
    return written(folder, "prbench.jsonl", as_lines(rows))


def criteria(folder: Path, *given: Any) -> tuple[Criterion, ...]:
    (case,) = imported(IMPORTER, file_of(folder, prbench(rubric=list(given))))
    (expected,) = case.expectations
    assert isinstance(expected, WeightedCriteria)
    return expected.criteria


def test_a_row_becomes_a_rubric_question_with_its_conversation(tmp_path: Path) -> None:
    (case,) = imported(IMPORTER, file_of(tmp_path, prbench()))
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
    (case,) = imported(IMPORTER, file_of(tmp_path, prbench()))
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
    assert faults(IMPORTER, path) == [(1, "rubric[0].annotations", code)]


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
    (case,) = imported(IMPORTER, file_of(tmp_path, prbench(**fields)))
    assert case.id == expected


def test_without_an_id_it_is_a_hash_of_what_was_said_and_no_canary_or_line(tmp_path: Path) -> None:
    first, second = prbench(task=..., prompt_1="In Graz."), prbench(task=...)
    ids = [case.id for case in imported(IMPORTER, file_of(tmp_path, first, second))]
    assert len(set(ids)) == 2
    assert [case.id for case in imported(IMPORTER, file_of(tmp_path, second))] == ids[1:]


def test_a_row_that_stands_twice_is_left_out_and_the_first_place_is_named(tmp_path: Path) -> None:
    found = report(IMPORTER, file_of(tmp_path, prbench(), prbench(task="t-2"), prbench()))
    assert found.valid
    assert found.cases == 2
    assert [(one.line, one.code, one.message) for one in found.warnings] == [
        (3, "skipped-case", "left out: the same as line 1 (prbench:t-1)")
    ]


def test_an_id_with_two_contents_is_a_problem(tmp_path: Path) -> None:
    (problem,) = report(IMPORTER, file_of(tmp_path, prbench(), prbench(topic="Other"))).problems
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
    assert faults(IMPORTER, file_of(tmp_path, prbench(**fields))) == expected


def test_a_table_holds_lists_as_json(tmp_path: Path) -> None:
    lines = imported(IMPORTER, file_of(tmp_path, prbench()))
    table = imported(IMPORTER, written(tmp_path, "prbench.csv", as_table([prbench()])))
    assert table[0].expectations == lines[0].expectations
    assert table[0].input == lines[0].input
    assert table[0].id == lines[0].id


def test_the_answer_that_the_source_has_to_the_last_turn_is_kept_apart(tmp_path: Path) -> None:
    (case,) = imported(IMPORTER, file_of(tmp_path, prbench(response_1="You may.")))
    assert case.metadata["answer_in_source"] == "You may."
    assert isinstance(case.input, SingleTurn)
    assert "You may." not in [message.content for message in case.input.history]
