from __future__ import annotations

from pathlib import Path

import pytest

from howsure.dialects.reading import FileReport
from howsure.kit.builtins import builtin_kit
from howsure.policies.profiles import builtin_profiles
from howsure.services.cluster.records import Cut, body, cut_of
from howsure.services.survey import Dataset

KIT = builtin_kit(builtin_profiles())


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
    found = body(path)
    assert (found[0], list(found[1])) == (header, records)
    assert header + b"".join(record for record, _ in records) == path.read_bytes()


def talk(*ids: str) -> str:
    return "".join(f'{{"question_id": {id}, "user_inputs": ["Hi"]}}\n' for id in ids)


@pytest.mark.parametrize(
    ("name", "dialect", "text", "cases", "cut"),
    [
        ("a.jsonl", "legal", "{}\n{}\n", 2, Cut.PLAINLY),
        ("a.ndjson", "explain", "{}\n", 1, Cut.PLAINLY),
        ("a.json", "golden", "{}", 1, Cut.NOT),
        ("a.json", "test-set", "{}", 1, Cut.NOT),
        ("a.jsonl", "simulation", talk('"a"', '"b"'), 2, Cut.PLAINLY),
        ("a.jsonl", "simulation", talk('"a"', '"a"'), 2, Cut.COUNTED),
        ("a.jsonl", "simulation", talk('"a"', "7"), 2, Cut.COUNTED),
        ("a.jsonl", "simulation", talk('"a"', '" "'), 2, Cut.COUNTED),
        ("a.jsonl", "simulation", '{"user_inputs": ["Hi"]}\n', 1, Cut.COUNTED),
        ("a.csv", "simulation", "question_id,user_inputs\na,x\nb,x\n", 2, Cut.PLAINLY),
        ("a.csv", "simulation", "user_inputs,question_id\nx,a\n\nx,a\n", 2, Cut.COUNTED),
        ("a.csv", "simulation", "user_inputs,question_id\nx,a\nx,\n", 2, Cut.COUNTED),
        ("a.csv", "simulation", "user_inputs,final_response\nx,a\n", 1, Cut.COUNTED),
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
def test_how_a_file_can_be_cut(tmp_path: Path, name: str, dialect: str, text: str, cases: int, cut: Cut) -> None:
    path = written(tmp_path, name, text)
    report = FileReport(path=str(path), dialect=dialect, cases=cases)
    assert cut_of(Dataset(path, KIT.reader(dialect), report)) is cut
