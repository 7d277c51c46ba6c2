"""Line formats: splitting, writing, and the base of a line dialect."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from howsure.dialects.datasets import read_cases, validate
from howsure.dialects.ids import SeenIds
from howsure.dialects.lines import CHUNK, Row, RowDialect, open_file, read_lines, split_lines
from howsure.dialects.problems import Spot
from howsure.dialects.writers import write_checked, write_lines, write_whole
from howsure.errors import DatasetInvalid, InputError, Problem
from howsure.model.case import Case, SingleTurn
from howsure.model.expectation import ReferenceAnswer


class FaqDialect(RowDialect):
    name = "faq"
    columns = ("slug", "q", "a")

    def case(self, row: Row) -> Case:
        expected = ReferenceAnswer(answers=(row["a"],))
        if row["q"] == "?":
            raise ValueError("this is no question")
        return Case(id=row["slug"], input=SingleTurn(message=row["q"]), expectations=(expected,))


class WritingFaq(FaqDialect):
    def row(self, case: Case) -> Mapping[str, Any]:
        (expected,) = case.expectations
        assert isinstance(expected, ReferenceAnswer) and isinstance(case.input, SingleTurn)
        return {"slug": case.id, "q": case.input.message, "a": expected.answers[0]}


FAQ = FaqDialect()


def problems(path: Path, content: bytes, name: str) -> list[tuple[int | None, str, str]]:
    (path / name).write_bytes(content)
    return [(problem.line, problem.code, problem.field) for problem in validate(path / name, FAQ).problems]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "f.jsonl",
            b'{"slug": "1", "q": "Wo, bitte?", "a": "H\xc3\xa9"}\n\n{"slug": "2", "q": "x\\ny", "a": "\\"b\\""}',
        ),
        ("f.csv", b'slug,q,a\n1,"Wo, bitte?",H\xc3\xa9\n2,"x\ny","""b"""\n'),
        ("f.CSV", b'\xef\xbb\xbfslug,q,a\r\n1,"Wo, bitte?",H\xc3\xa9\r\n\r\n2,"x\ny","""b"""'),
    ],
)
def test_jsonl_and_csv_say_the_same(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    first, second = read_cases(tmp_path / name, FAQ)
    assert (first.id, first.input) == ("1", SingleTurn(message="Wo, bitte?"))
    assert first.expectations == (ReferenceAnswer(answers=("Hé",)),)
    assert (second.input, second.expectations) == (SingleTurn(message="x\ny"), (ReferenceAnswer(answers=('"b"',)),))


def test_every_fault_of_a_jsonl_file_is_told(tmp_path: Path) -> None:
    content = b"\n".join(
        [
            b'{"slug": "1", "q": "x", "a": "y"}',
            b'{"slug": "2"}',
            b"[1]",
            b'{"slug": "3", "q": "?", "a": "y"}',
            b'{"slug": "4", "q": "x", "a": "y", "a": "z"}',
            b'{"slug": "1", "q": "x", "a": "y"}',
            b"\xff",
        ]
    )
    assert problems(tmp_path, content, "f.jsonl") == [
        (2, "missing-field", "a"),
        (2, "missing-field", "q"),
        (3, "wrong-type", ""),
        (4, "invalid-row", ""),
        (5, "json-duplicate-key", "a"),
        (6, "duplicate-id", "id"),
        (7, "encoding", ""),
    ]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"slug,q\n1,x\n", [(1, "missing-field", "a")]),
        (b"slug,q,a,q\n1,x,y,z\n", [(1, "duplicate-column", "q")]),
        (b'slug,q,a\n1,"x\ny",y\n2,x\n3,x,y,z\n', [(4, "wrong-columns", ""), (5, "wrong-columns", "")]),
        (b'slug,q,a\n1,x,y\n2,"x" z,y\n', [(3, "csv-syntax", "")]),
        (b'slug,q,a\n1,x,y\n2,"x,y\n', [(3, "csv-syntax", "")]),
        (b"slug,q,a\n1,x,y\n2,\xff,y\n", [(3, "encoding", "")]),
        (b"slug,q,a\n1,x,y\n1,x,y\n", [(3, "duplicate-id", "id")]),
        (b"slug,q,a\n", [(None, "empty-file", "")]),
    ],
)
def test_every_fault_of_a_csv_file_is_told(content: bytes, found: list[Any], tmp_path: Path) -> None:
    assert problems(tmp_path, content, "f.csv") == found


def test_a_plain_error_of_case_becomes_a_problem_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "f.jsonl").write_bytes(b'\n{"slug": "1", "q": "?", "a": "y"}')
    (problem,) = validate(tmp_path / "f.jsonl", FAQ).problems
    assert (problem.line, problem.message) == (2, "ValueError: this is no question")


def test_a_csv_cell_may_be_longer_than_pythons_limit(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_bytes(b"slug,q,a\n1," + b"x" * 200_000 + b",y\n")
    (case,) = read_cases(tmp_path / "f.csv", FAQ)
    assert case.input == SingleTurn(message="x" * 200_000)


@pytest.mark.parametrize(
    ("name", "head", "fits"),
    [
        ("f.jsonl", b'{"slug": "1", "q": "x", "a": "y", "more": 1}\n{"slug"', True),
        ("f.ndjson", b'\xef\xbb\xbf\n{"slug": "1", "q": "x", "a": "cut o', True),
        ("f.jsonl", b'{"slug": "1", "q": "x"}', False),
        ("f.csv", b"a,q,slug,more\n1", True),
        ("f.csv", b"q,slug\n1", False),
        ("f.txt", b'{"slug": "1", "q": "x", "a": "y"}', False),
        ("f.csv", b'"slug,q,a', False),
        ("f.csv", b"", False),
    ],
)
def test_detection_goes_by_ending_and_columns(name: str, head: bytes, fits: bool) -> None:
    assert FAQ.detect(Path(name), head) is fits


@pytest.mark.parametrize("name", ["f.jsonl", "f.csv"])
def test_a_dialect_with_row_writes_what_it_reads(name: str, tmp_path: Path) -> None:
    cases = [
        Case(id=id, input=SingleTurn(message=text), expectations=(ReferenceAnswer(answers=(text,)),))
        for id, text in (("1", 'a, "b"\nc'), ("2", "é"))
    ]
    WritingFaq().write(cases, tmp_path / name)
    assert list(read_cases(tmp_path / name, FAQ)) == cases


def test_a_dialect_without_row_says_that_it_cannot_write(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the dialect 'faq' cannot write"):
        FAQ.write([Case(id="1", input=SingleTurn(message="x"))], tmp_path / "f.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_lines_keep_their_numbers_when_blank_ones_are_passed_over() -> None:
    assert list(read_lines([b"\xef\xbb\xbf\n", b"a\r\n", b" \t\n", b"", b"b"])) == [(2, b"a\r\n"), (5, b"b")]


def test_a_watcher_sees_every_byte_once(tmp_path: Path) -> None:
    content = b"some line\n" * 200_000
    (tmp_path / "f").write_bytes(content)
    hashed = sha256()
    with open_file(tmp_path / "f", hashed.update) as stream:
        assert sum(1 for _ in read_lines(stream)) == 200_000
    assert hashed.hexdigest() == sha256(content).hexdigest()


def test_a_file_that_could_not_be_finished_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "f.jsonl").write_text("old\n")

    def rows() -> Any:
        yield {"a": 1}
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        write_lines(rows(), tmp_path / "f.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["f.jsonl"]
    assert (tmp_path / "f.jsonl").read_text() == "old\n"


def test_a_place_that_cannot_be_written_to_is_for_the_user_to_mend(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot write .*No such file or directory"):
        write_whole(tmp_path / "nowhere" / "f.jsonl", lambda file: file.write("x"))


def test_written_lines_are_utf8_whatever_the_locale(tmp_path: Path) -> None:
    write_lines([{"a": "é\n"}, {"b": 1}], tmp_path / "f.jsonl")
    assert (tmp_path / "f.jsonl").read_bytes() == '{"a":"é\\n"}\n{"b":1}\n'.encode()
    assert json.loads((tmp_path / "f.jsonl").read_bytes().splitlines()[0]) == {"a": "é\n"}


def test_what_read_gives_is_cases_and_problems(tmp_path: Path) -> None:
    (tmp_path / "f.jsonl").write_bytes(b'{"slug": "1", "q": "x", "a": "y"}\n{}')
    assert [type(found) for found in FAQ.read(tmp_path / "f.jsonl")] == [Case, Problem, Problem, Problem]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a",
        b"a\n",
        b"\n",
        b"a\n\nb\r\nc",
        b"x" * (CHUNK - 1) + b"\nrest\n",
        b"x" * CHUNK + b"\nrest",
        b"x" * (CHUNK + 1) + b"\nrest",
        b"x" * (3 * CHUNK + 7),
        b"short\n" + b"x" * (3 * CHUNK) + b"\n" + b"y\n" * CHUNK,
        "ä\u2028b\x85\x0b\n".encode() * 3,
    ],
    ids=[
        "nothing",
        "open",
        "closed",
        "blank",
        "mixed",
        "at the seam",
        "on it",
        "past it",
        "long",
        "long inside",
        "odd",
    ],
)
def test_splitting_in_pieces_gives_the_lines_of_the_file(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(content)
    hashed = sha256()
    with open(tmp_path / "f", "rb") as file:
        assert list(split_lines(tmp_path / "f", hashed.update)) == list(file)
    assert list(split_lines(tmp_path / "f")) == content.splitlines(keepends=True) or b"\x0b" in content
    assert hashed.hexdigest() == sha256(content).hexdigest()


def test_an_id_is_new_as_often_as_it_is_asked_for_on_its_own_line() -> None:
    ids = SeenIds("case_id")
    assert [ids.is_new("a", 1), ids.is_new("a", 1), ids.is_new("a", 2), ids.is_new("b", 2)] == [True, True, False, True]
    problem = ids.repeated("a", Spot("f", 2))
    assert str(problem) == 'f:2 `case_id`: the id "a" stands on line 1 already (ids must be unique) [duplicate-id]'


def test_what_a_dialect_would_not_read_is_not_written(tmp_path: Path) -> None:
    def read(text: bytes, spot: Spot) -> list[Case | Problem]:
        row = json.loads(text)
        return [spot.problem("bad", "no")] if row.get("bad") else [spot.warning("odd", "hm")]

    write_checked([{"a": 1}], tmp_path / "f.jsonl", read)
    assert (tmp_path / "f.jsonl").read_bytes() == b'{"a":1}\n'
    rows: list[dict[str, Any]] = [{"bad": 1}, {"a": 1}, {"x": float("nan")}, {"x": object()}, {"x": "\ud800"}]
    with pytest.raises(DatasetInvalid) as raised:
        write_checked(rows, tmp_path / "g.jsonl", read)
    assert [(problem.line, problem.code) for problem in raised.value.problems] == [
        (1, "bad"),
        (3, "not-writable"),
        (4, "not-writable"),
        (5, "not-writable"),
    ]
    assert not (tmp_path / "g.jsonl").exists()
