"""Results as a table for spreadsheets: one line a result, one column a grader. An empty cell was not measured."""

from __future__ import annotations

import csv
from collections.abc import AsyncIterable, Sequence
from typing import TextIO

from assay.model.result import Result
from assay.model.score import Score
from assay.model.summary import Summary
from assay.reports.wire import error

BEFORE = ("case_id", "candidate", "repeat", "verdict", "reasons")
AFTER = ("error",)
# A spreadsheet runs a cell that begins like a formula; agents can write such answers, and rows of data too.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


async def write_csv(summary: Summary, results: AsyncIterable[Result], file: TextIO) -> None:
    """`file` is opened with `newline=""`, so that the line ends are ours."""
    graders = grader_names(summary)
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*BEFORE, *(_column(name) for name in graders), *AFTER])
    async for result in results:
        writer.writerow(_cells(result, graders))


def grader_names(summary: Summary) -> list[str]:
    """Each once, in the summary's order: every run of the same graders has the same columns."""
    return list(dict.fromkeys(grader.name for grader in summary.graders))


def guarded(text: str) -> str:
    """The text as text, whatever it begins with."""
    return f"'{text}" if text.startswith(FORMULA) else text


def _column(grader: str) -> str:
    return f"{grader} (grader)" if grader in BEFORE + AFTER else guarded(grader)


def _cells(result: Result, graders: Sequence[str]) -> list[str | float | int | None]:
    values = {grade.name: grade.value for grade in result.grades if grade.part is None and isinstance(grade, Score)}
    return [
        guarded(result.case.id),
        guarded(result.candidate),
        result.repeat,
        result.verdict.value,
        guarded("; ".join(result.reasons)),
        *(values.get(name) for name in graders),
        guarded(error(result) or ""),
    ]
