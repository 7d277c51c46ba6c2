"""Grades in the shapes of the evaluation API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from howsure.model.rubric import Severity
from howsure.model.score import OPEN, Direction, Grade, Part, Score, Unscored, UnscoredReason
from howsure.reports.grades import all_hold, criteria_scores, no_high_failure, rubric_scores, scores
from unit.reports.northwind import (
    BROKEN,
    FAILS,
    HOLDS,
    OUT_OF_SCOPE,
    RUBRIC,
    criteria_case,
    criteria_checks,
    rule_checks,
)


def comment(grade: Grade, *more: Grade) -> dict[str, Any]:
    entry = scores((grade, *more))[grade.name]
    parsed: dict[str, Any] = json.loads(entry["comment"])
    return {"score": entry["score"], **parsed}


def test_a_measured_grade_carries_value_scale_mark_and_details_in_a_json_comment() -> None:
    grade = Score(name="tools", value=0.5, pass_mark=1.0, reason="1 of 2", details={"missing": ["refund"]})
    assert comment(grade) == {
        "score": 0.5,
        "passed": False,
        "status": "scored",
        "scale": [0, 1],
        "pass_mark": 1.0,
        "reason": "1 of 2",
        "details": {"missing": ["refund"]},
    }


@pytest.mark.parametrize(
    ("why", "status"),
    [
        (UnscoredReason.ERROR, "error"),
        (UnscoredReason.NOT_APPLICABLE, "not_applicable"),
        (UnscoredReason.NO_JUDGE, "no_judge"),
    ],
)
def test_what_could_not_be_judged_has_no_score_and_says_why(why: UnscoredReason, status: str) -> None:
    shown = comment(Unscored(name="fluency", why=why, reason="because", judge="panel"))
    assert (shown["score"], shown["passed"], shown["status"], shown["judge"]) == (None, None, status, "panel")


def test_an_open_scale_has_no_end_and_a_measure_neither_passes_nor_fails() -> None:
    cost = Score(
        name="cost", value=3.5, scale=OPEN, direction=Direction.LOWER, evidence=("x",), cost_usd=0.01, judge="j"
    )
    shown = comment(cost)
    assert shown["scale"] == [0, None]
    assert shown["passed"] is None
    assert shown["pass_mark"] is None
    assert (shown["direction"], shown["evidence"], shown["cost_usd"], shown["judge"]) == ("lower", ["x"], 0.01, "j")


def test_the_criteria_of_a_dataset_run_stand_in_the_details_of_their_grader() -> None:
    whole = Score(name="weighted_criteria", value=0.7, pass_mark=0.7, details={"points": 7})
    part = Part(id="c1", text="Cites the act", weight=-2.0)
    met = Score(name="weighted_criteria", value=1.0, pass_mark=1.0, part=part, reason="it does", evidence=("§ 12",))
    details = comment(whole, met)["details"]
    assert details == {
        "points": 7,
        "criteria": [
            {
                "criterion": "Cites the act",
                "passed": True,
                "score": 1.0,
                "reasoning": "it does",
                "status": "scored",
                "criterion_id": "c1",
                "weight": -2.0,
                "evidence": ["§ 12"],
            }
        ],
    }


@pytest.mark.parametrize(
    ("outcomes", "passed", "status"),
    [((HOLDS, HOLDS), True, "scored"), ((HOLDS, FAILS), False, "scored"), ((HOLDS, BROKEN), None, "error")],
)
def test_a_grader_that_only_answers_one_by_one_is_not_lost(
    outcomes: tuple[str, ...], passed: bool | None, status: str
) -> None:
    case = criteria_case("one", "two")
    shown = json.loads(scores(criteria_checks(case, *outcomes))["criteria"]["comment"])
    assert (shown["passed"], shown["status"], len(shown["details"]["criteria"])) == (passed, status, 2)


def test_every_criterion_of_the_case_is_there_exactly_once_also_those_nobody_answered() -> None:
    case = criteria_case("first", "second")
    shown = criteria_scores(case, criteria_checks(case, HOLDS, FAILS)[:1])
    assert [(entry["criterion"], entry["passed"], entry["status"]) for entry in shown] == [
        ("first", True, "scored"),
        ("second", None, "error"),
    ]
    assert shown[1]["reasoning"] == "this criterion was not judged"


def test_a_grader_that_broke_says_so_at_every_criterion() -> None:
    broke = Unscored(name="criteria", why=UnscoredReason.NO_JUDGE, reason="needs a judge")
    (entry,) = criteria_scores(criteria_case("first"), (broke,))
    assert (entry["score"], entry["status"], entry["reasoning"]) == (None, "no_judge", "needs a judge")


def test_rules_take_their_name_and_severity_from_the_pinned_rubric() -> None:
    part = Part(id="BRIEF", text="a text that changed")
    (entry,) = rubric_scores(RUBRIC, (Score(name="rubric", value=1.0, pass_mark=1.0, part=part, reason="short"),))
    assert entry == {
        "rule_id": "BRIEF",
        "rule_name": "Brief, focused replies",
        "severity": "medium",
        "passed": True,
        "score": 1.0,
        "reasoning": "short",
        "status": "scored",
        "component_scope": None,
    }


def test_a_rule_the_rubric_does_not_know_keeps_what_its_grade_says() -> None:
    part = Part(id="OLD", text="An old rule", severity=Severity.LOW, scope="prompt")
    (entry,) = rubric_scores(None, (Score(name="rubric", value=0.0, pass_mark=1.0, part=part),))
    assert (entry["rule_name"], entry["severity"], entry["component_scope"]) == ("An old rule", "low", "prompt")


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ((HOLDS, HOLDS), True),
        ((HOLDS, FAILS), False),
        ((BROKEN, FAILS), False),
        ((HOLDS, BROKEN), None),
        ((HOLDS, OUT_OF_SCOPE), True),
        ((OUT_OF_SCOPE, OUT_OF_SCOPE), None),
    ],
    ids=["all hold", "one fails", "a failure decides", "one unknown", "not applicable is left out", "nothing to judge"],
)
def test_criteria_pass_when_all_that_apply_hold(outcomes: tuple[str, str], expected: bool | None) -> None:
    case = criteria_case("one", "two")
    assert all_hold(criteria_scores(case, criteria_checks(case, *outcomes))) is expected


def test_no_criteria_is_neither_passed_nor_failed() -> None:
    assert all_hold([]) is None


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ((HOLDS, HOLDS, HOLDS, HOLDS), True),
        ((HOLDS, FAILS, FAILS, FAILS), True),
        ((FAILS, HOLDS, HOLDS, HOLDS), False),
        ((BROKEN, HOLDS, HOLDS, HOLDS), None),
        ((HOLDS, BROKEN, HOLDS, HOLDS), True),
        ((OUT_OF_SCOPE, HOLDS, HOLDS, HOLDS), True),
        ((OUT_OF_SCOPE, OUT_OF_SCOPE, OUT_OF_SCOPE, OUT_OF_SCOPE), None),
    ],
    ids=["all", "only lower ones fail", "high fails", "high unknown", "medium unknown", "high n/a", "nothing applied"],
)
def test_the_rubric_passes_unless_a_high_severity_rule_fails(outcomes: tuple[str, ...], expected: bool | None) -> None:
    assert no_high_failure(rubric_scores(RUBRIC, rule_checks(*outcomes))) is expected


def test_without_a_rubric_there_is_no_rubric_verdict() -> None:
    assert no_high_failure([]) is None
