"""Results as a Parquet table, for programs that count: one line a result, typed columns, `score:NAME` and `passed:NAME`
for each grader, criteria and rules as a nested list. Written a group of lines at a time, so that memory does not grow
with the run. Needs pyarrow, which is loaded here and only when such a file is asked for."""

from __future__ import annotations

from collections.abc import AsyncIterable, Sequence
from datetime import UTC
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import json

from howsure.errors import ConfigInvalid
from howsure.model.result import Result
from howsure.model.score import Grade, Score
from howsure.model.summary import Summary
from howsure.reports.atomic_files import atomic_bytes
from howsure.reports.case_facts import result_row
from howsure.reports.csv_file import grader_names
from howsure.reports.evaluations import evaluation_run
from howsure.reports.grades import grade_passed, grade_status, grade_value

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
    found = {grade.name: grade for grade in result.grades if grade.part is None and isinstance(grade, Score)}
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
