"""The files of the Explain world. The report of its runner: one JSON document with a summary for each agent and every
case's evals. Field names are theirs; `verdict` and the counts of what was errored and skipped are ours. A judge that
gave no number leaves null, where theirs left −1, and rates are over what was decided. And evals on 1 to 5 under the
keys that Azure's evaluation SDK gives its own: for an eval `x` the value `x`, then `x_result`, `x_threshold` and
`x_reason`, each after `outputs.x.`; and their means. What has no number has null keys."""

from __future__ import annotations

import re
from collections.abc import AsyncIterable
from pathlib import Path
from typing import Any

from howsure.errors import PlanRefused
from howsure.model.case import World, user_turns
from howsure.model.result import Result
from howsure.model.score import LIKERT, Grade, Score
from howsure.model.summary import Summary
from howsure.policies.verdicts import COMPOSITE
from howsure.reports.artifacts.files import check_world, mean, start_time, write_json
from howsure.reports.case_facts import DECIDED, result_error
from howsure.reports.figures import iso_utc
from howsure.reports.grades import case_grades, grade_value

WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
RESULT = {True: "pass", False: "fail", None: None}


async def write_explain(summary: Summary, results: AsyncIterable[Result], folder: Path) -> list[Path]:
    cases: list[dict[str, Any]] = []
    agents: dict[str, list[dict[str, Any]]] = {}
    async for result in results:
        check_world(result, World.EXPLAIN, "explain")
        cases.append(explain_case(result))
        agents.setdefault(cases[-1]["agentName"], []).append(cases[-1])
    counts = summary.run.counts
    report = {
        "generatedAtUtc": iso_utc(summary.run.completed_at or start_time(summary.run)),
        "totalCases": len(cases),
        "totalPassed": counts.passed,
        "overallPassRate": counts.pass_rate,
        "totalErrored": counts.errored,
        "totalSkipped": counts.skipped,
        "perAgent": {name: _agent(own) for name, own in agents.items()},
        "cases": cases,
    }
    return [write_json(folder / f"eval-report-{start_time(summary.run):%Y%m%d-%H%M%S}.json", report)]


def explain_case(result: Result) -> dict[str, Any]:
    """One entry of `cases`."""
    composite = next((grade for grade in case_grades(result.grades) if grade.name == COMPOSITE), None)
    evals = [grade for grade in case_grades(result.grades) if grade.scale == LIKERT and grade.name != COMPOSITE]
    passed = DECIDED.get(result.verdict)
    failure = {} if passed else {"failureReason": result_error(result) or "; ".join(result.reasons)}
    return {
        "caseId": result.case.id,
        "agentName": result.case.labels.get("agent_name", ""),
        "scenarioId": result.case.labels.get("scenario_id", ""),
        "thresholdProfile": result.case.profile,
        "compositeScore": grade_value(composite) if composite else None,
        "passed": passed,
        "verdict": result.verdict.value,
        **failure,
        "metrics": [_eval(grade) for grade in evals],
    }


def _eval(grade: Grade) -> dict[str, Any]:
    score = grade_value(grade)
    return {
        "metricName": grade.name,
        "evalName": grade.name,
        "score": score,
        "probScore": grade.details.get("prob_score", score),
        "reasoning": grade.reason,
        "chainOfThought": grade.details.get("thought_chain", ""),
    }


def _agent(cases: list[dict[str, Any]]) -> dict[str, Any]:
    decided = [case["passed"] for case in cases if case["passed"] is not None]
    scores: dict[str, list[tuple[float, float]]] = {}
    for each in (each for case in cases for each in case["metrics"] if each["score"] is not None):
        scores.setdefault(each["metricName"], []).append((each["score"], each["probScore"]))
    return {
        "totalCases": len(cases),
        "passedCases": sum(decided),
        "passRate": mean(decided),
        "compositeAverage": mean([case["compositeScore"] for case in cases if case["compositeScore"] is not None]),
        "explanation": "",
        "metricAverages": {
            name: {
                "averageScore": mean([score for score, _ in pairs]),
                "averageProbScore": mean([weighted for _, weighted in pairs]),
            }
            for name, pairs in scores.items()
        },
    }


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
