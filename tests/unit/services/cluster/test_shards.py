from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dialect_rows import write_rows
from house import mcq
from howsure.dialects.base import Watch
from howsure.dialects.datasets import FileReport
from howsure.dialects.lines import Row, RowDialect, write_table
from howsure.errors import Conflict, Problem
from howsure.kit import Kit
from howsure.kit.plugins import builtin_kit
from howsure.model.case import Case, SingleTurn
from howsure.model.run_request import RunRequest
from howsure.policies.verdicts import builtin_profiles
from howsure.services.cluster.shards import (
    CarriedCases,
    FileRange,
    Shard,
    cut_shards,
    has_open_attempts,
    is_counted,
    is_cuttable,
    read_records,
    shard_cases,
    shard_positions,
    shard_size,
)
from howsure.services.run.preflight import CaseSelection, CheckedDataset, preflight
from live_files import golden

KIT = builtin_kit(builtin_profiles())


def surveyed(*paths: Path, kit: Kit = KIT, **options: Any) -> CaseSelection:
    return preflight(RunRequest(datasets=tuple(map(str, paths)), **options), kit, lambda _: None)


def questions(path: Path, count: int, first: int = 1) -> Path:
    return write_rows(path, [mcq(number) for number in range(first, first + count)])


def conversations(path: Path, *ids: str) -> Path:
    rows = [{"question_id": id, "user_inputs": ["Where is my order?"], "final_response": "On its way."} for id in ids]
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            write_table([{**row, "user_inputs": json.dumps(row["user_inputs"])} for row in rows], file)
        return path
    return write_rows(path, rows)


def cut(found: CaseSelection, size: int) -> list[Shard]:
    """As they arrive at a worker."""
    return [
        msgspec.json.decode(msgspec.json.encode(each), type=FileRange | CarriedCases)
        for each in cut_shards(found, size)
    ]


def put_together(found: CaseSelection, size: int) -> list[Case]:
    return [case for shard in cut(found, size) for case in shard_cases(found, shard)]


@pytest.mark.parametrize("size", [1, 3, 4, 100])
def test_the_shards_of_a_line_file_are_byte_ranges_and_give_its_cases_in_order(tmp_path: Path, size: int) -> None:
    found = surveyed(questions(tmp_path / "house.jsonl", 8))
    assert all(isinstance(shard, FileRange) for shard in cut_shards(found, size))
    assert put_together(found, size) == list(found.read())


def test_every_range_says_where_it_begins_among_all_cases(tmp_path: Path) -> None:
    found = surveyed(questions(tmp_path / "a.jsonl", 3), questions(tmp_path / "b.jsonl", 3, first=11))
    told = [(shard.file, shard.first, shard.cases) for shard in cut(found, 2) if isinstance(shard, FileRange)]
    assert told == [(0, 0, 2), (0, 2, 1), (1, 3, 2), (1, 5, 1)]
    assert put_together(found, 2) == list(found.read())


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


def test_of_a_filtered_run_it_is_said_which_lines_are_meant(tmp_path: Path) -> None:
    found = surveyed(questions(tmp_path / "house.jsonl", 5), filters={"id": ("q2", "q4")})
    (only,) = cut(found, 10)
    assert isinstance(only, FileRange)
    assert (only.before, only.read, only.cases, only.picks) == (1, 4, 2, (0, 2))
    assert [case.id for case in shard_cases(found, only)] == ["q2", "q4"]


@pytest.mark.parametrize("size", [1, 2, 3, 50])
@pytest.mark.parametrize("limit", [None, 1, 4, 5, 99])
def test_a_filter_and_a_limit_hold_over_all_files_and_shards(tmp_path: Path, size: int, limit: int | None) -> None:
    wanted = ("q2", "q3", "q5", "q11", "q14")
    files = questions(tmp_path / "a.jsonl", 5), questions(tmp_path / "b.jsonl", 5, first=10)
    found = surveyed(*files, filters={"id": wanted}, limit=limit)
    assert [case.id for case in put_together(found, size)] == list(wanted)[:limit]
    told = cut(found, size)
    assert [shard.first for shard in told] == [sum(each.cases for each in told[:place]) for place in range(len(told))]


