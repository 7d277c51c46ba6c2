"""Results as JSON for other programs."""

from __future__ import annotations

import json
from io import BytesIO

from howsure.reports.evaluations import evaluation_result, evaluation_run
from howsure.reports.jsonl import canonical_line, write_canonical, write_json, write_json_array, write_jsonl
from unit.reports.northwind import refund_results, stream, summary_of

RESULTS = refund_results()
SUMMARY = summary_of(RESULTS)
SHOWN = [evaluation_result(SUMMARY.run, result) for result in RESULTS]


async def test_jsonl_is_one_result_a_line_in_utf8() -> None:
    file = BytesIO()
    await write_jsonl(SUMMARY.run, stream(RESULTS), file)
    assert [json.loads(line) for line in file.getvalue().splitlines()] == SHOWN
    assert "Rückversand".encode() in file.getvalue()


async def test_canonical_is_one_line_a_result_in_the_order_they_come() -> None:
    file = BytesIO()
    await write_canonical(stream(RESULTS), file)
    assert file.getvalue() == b"".join(canonical_line(result) for result in RESULTS)


async def test_json_is_the_run_and_its_results() -> None:
    file = BytesIO()
    await write_json(SUMMARY, stream(RESULTS), file)
    assert json.loads(file.getvalue()) == {"run": evaluation_run(SUMMARY), "results": SHOWN}


async def test_the_array_is_the_results_alone() -> None:
    file = BytesIO()
    await write_json_array(SUMMARY.run, stream(RESULTS), file)
    assert json.loads(file.getvalue()) == SHOWN


async def test_an_empty_run_is_an_empty_list_not_broken_json() -> None:
    whole, array, lines = BytesIO(), BytesIO(), BytesIO()
    empty = summary_of([])
    await write_json(empty, stream([]), whole)
    await write_json_array(empty.run, stream([]), array)
    await write_jsonl(empty.run, stream([]), lines)
    assert json.loads(whole.getvalue())["results"] == []
    assert (json.loads(array.getvalue()), lines.getvalue()) == ([], b"")
