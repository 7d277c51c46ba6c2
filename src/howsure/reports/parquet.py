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
from howsure.model.case import user_turns
from howsure.model.result import Result
from howsure.model.score import Grade, Score
from howsure.model.summary import Summary
from howsure.model.transcript import Usage
from howsure.reports.checks import passed, status, value
from howsure.reports.csv_file import grader_names
from howsure.reports.whole_file import whole_bytes
from howsure.reports.wire import error, evaluation_run

GROUP = 5000
"""So many lines are held at a time and written as one row group."""
NO_USAGE = Usage()


async def write_parquet(summary: Summary, results: AsyncIterable[Result], path: Path) -> None:
    arrow, files = pyarrow()
    graders = grader_names(summary)
    schema = _schema(arrow, graders).with_metadata({"howsure.run": json.encode(evaluation_run(summary))})
    with whole_bytes(path) as file, files.ParquetWriter(file, schema, compression="zstd") as writer:
        held: list[dict[str, Any]] = []
        async for result in results:
            held.append(_line(result, graders))
            if len(held) == GROUP:
                writer.write_table(arrow.Table.from_pylist(held, schema=schema))
                held.clear()
        if held:
            writer.write_table(arrow.Table.from_pylist(held, schema=schema))


def pyarrow() -> tuple[Any, Any]:
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
    check = arrow.struct(
        [
            ("grader", text),
            ("id", text),
            ("text", text),
            ("status", text),
            ("value", number),
            ("passed", arrow.bool_()),
            ("weight", number),
            ("severity", text),
            ("scope", text),
            ("reason", text),
        ]
    )
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
        ("labels", arrow.map_(text, text)),
        ("created_at", arrow.timestamp("us", tz="UTC")),
        ("duration_ms", number),
        ("prompt_tokens", arrow.int64()),
        ("completion_tokens", arrow.int64()),
        ("cost_usd", number),
        ("tool_calls", arrow.int32()),
        ("checks", arrow.list_(check)),
    ]
    for grader in graders:
        named += [(f"score:{grader}", number), (f"passed:{grader}", arrow.bool_())]
    return arrow.schema(named)


def _line(result: Result, graders: Sequence[str]) -> dict[str, Any]:
    case, said = result.case, result.transcript
    usage = said.usage if said and said.usage else NO_USAGE
    created = result.created_at
    return {
        "case_id": case.id,
        "case_name": case.name or None,
        "candidate": result.candidate,
        "repeat": result.repeat,
        "position": result.position,
        "verdict": result.verdict.value,
        "reasons": list(result.reasons),
        "error": error(result),
        "question": "\n".join(user_turns(case.input)),
        "answer": said.answer if said else None,
        "tags": list(case.tags),
        "labels": list(case.labels.items()),
        "created_at": created if created is None or created.tzinfo else created.replace(tzinfo=UTC),
        "duration_ms": result.duration_ms,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost_usd": usage.cost_usd,
        "tool_calls": len(said.tool_calls) if said else None,
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
        "status": status(grade),
        "value": value(grade),
        "passed": passed(grade),
        "weight": part.weight,
        "severity": part.severity.value if part.severity else None,
        "scope": part.scope or None,
        "reason": grade.reason,
    }
