"""Results as a Parquet table."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from hostile import hostile_results
from howsure.errors import ConfigInvalid
from howsure.model.result import Result
from howsure.model.transcript import Usage
from howsure.reports import tables
from howsure.reports.tables import GROUP, write_parquet
from howsure.testing import a_case, a_transcript
from unit.reports.northwind import MOMENT, a_result, refund_results, stream, summary_of, support_results

pandas: Any = pytest.importorskip("pandas")
polars: Any = pytest.importorskip("polars")
files: Any = pytest.importorskip("pyarrow.parquet")

TYPES = {
    "case_id": "string",
    "case_name": "string",
    "candidate": "string",
    "repeat": "int32",
    "position": "int64",
    "verdict": "string",
    "reasons": "list<element: string>",
    "error": "string",
    "question": "string",
    "answer": "string",
    "tags": "list<element: string>",
    "labels": "map<string, string>",
    "created_at": "timestamp[us, tz=UTC]",
    "duration_ms": "double",
    "prompt_tokens": "int64",
    "completion_tokens": "int64",
    "cost_usd": "double",
    "tool_calls": "int32",
    "score:tool_usage_accuracy": "double",
    "passed:tool_usage_accuracy": "bool",
}


async def written(folder: Path, results: list[Result]) -> Any:
    path = folder / "results.parquet"
    await write_parquet(summary_of(results), stream(results), path)
    return files.read_table(path)


async def test_columns_have_their_types(tmp_path: Path) -> None:
    table = await written(tmp_path, refund_results())
    found = {field.name: str(field.type) for field in table.schema}
    assert {name: found[name].replace("item:", "element:").replace(" ('labels')", "") for name in TYPES} == TYPES


async def test_a_line_says_what_a_result_says(tmp_path: Path) -> None:
    usage = Usage(prompt_tokens=7, completion_tokens=5, cost_usd=0.25)
    said = a_transcript("Tuesday.", usage=usage, calls=[("look", {})])
    case = a_case(id="q1", name="When", message="When?", tags=("a",), labels={"topic": "post"})
    (line,) = (await written(tmp_path, [a_result(case=case, transcript=said, candidate="v1")])).to_pylist()
    expected = {"case_id": "q1", "case_name": "When", "candidate": "v1", "repeat": 1, "verdict": "passed"}
    expected |= {"question": "When?", "answer": "Tuesday.", "tags": ["a"], "labels": [("topic", "post")]}
    expected |= {"prompt_tokens": 7, "completion_tokens": 5, "cost_usd": 0.25, "tool_calls": 1, "error": None}
    assert {name: line[name] for name in expected} == expected
    assert line["created_at"] == MOMENT


async def test_what_was_not_measured_is_null_and_never_zero(tmp_path: Path) -> None:
    broken, unjudged = (await written(tmp_path, refund_results())).to_pylist()[10:]
    assert (broken["score:tool_usage_accuracy"], broken["passed:tool_usage_accuracy"]) == (None, None)
    assert (broken["answer"], broken["tool_calls"]) == (None, None)
    assert broken["error"] == "target 'recorded': ConnectionError: refused"
    assert unjudged["score:response_correctness"] is None


async def test_criteria_and_rules_are_nested(tmp_path: Path) -> None:
    checks = (await written(tmp_path, support_results())).to_pylist()[0]["checks"]
    assert [check["grader"] for check in checks] == ["criteria"] * 2 + ["rubric"] * 4
    assert checks[1] == {
        "grader": "criteria",
        "id": "c2",
        "text": "Names the accrual rate",
        "status": "scored",
        "value": 0.0,
        "passed": False,
        "weight": None,
        "severity": None,
        "scope": None,
        "reason": "fails",
    }
    assert (checks[2]["severity"], checks[2]["scope"]) == ("high", "function")


async def test_programs_that_count_read_it(tmp_path: Path) -> None:
    await written(tmp_path, refund_results())
    path = tmp_path / "results.parquet"
    frame = pandas.read_parquet(path)
    assert frame["verdict"].value_counts().to_dict() == {"passed": 7, "failed": 3, "errored": 1, "skipped": 1}
    assert frame["score:tool_usage_accuracy"].mean() == pytest.approx(0.85)
    assert polars.read_parquet(path, columns=["case_id", "score:tool_usage_accuracy"]).height == 12


async def test_the_run_is_kept_with_the_table(tmp_path: Path) -> None:
    table = await written(tmp_path, refund_results())
    run = json.decode(table.schema.metadata[b"howsure.run"])
    assert (run["total"], run["passed"], run["failed"]) == (12, 7, 3)


async def test_lines_are_written_a_group_at_a_time(tmp_path: Path) -> None:
    held = 0

    async def counted() -> AsyncIterator[Result]:
        nonlocal held
        for number in range(2 * GROUP + 1):
            held = number
            yield a_result(case=a_case(id=f"q{number}"))

    path = tmp_path / "many.parquet"
    await write_parquet(summary_of([]), counted(), path)
    found = files.ParquetFile(path).metadata
    assert (found.num_rows, held) == (10_001, 10_000)
    assert [found.row_group(place).num_rows for place in range(found.num_row_groups)] == [GROUP, GROUP, 1]


async def test_an_empty_run_is_an_empty_table_with_its_columns(tmp_path: Path) -> None:
    table = await written(tmp_path, [])
    assert (table.num_rows, "verdict" in table.column_names) == (0, True)


async def test_planted_text_comes_back_as_it_was(tmp_path: Path) -> None:
    results = hostile_results()
    lines = (await written(tmp_path, results)).to_pylist()
    assert [line["answer"] for line in lines] == [each.transcript.answer for each in results if each.transcript]


async def test_without_pyarrow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(name: str) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(tables, "import_module", missing)
    path = tmp_path / "results.parquet"
    with pytest.raises(ConfigInvalid, match=r"needs the package pyarrow.*`pip install 'howsure\[parquet\]'`"):
        await write_parquet(summary_of([]), stream([]), path)
    assert not path.exists()


def test_nobody_pays_for_pyarrow_who_does_not_ask_for_it() -> None:
    code = "import sys, howsure.reports.tables, howsure.services.report; print('pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240)
    assert done.stdout == "False\n"
