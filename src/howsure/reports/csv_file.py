"""Results as a table for spreadsheets: one line a result, one column a grader. An empty cell was not measured."""

from __future__ import annotations

import csv
import re
from collections.abc import AsyncIterable, Sequence
from pathlib import Path
from typing import TextIO

from howsure.model.case import user_turns
from howsure.model.result import Result
from howsure.model.score import Score
from howsure.model.summary import Summary
from howsure.model.transcript import Usage
from howsure.reports.inert import inert
from howsure.reports.whole_file import whole_text
from howsure.reports.wire import error

BEFORE = ("case_id", "candidate", "repeat", "verdict", "reasons")
AFTER = (
    "error",
    "question",
    "answer",
    "tags",
    "duration_ms",
    "prompt_tokens",
    "completion_tokens",
    "cost_usd",
)
# A spreadsheet runs a cell that begins like a formula; agents can write such answers, and rows of data too. What is
# before the sign and shows nothing (blanks, marks, controls) some programs drop; the wide signs count as well.
FORMULA = re.compile(
    r"[\s\x00-\x20\x7f-\xa0\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]*[=+\-@＝＋－＠]|[\t\r\n]"
)
NO_USAGE = Usage()


async def csv_file(summary: Summary, results: AsyncIterable[Result], path: Path) -> None:
    with whole_text(path) as file:
        await write_csv(summary, results, file)


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
    """The text as text, whatever it begins with and whatever controls it holds: those are shown as symbols. The exact
    text is in the other formats."""
    return f"'{inert(text)}" if FORMULA.match(text) else inert(text)


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
        *_after(result),
    ]


def _after(result: Result) -> list[str | float | int | None]:
    said = result.transcript
    usage = said.usage if said and said.usage else NO_USAGE
    return [
        guarded(error(result) or ""),
        guarded("\n".join(user_turns(result.case.input))),
        guarded(said.answer if said else ""),
        guarded("; ".join(result.case.tags)),
        round(result.duration_ms, 3),
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.cost_usd,
    ]
