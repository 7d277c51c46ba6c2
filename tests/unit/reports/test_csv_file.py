"""Results as a table for spreadsheets."""

from __future__ import annotations

import csv
from io import StringIO

import pytest

from hostile import hostile_results
from howsure.model.case import Script
from howsure.model.result import Failure, Result
from howsure.model.score import Score
from howsure.model.transcript import Usage
from howsure.model.verdict import Verdict
from howsure.reports.tables import escape_formula, write_csv
from howsure.testing import a_case, a_transcript
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
    tokens = ["prompt_tokens", "completion_tokens", "cost_usd"]
    after = ["error", "question", "answer", "tags", "flags", "file", "duration_ms", *tokens]
    assert lines[0] == ["case_id", "candidate", "repeat", "verdict", "reasons", *graders, *after]
    assert {len(line) for line in lines} == {19}


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
        ("\r=1", "'␍=1"),
        ("\n=1", "'\n=1"),
        (" =1", "' =1"),
        ("\ufeff=1", "'\\ufeff=1"),
        ("\u202e=1", "'\\u202e=1"),
        ("＝1+1", "'＝1+1"),
        ("＠SUM", "'＠SUM"),
        ("a\0b", "a␀b"),
        ("a\rb", "a␍b"),
        ("a\r\nb", "a\nb"),
        ("\x1b[31mred", "␛[31mred"),
        (" a", " a"),
        ("a=1", "a=1"),
        ("", ""),
    ],
)
def test_no_cell_begins_like_a_formula(text: str, cell: str) -> None:
    assert escape_formula(text) == cell


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
    after = "error,question,answer,tags,flags,file,duration_ms,prompt_tokens,completion_tokens,cost_usd"
    assert await written([]) == f"case_id,candidate,repeat,verdict,reasons,{after}\n"


async def test_what_was_asked_answered_and_spent_is_in_the_table() -> None:
    usage = Usage(prompt_tokens=12, completion_tokens=3, cost_usd=0.002)
    said = a_transcript("Tuesday.", usage=usage)
    two = Script(turns=("Hi", "When?"))
    result = a_result(case=a_case(input=two, tags=("a", "b")), transcript=said, duration_ms=1.23456)
    (line,) = csv.DictReader(StringIO(await written([result])))
    assert (line["question"], line["answer"], line["tags"]) == ("Hi\nWhen?", "Tuesday.", "a; b")
    assert (line["duration_ms"], line["prompt_tokens"], line["completion_tokens"]) == ("1.235", "12", "3")
    assert line["cost_usd"] == "0.002"


async def test_no_planted_text_begins_a_cell_like_a_formula() -> None:
    cells = [cell for line in csv.reader(StringIO(await written(hostile_results()))) for cell in line]
    assert len(cells) > 164 * 17
    for cell in cells:
        if cell[:1] != "'" and not _is_number(cell):
            assert cell.strip().lstrip("\ufeff\u200e\u200f")[:1] not in "=+-@＝＋－＠" or not cell.strip()


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
