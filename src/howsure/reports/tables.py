"""Results as a table: one line a result, and columns for each grader. CSV, for spreadsheets, has a column for each
label of the cases too; an empty cell was not measured. Parquet, for programs that count, has typed columns, and
criteria and rules as a nested list. It is written a group of lines at a time, so that memory does not grow with the
run, and needs pyarrow, which is loaded here and only when such a file is asked for."""

from __future__ import annotations

import csv
import re
from collections.abc import AsyncIterable, Collection, Sequence
from datetime import UTC
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

from msgspec import json

from howsure.errors import ConfigInvalid
from howsure.model.result import Result
from howsure.model.score import Grade, Score
from howsure.model.summary import Summary
from howsure.reports.atomic_files import atomic_bytes, atomic_text
from howsure.reports.case_facts import result_row
from howsure.reports.evaluations import evaluation_run
from howsure.reports.grades import grade_passed, grade_status, grade_value
from howsure.reports.safe_text import make_inert

LEADING_COLUMNS = ("case_id", "candidate", "repeat", "verdict", "reasons")
TRAILING_COLUMNS = (
    "error", "question", "answer", "tags", "flags", "file", "duration_ms", "prompt_tokens", "completion_tokens",
    "cost_usd",
)  # fmt: skip
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
        scores = case_scores(result)
        row = {**result_row(result), "duration_ms": round(result.duration_ms, 3)}
        row["file"] = summary.run.pins.dataset_name(result.position)
        known = (_cell(result.case.labels.get(name)) for name in summary.labels)
        before, after = ([_cell(row[name]) for name in names] for names in (LEADING_COLUMNS, TRAILING_COLUMNS))
        values = (scores[name].value if name in scores else None for name in graders)
        writer.writerow([*before, *values, *after, *known])


def label_column(label: str, taken: Collection[str]) -> str:
    return f"{label} (label)" if label in taken else label


def grader_names(summary: Summary) -> list[str]:
    """Each once, in the summary's order: every run of the same graders has the same columns."""
    return list(dict.fromkeys(grader.name for grader in summary.graders))


def case_scores(result: Result) -> dict[str, Score]:
    """What each grader measured of the case as a whole."""
    return {grade.name: grade for grade in result.grades if grade.part is None and isinstance(grade, Score)}


def escape_formula(text: str) -> str:
    """The text as a cell that no spreadsheet runs: an apostrophe before what begins like a formula, and symbols for
    control characters. The exact text is in the other formats."""
    return f"'{make_inert(text)}" if FORMULA.match(text) else make_inert(text)


def _cell(value: Any) -> Any:
    """Texts are escaped, several joined; numbers stay as they are."""
    text = "; ".join(value) if isinstance(value, list) else value
    return escape_formula(text) if isinstance(text, str) else text


GROUP = 5000
"""Rows that are collected in memory and written as one row group."""


async def write_parquet(summary: Summary, results: AsyncIterable[Result], path: Path) -> None:
    arrow, files = import_pyarrow()
    graders = grader_names(summary)
    schema = _schema(arrow, graders).with_metadata({"howsure.run": json.encode(evaluation_run(summary))})
    with atomic_bytes(path) as file, files.ParquetWriter(file, schema, compression="zstd") as writer:
        rows: list[dict[str, Any]] = []
        async for result in results:
            rows.append(_row(result, graders))
            if len(rows) == GROUP:
                writer.write_table(arrow.Table.from_pylist(rows, schema=schema))
                rows.clear()
        if rows:
            writer.write_table(arrow.Table.from_pylist(rows, schema=schema))


def import_pyarrow() -> tuple[Any, Any]:
    """The package and its Parquet module; `ConfigInvalid` names the extra where they are not installed."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as missing:
        raise ConfigInvalid(
            f"a .parquet file needs the package pyarrow, which is not installed ({missing}): "
            "`pip install 'howsure[parquet]'`, or write .csv or .jsonl"
        ) from missing


def _schema(arrow: Any, graders: Sequence[str]) -> Any:
    text, number = arrow.string(), arrow.float64()
    check = [("grader", text), ("id", text), ("text", text), ("status", text), ("value", number)]
    check += [("passed", arrow.bool_()), ("weight", number), ("severity", text), ("scope", text), ("reason", text)]
    named = [
        ("case_id", text),
        ("case_name", text),
        ("candidate", text),
        ("repeat", arrow.int32()),
        ("position", arrow.int64()),
        ("verdict", text),
        ("reasons", arrow.list_(text)),
        ("error", text),
        ("question", text),
        ("answer", text),
        ("tags", arrow.list_(text)),
        ("flags", arrow.list_(text)),
        ("labels", arrow.map_(text, text)),
        ("created_at", arrow.timestamp("us", tz="UTC")),
        ("duration_ms", number),
        ("prompt_tokens", arrow.int64()),
        ("completion_tokens", arrow.int64()),
        ("cost_usd", number),
        ("tool_calls", arrow.int32()),
        ("checks", arrow.list_(arrow.struct(check))),
    ]
    for grader in graders:
        named += [(f"score:{grader}", number), (f"passed:{grader}", arrow.bool_())]
    return arrow.schema(named)


def _row(result: Result, graders: Sequence[str]) -> dict[str, Any]:
    case, created = result.case, result.created_at
    return {
        **result_row(result),
        "case_name": case.name or None,
        "position": result.position,
        "labels": list(case.labels.items()),
        "created_at": created if created is None or created.tzinfo else created.replace(tzinfo=UTC),
        "tool_calls": len(result.transcript.tool_calls) if result.transcript else None,
        "checks": [_check(grade) for grade in result.grades if grade.part is not None],
        **_scores(result, graders),
    }


def _scores(result: Result, graders: Sequence[str]) -> dict[str, Any]:
    """Null where there is no value: it was not measured, or it has no mark to pass."""
    found = case_scores(result)
    cells: dict[str, Any] = {}
    for name in graders:
        grade = found.get(name)
        cells[f"score:{name}"] = grade.value if grade else None
        cells[f"passed:{name}"] = grade.passed if grade else None
    return cells


def _check(grade: Grade) -> dict[str, Any]:
    part = grade.part
    assert part is not None  # only parts are checks
    return {
        "grader": grade.name,
        "id": part.id,
        "text": part.text,
        "status": grade_status(grade),
        "value": grade_value(grade),
        "passed": grade_passed(grade),
        "weight": part.weight,
        "severity": part.severity.value if part.severity else None,
        "scope": part.scope or None,
        "reason": grade.reason,
    }
