"""Cases and functions that Python code hands over: kept in files, refused with every problem."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from howsure.dialects.datasets import read_cases, validate
from howsure.dialects.lines import CaseLinesDialect
from howsure.errors import ConfigInvalid, DatasetInvalid, PlanRefused
from howsure.services.python.objects import FunctionTargets, save_cases
from howsure.targets.base import TargetRequest
from howsure.testing import a_case


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def test_paths_stay_as_they_are(tmp_path: Path) -> None:
    assert save_cases("a.jsonl", tmp_path).datasets == ("a.jsonl",)
    assert save_cases(["a.jsonl", Path("b.json")], tmp_path).datasets == ("a.jsonl", "b.json")
    assert not save_cases(Path("a.jsonl"), tmp_path).made


def test_a_case_in_short_is_a_question_with_reference_answers(tmp_path: Path) -> None:
    kept = save_cases([{"input": "2 + 2?", "expected": "4", "context": "sums"}], tmp_path)
    assert lines(kept.datasets[0]) == [
        {
            "schema_version": "legal_eval_v1",
            "id": "case-ccc90f04e900",
            "dataset": "given",
            "prompt": "2 + 2?",
            "context": "sums",
            "task_type": "reference_qa",
            "reference_answers": ["4"],
        }
    ]
    assert (kept.responses, kept.made) == ((), True)


def test_criteria_become_a_rubric_and_answers_a_file_of_responses(tmp_path: Path) -> None:
    kept = save_cases([{"id": "hi", "input": "Hello", "criteria": ["greets", "is short"], "answer": "Hi"}], tmp_path)
    (case,) = lines(kept.datasets[0])
    assert case["rubric"] == [{"id": "c1", "title": "greets"}, {"id": "c2", "title": "is short"}]
    assert lines(kept.responses[0]) == [{"case_id": "hi", "response_text": "Hi"}]


def test_the_same_question_twice_has_two_ids_and_the_same_content_one_file(tmp_path: Path) -> None:
    twice = [{"input": "Why?", "expected": "So"}, {"input": "Why?", "expected": "No"}]
    first, again = save_cases(twice, tmp_path), save_cases(twice, tmp_path)
    ids = [line["id"] for line in lines(first.datasets[0])]
    assert ids[1] == f"{ids[0]}-2"
    assert first == again
    assert len(list(tmp_path.iterdir())) == 1


def test_other_dicts_are_lines_of_some_dialect(tmp_path: Path) -> None:
    record = {"golden_questions": [], "anything": "else"}
    kept = save_cases([record], tmp_path)
    assert (lines(kept.datasets[0]), kept.dialect) == ([record], "")


def test_cases_are_kept_as_they_are(tmp_path: Path) -> None:
    cases = [a_case(id="a", tags=("x",)), a_case(id="b", message="Ünïcode\n“quoted”")]
    kept = save_cases(cases, tmp_path)
    assert kept.dialect == "cases"
    assert list(read_cases(Path(kept.datasets[0]), CaseLinesDialect())) == cases


def test_a_broken_line_of_cases_is_a_problem_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text('{"id": "a"}\n', encoding="utf-8")
    (problem,) = [each for each in validate(path, CaseLinesDialect()).problems if each.code == "invalid-case"]
    assert problem.line == 1
    assert not CaseLinesDialect().detect(path, b"{}")


@pytest.mark.parametrize(
    ("record", "field"),
    [
        ({"expected": "4"}, "input"),
        ({"input": " ", "expected": "4"}, "input"),
        ({"input": "q"}, "expected"),
        ({"input": "q", "expected": "a", "criteria": ["b"]}, "expected"),
        ({"input": "q", "expected": ["a", 4]}, "expected"),
        ({"input": "q", "criteria": [""]}, "criteria"),
        ({"input": "q", "expected": "a", "answer": 4}, "answer"),
    ],
    ids=["no input", "blank", "nothing expected", "both", "a number", "empty criterion", "answer is no text"],
)
def test_what_is_wrong_with_a_case_in_short_is_told(record: dict[str, Any], field: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetInvalid) as caught:
        save_cases([{"input": "fine", "expected": "yes"}, record], tmp_path)
    (problem,) = caught.value.problems
    assert (problem.line, problem.field) == (2, field)


def test_every_problem_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(DatasetInvalid) as caught:
        save_cases(
            [{"input": ""}, {"id": "a", "input": "q", "expected": "a"}, {"id": "a", "input": "r", "expected": "a"}],
            tmp_path,
        )
    assert [(each.line, each.field) for each in caught.value.problems] == [(1, "input"), (1, "expected"), (3, "id")]


@pytest.mark.parametrize("given", [[], ["a.jsonl", {"input": "q"}], [a_case(), {"input": "q"}]])
def test_a_list_of_different_things_is_refused(given: list[Any], tmp_path: Path) -> None:
    with pytest.raises(PlanRefused):
        save_cases(given, tmp_path)


def test_what_is_no_json_and_a_folder_that_cannot_be_made_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="cannot be kept as JSON"):
        save_cases([{"input": "q", "expected": "a", "metadata": {"x": object()}}], tmp_path)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ConfigInvalid, match="cannot be kept in"):
        save_cases([{"input": "q", "expected": "a"}], tmp_path / "file" / "inside")


async def test_a_function_can_be_asked_for_by_the_name_it_is_imported_by() -> None:
    def shout(text: str) -> str:
        return text.upper()

    functions = FunctionTargets()
    spec = functions.add(shout)
    assert spec.startswith("function:")
    assert spec.endswith(":test_a_function_can_be_asked_for_by_the_name_it_is_imported_by.<locals>.shout")
    target = functions.make(TargetRequest(name="function", rest=spec.removeprefix("function:")))
    session: Any = await target.open(a_case())
    assert (await session.send("hi")).messages[0].content == "HI"


def test_other_functions_are_loaded_as_ever(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="no such file"):
        FunctionTargets().make(TargetRequest(name="function", rest="bot.py:answer", folder=tmp_path))
