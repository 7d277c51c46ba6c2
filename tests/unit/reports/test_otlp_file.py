"""A run as OTLP traces: the span of a result holds the spans of its conversation."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.model.result import Result
from howsure.model.run import Counts
from howsure.model.verdict import Verdict
from howsure.reports.tool_files.otlp import otlp_spans
from howsure.testing import a_case
from unit.reports.northwind import MOMENT, a_run


@pytest.mark.parametrize(
    ("fields", "began", "ended"),
    [
        ({"created_at": MOMENT}, "1794735000000000000", "1794735001500000000"),
        ({}, "1794735058500000000", "1794735060000000000"),
    ],
    ids=["it began when the attempt began", "without a time of its own it ended with the run"],
)
def test_the_times_of_a_result(fields: dict[str, Any], began: str, ended: str) -> None:
    result = Result(case=a_case(), verdict=Verdict.PASSED, duration_ms=1500.0, **fields)
    run = a_run(Counts(total=1, passed=1, failed=0, errored=0, skipped=0))
    (span,) = otlp_spans(run, result)
    assert (span["startTimeUnixNano"], span["endTimeUnixNano"]) == (began, ended)
