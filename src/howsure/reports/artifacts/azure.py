"""Evals on 1 to 5 under the keys that Azure's evaluation SDK gives its own: for an eval `x` the value `x`, then
`x_result`, `x_threshold` and `x_reason`, each after `outputs.x.`; and their means. What has no number has null keys."""

from __future__ import annotations

import re
from collections.abc import AsyncIterable
from pathlib import Path
from typing import Any

from howsure.errors import PlanRefused
from howsure.model.case import user_turns
from howsure.model.result import Result
from howsure.model.score import LIKERT, Grade, Score
from howsure.model.summary import Summary
from howsure.reports.artifacts.files import write_json
from howsure.reports.grades import case_grades

WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
RESULT = {True: "pass", False: "fail", None: None}


async def write_azure(summary: Summary, results: AsyncIterable[Result], folder: Path) -> list[Path]:
    lines: list[dict[str, Any]] = []
    values: dict[str, list[tuple[float, bool | None]]] = {}
    async for result in results:
        graded = [grade for grade in case_grades(result.grades) if grade.scale == LIKERT]
        lines.append({**_given(result), **{key: each for grade in graded for key, each in _keys(grade).items()}})
        for grade in graded:
            if isinstance(grade, Score):
                values.setdefault(azure_name(grade.name), []).append((grade.value, grade.passed))
    if not values:
        raise PlanRefused("--artifacts azure: this run has no eval on a scale from 1 to 5")
    means = {key: value for name, pairs in values.items() for key, value in _means(name, pairs).items()}
    return [write_json(folder / "azure_results.json", {"rows": lines, "metrics": means, "studio_url": None})]


def azure_name(grader: str) -> str:
    """`IntentResolutionExplain` is `intent_resolution`."""
    return WORD.sub("_", grader.removesuffix("Explain")).lower()


def _given(result: Result) -> dict[str, Any]:
    transcript = result.transcript
    return {
        "inputs.id": result.case.id,
        "inputs.candidate": result.candidate,
        "inputs.repeat": result.repeat,
        "inputs.query": "\n".join(user_turns(result.case.input)),
        "inputs.response": transcript.answer if transcript else None,
        "outputs.howsure.verdict": result.verdict.value,
    }


def _keys(grade: Grade) -> dict[str, Any]:
    name = azure_name(grade.name)
    scored = grade if isinstance(grade, Score) else None
    at = f"outputs.{name}.{name}"
    return {
        at: scored.value if scored else None,
        f"{at}_result": RESULT[scored.passed] if scored else None,
        f"{at}_threshold": grade.pass_mark,
        f"{at}_reason": grade.reason,
    }


def _means(name: str, pairs: list[tuple[float, bool | None]]) -> dict[str, float]:
    means = {f"{name}.{name}": sum(value for value, _ in pairs) / len(pairs)}
    decided = [passed for _, passed in pairs if passed is not None]
    return {**means, f"{name}.binary_aggregate": sum(decided) / len(decided)} if decided else means