def test_what_a_filter_passes_over_is_not_read_by_workers(tmp_path: Path) -> None:
    path = questions(tmp_path / "house.jsonl", 9_000)
    found = surveyed(path, filters={"id": ("q3", "q4000", "q8999")})
    told = [shard for shard in cut(found, 100) if isinstance(shard, FileRange)]
    assert [shard.cases for shard in told] == [1, 1, 1]
    assert sum(shard.end - shard.start for shard in told) < path.stat().st_size * 0.6
    assert [case.id for case in put_together(found, 100)] == ["q3", "q4000", "q8999"]


def test_cases_are_shaped_once_where_they_are_worked_on(tmp_path: Path) -> None:
    found = surveyed(questions(tmp_path / "house.jsonl", 2), filters={"id": ("q1", "q2")})
    found = msgspec.structs.replace(found, shape=lambda case: msgspec.structs.replace(case, id=case.id + "!"))
    assert [case.id for case in put_together(found, 1)] == ["q1!", "q2!"]


def test_conversations_with_ids_of_their_own_are_cut_by_range(tmp_path: Path) -> None:
    found = surveyed(conversations(tmp_path / "talk.jsonl", "a", "b", "c"))
    assert all(isinstance(shard, FileRange) for shard in cut_shards(found, 2))
    assert put_together(found, 2) == list(found.read())


@pytest.mark.parametrize("ids", [("a", "a", "b"), ("a", "b", "a"), ("a", "a", "a", "b", "a", "b", "b")])
@pytest.mark.parametrize("name", ["talk.jsonl", "talk.csv"])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_conversations_about_one_question_keep_their_numbers(
    tmp_path: Path, ids: tuple[str, ...], name: str, size: int
) -> None:
    found = surveyed(conversations(tmp_path / name, *ids))
    assert all(isinstance(shard, FileRange) for shard in cut_shards(found, size))
    whole = list(found.read())
    assert put_together(found, size) == whole
    assert "a#2" in {case.id for case in whole}


def test_conversations_without_an_id_keep_the_one_that_their_words_give(tmp_path: Path) -> None:
    rows = [{"user_inputs": [words], "final_response": "Yes."} for words in ("Is it?", "Was it?", "Is it?")]
    found = surveyed(write_rows(tmp_path / "talk.jsonl", rows))
    assert all(isinstance(shard, FileRange) for shard in cut_shards(found, 1))
    assert put_together(found, 1) == list(found.read())
    assert put_together(found, 1)[2].id == put_together(found, 1)[0].id + "#2"


TABLE = (
    "\ufeffquestion_id,user_inputs,final_response\r\n"
    'a,"[""Where is\\nit?""]","It is\n\non its ""way"",\r\nreally."\r\n'
    "\r\n"
    'b,"[""Why?""]",Because of 5\r\n'
    ",,\r\n"
    'c,"[""How?""]","\n"\r\n'
    'd,"[""Who?""]",I'
)


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_a_table_is_cut_between_records_whatever_its_cells_hold(tmp_path: Path, size: int) -> None:
    path = tmp_path / "talk.csv"
    path.write_bytes(TABLE.encode())
    found = surveyed(path)
    told = cut(found, size)
    assert all(isinstance(shard, FileRange) and shard.head > 0 for shard in told)
    assert [case.id for case in put_together(found, size)] == ["a", "b", "c", "d"]
    assert put_together(found, size) == list(found.read())
    assert put_together(found, size)[0].recorded == next(found.read()).recorded


def test_a_table_whose_column_names_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "talk.csv"
    path.write_bytes(TABLE.encode())
    found = surveyed(path)
    told = cut(found, 2)
    path.write_bytes(TABLE.replace("final_response", "final_Response", 1).encode())
    with pytest.raises(Conflict, match=r"talk\.csv changed"):
        shard_cases(found, told[1])


class Faq(RowDialect):
    name = "faq"
    columns: Iterable[str] = ("slug", "q")

    def case(self, row: Row) -> Case:
        return Case(id=row["slug"], input=SingleTurn(message=row["q"]))


