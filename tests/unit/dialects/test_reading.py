"""Two passes: all cases or all problems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from dialect_rows import mcq, write_rows
from howsure.dialects.base import Dialect, ScanningDialect, WatchedDialect
from howsure.dialects.datasets import FileReport, read_cases, validate
from howsure.dialects.explain import ExplainDialect
from howsure.dialects.legal import LegalDialect
from howsure.errors import Conflict, DatasetInvalid, InputError, Level, NotFound, Problem
from howsure.model.case import Case, SingleTurn

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
