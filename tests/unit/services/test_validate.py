"""Validating: datasets, and the rubric and agent files beside them, one report for each file."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from howsure.errors import InputError, NotFound, UnknownName
from howsure.kit.plugins import builtin_kit
from howsure.policies.verdicts import builtin_profiles
from howsure.services.demo import demo_folder
from howsure.services.validate import schema_of, schemas, validate_files
from unit.services.places import house, lines, mcq

KIT = builtin_kit(builtin_profiles())
RUBRIC = {"rubric_id": "r", "name": "R", "version": 1, "rules": [{"id": "A", "name": "Kind", "severity": "high"}]}
AGENT = {"bot_id": "b1", "bot_name": "Shop bot"}


def written(path: Path, value: Any) -> str:
    path.write_text(json.dumps(value), encoding="utf-8")
    return str(path)


def test_each_file_has_a_report_in_the_order_they_were_named(tmp_path: Path) -> None:
    broken = lines(tmp_path / "broken.jsonl", mcq(1), mcq(2, prompt=""), mcq(3))
    good = house(tmp_path)
    first, second = validate_files([broken, good], KIT)
    assert (first.path, first.dialect, first.valid) == (broken, "legal", False)
    assert [problem.line for problem in first.problems] == [2]
    assert (second.path, second.dialect, second.cases, second.valid) == (good, "legal", 4, True)


def test_the_same_file_twice_is_looked_at_once(tmp_path: Path) -> None:
    good = house(tmp_path)
    assert len(validate_files([good, good], KIT)) == 1


@pytest.mark.parametrize(("kind", "value"), [("rubric", RUBRIC), ("agent", AGENT)])
def test_a_file_that_stands_beside_a_dataset_has_no_cases(tmp_path: Path, kind: str, value: dict[str, Any]) -> None:
    (report,) = validate_files([written(tmp_path / "beside.json", value)], KIT)
    assert (report.dialect, report.cases, report.problems) == (kind, 0, ())


@pytest.mark.parametrize(
    ("kind", "value", "field"),
    [
        ("rubric", {**RUBRIC, "rules": [{"id": "A", "name": "Kind", "severity": "grave"}]}, "rules[0].severity"),
        ("rubric", {"rubric_id": "r", "name": "R", "rules": 3}, "rules"),
        ("agent", {"bot_id": "b1", "bot_name": "Bot", "tools": [{"name": "x"}]}, "tools[0].tool_name"),
    ],
)
def test_a_broken_companion_says_where(tmp_path: Path, kind: str, value: dict[str, Any], field: str) -> None:
    (report,) = validate_files([written(tmp_path / "beside.json", value)], KIT)
    assert (report.dialect, report.valid) == (kind, False)
    assert field in [problem.field for problem in report.problems]


def test_unknown_fields_of_a_companion_are_warnings(tmp_path: Path) -> None:
    (report,) = validate_files([written(tmp_path / "rubric.json", {**RUBRIC, "colour": "red"})], KIT)
    assert report.valid
    assert [warning.field for warning in report.warnings] == ["colour", "rules[0].evaluation_criteria"]


def test_an_empty_file_is_a_problem_and_not_a_mystery(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n \n", encoding="utf-8")
    (report,) = validate_files([str(tmp_path / "empty.jsonl")], KIT)
    assert (report.dialect, [problem.code for problem in report.problems]) == ("", ["empty-file"])


def test_a_folder_stands_for_its_datasets(tmp_path: Path) -> None:
    house(tmp_path, 2)
    (tmp_path / "deep").mkdir()
    house(tmp_path / "deep", 3)
    written(tmp_path / "rubric.json", RUBRIC)
    (tmp_path / "notes.txt").write_text("hello", encoding="utf-8")
    found = validate_files([str(tmp_path)], KIT)
    assert [(Path(each.path).name, each.cases) for each in found] == [("house.jsonl", 3), ("house.jsonl", 2)]


def test_a_dialect_that_is_named_is_used_whatever_the_file_looks_like(tmp_path: Path) -> None:
    (report,) = validate_files([house(tmp_path)], KIT, "golden")
    assert (report.dialect, report.valid) == ("golden", False)
    with pytest.raises(UnknownName, match="unknown dialect 'klingon'"):
        validate_files([house(tmp_path)], KIT, "klingon")


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no such file: nowhere\.jsonl"):
        validate_files(["nowhere.jsonl"], KIT)
    odd = written(tmp_path / "odd.json", {"colour": "red"})
    (report,) = validate_files([str(odd)], KIT)
    assert [problem.code for problem in report.problems] == ["unknown-dialect"]
    assert "name one with --dialect" in report.problems[0].message
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="no data file"):
        validate_files([str(tmp_path / "none")], KIT)


def test_a_pipe_is_validated_like_a_file(tmp_path: Path) -> None:
    content = Path(house(tmp_path)).read_bytes()
    os.mkfifo(tmp_path / "fifo")
    threading.Thread(target=(tmp_path / "fifo").write_bytes, args=(content,), daemon=True).start()
    (report,) = validate_files([str(tmp_path / "fifo")], KIT)
    assert (report.dialect, report.cases, report.valid) == ("legal", 4, True)


def test_everything_that_comes_with_the_demo_is_valid() -> None:
    found = validate_files([str(demo_folder())], KIT)
    assert {each.dialect for each in found} == {"explain", "golden", "simulation", "test-set", "legal"}
    assert all(each.valid for each in found)


NAMES = ["explain", "golden", "simulation", "test-set", "legal", "plain", "responses", "settings"]


def test_the_names_are_those_of_the_dialects_and_of_the_files_beside_them() -> None:
    assert list(schemas(KIT)) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_schema_is_a_schema(name: str) -> None:
    Draft202012Validator.check_schema(schema_of(name, KIT))


def test_a_dialect_that_cannot_describe_itself_has_no_schema() -> None:
    kit = builtin_kit(builtin_profiles())
    kit.dialects.add(Mute())  # type: ignore[arg-type]
    assert "mute" not in schemas(kit)
    with pytest.raises(UnknownName, match="unknown schema 'mute'; known: explain, golden, legal, plain, responses"):
        schema_of("mute", kit)


class Mute:
    """A dialect without a schema."""

    name = "mute"


@pytest.mark.parametrize(
    ("line", "valid"),
    [
        ({"case_id": "q1", "response_text": "A"}, True),
        ({"example_id": "q1", "candidate_name": "juno", "repeat": 2, "response_text": ""}, True),
        ({"case_id": "q1", "response_text": 3}, False),
        ({"case_id": "", "response_text": "A"}, False),
        ({"case_id": "q1", "repeat": 0, "response_text": "A"}, False),
    ],
)
def test_the_schema_of_responses_tells_right_from_wrong(line: dict[str, object], valid: bool) -> None:
    assert Draft202012Validator(schema_of("responses", KIT)).is_valid(line) is valid
