"""The report of the Explain runner: one JSON document with a summary for each agent and every case's evals. Field names
are theirs; `verdict` and the counts of what was errored and skipped are ours. A judge that gave no number leaves null,
where theirs left −1, and rates are over what was decided."""

from __future__ import annotations

from collections.abc import AsyncIterable
from pathlib import Path
from typing import Any

from msgspec import Struct

from howsure.model.case import World
from howsure.model.result import Result
from howsure.model.score import LIKERT, Grade
from howsure.model.summary import Summary
from howsure.policies.verdicts import COMPOSITE
from howsure.reports.artifacts.files import check_world, mean, start_time, write_json
from howsure.reports.case_facts import DECIDED, result_error
from howsure.reports.figures import iso_utc
from howsure.reports.grades import case_grades, grade_value


class AgentMeans(Struct):
    """The sums of one agent."""

    total: int = 0
    passed: int = 0
    decided: int = 0
    composites: list[float] = []
    scores: dict[str, list[tuple[float, float]]] = {}


async def write_explain(summary: Summary, results: AsyncIterable[Result], folder: Path) -> list[Path]:
    cases: list[dict[str, Any]] = []
    agents: dict[str, AgentMeans] = {}
    async for result in results:
        check_world(result, World.EXPLAIN, "explain")
        shown = explain_case(result)
        cases.append(shown)
        means = agents.setdefault(shown["agentName"], AgentMeans(composites=[], scores={}))
        means.total += 1
        means.passed += shown["passed"] is True
        means.decided += shown["passed"] is not None
        if shown["compositeScore"] is not None:
            means.composites.append(shown["compositeScore"])
        for each in shown["metrics"]:
            if each["score"] is not None:
                means.scores.setdefault(each["metricName"], []).append((each["score"], each["probScore"]))
    path = folder / f"eval-report-{start_time(summary.run):%Y%m%d-%H%M%S}.json"
    return [write_json(path, _report(summary, cases, agents))]


def _report(summary: Summary, cases: list[dict[str, Any]], agents: dict[str, AgentMeans]) -> dict[str, Any]:
    counts = summary.run.counts
    return {
        "generatedAtUtc": iso_utc(summary.run.completed_at or start_time(summary.run)),
        "totalCases": len(cases),
        "totalPassed": counts.passed,
        "overallPassRate": counts.pass_rate,
        "totalErrored": counts.errored,
        "totalSkipped": counts.skipped,
        "perAgent": {name: _agent(means) for name, means in agents.items()},
        "cases": cases,
    }


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


def _agent(means: AgentMeans) -> dict[str, Any]:
    return {
        "totalCases": means.total,
        "passedCases": means.passed,
        "passRate": means.passed / means.decided if means.decided else None,
        "compositeAverage": mean(means.composites),
        "explanation": "",
        "metricAverages": {
            name: {
                "averageScore": mean([score for score, _ in pairs]),
                "averageProbScore": mean([weighted for _, weighted in pairs]),
            }
            for name, pairs in means.scores.items()
        },
    }
