"""Results as columns, for pandas, polars and whoever else takes a dict of lists. Neither library is needed unless a
table of its kind is asked for. What was not measured is None, never 0."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from howsure.errors import ConfigInvalid, UnknownName
from howsure.model.case import user_turns
from howsure.model.result import Result
from howsure.model.score import Grade, Score
from howsure.model.summary import Summary
from howsure.model.transcript import Usage
from howsure.reports.result_wire import PASSED, error

LIBRARIES = ("pandas", "polars")
NO_USAGE = Usage()

Columns = dict[str, list[Any]]


def result_columns(summary: Summary, results: Sequence[Result]) -> Columns:
    """One line a result; a column for each grader, under its name."""
    columns: Columns = {name: [] for name in _about(results[0])} if results else {}
    for result in results:
        for name, value in _about(result).items():
            columns[name].append(value)
    for name in dict.fromkeys(each.name for each in summary.graders):
        column = f"{name} (grader)" if name in columns else name
        columns[column] = [_value(result, name) for result in results]
    return columns


def _about(result: Result) -> dict[str, Any]:
    said = result.transcript
    usage = said.usage if said and said.usage else NO_USAGE
    return {
        "case_id": result.case.id,
        "candidate": result.candidate,
        "repeat": result.repeat,
        "verdict": result.verdict.value,
        "passed": PASSED[result.verdict],
        "reasons": "; ".join(result.reasons),
        "error": error(result),
        "question": "\n".join(user_turns(result.case.input)),
        "answer": said.answer if said else None,
        "tags": ", ".join(result.case.tags),
        "duration_ms": result.duration_ms,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost_usd": usage.cost_usd,
    }


def _value(result: Result, grader: str) -> float | None:
    for grade in result.grades:
        if grade.name == grader and grade.part is None:
            return grade.value if isinstance(grade, Score) else None
    return None


def grade_columns(results: Sequence[Result]) -> Columns:
    """One line a grade: those of whole cases, and those of each criterion and rule."""
    lines = [_grade(result, grade) for result in results for grade in result.grades]
    return {name: [line[name] for line in lines] for name in lines[0]} if lines else {}


def _grade(result: Result, grade: Grade) -> dict[str, Any]:
    scored = grade if isinstance(grade, Score) else None
    return {
        "case_id": result.case.id,
        "candidate": result.candidate,
        "repeat": result.repeat,
        "grader": grade.name,
        "part_id": grade.part.id if grade.part else None,
        "part": grade.part.text if grade.part else None,
        "value": scored.value if scored else None,
        "pass_mark": grade.pass_mark,
        "passed": scored.passed if scored else None,
        "status": "scored" if isinstance(grade, Score) else grade.why.value,
        "reason": grade.reason,
        "judge": grade.judge,
    }


def frame(columns: Columns, library: str = "") -> Any:
    """A `DataFrame` of the library named; else of the first that is installed."""
    if library and library not in LIBRARIES:
        raise UnknownName("table library", library, LIBRARIES)
    found = next((name for name in ((library,) if library else LIBRARIES) if find_spec(name)), None)
    if found is None:
        wanted = library or " or ".join(LIBRARIES)
        raise ConfigInvalid(f"to_frame needs {wanted}, which is not installed; `.results` has the same without it")
    module = import_module(found)
    return module.DataFrame(columns, strict=False) if found == "polars" else module.DataFrame(columns)
