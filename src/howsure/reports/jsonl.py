"""Results as JSON for other programs: one EvaluationResult a line, one canonical object a line, or one document. Memory
does not grow with the run."""

from __future__ import annotations

from collections.abc import AsyncIterable
from pathlib import Path
from typing import BinaryIO

from msgspec import json

from howsure.model.result import Result
from howsure.model.run import Run
from howsure.model.summary import Summary
from howsure.reports.atomic_files import atomic_bytes
from howsure.reports.canonical import canonical_line
from howsure.reports.evaluations import evaluation_result, evaluation_run

ENCODER = json.Encoder()


async def write_jsonl_file(summary: Summary, results: AsyncIterable[Result], path: Path) -> None:
    with atomic_bytes(path) as file:
        await write_jsonl(summary.run, results, file)


async def write_canonical_file(summary: Summary, results: AsyncIterable[Result], path: Path) -> None:
    with atomic_bytes(path) as file:
        await write_canonical(results, file)


async def write_json_file(summary: Summary, results: AsyncIterable[Result], path: Path) -> None:
    with atomic_bytes(path) as file:
        await write_json(summary, results, file)


async def write_jsonl(run: Run, results: AsyncIterable[Result], file: BinaryIO) -> None:
    """One EvaluationResult a line."""
    async for result in results:
        file.write(ENCODER.encode(evaluation_result(run, result)))
        file.write(b"\n")


async def write_canonical(results: AsyncIterable[Result], file: BinaryIO) -> None:
    """One canonical object a line, in the order the results come: case order is the reader's to keep."""
    async for result in results:
        file.write(canonical_line(result))


async def write_json(summary: Summary, results: AsyncIterable[Result], file: BinaryIO) -> None:
    """`{"run": EvaluationRun, "results": [EvaluationResult, …]}`, one result a line."""
    file.write(b'{"run":' + ENCODER.encode(evaluation_run(summary)) + b',"results":[')
    await _write_elements(summary.run, results, file)
    file.write(b"]}\n")


async def write_json_array(run: Run, results: AsyncIterable[Result], file: BinaryIO) -> None:
    """The array of EvaluationResults, one a line."""
    file.write(b"[")
    await _write_elements(run, results, file)
    file.write(b"]\n")


async def _write_elements(run: Run, results: AsyncIterable[Result], file: BinaryIO) -> None:
    before = b"\n"
    async for result in results:
        file.write(before)
        file.write(ENCODER.encode(evaluation_result(run, result)))
        before = b",\n"
    file.write(b"\n")
