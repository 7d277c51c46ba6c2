"""Results as a table for spreadsheets."""

from __future__ import annotations

import csv
from io import StringIO

import pytest

from assay.model.result import Failure, Result
from assay.model.score import Score
from assay.model.verdict import Verdict
from assay.reports.csv_file import guarded, write_csv
from assay.testing import a_case
from unit.reports.northwind import a_result, refund_results, stream, summary_of
from unit.reports.snapshot import matches


async def written(results: list[Result]) -> str:
    file = StringIO(newline="")
    await write_csv(summary_of(results), stream(results), file)
    return file.getvalue()


async def test_the_table_is_as_it_was() -> None:
    matches("results.csv", await written([*refund_results("v1"), *refund_results("v2", repeat=2)]))


async def test_every_result_has_every_column() -> None:
    lines = list(csv.reader(StringIO(await written(refund_results()))))
    graders = ["tool_usage_accuracy", "response_correctness", "token_usage", "latency_metrics"]
    assert lines[0] == ["case_id", "candidate", "repeat", "verdict", "reasons", *graders, "error"]
    assert {len(line) for line in lines} == {10}


async def test_what_was_not_measured_is_empty_and_what_broke_says_so() -> None:
    broken = list(csv.DictReader(StringIO(await written(refund_results()))))[10]
    assert broken["verdict"] == "errored"
    assert broken["tool_usage_accuracy"] == ""
    assert broken["error"] == "target 'recorded': ConnectionError: refused"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("a=1", "a=1"),
        ("", ""),
    ],
)
def test_no_cell_begins_like_a_formula(text: str, cell: str) -> None:
    assert guarded(text) == cell


async def test_foreign_text_is_guarded_wherever_it_stands_and_read_back_whole() -> None:
    evil = '=cmd|"/c calc"!A1\nsecond line, with "quotes"'
    result = a_result(
        Verdict.ERRORED,
        case=a_case(id=evil),
        candidate=evil,
        reasons=(evil,),
        grades=(Score(name="error", value=-0.0), Score(name="=g", value=0.5)),
        failures=(Failure(kind="TargetFailed", message=evil),),
    )
    (line,) = csv.DictReader(StringIO(await written([result])))
    assert [line[name] for name in ("case_id", "candidate", "reasons", "error")] == [f"'{evil}"] * 4
    assert (line["error (grader)"], line["'=g"]) == ("-0.0", "0.5")


async def test_an_empty_run_has_its_headings() -> None:
    assert await written([]) == "case_id,candidate,repeat,verdict,reasons,error\n"
