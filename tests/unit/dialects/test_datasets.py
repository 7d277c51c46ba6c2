"""Datasets: from paths to files, the dialect of a file, and two passes that give all cases or all problems."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from threading import Thread

import pytest

from dialect_rows import explain, mcq, write_rows
from howsure.dialects.base import Dialect, ScanningDialect, WatchedDialect
from howsure.dialects.datasets import FileReport, detect, digest, expand, read_cases, validate
from howsure.dialects.explain import ExplainDialect
from howsure.dialects.legal import LegalDialect
from howsure.errors import Conflict, DatasetInvalid, InputError, Level, NotFound, Problem
from howsure.model.case import Case, SingleTurn
from howsure.services.files import is_pipe, spool

LEGAL = LegalDialect()


class Plain:
    """A dialect as a plug-in would write it: every line is the id of a case; a line `!` is a problem, `?` a warning."""

    name = "plain"

    def detect(self, path: Path, head: bytes) -> bool:
        return True

    def read(self, path: Path) -> Iterator[Case | Problem]:
        for line, text in enumerate(path.read_text().splitlines(), 1):
            if text in ("!", "?"):
                level = Level.ERROR if text == "!" else Level.WARNING
                yield Problem(code="bad", message="bad", line=line, level=level)
            else:
                yield Case(id=text, input=SingleTurn(message="Hello"))

    def write(self, cases: Iterable[Case], path: Path) -> None:
        path.write_text("".join(f"{case.id}\n" for case in cases))


def test_a_report_says_what_was_found(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "d.jsonl", [mcq("1"), mcq("2", extra=1), mcq("3", prompt="")])
    report = validate(path, LEGAL)
    assert (report.path, report.dialect, report.cases, report.valid) == (str(path), "legal", 2, False)
    assert [(problem.line, problem.code) for problem in report.problems] == [(3, "empty")]
    assert [(warning.line, warning.code) for warning in report.warnings] == [(2, "unknown-field")]
    assert report.sha256 == sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("dialect", [LEGAL, ExplainDialect(), Plain()], ids=lambda dialect: dialect.name)
def test_the_hash_is_that_of_the_bytes_for_every_kind_of_dialect(
    dialect: LegalDialect | ExplainDialect | Plain, tmp_path: Path
) -> None:
    path = write_rows(tmp_path / "d.jsonl", [mcq("1"), mcq("2")])
    assert validate(path, dialect).sha256 == sha256(path.read_bytes()).hexdigest()


def test_cases_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "d.jsonl", [mcq(f"r{number}") for number in range(100)])
    assert [case.id for case in read_cases(path, LEGAL)] == [f"r{number}" for number in range(100)]


def test_problems_are_raised_before_the_first_case_is_asked_for(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "d.jsonl", [mcq("1"), mcq("2", prompt=""), mcq("3", context=1)])
    with pytest.raises(DatasetInvalid, match=r"d.jsonl: 2 problems") as raised:
        read_cases(path, LEGAL)
    assert [problem.line for problem in raised.value.problems] == [2, 3]


def test_warnings_stop_nothing(tmp_path: Path) -> None:
    assert [case.id for case in read_cases(write_rows(tmp_path / "d", [b"a", b"?", b"b"]), Plain())] == ["a", "b"]


def test_a_report_that_is_given_is_trusted_and_the_file_read_once_more(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "d.jsonl", [mcq("1")])
    report = validate(path, LEGAL)
    assert [case.id for case in read_cases(path, LEGAL, report)] == ["1"]
    bad = FileReport(path=str(path), dialect="legal", cases=0, problems=(Problem(code="x", message="x"),))
    with pytest.raises(DatasetInvalid):
        read_cases(path, LEGAL, bad)


@pytest.mark.parametrize("dialect", [LEGAL, Plain()], ids=lambda dialect: dialect.name)
def test_a_file_that_changed_between_the_passes_is_a_conflict(dialect: LegalDialect | Plain, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "d.jsonl", [mcq("1")])
    cases = read_cases(path, dialect)
    write_rows(path, [mcq("2")])
    with pytest.raises(Conflict, match="changed while it was being read"):
        list(cases)


def test_a_file_that_went_bad_between_the_passes_is_a_conflict(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "d.jsonl", [mcq("1")])
    cases = read_cases(path, LEGAL)
    path.write_bytes(b"{")
    with pytest.raises(Conflict):
        list(cases)


def test_a_file_that_grows_while_a_plain_dialect_reads_it_is_a_conflict(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "d", [b"a"])

    class Meddling(Plain):
        def read(self, path: Path) -> Iterator[Case | Problem]:
            yield from super().read(path)
            path.write_bytes(b"a\nb\n")

    with pytest.raises(Conflict):
        validate(path, Meddling())


def test_repeated_ids_are_found_for_a_dialect_that_does_not_look(tmp_path: Path) -> None:
    report = validate(write_rows(tmp_path / "d", [b"a", b"b", b"a"]), Plain())
    assert [(problem.code, problem.message) for problem in report.problems] == [
        ("duplicate-id", 'two cases have the id "a"')
    ]


@pytest.mark.parametrize(("content", "codes"), [(b"", ["empty-file"]), (b"?\n", ["empty-file"]), (b"!\n", ["bad"])])
def test_a_file_without_cases_is_a_problem(content: bytes, codes: list[str], tmp_path: Path) -> None:
    (tmp_path / "d").write_bytes(content)
    assert [problem.code for problem in validate(tmp_path / "d", Plain()).problems] == codes


def test_every_case_is_shown_to_whoever_looks(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "d.jsonl", [mcq("1"), mcq("2", prompt=""), mcq("3", extra=1)])
    seen: list[Case] = []
    report = validate(path, LEGAL, seen.append)
    assert [case.id for case in seen] == ["1", "3"]
    assert report == validate(path, LEGAL)


@pytest.mark.parametrize("dialect", [LEGAL, Plain()], ids=lambda dialect: dialect.name)
def test_what_cannot_be_read_is_for_the_user_to_mend(dialect: LegalDialect | Plain, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no such file"):
        validate(tmp_path / "none", dialect)
    with pytest.raises(InputError, match="is a folder"):
        validate(tmp_path, dialect)


def test_the_quick_ways_are_offered_by_the_built_in_line_dialects() -> None:
    dialects: list[Dialect] = [LEGAL, ExplainDialect(), Plain()]
    assert [isinstance(dialect, WatchedDialect) for dialect in dialects] == [True, True, False]
    assert [isinstance(dialect, ScanningDialect) for dialect in dialects] == [True, True, False]


def test_a_warning_on_every_line_is_told_a_hundred_times_and_then_counted(tmp_path: Path) -> None:
    rows = [mcq(f"r{number}", extra=number, other=1) for number in range(1500)]
    report = validate(write_rows(tmp_path / "d.jsonl", rows), LEGAL)
    assert (report.cases, report.problems, len(report.warnings)) == (1500, (), 202)
    assert [(warning.line, warning.field, warning.message) for warning in report.warnings[-2:]] == [
        (None, "extra", "and 1,400 more lines with this warning"),
        (None, "other", "and 1,400 more lines with this warning"),
    ]


def test_problems_are_never_counted_only(tmp_path: Path) -> None:
    rows = [mcq(f"r{number}", prompt="") for number in range(250)]
    assert len(validate(write_rows(tmp_path / "d.jsonl", rows), LEGAL).problems) == 250


KNOWN: list[Dialect] = [LegalDialect(), ExplainDialect()]


class Greedy:
    """A dialect that takes anything."""

    name = "greedy"

    def detect(self, path: Path, head: bytes) -> bool:
        return True

    def read(self, path: Path) -> Iterator[Case | Problem]:
        return iter(())

    def write(self, cases: Iterable[Case], path: Path) -> None:
        raise NotImplementedError


def test_the_dialect_that_fits_is_found(tmp_path: Path) -> None:
    assert detect(write_rows(tmp_path / "a.jsonl", [mcq()]), KNOWN).name == "legal"
    assert detect(write_rows(tmp_path / "b.jsonl", [explain()]), KNOWN).name == "explain"


def test_a_file_of_no_dialect_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", [{"a": 1}])
    with pytest.raises(InputError, match=r"the columns are `a`; .*or name one with --dialect \(legal, explain\)"):
        detect(path, KNOWN)


def test_a_file_of_several_dialects_is_refused_with_those(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", [mcq()])
    with pytest.raises(InputError, match=r"fits several dialects \(legal, greedy\); name one"):
        detect(path, [*KNOWN, Greedy()])


@pytest.mark.parametrize("content", [b"", b"\n \r\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_a_problem_of_its_own(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(content)
    with pytest.raises(DatasetInvalid) as raised:
        detect(tmp_path / "x.jsonl", KNOWN)
    assert [problem.code for problem in raised.value.problems] == ["empty-file"]


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no such file"):
        detect(tmp_path / "none.jsonl", KNOWN)
    with pytest.raises(InputError, match="is a folder"):
        detect(tmp_path, KNOWN)
    with pytest.raises(InputError, match=r"cannot read .*Not a directory"):
        digest(write_rows(tmp_path / "x", []) / "y")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_a_file_without_permission_is_for_the_user_to_mend(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.jsonl", [mcq()])
    path.chmod(0)
    with pytest.raises(InputError, match=r"cannot read .*Permission denied"):
        digest(path)


def test_the_digest_is_that_of_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert digest(tmp_path / "x") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


class TestFolders:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        (tmp_path / "b c").mkdir()
        (tmp_path / ".howsure").mkdir()
        for name in ("b c/two.jsonl", "one.jsonl", ".howsure/hidden.jsonl", ".hidden.jsonl"):
            write_rows(tmp_path / name, [mcq()])
        write_rows(tmp_path / "scenario-catalog.jsonl", [{"scenario_id": "S"}])
        (tmp_path / "rubric.json").write_text('{"rules": []}')
        (tmp_path / "README.md").write_text("# data")
        return tmp_path

    def test_a_folder_stands_for_the_data_files_in_it(self, folder: Path) -> None:
        names = [str(path.relative_to(folder)) for path in expand([folder])]
        assert names == ["b c/two.jsonl", "one.jsonl", "rubric.json", "scenario-catalog.jsonl"]

    def test_companions_are_passed_over_with_a_note(self, folder: Path) -> None:
        notes: list[Problem] = []
        assert [path.name for path in expand([folder], KNOWN, notes.append)] == ["two.jsonl", "one.jsonl"]
        assert [(note.code, Path(note.file).name) for note in notes] == [
            ("skipped-file", "rubric.json"),
            ("skipped-file", "scenario-catalog.jsonl"),
        ]

    def test_a_file_that_is_named_is_never_passed_over(self, folder: Path) -> None:
        assert expand([folder / "rubric.json"], KNOWN) == [folder / "rubric.json"]

    def test_a_file_that_is_named_twice_is_read_once(self, folder: Path) -> None:
        assert len(expand([folder / "one.jsonl", folder], KNOWN)) == 2

    def test_an_empty_file_in_a_folder_is_not_passed_over(self, folder: Path) -> None:
        (folder / "empty.jsonl").touch()
        assert folder / "empty.jsonl" in expand([folder], KNOWN)

    def test_a_folder_without_data_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(
            InputError, match=r"no data file \(.csv, .json, .jsonl, .ndjson, .tsv, .parquet\) in this folder"
        ):
            expand([tmp_path])
        write_rows(tmp_path / "x.jsonl", [{"a": 1}])
        with pytest.raises(InputError, match=r"no data file .* of a known dialect \(legal, explain\)"):
            expand([tmp_path], KNOWN)

    def test_what_does_not_exist_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(NotFound, match="no such file"):
            expand([tmp_path / "none"])


class TestPipes:
    @pytest.mark.parametrize(
        ("content", "name"),
        [
            (b'{"a": 1}\n{"a": 2}\n', "pipe.jsonl"),
            (b'\xef\xbb\xbf\n{"a": 1}\n\n{"a": 2}', "pipe.jsonl"),
            (b'{"a": 1}\n', "pipe.json"),
            (b'{\n  "a": 1\n}\n', "pipe.json"),
            (b"[1,\n2]", "pipe.json"),
            (b"a,b\n1,2\n", "pipe.csv"),
            (b"", "pipe.jsonl"),
        ],
    )
    def test_a_pipe_is_copied_under_a_name_that_tells_its_form(self, content: bytes, name: str, tmp_path: Path) -> None:
        pipe, folder = tmp_path / "pipe", tmp_path / "spool"
        folder.mkdir()
        os.mkfifo(pipe)
        writer = Thread(target=pipe.write_bytes, args=(content,))
        writer.start()
        copy = spool(pipe, folder)
        writer.join()
        assert (copy.name, copy.read_bytes()) == (name, content)
        assert is_pipe(pipe) and not is_pipe(copy)

    def test_standard_input_is_copied_too(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "given").write_bytes(b'{"a": 1}\n{"a": 2}\n')
        saved = os.dup(0)
        with open(tmp_path / "given", "rb") as given:
            os.dup2(given.fileno(), 0)
            try:
                copy = spool(Path("-"), tmp_path)
            finally:
                os.dup2(saved, 0)
                os.close(saved)
        assert (copy.name, copy.read_bytes()) == ("stdin.jsonl", b'{"a": 1}\n{"a": 2}\n')
        assert sys.stdin is not None

    def test_a_plain_file_is_left_where_it_is(self, tmp_path: Path) -> None:
        path = write_rows(tmp_path / "x.jsonl", [mcq()])
        assert spool(path, tmp_path) == path