class Twice(Faq):
    """Makes two cases of each record: nobody may cut this."""

    name = "twice"
    columns = ("slug", "q", "twice")

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        for each in super().read_watched(path, watch):
            yield each
            if isinstance(each, Case):
                yield msgspec.structs.replace(each, id=each.id + "-again")


@pytest.mark.parametrize(
    ("dialect", "name", "kind"),
    [
        (Faq(), "a.jsonl", FileRange),
        (Faq(), "a.csv", FileRange),
        (Twice(), "a.jsonl", CarriedCases),
        (Twice(), "a.csv", CarriedCases),
    ],
)
def test_a_plug_in_s_line_format_is_cut_where_every_record_is_a_case(
    tmp_path: Path, dialect: Faq, name: str, kind: type[Shard]
) -> None:
    rows = [{"slug": f"s{number}", "q": "Why,\nreally?", "twice": "x"} for number in range(5)]
    if not isinstance(dialect, Twice):
        rows = [{key: value for key, value in row.items() if key != "twice"} for row in rows]
    kit = builtin_kit(builtin_profiles())
    kit.dialects.add(dialect)
    path = tmp_path / name
    if name.endswith(".csv"):
        with path.open("w", encoding="utf-8", newline="") as file:
            write_table(rows, file)
    else:
        write_rows(path, rows)
    found = surveyed(path, kit=kit, dialect=dialect.name)
    assert all(isinstance(shard, kind) for shard in cut_shards(found, 2))
    assert put_together(found, 2) == list(found.read())


def test_each_file_of_a_run_is_cut_as_it_can_be(tmp_path: Path) -> None:
    lines = questions(tmp_path / "a.jsonl", 3)
    whole = golden(tmp_path / "b_golden.json", *({"id": f"g{number}", "user_inputs": ["Hi"]} for number in range(3)))
    more = questions(tmp_path / "c.jsonl", 2, first=9)
    found = surveyed(lines, whole, more)
    assert [(type(shard), shard.first, shard.cases) for shard in cut(found, 2)] == [
        (FileRange, 0, 2),
        (FileRange, 2, 1),
        (CarriedCases, 3, 2),
        (CarriedCases, 5, 1),
        (FileRange, 6, 2),
    ]
    assert put_together(found, 2) == list(found.read())


@pytest.mark.parametrize("filters", [{}, {"id": tuple(f"q{number}" for number in range(5))}], ids=["all", "chosen"])
def test_a_shard_holds_few_cases_where_they_are_large(tmp_path: Path, filters: dict[str, tuple[str, ...]]) -> None:
    """32 MB at a time."""
    rows = [mcq(number, context="x" * 17_000_000) for number in range(3)]
    found = surveyed(write_rows(tmp_path / "house.jsonl", rows), filters=filters)
    assert [shard.cases for shard in cut_shards(found, 50)] == [2, 1]


def test_a_file_that_lost_lines_since_the_survey_is_refused(tmp_path: Path) -> None:
    path = questions(tmp_path / "house.jsonl", 4)
    found = surveyed(path)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))
    with pytest.raises(Conflict, match=r"house\.jsonl changed"):
        cut(found, 2)


