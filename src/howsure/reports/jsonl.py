"""Results as JSON for other programs: one EvaluationResult a line, one canonical object a line, or one document. Memory
does not grow with the run."""

from __future__ import annotations

from collections.abc import AsyncIterable
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import json, structs

from howsure.model.result import Result
from howsure.model.run import Run
from howsure.model.score import Grade, Score
from howsure.model.summary import Summary
from howsure.reports.atomic_files import atomic_bytes
from howsure.reports.evaluations import evaluation_result, evaluation_run

SORTED = json.Encoder(order="sorted")


def canonical_line(result: Result) -> bytes:
    """A Result as one JSON object with sorted keys, by which two runs can be compared byte for byte."""
    return SORTED.encode_lines([canonical(result)])


def canonical(result: Result) -> dict[str, Any]:
    """The content of the line: what was said, done, graded and decided. Everything that differs between equal runs is
    left out: ids, times, durations, spans, judges and costs, so that a replayed recording gives the same line."""
    transcript = result.transcript
    return {
        "case_id": result.case.id,
        "candidate": result.candidate,
        "repeat": result.repeat,
        "input": result.case.input,
        "verdict": result.verdict,
        "reasons": result.reasons,
        "grades": [_grade(grade) for grade in result.grades],
        "failures": result.failures,
        "transcript": transcript and structs.replace(transcript, duration_ms=None, spans=None, metadata={}),
    }


def _grade(grade: Grade) -> Grade:
    if isinstance(grade, Score):
        return structs.replace(grade, judge="", cost_usd=None) if grade.judge or grade.cost_usd is not None else grade
    return structs.replace(grade, judge="") if grade.judge else grade


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
