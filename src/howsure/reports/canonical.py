"""A Result as one line that two runs can be compared by, byte for byte: what was said, done, graded and decided. Left
out is what differs between equal runs: run and result ids, times, durations, spans (measures read from them stay), and
who judged at what price, so that a replayed recording gives the line of the run it was made from."""

from __future__ import annotations

from typing import Any

from msgspec import json, structs

from howsure.model.result import Result
from howsure.model.score import Grade, Score

ENCODER = json.Encoder(order="sorted")


def canonical_line(result: Result) -> bytes:
    """One JSON object with sorted keys, ending in a newline."""
    return ENCODER.encode_lines([canonical(result)])


def canonical(result: Result) -> dict[str, Any]:
    """What the line holds."""
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