def test_attachments_are_found_beside_the_whole_file(tmp_path: Path) -> None:
    (tmp_path / "contract.txt").write_text("It ends in May.", encoding="utf-8")
    path = write_rows(
        tmp_path / "house.jsonl",
        [mcq(1), mcq(2, attachments=[{"path": "contract.txt", "type": "txt", "title": "the contract"}]), mcq(3)],
    )
    found = surveyed(path)
    assert put_together(found, 1) == list(found.read())


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
    shard = FileRange(file=0, start=0, end=1, first=2, cases=2, sha256="")
    assert shard_positions(shard, 2) == (4, 7)
    assert has_open_attempts(shard, 2, done) is left


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text", "header", "records"),
    [
        ("a.jsonl", "{}\n\n{}", b"", [(b"{}\n", True), (b"\n", False), (b"{}", True)]),
        ("a.jsonl", "\ufeff{}\r\n \r\n", b"", [(b"\xef\xbb\xbf{}\r\n", True), (b" \r\n", False)]),
        ("a.jsonl", "\ufeff\n{}\n", b"", [(b"\xef\xbb\xbf\n", False), (b"{}\n", True)]),
        ("a.jsonl", "", b"", []),
        ("a.csv", "x,y\n1,2\n3,4", b"x,y\n", [(b"1,2\n", True), (b"3,4", True)]),
        ("a.csv", 'x,y\n"1\n\n",2\n', b"x,y\n", [(b'"1\n\n",2\n', True)]),
        (
            "a.csv",
            'x\n"a ""quoted""\nword"\n\nb\n',
            b"x\n",
            [(b'"a ""quoted""\nword"\n', True), (b"\n", False), (b"b\n", True)],
        ),
        ("a.csv", '"x\nz",y\r\n1,5" wide\r\n,\r\n', b'"x\nz",y\r\n', [(b'1,5" wide\r\n', True), (b",\r\n", False)]),
        ("a.csv", "\ufeffx\n1\n", b"\xef\xbb\xbfx\n", [(b"1\n", True)]),
        ("a.csv", "", b"", []),
    ],
    ids=[
        "lines",
        "a mark and Windows",
        "a mark on a line of its own",
        "nothing",
        "a table",
        "line breaks in a cell",
        "quotes in a cell",
        "a line break in a column's name, a quote in a bare cell, a row of nothing",
        "a mark before a table",
        "an empty table",
    ],
)
def test_a_file_is_its_header_and_its_records(
    tmp_path: Path, name: str, text: str, header: bytes, records: list[tuple[bytes, bool]]
) -> None:
    path = written(tmp_path, name, text)
    found = read_records(path)
    assert (found[0], list(found[1])) == (header, records)
    assert header + b"".join(record for record, _ in records) == path.read_bytes()


def talk(*ids: str) -> str:
    return "".join(f'{{"question_id": {id}, "user_inputs": ["Hi"]}}\n' for id in ids)


@pytest.mark.parametrize(
    ("name", "dialect", "text", "cases", "cut"),
    [
        ("a.jsonl", "legal", "{}\n{}\n", 2, "plainly"),
        ("a.ndjson", "explain", "{}\n", 1, "plainly"),
        ("a.json", "golden", "{}", 1, "not"),
        ("a.json", "test-set", "{}", 1, "not"),
        ("a.jsonl", "simulation", talk('"a"', '"b"'), 2, "plainly"),
        ("a.jsonl", "simulation", talk('"a"', '"a"'), 2, "counted"),
        ("a.jsonl", "simulation", talk('"a"', "7"), 2, "counted"),
        ("a.jsonl", "simulation", talk('"a"', '" "'), 2, "counted"),
        ("a.jsonl", "simulation", '{"user_inputs": ["Hi"]}\n', 1, "counted"),
        ("a.csv", "simulation", "question_id,user_inputs\na,x\nb,x\n", 2, "plainly"),
        ("a.csv", "simulation", "user_inputs,question_id\nx,a\n\nx,a\n", 2, "counted"),
        ("a.csv", "simulation", "user_inputs,question_id\nx,a\nx,\n", 2, "counted"),
        ("a.csv", "simulation", "user_inputs,final_response\nx,a\n", 1, "counted"),
    ],
    ids=[
        "lines that know nothing of each other",
        "explain",
        "a golden file",
        "a test set",
        "conversations with ids",
        "two about one question",
        "a number for an id",
        "a blank id",
        "no id",
        "a table with ids",
        "a table with two about one question",
        "a table without an id in one record",
        "a table without ids",
    ],
)
def test_how_a_file_can_be_cut(tmp_path: Path, name: str, dialect: str, text: str, cases: int, cut: str) -> None:
    path = written(tmp_path, name, text)
    report = FileReport(path=str(path), dialect=dialect, cases=cases)
    dataset = CheckedDataset(path, KIT.reader(dialect), report)
    counted = "counted" if is_counted(dataset) else "plainly"
    assert (counted if is_cuttable(dataset) else "not") == cut
