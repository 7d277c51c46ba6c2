"""Many rows at once must give exactly what each of them gives alone: no fault of one row may hide behind another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialect_rows import Row, mcq, reference_qa, rubric_qa
from howsure.dialects.datasets import validate
from howsure.dialects.legal import LegalDialect
from howsure.dialects.legal_rows import AnyRow, sound_rows, sure_keys, valid_row

DIALECT = LegalDialect()


def line(row: Row) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def rows_of(*rows: Row) -> list[AnyRow]:
    return [row for given in rows if (row := valid_row(given)) is not None]


def keys_in(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(keys_in, value.values()))
    return sum(map(keys_in, value)) if isinstance(value, list) else 0


SOUND = [
    mcq("a:1", context="Facts: none.", metadata={"policy_id": "prbench_v1", "deep": {"a": [{"b": 1}]}}),
    reference_qa("b"),
    rubric_qa("c", rubric=[{"id": "1", "title": "t", "weight": 2}, {"id": "2", "title": "u", "description": ""}]),
    mcq("d", messages=[{"role": "user", "content": "Is it?"}], prompt="Is it: yes or no?"),
    rubric_qa("e", reference_answers=["One: two.", "Two."]),
]


def test_sound_lines_give_a_row_each_in_their_order() -> None:
    rows = sound_rows([line(row) for row in SOUND])
    assert [row.id for row in rows] == ["a:1", "b", "c", "d", "e"]


@pytest.mark.parametrize("row", SOUND, ids=lambda row: str(row["id"]))
def test_the_keys_of_a_line_are_counted_without_looking_at_it(row: Row) -> None:
    assert sure_keys(rows_of(row)) == keys_in(row)


def test_the_keys_of_many_are_the_sum_of_those_of_each() -> None:
    assert sure_keys(rows_of(*SOUND)) == sum(map(keys_in, SOUND))


GOOD = line(reference_qa("good"))
FAULTS: dict[str, bytes] = {
    "two values on a line": GOOD[:-1] + line(reference_qa("two")),
    "a value over two lines": GOOD.replace(b", ", b",\n", 1),
    "two on one line and one on two": GOOD.replace(b", ", b",\n", 1) + GOOD[:-1] + GOOD,
    "a blank line": b"\n",
    "a byte order mark": b"\xef\xbb\xbf" + GOOD,
    "a key twice": GOOD.replace(b'"dataset"', b'"dataset": "d", "dataset"'),
    "a key twice, one of them spaced": GOOD.replace(b'"dataset"', b'"dataset" : "d", "dataset"'),
    "a key twice, and an escaped colon to make up for it": GOOD.replace(
        b'"good"', b'"go\\u003aod", "id": "go\\u003aod"'
    ),
    "an unknown field": line(reference_qa("x", colour="red")),
    "a field that the model's messages have": line(
        reference_qa("x", messages=[{"role": "user", "content": "a", "agent": "b"}])
    ),
    "a blank prompt": line(reference_qa("x", prompt=" ")),
    "no answer": line(reference_qa("x", reference_answers=[])),
    "a blank answer": line(reference_qa("x", reference_answers=["a", "\t"])),
    "one choice": line(mcq("x", choices=[{"id": "A", "text": "t"}])),
    "a choice twice": line(mcq("x", choices=[{"id": "A", "text": "t"}, {"id": "A", "text": "u"}])),
    "an unknown correct id": line(mcq("x", correct_choice_ids=["Z"])),
    "a correct id twice": line(mcq("x", correct_choice_ids=["A", "A"])),
    "no correct id": line(mcq("x", correct_choice_ids=[])),
    "an empty rubric": line(rubric_qa("x", rubric=[])),
    "a criterion twice": line(rubric_qa("x", rubric=[{"id": "1", "title": "t"}, {"id": "1", "title": "u"}])),
    "a blank title": line(rubric_qa("x", rubric=[{"id": "1", "title": " "}])),
    "a reserved key": line(reference_qa("x", metadata={"unknown_fields": {}})),
    "a blank path": line(reference_qa("x", attachments=[{"path": " "}])),
    "not UTF-8": GOOD.replace(b"good", b"go\xffd"),
    "half a character": GOOD.replace(b"good", b"\\ud800"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault_makes_all_of_them_suspect(fault: str) -> None:
    lines = [line(row) for row in SOUND]
    assert sound_rows(lines)
    assert sound_rows([*lines[:2], *FAULTS[fault].splitlines(keepends=True), *lines[2:]]) == []


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "a blank line"])
def test_among_many_a_fault_is_told_as_it_is_alone(fault: str, tmp_path: Path) -> None:
    before = b"".join(line(reference_qa(f"before {number}")) for number in range(5))
    after = b"".join(line(reference_qa(f"after {number}")) for number in range(5))
    faulty = FAULTS[fault].removeprefix(b"\xef\xbb\xbf") if "byte order" in fault else FAULTS[fault]
    (tmp_path / "alone.jsonl").write_bytes(b"\n" * 5 + faulty)
    (tmp_path / "among.jsonl").write_bytes(before + faulty + after)
    alone, among = (validate(tmp_path / f"{name}.jsonl", DIALECT) for name in ("alone", "among"))
    told = [(problem.code, problem.line, problem.field, problem.message) for problem in alone.problems]
    assert [(problem.code, problem.line, problem.field, problem.message) for problem in among.problems] == told
    assert len(among.warnings) == len(alone.warnings)
    assert among.cases == alone.cases + 10


@settings(max_examples=50)
@given(st.lists(st.sampled_from(["a", "b", "c:1", "d"]), min_size=1, max_size=6))
def test_repeated_ids_are_found_whether_lines_are_read_together_or_not(
    tmp_path_factory: pytest.TempPathFactory, ids: list[str]
) -> None:
    path = tmp_path_factory.mktemp("ids") / "d.jsonl"
    path.write_bytes(b"".join(line(reference_qa(id)) for id in ids))
    report = validate(path, DIALECT)
    repeated = [number for number, id in enumerate(ids, 1) if id in ids[: number - 1]]
    assert [(problem.code, problem.line) for problem in report.problems] == [
        ("duplicate-id", number) for number in repeated
    ]
