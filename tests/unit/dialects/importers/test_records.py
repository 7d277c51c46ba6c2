"""What importers of benchmarks share: records of every kind of file, and what all of them hold to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmark_files import SOURCES, as_lines, faults, imported, include, report, written
from howsure.dialects.datasets import read_cases, validate
from howsure.dialects.importers import importers
from howsure.dialects.importers.choice_benchmarks import IncludeImporter
from howsure.dialects.importers.records import RecordFields, choice_id, head_columns, records, whole
from howsure.dialects.problems import Spot

BY_NAME = {importer.name: importer for importer in importers()}


@pytest.mark.parametrize("name", SOURCES)
def test_a_file_is_known_by_its_own_importer_alone(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, *SOURCES[name])
    assert [each.name for each in BY_NAME.values() if each.detect(path, path.read_bytes())] == [name]


@pytest.mark.parametrize("name", SOURCES)
def test_reading_twice_gives_the_same_cases(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, *SOURCES[name])
    first = list(read_cases(path, BY_NAME[name]))
    assert first
    assert list(read_cases(path, BY_NAME[name])) == first


@pytest.mark.parametrize("name", SOURCES)
def test_a_byte_order_mark_changes_nothing(name: str, tmp_path: Path) -> None:
    file, text = SOURCES[name]
    plain = list(read_cases(written(tmp_path, file, text), BY_NAME[name]))
    assert list(read_cases(written(tmp_path, file, f"\ufeff{text}"), BY_NAME[name])) == plain


@pytest.mark.parametrize("name", SOURCES)
def test_another_encoding_is_a_problem_with_its_place(name: str, tmp_path: Path) -> None:
    file, text = SOURCES[name]
    path = tmp_path / file
    path.write_bytes(text.encode("utf-16"))
    problems = validate(path, BY_NAME[name]).problems
    assert problems
    assert {problem.code for problem in problems} <= {
        "encoding",
        "json-syntax",
        "csv-syntax",
        "wrong-columns",
        "missing-field",
    }
    assert all(problem.line for problem in problems)


@pytest.mark.parametrize("name", SOURCES)
def test_a_file_that_ends_in_the_middle_gives_no_cases(name: str, tmp_path: Path) -> None:
    file, text = SOURCES[name]
    cut = text[: text.rstrip().rfind('"') - 1] if file.endswith((".json", ".jsonl")) else text + '"cut'
    found = report(BY_NAME[name], written(tmp_path, file, cut))
    assert not found.valid
    assert all(problem.line for problem in found.problems)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", [(1, "", "wrong-kind")]),
        ("[3]", [(1, "[0]", "wrong-type")]),
        ('[\n{"a": 1},\n4\n]', [(3, "[1]", "wrong-type")]),
        ("[", [(1, "", "json-syntax")]),
    ],
)
def test_a_list_is_read_with_the_lines_of_its_elements(
    text: str, expected: list[tuple[int, str, str]], tmp_path: Path
) -> None:
    found = [one for _, one in records(written(tmp_path, "f.json", text)) if not isinstance(one, dict)]
    assert [(one.line, one.field, one.code) for one in found] == expected


def test_a_json_list_gives_the_same_cases_as_lines(tmp_path: Path) -> None:
    rows = [include(), include(question="B?")]
    lines = imported(IncludeImporter(), written(tmp_path, "i.jsonl", as_lines(rows)))
    listed = written(tmp_path, "i.json", json.dumps(rows))
    assert IncludeImporter().detect(listed, listed.read_bytes())
    assert imported(IncludeImporter(), listed) == lines


def test_a_broken_line_does_not_hide_the_others(tmp_path: Path) -> None:
    text = as_lines([include(answer=9)]) + "{broken\n" + as_lines([include(question="")])
    assert faults(IncludeImporter(), written(tmp_path, "i.jsonl", text)) == [
        (1, "answer", "unknown-correct-id"),
        (2, "", "json-syntax"),
        (3, "question", "empty"),
    ]


@pytest.mark.parametrize(
    ("name", "head", "columns"),
    [
        ("x.csv", b"a,b\n1,2\n", {"a", "b"}),
        ("x.jsonl", b'\n{"a": 1, "b": {"c": 2', {"a", "b"}),
        ("x.json", b' [ {"a": 1}', {"a"}),
        ("x.json", b'{"a": 1}', set()),
        ("x.json", b"", set()),
    ],
)
def test_the_columns_of_the_first_record_are_seen(name: str, head: bytes, columns: set[str]) -> None:
    assert head_columns(Path(name), head) == columns


@pytest.mark.parametrize(
    ("given", "number"),
    [(3, 3), ("3", 3), (3.0, 3), ("3.0", 3), (3.5, None), ("x", None), (None, None), (True, None), ("inf", None)],
)
def test_whole_numbers_come_in_many_forms(given: object, number: int | None) -> None:
    assert whole(given) == number


def test_the_letters_go_on_with_numbers() -> None:
    assert [choice_id(place) for place in (0, 25, 26)] == ["A", "Z", "CHOICE_26"]


def test_what_was_not_asked_for_is_metadata() -> None:
    fields = RecordFields({"a": "x", "b": None, "c": float("nan"), "d": 0, "e": ""}, Spot("f", 1))
    assert fields.optional("a") == "x"
    assert fields.metadata("p", e="", f=1) == {"d": 0, "f": 1, "policy_id": "p"}
