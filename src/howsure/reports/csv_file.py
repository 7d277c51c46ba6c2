"""Results as a table for spreadsheets: one line a result, one column for each grader and for each label of the cases.
An empty cell was not measured."""

from __future__ import annotations

import csv
import re
from collections.abc import AsyncIterable, Collection
from pathlib import Path
from typing import Any, TextIO

from howsure.model.result import Result
from howsure.model.score import Score
from howsure.model.summary import Summary
from howsure.reports.atomic_files import atomic_text
from howsure.reports.case_facts import result_row
from howsure.reports.safe_text import make_inert

LEADING_COLUMNS = ("case_id", "candidate", "repeat", "verdict", "reasons")
TRAILING_COLUMNS = (
    "error",
    "question",
    "answer",
    "tags",
    "flags",
    "file",
    "duration_ms",
    "prompt_tokens",
    "completion_tokens",
    "cost_usd",
)
# A spreadsheet runs a cell that begins like a formula; agents can write such answers, and rows of data too. Some
# programs drop what shows nothing (blanks, marks, controls) before the sign; full-width signs count as well.
FORMULA = re.compile(
    r"[\s\x00-\x20\x7f-\xa0\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]*[=+\-@＝＋－＠]|[\t\r\n]"
)


async def write_csv_file(summary: Summary, results: AsyncIterable[Result], path: Path) -> None:
    with atomic_text(path) as file:
        await write_csv(summary, results, file)


async def write_csv(summary: Summary, results: AsyncIterable[Result], file: TextIO) -> None:
    """`file` is opened with `newline=""`, so that the line ends are ours."""
    graders = grader_names(summary)
    writer = csv.writer(file, lineterminator="\n")
    own = LEADING_COLUMNS + TRAILING_COLUMNS
    columns = (f"{name} (grader)" if name in own else escape_formula(name) for name in graders)
    labels = (escape_formula(label_column(name, [*own, *graders])) for name in summary.labels)
    writer.writerow([*LEADING_COLUMNS, *columns, *TRAILING_COLUMNS, *labels])
    async for result in results:
        values = {grade.name: grade.value for grade in result.grades if grade.part is None and isinstance(grade, Score)}
        row = {**result_row(result), "duration_ms": round(result.duration_ms, 3)}
        row["file"] = summary.run.pins.dataset_name(result.position)
        known = (_cell(result.case.labels.get(name)) for name in summary.labels)
        before, after = ([_cell(row[name]) for name in names] for names in (LEADING_COLUMNS, TRAILING_COLUMNS))
        writer.writerow([*before, *(values.get(name) for name in graders), *after, *known])


def label_column(label: str, taken: Collection[str]) -> str:
    return f"{label} (label)" if label in taken else label


def grader_names(summary: Summary) -> list[str]:
    """Each once, in the summary's order: every run of the same graders has the same columns."""
    return list(dict.fromkeys(grader.name for grader in summary.graders))


def escape_formula(text: str) -> str:
    """The text as a cell that no spreadsheet runs: an apostrophe before what begins like a formula, and symbols for
    control characters. The exact text is in the other formats."""
    return f"'{make_inert(text)}" if FORMULA.match(text) else make_inert(text)


def _cell(value: Any) -> Any:
    """Texts are escaped, several joined; numbers stay as they are."""
    text = "; ".join(value) if isinstance(value, list) else value
    return escape_formula(text) if isinstance(text, str) else text
