"""Rules that a program answers from the final state."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from howsure.dialects.agent_files import read_rubric, rubric_document
from howsure.errors import DatasetInvalid, Problem
from howsure.graders.base import GraderContext
from howsure.graders.rubric import OutcomeCheck, RubricGrader, outcome_check
from howsure.model.rubric import Rubric, Rule, Severity
from howsure.model.score import Grade, Part, Score, Unscored, UnscoredReason
from howsure.testing import ScriptedJudge, a_case, a_transcript

SHIPPED = {"field": "status", "op": "equals", "value": "shipped"}
RECENT = {"field": "at", "op": "within", "value": "1h"}
NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
PART = Part(id="r1", text="Ships it", severity=Severity.HIGH)


def rule(id: str, check: Any = None) -> Rule:
    metadata = {} if check is None else {"outcome_check": check}
    return Rule(id=id, name=f"Rule {id}", severity=Severity.HIGH, metadata=metadata)


async def graded(rules: list[Rule], state: dict[str, Any] | None, **setting: Any) -> list[Grade]:
    grader = RubricGrader().bind(GraderContext(rubric=Rubric(name="R", rules=tuple(rules)), **setting))
    return list(await grader.grade(a_case(), a_transcript("Done.", state=state)))


@pytest.mark.parametrize(
    ("entity", "state", "holds", "reason"),
    [
        ("", {"status": "shipped"}, True, "`status` is 'shipped'"),
        ("", {}, False, "`status` is not there, wanted: equal to 'shipped'"),
        ("order", {"order": {"status": "shipped"}}, True, "`order`: `status` is 'shipped'"),
        ("order", {"order": [{"status": "shipped"}]}, True, "`order`: `status` is 'shipped'"),
        (
            "order",
            {"order": [{"status": "shipped"}, {"status": "lost"}]},
            False,
            "`order.1`: `status` is 'lost', wanted: equal to 'shipped'",
        ),
        (
            "order",
            {"status": "shipped"},
            False,
            "the state has no `order`; `status` is not there, wanted: equal to 'shipped'",
        ),
        (
            "order",
            {"order": []},
            False,
            "the state has no `order`; `status` is not there, wanted: equal to 'shipped'",
        ),
        ("order", {"order": "shipped"}, None, "`order` in the state is neither an object nor a list of objects"),
    ],
)
def test_a_check_is_about_the_state_or_one_kind_of_entity_in_it(
    entity: str, state: dict[str, Any], holds: bool | None, reason: str
) -> None:
    finding = OutcomeCheck(check=SHIPPED, entity_type=entity).evaluate(state, None)
    assert (finding.holds, finding.reason) == (holds, reason)


async def test_a_rule_with_a_check_asks_no_judge() -> None:
    judge = ScriptedJudge({("rubric", "r2"): {"passed": True, "reason": "polite"}})
    first, second, whole = await graded([rule("r1", {"check": SHIPPED}), rule("r2")], {"status": "lost"}, judge=judge)
    assert [question.part.id for question in judge.asked if question.part] == ["r2"]
    assert isinstance(first, Score)
    assert (first.value, first.passed, first.judge) == (0.0, False, "")
    assert first.reason == "`status` is 'lost', wanted: equal to 'shipped'"
    assert first.details == {"outcome_check": {"entity_type": None, "check": SHIPPED}}
    assert isinstance(second, Score)
    assert second.value == 1.0
    assert isinstance(whole, Score)
    assert (whole.value, whole.reason) == (0.5, "1 of 2 rules held")


async def test_a_rubric_of_checks_needs_no_judge_at_all() -> None:
    first, whole = await graded([rule("r1", {"check": SHIPPED})], {"status": "shipped"})
    assert isinstance(first, Score)
    assert first.value == 1.0
    assert isinstance(whole, Score)
    assert whole.value == 1.0


@pytest.mark.parametrize(
    ("check", "state", "reason"),
    [
        (SHIPPED, None, "no final state was recorded, and the rule is checked against it"),
        (RECENT, {"at": "2026-03-10T11:30:00Z"}, "the rule asks how long ago something was, and the run has no clock"),
        ({"field": "total", "op": "gt", "value": 1}, {"total": "2"}, "`total`: '2' cannot be compared with 1"),
    ],
    ids=["no state", "no clock", "not comparable"],
)
async def test_what_cannot_be_told_has_no_value(check: Any, state: dict[str, Any] | None, reason: str) -> None:
    first, whole = await graded([rule("r1", {"check": check})], state)
    assert isinstance(first, Unscored)
    assert (first.why, first.reason) == (UnscoredReason.ERROR, reason)
    assert isinstance(whole, Unscored)
    assert whole.why is UnscoredReason.ERROR


@pytest.mark.parametrize(("at", "value"), [("2026-03-10T11:30:00Z", 1.0), ("2026-03-10T10:30:00Z", 0.0)])
async def test_the_clock_is_the_runs(at: str, value: float) -> None:
    first, _ = await graded([rule("r1", {"check": RECENT})], {"at": at}, now=lambda: NOW)
    assert isinstance(first, Score)
    assert first.value == value


def test_a_rule_without_a_check_is_for_the_judge() -> None:
    assert outcome_check(rule("r1")) is None
    assert outcome_check(rule("r1", {"entity_type": "order", "check": SHIPPED})) == OutcomeCheck(
        check=SHIPPED, entity_type="order"
    )


def written(tmp_path: Path, check: Any) -> Path:
    path = tmp_path / "rubric.json"
    given = {"id": "r1", "name": "Ships it", "severity": "high", "outcome_check": check}
    path.write_text(json.dumps({"name": "R", "rules": [given]}))
    return path


def test_a_rubric_file_brings_checks_without_a_warning_and_writes_them_back(tmp_path: Path) -> None:
    check = {"entity_type": "order", "check": {"all": [SHIPPED, {"not": RECENT}]}}
    warnings: list[Problem] = []
    rubric = read_rubric(written(tmp_path, check), warnings.append)
    assert warnings == []
    assert rubric.rules[0].metadata == {"outcome_check": check}
    assert rubric_document(rubric)["rules"][0]["outcome_check"] == check


def test_a_rule_whose_check_is_null_has_none(tmp_path: Path) -> None:
    rubric = read_rubric(written(tmp_path, None))
    assert rubric.rules[0].metadata == {}
    assert "outcome_check" not in rubric_document(rubric)["rules"][0]


@pytest.mark.parametrize(
    ("check", "code", "field"),
    [
        ("status", "wrong-type", "rules[0].outcome_check"),
        ({}, "missing-field", "rules[0].outcome_check.check"),
        ({"check": SHIPPED, "entity": "x"}, "bad-check", "rules[0].outcome_check.entity"),
        ({"check": SHIPPED, "entity_type": 3}, "bad-check", "rules[0].outcome_check.entity_type"),
        (
            {"check": {"any": [{"field": "a", "op": "eq", "value": 1}]}},
            "bad-check",
            "rules[0].outcome_check.check.any[0].op",
        ),
    ],
)
def test_a_malformed_check_is_a_problem_with_its_place(tmp_path: Path, check: Any, code: str, field: str) -> None:
    with pytest.raises(DatasetInvalid) as refused:
        read_rubric(written(tmp_path, check))
    assert [(problem.code, problem.field) for problem in refused.value.problems] == [(code, field)]
    assert refused.value.problems[0].line == 1
