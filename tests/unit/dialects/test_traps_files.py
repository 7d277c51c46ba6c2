"""Legal rows, golden questions, test sets and rubrics with values that nobody here wrote: kept, or a problem in its
place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dialect_rows import Row, mcq, reference_qa, rubric_qa, write_rows
from howsure.dialects.agent_files import read_rubric
from howsure.dialects.base import Dialect
from howsure.dialects.golden import GoldenDialect
from howsure.dialects.legal import LegalDialect
from howsure.dialects.test_set import TestSetDialect
from howsure.errors import DatasetInvalid, Level, Problem
from howsure.model.case import Case


def errors(dialect: Dialect, path: Path) -> list[tuple[str, str]]:
    found = [one for one in dialect.read(path) if isinstance(one, Problem)]
    return [(one.code, one.field) for one in found if one.level is Level.ERROR]


def choices(*ids: Any) -> list[Row]:
    return [{"id": id, "text": f"text {number}"} for number, id in enumerate(ids)]


def weighing(weight: Any) -> Row:
    return rubric_qa(rubric=[{"id": "c", "title": "t", "weight": weight}])


@pytest.mark.parametrize(
    "row",
    [
        mcq(choices=choices("🍎", "👩‍⚖️"), correct_choice_ids=["👩‍⚖️"]),
        mcq("\u200fמקרה-1", choices=choices("א", "ב"), correct_choice_ids=["ב"]),
        mcq(choices=choices(*map(str, range(32))), correct_choice_ids=["31"]),
        mcq(choices=choices("a", "A"), correct_choice_ids=["A"]),
        mcq(choices=choices("1", "01", "1.0"), correct_choice_ids=["01"]),
        mcq(choices=choices("é", "e\u0301"), correct_choice_ids=["é"]),
        mcq(context=""),
        mcq(messages=[{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]),
        mcq("a\nb"),
        mcq(prompt="a\u2028b"),
        reference_qa(reference_answers=["x", "x"]),
        *map(weighing, (0, -1, 1e308, -1e308, 0.1, -0.0, 1e-320)),
    ],
)
def test_odd_legal_rows_are_read_and_written_back_as_they_were(tmp_path: Path, row: Row) -> None:
    path = write_rows(tmp_path / "d.jsonl", [row])
    cases = [one for one in LegalDialect().read(path) if isinstance(one, Case)]
    assert errors(LegalDialect(), path) == []
    LegalDialect().write(cases, tmp_path / "out.jsonl")
    assert json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8"))["id"] == row["id"]
    assert list(LegalDialect().read(tmp_path / "out.jsonl")) == cases


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (mcq(choices=choices("a", "b"), correct_choice_ids=["A"]), ("unknown-correct-id", "correct_choice_ids[0]")),
        (mcq(correct_choice_ids="A"), ("wrong-type", "correct_choice_ids")),
        (mcq(correct_choice_ids=[]), ("too-few", "correct_choice_ids")),
        (mcq(correct_choice_ids=None), ("wrong-type", "correct_choice_ids")),
        (mcq(choices=choices("A")), ("too-few", "choices")),
        (mcq(choices={"A": "yes", "B": "no"}), ("wrong-type", "choices")),
        (weighing("5"), ("wrong-type", "rubric[0].weight")),
        (weighing(None), ("wrong-type", "rubric[0].weight")),
        (weighing(True), ("wrong-type", "rubric[0].weight")),
        (weighing(10**400), ("out-of-range", "rubric[0].weight")),
        (mcq(context=None), ("wrong-type", "context")),
        (mcq(metadata=None), ("wrong-type", "metadata")),
        (mcq(messages=[{"role": "tool", "content": "q"}]), ("unknown-value", "messages[0].role")),
        (mcq(messages=[{"role": "User", "content": "q"}]), ("unknown-value", "messages[0].role")),
        (mcq(attachments=[{"path": "../x"}]), ("attachment-escapes", "attachments[0].path")),
        (mcq(attachments=[{"path": "..\\x"}]), ("attachment-escapes", "attachments[0].path")),
        (mcq(attachments=[{"path": "a/../../x"}]), ("attachment-escapes", "attachments[0].path")),
        (mcq(attachments=[{"path": "C:\\x"}]), ("attachment-escapes", "attachments[0].path")),
        (mcq(attachments=[{"path": "  "}]), ("empty", "attachments[0].path")),
        (mcq(1), ("wrong-type", "id")),
        (mcq(None), ("wrong-type", "id")),
        (mcq(rubric=[]), ("forbidden-field", "rubric")),
        (reference_qa(reference_answers="x"), ("wrong-type", "reference_answers")),
    ],
)
def test_a_wrong_legal_row_has_its_problem_in_its_place(tmp_path: Path, row: Row, problem: tuple[str, str]) -> None:
    assert errors(LegalDialect(), write_rows(tmp_path / "d.jsonl", [row])) == [problem]


def test_a_link_may_point_inside_the_folder_and_not_out_of_it(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret.txt").touch()
    (tmp_path / "in" / "a.txt").touch()
    (tmp_path / "in" / "ok").symlink_to(tmp_path / "in" / "a.txt")
    (tmp_path / "in" / "bad").symlink_to(tmp_path / "secret.txt")
    rows = [mcq("1", attachments=[{"path": "ok"}]), mcq("2", attachments=[{"path": "bad"}])]
    path = write_rows(tmp_path / "in" / "d.jsonl", rows)
    assert errors(LegalDialect(), path) == [("attachment-escapes", "attachments[0].path")]


NO_LISTS: tuple[Any, ...] = (None, {}, "")


def question(**fields: Any) -> Row:
    return {"id": "q", "user_inputs": ["hi"], "agents_evaluated": ["a"], "reference_data": {}, **fields}


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"id": 1}, ("wrong-type", "id")),
        ({"id": 1.5}, ("wrong-type", "id")),
        ({"metadata": None}, ("wrong-type", "metadata")),
        ({"agents_evaluated": "a"}, ("wrong-type", "agents_evaluated")),
        ({"user_inputs": "hi"}, ("wrong-type", "user_inputs")),
        ({"user_inputs": ["", "x"]}, ("empty", "user_inputs[0]")),
        ({"user_inputs": [{"text": "x"}]}, ("wrong-type", "user_inputs[0]")),
        *(
            ({"reference_data": {name: wrong}}, ("wrong-type", f"reference_data.{name}"))
            for name in ("reference_tool_interactions", "reference_trajectory")
            for wrong in NO_LISTS
        ),
    ],
)
@pytest.mark.parametrize("listed", ["golden_questions", "questions"])
def test_a_wrong_golden_field_has_its_problem_in_its_place(
    tmp_path: Path, listed: str, fields: Row, problem: tuple[str, str]
) -> None:
    (tmp_path / "a.json").write_text(json.dumps({listed: [question(**fields)]}), encoding="utf-8")
    code, field = problem
    assert errors(GoldenDialect(), tmp_path / "a.json") == [(code, f"{listed}[0].{field}")]


@pytest.mark.parametrize("name", ["success_criteria", "should_use_tools", "should_not_use_tools"])
@pytest.mark.parametrize(
    ("wrong", "code", "place"),
    [(None, "wrong-type", ""), ("", "wrong-type", ""), (["x", "x"], "duplicate-value", ""), ([""], "empty", "[0]")],
)
def test_a_wrong_expected_part_has_its_problem_in_its_place(
    tmp_path: Path, name: str, wrong: Any, code: str, place: str
) -> None:
    entry = {"item_id": "i", "type": "single_turn", "inputs": {"message": "hi"}, "expected": {name: wrong}}
    (tmp_path / "s.json").write_text(json.dumps({"items": [entry]}), encoding="utf-8")
    assert errors(TestSetDialect(), tmp_path / "s.json") == [(code, f"items[0].expected.{name}{place}")]


def rubric(folder: Path, **fields: Any) -> Path:
    rule = {"id": "r", "name": "n", "severity": "high", "description": "d", **fields}
    (folder / "rubric.json").write_text(json.dumps({"name": "N", "rules": [rule]}), encoding="utf-8")
    return folder / "rubric.json"


@pytest.mark.parametrize(
    ("fields", "warned"),
    [
        ({"component_scope": None, "component_ids": None, "component_names": None}, []),
        ({"evaluation_criteria": None}, []),
        ({"description": ""}, ["no-conditions"]),
        ({"description": None, "evaluation_criteria": {}}, ["no-conditions"]),
        ({"description": "", "evaluation_criteria": {"pass_conditions": [], "fail_conditions": []}}, ["no-conditions"]),
        ({"description": "", "evaluation_criteria": {"fail_conditions": ["x"]}}, []),
    ],
)
def test_a_rule_that_says_nothing_but_its_name_is_warned_about(tmp_path: Path, fields: Row, warned: list[str]) -> None:
    told: list[Problem] = []
    assert read_rubric(rubric(tmp_path, **fields), told.append).rules[0].scope is None
    assert [problem.code for problem in told] == warned


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"component_scope": "Tool"}, "component_scope"),
        ({"component_scope": ""}, "component_scope"),
        ({"severity": "HIGH"}, "severity"),
        ({"severity": None}, "severity"),
        ({"id": 1}, "id"),
        ({"component_ids": "a"}, "component_ids"),
        ({"evaluation_criteria": {"pass_conditions": None}}, "evaluation_criteria.pass_conditions"),
        ({"examples": ["x"]}, "examples"),
    ],
)
def test_a_wrong_rule_has_its_problem_in_its_place(tmp_path: Path, fields: Row, field: str) -> None:
    with pytest.raises(DatasetInvalid) as raised:
        read_rubric(rubric(tmp_path, **fields))
    assert [problem.field for problem in raised.value.problems] == [f"rules[0].{field}"]
