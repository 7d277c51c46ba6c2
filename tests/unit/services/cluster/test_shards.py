from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.errors import Conflict
from assay.kit import Kit
from assay.kit.builtins import builtin_kit
from assay.model.case import Case
from assay.policies.profiles import builtin_profiles
from assay.services.cluster.reading import shard_cases
from assay.services.cluster.shards import Carried, Range, Shard, positions, shard_size, shards, still_open
from assay.services.survey import Survey, survey
from dialect_rows import write_rows
from house import mcq

KIT = builtin_kit(builtin_profiles())


def surveyed(*paths: Path, kit: Kit = KIT, **options: Any) -> Survey:
    return survey([str(path) for path in paths], kit, lambda _: None, **options)


def questions(path: Path, count: int, first: int = 1) -> Path:
    return write_rows(path, [mcq(number) for number in range(first, first + count)])


def conversations(path: Path, *ids: str) -> Path:
    rows = [{"question_id": id, "user_inputs": ["Where is my order?"], "final_response": "On its way."} for id in ids]
    return write_rows(path, rows)


def cut(found: Survey, size: int) -> list[Shard]:
    """As they arrive at a worker."""
    return [msgspec.json.decode(msgspec.json.encode(each), type=Range | Carried) for each in shards(found, size)]


def put_together(found: Survey, size: int) -> list[Case]:
    return [case for shard in cut(found, size) for case in shard_cases(found, shard)]


@pytest.mark.parametrize("size", [1, 3, 4, 100])
def test_the_shards_of_a_line_file_are_byte_ranges_and_give_its_cases_in_order(tmp_path: Path, size: int) -> None:
    found = surveyed(questions(tmp_path / "house.jsonl", 8))
    assert all(isinstance(shard, Range) for shard in shards(found, size))
    assert put_together(found, size) == list(found.cases())


def test_every_range_says_where_it_begins_among_all_cases(tmp_path: Path) -> None:
    found = surveyed(questions(tmp_path / "a.jsonl", 3), questions(tmp_path / "b.jsonl", 3, first=11))
    told = [(shard.file, shard.first, shard.cases) for shard in cut(found, 2) if isinstance(shard, Range)]
    assert told == [(0, 0, 2), (0, 2, 1), (1, 3, 2), (1, 5, 1)]
    assert put_together(found, 2) == list(found.cases())


@pytest.mark.parametrize(
    "text",
    ["\ufeff{0}\n\n{1}\n   \n{2}", "{0}\r\n{1}\r\n{2}\r\n", "\n\n{0}\n{1}\n{2}\n\n\n"],
    ids=["mark, blank lines, no last ending", "Windows", "blank lines around"],
)
@pytest.mark.parametrize("size", [1, 2])
def test_blank_lines_marks_and_line_endings_do_not_move_a_case(tmp_path: Path, text: str, size: int) -> None:
    path = tmp_path / "house.jsonl"
    for number in range(3):
        text = text.replace(f"{{{number}}}", json.dumps(mcq(number + 1)))
    path.write_bytes(text.encode())
    found = surveyed(path)
    assert [case.id for case in put_together(found, size)] == ["q1", "q2", "q3"]


@pytest.mark.parametrize(("limit", "ids"), [(1, ["q1"]), (3, ["q1", "q2", "q3"]), (9, ["q1", "q2", "q3", "q4"])])
def test_a_limit_holds_over_all_shards(tmp_path: Path, limit: int, ids: list[str]) -> None:
    found = surveyed(questions(tmp_path / "a.jsonl", 2), questions(tmp_path / "b.jsonl", 2, first=3), limit=limit)
    assert [case.id for case in put_together(found, 2)] == ids


def test_cases_of_a_filtered_run_are_sent_along(tmp_path: Path) -> None:
    found = surveyed(questions(tmp_path / "house.jsonl", 5), filters={"id": ("q2", "q4")})
    (only,) = cut(found, 10)
    assert isinstance(only, Carried)
    assert [case.id for case in shard_cases(found, only)] == ["q2", "q4"]


def test_cases_are_shaped_once_where_they_are_worked_on(tmp_path: Path) -> None:
    found = surveyed(questions(tmp_path / "house.jsonl", 2), filters={"id": ("q1", "q2")})
    found = msgspec.structs.replace(found, shape=lambda case: msgspec.structs.replace(case, id=case.id + "!"))
    assert [case.id for case in put_together(found, 1)] == ["q1!", "q2!"]


def test_conversations_with_ids_of_their_own_are_cut_by_range(tmp_path: Path) -> None:
    found = surveyed(conversations(tmp_path / "talk.jsonl", "a", "b", "c"))
    assert all(isinstance(shard, Range) for shard in shards(found, 2))
    assert put_together(found, 2) == list(found.cases())


@pytest.mark.parametrize("ids", [("a", "a", "b"), ("a", "b", "a")])
def test_conversations_that_are_counted_to_tell_them_apart_are_sent_along(tmp_path: Path, ids: tuple[str, ...]) -> None:
    found = surveyed(conversations(tmp_path / "talk.jsonl", *ids))
    assert all(isinstance(shard, Carried) for shard in shards(found, 1))
    assert put_together(found, 1) == list(found.cases())
    assert "a#2" in {case.id for case in put_together(found, 1)}


def test_attachments_are_found_beside_the_whole_file(tmp_path: Path) -> None:
    (tmp_path / "contract.txt").write_text("It ends in May.", encoding="utf-8")
    path = write_rows(
        tmp_path / "house.jsonl",
        [mcq(1), mcq(2, attachments=[{"path": "contract.txt", "type": "txt", "title": "the contract"}]), mcq(3)],
    )
    found = surveyed(path)
    assert put_together(found, 1) == list(found.cases())


def test_lines_that_changed_since_the_survey_are_refused(tmp_path: Path) -> None:
    path = questions(tmp_path / "house.jsonl", 4)
    found = surveyed(path)
    first, second = cut(found, 2)
    path.write_bytes(path.read_bytes().replace(b"Question 4?", b"Question 5?"))
    assert len(shard_cases(found, first)) == 2
    with pytest.raises(Conflict, match=r"house\.jsonl changed"):
        shard_cases(found, second)


@pytest.mark.parametrize(
    ("cases", "lanes", "slots", "wished", "size"),
    [
        (10_000, 1, 3, 0, 416),
        (1_000_000, 1, 2, 0, 2_000),
        (100, 1, 8, 0, 50),
        (1_000_000, 4, 2, 0, 500),
        (10_000, 5_000, 2, 0, 1),
        (10_000, 2, 3, 100, 50),
        (10_000, 2, 3, 1, 1),
    ],
)
def test_a_shard_is_large_enough_to_pay_and_small_enough_to_lose(
    cases: int, lanes: int, slots: int, wished: int, size: int
) -> None:
    assert shard_size(cases, lanes, slots, wished) == size


@pytest.mark.parametrize(("done", "left"), [(set(), True), ({4, 5, 6}, True), ({4, 5, 6, 7}, False), ({0, 1, 2}, True)])
def test_a_shard_is_open_until_all_its_attempts_have_results(done: set[int], left: bool) -> None:
    shard = Range(file=0, start=0, end=1, first=2, cases=2, sha256="")
    assert positions(shard, 2) == (4, 7)
    assert still_open(shard, 2, done) is left
