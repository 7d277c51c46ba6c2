"""The small words: severities, scopes, verdicts, profiles and figures as they are stored."""

from __future__ import annotations

from enum import Enum

import msgspec
import pytest

from howsure.model.agent import Agent, AgentTool, KnowledgeBase
from howsure.model.calibration import Figure, LabelCoverage
from howsure.model.rubric import OUTCOME_CHECK, Rubric, Rule, Scope, Severity
from howsure.model.score import Direction, Score
from howsure.model.verdict import Decision, Normalization, Profile, Verdict


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (Severity, ["high", "medium", "low"]),
        (Scope, ["prompt", "knowledge_base", "function", "general"]),
        (Verdict, ["passed", "failed", "errored", "skipped"]),
        (Normalization, ["points", "min_max"]),
        (Direction, ["higher", "lower", "neither"]),
    ],
)
def test_the_values_that_files_and_stores_hold_are_fixed(kind: type[Enum], stored: list[str]) -> None:
    assert [each.value for each in kind] == stored


@pytest.mark.parametrize("severity", ["critical", "HIGH", "", None, 1])
def test_a_severity_nobody_knows_is_refused(severity: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"id": "r", "name": "r", "severity": severity}, type=Rule)


def test_a_rule_cannot_be_without_severity() -> None:
    with pytest.raises(TypeError, match="severity"):
        Rule(id="r", name="r")  # type: ignore[call-arg]


def test_a_rule_without_scope_is_not_one_about_everything() -> None:
    assert Rule(id="r", name="r", severity=Severity.LOW).scope is None
    assert OUTCOME_CHECK == "outcome_check"


def test_a_rubric_is_in_its_first_version_until_it_says_otherwise() -> None:
    assert Rubric(name="house", rules=()).version == 1


def test_a_profile_gates_nothing_until_it_says_so() -> None:
    profile = Profile(name="quiet")
    assert (profile.marks, profile.weights, profile.hard_fails, profile.composite_mark) == ({}, {}, {}, None)
    assert profile.normalization is Normalization.POINTS


def test_two_profiles_share_no_marks() -> None:
    one, other = Profile(name="a"), Profile(name="b")
    one.marks["choice"] = 0.5
    assert other.marks == {}


def test_an_agent_without_a_model_or_harness_says_so() -> None:
    agent = Agent(id="1", name="Juno", tools=(AgentTool(tool_name="search"),))
    assert msgspec.json.encode(agent) == b'{"id":"1","name":"Juno","tools":[{"tool_name":"search"}]}'
    assert agent.model is None
    assert agent.harness is None
    assert msgspec.json.decode(b'{"id":"1","name":"J","harness":{}}', type=Agent).harness == {}


def test_a_knowledge_base_of_no_documents_is_not_one_nobody_counted() -> None:
    assert KnowledgeBase(id="1", name="k").document_count is None
    stored = msgspec.json.encode(KnowledgeBase(id="1", name="k", document_count=0))
    assert stored == b'{"id":"1","name":"k","document_count":0}'


def test_a_figure_that_is_not_defined_is_null_and_not_zero() -> None:
    assert msgspec.json.encode(Figure()) == b'{"value":null,"interval":null,"n":0}'
    assert Figure(value=0.0) != Figure()


def test_an_interval_has_two_ends() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"value": 0.5, "interval": [0.1]}, type=Figure)


def test_nothing_is_covered_at_first() -> None:
    coverage = LabelCoverage()
    assert {getattr(coverage, name) for name in coverage.__struct_fields__} == {0}


def test_a_decision_keeps_the_grades_it_rests_on() -> None:
    grade = Score(name="choice", value=1.0, pass_mark=1.0)
    decision = Decision(verdict=Verdict.PASSED, reasons=("all held",), grades=(grade,))
    assert msgspec.json.decode(msgspec.json.encode(decision), type=Decision) == decision
