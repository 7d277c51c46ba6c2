"""Grades in the shapes of the evaluation API: `scores` with a JSON `comment`, `criteria_scores`, `rubric_scores`, and
what follows from them. What could not be judged has neither `passed` nor `score`, and a `status` that says why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import json

from howsure.model.case import Case
from howsure.model.expectation import Criteria
from howsure.model.rubric import Rubric, Severity
from howsure.model.score import Direction, Grade, Score

CRITERIA = "criteria"
RUBRIC = "rubric"
NOT_JUDGED = "this criterion was not judged"


def grade_status(grade: Grade) -> str:
    return "scored" if isinstance(grade, Score) else grade.why.value


def grade_passed(grade: Grade) -> bool | None:
    return grade.passed if isinstance(grade, Score) else None


def grade_value(grade: Grade) -> float | None:
    return grade.value if isinstance(grade, Score) else None


def case_grades(grades: Iterable[Grade]) -> list[Grade]:
    """The grades about the case as a whole."""
    return [grade for grade in grades if grade.part is None]


def part_grades(grades: Iterable[Grade], grader: str) -> list[Grade]:
    """The grades that one grader gave to its criteria or rules."""
    return [grade for grade in grades if grade.part is not None and grade.name == grader]


def scores(grades: Sequence[Grade]) -> dict[str, dict[str, Any]]:
    """Every grader's grade of the case, by name, in the first shape that the API had."""
    shown: dict[str, dict[str, Any]] = {}
    for grade in case_grades(grades):
        shown[grade.name] = {"score": grade_value(grade), "comment": _comment(grade, part_grades(grades, grade.name))}
    for name in dict.fromkeys(grade.name for grade in grades if grade.name not in shown):
        shown[name] = {"score": None, "comment": _comment_of_parts(part_grades(grades, name))}
    return {name: {**entry, "comment": json.encode(entry["comment"]).decode()} for name, entry in shown.items()}


def _comment_of_parts(answered: Sequence[Grade]) -> dict[str, Any]:
    """A grader that graded parts only has no value of the case; whether it passes follows from the parts."""
    criteria = [criterion_score(part) for part in answered]
    severe = any("severity" in part for part in criteria)
    return {
        "passed": no_high_failure(criteria) if severe else all_hold(criteria),
        "status": next((part["status"] for part in criteria if part["status"] != "scored"), "scored"),
        "scale": [answered[0].scale.low, answered[0].scale.high],
        "pass_mark": None,
        "reason": "",
        "details": {"criteria": criteria},
    }


def _comment(grade: Grade, answered: Sequence[Grade]) -> dict[str, Any]:
    details = dict(grade.details)
    if answered:
        details["criteria"] = [criterion_score(part) for part in answered]
    comment: dict[str, Any] = {
        "passed": grade_passed(grade),
        "status": grade_status(grade),
        "scale": [grade.scale.low, grade.scale.high],
        "pass_mark": grade.pass_mark,
        "reason": grade.reason,
        "details": details,
    }
    if grade.judge:
        comment["judge"] = grade.judge
    if isinstance(grade, Score):
        if grade.direction is not Direction.HIGHER:
            comment["direction"] = grade.direction.value
        if grade.evidence:
            comment["evidence"] = list(grade.evidence)
        if grade.cost_usd is not None:
            comment["cost_usd"] = grade.cost_usd
    return comment


def criterion_score(grade: Grade) -> dict[str, Any]:
    """One entry of `criteria_scores`."""
    part = grade.part
    shown: dict[str, Any] = {
        "criterion": part.text if part else "",
        "passed": grade_passed(grade),
        "score": grade_value(grade),
        "reasoning": grade.reason,
        "status": grade_status(grade),
        "criterion_id": part.id if part else "",
    }
    if part and part.weight is not None:
        shown["weight"] = part.weight
    if part and part.severity is not None:
        shown["severity"] = part.severity.value
    if isinstance(grade, Score) and grade.evidence:
        shown["evidence"] = list(grade.evidence)
    return shown


def criteria_scores(case: Case, grades: Sequence[Grade]) -> list[dict[str, Any]]:
    """Every criterion of the case exactly once: one that was not judged is there too, as an error."""
    answered = {grade.part.id: grade for grade in part_grades(grades, CRITERIA) if grade.part}
    why = next(
        (grade for grade in case_grades(grades) if grade.name == CRITERIA and not isinstance(grade, Score)), None
    )
    shown = [criterion_score(grade) for grade in answered.values()]
    for expectation in case.expectations:
        if isinstance(expectation, Criteria):
            shown += [
                {
                    "criterion": criterion.text,
                    "passed": None,
                    "score": None,
                    "reasoning": why.reason if why else NOT_JUDGED,
                    "status": grade_status(why) if why else "error",
                    "criterion_id": criterion.id,
                }
                for criterion in expectation.criteria
                if criterion.id not in answered
            ]
    return shown


def rubric_scores(rubric: Rubric | None, grades: Sequence[Grade]) -> list[dict[str, Any]]:
    """One entry for each rule that was judged; names and severities come from the rubric that the run pinned."""
    rules = {rule.id: rule for rule in rubric.rules} if rubric else {}
    shown = []
    for grade in part_grades(grades, RUBRIC):
        if grade.part is None:
            continue
        rule = rules.get(grade.part.id)
        severity = grade.part.severity or (rule.severity if rule else None)
        shown.append(
            {
                "rule_id": grade.part.id,
                "rule_name": rule.name if rule else grade.part.text,
                "severity": severity.value if severity else None,
                "passed": grade_passed(grade),
                "score": grade_value(grade),
                "reasoning": grade.reason,
                "status": grade_status(grade),
                "component_scope": grade.part.scope or None,
            }
        )
    return shown


def all_hold(shown: Sequence[dict[str, Any]]) -> bool | None:
    """False: one failed. None: none failed, and not all could be judged, or there is nothing to judge."""
    counted = [entry for entry in shown if entry["status"] != "not_applicable"]
    if any(entry["passed"] is False for entry in counted):
        return False
    if not counted or any(entry["passed"] is None for entry in counted):
        return None
    return True


def criteria_hold(shown: Sequence[dict[str, Any]], grades: Sequence[Grade]) -> bool | None:
    """Whether enough criteria hold: all of them, or as many as the mark of the profile asks for."""
    for grade in case_grades(grades):
        if grade.name == CRITERIA and isinstance(grade, Score) and grade.pass_mark not in (None, 1):
            return grade.passed
    return all_hold(shown)


def no_high_failure(shown: Sequence[dict[str, Any]]) -> bool | None:
    """Whether every high-severity rule holds; None when one of them, or no rule at all, could be judged."""
    high = [entry for entry in shown if entry.get("severity") == Severity.HIGH.value]
    if any(entry["status"] != "not_applicable" for entry in high):
        return all_hold(high)
    return True if any(entry["passed"] is not None for entry in shown) else None
