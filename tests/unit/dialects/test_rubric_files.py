"""Rubric files, and the rules that apply."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howsure.dialects.agent_files import RUBRIC_SCHEMA, applicable, is_rubric, read_rubric, rubric_document
from howsure.errors import DatasetInvalid, Level, Problem, UnknownName
from howsure.model.rubric import Rubric, Rule, Scope, Severity
from json_strategies import filled, texts, values

FIXTURE = Path(__file__).parents[2] / "fixtures" / "seed_003_rubric.json"


def rule(**fields: Any) -> dict[str, Any]:
    whole = {"id": "R1", "name": "Brief", "severity": "high", "description": "be brief", **fields}
    return {key: value for key, value in whole.items() if value is not ...}


def a_file(folder: Path, *rules: Any, **fields: Any) -> Path:
    path = folder / "rubric.json"
    path.write_text(json.dumps({"name": "Rules", **fields, "rules": list(rules)}, indent=1), encoding="utf-8")
    return path


def problems_of(path: Path) -> list[Problem]:
    with pytest.raises(DatasetInvalid) as refused:
        read_rubric(path)
    return list(refused.value.problems)


def test_the_schema_knows_the_words_of_the_model() -> None:
    fields = RUBRIC_SCHEMA["properties"]["rules"]["items"]["properties"]
    assert fields["severity"]["enum"] == [one.value for one in Severity]
    assert fields["component_scope"]["enum"] == [*(one.value for one in Scope), None]


def test_the_block_of_the_seed_reads_as_it_stands() -> None:
    rubric = read_rubric(FIXTURE)
    assert rubric.id == "uuid"
    assert rubric.agent_id == "mongodb-objectid"
    assert rubric.version == 1
    assert rubric.name == "O'Connor Internal Ops Associate Rubric"
    assert rubric.severity_definitions["high"] == "Critical violation..."
    assert rubric.rules == (
        Rule(
            id="BRIEF_RESPONSES",
            name="Brief, Focused Responses",
            severity=Severity.MEDIUM,
            category="response_quality",
            description="Agent should provide concise answers...",
            prompt_reference="Section: Communication Style",
            pass_conditions=("Response is under 3 sentences for simple questions",),
            fail_conditions=("Response includes unnecessary preamble or filler",),
            violation="...",
            correct="...",
            scope=Scope.PROMPT,
            component_ids=("objectid", "..."),
            component_names=("HR Handbook KB",),
        ),
    )


def test_the_seed_comes_back_as_it_was() -> None:
    assert rubric_document(read_rubric(FIXTURE)) == json.loads(FIXTURE.read_text())


FAULTS: list[tuple[str, Any, str, str]] = [
    ("id missing", rule(id=...), "missing-field", "id"),
    ("id blank", rule(id=""), "empty", "id"),
    ("name missing", rule(name=...), "missing-field", "name"),
    ("severity missing", rule(severity=...), "missing-field", "severity"),
    ("severity unknown", rule(severity="critical"), "unknown-value", "severity"),
    ("scope unknown", rule(component_scope="tool"), "unknown-value", "component_scope"),
    ("conditions one text", rule(evaluation_criteria={"pass_conditions": "x"}), "wrong-type",
     "evaluation_criteria.pass_conditions"),
    ("condition blank", rule(evaluation_criteria={"fail_conditions": [""]}), "empty",
     "evaluation_criteria.fail_conditions[0]"),
    ("conditions a list", rule(evaluation_criteria=[]), "wrong-type", "evaluation_criteria"),
    ("violation a list", rule(examples={"violation": []}), "wrong-type", "examples.violation"),
    ("component ids one text", rule(component_ids="x"), "wrong-type", "component_ids"),
    ("no object", "R1", "wrong-type", ""),
]  # fmt: skip


@pytest.mark.parametrize(("fault", "code", "field"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS])
def test_each_fault_is_one_problem_at_its_place(tmp_path: Path, fault: Any, code: str, field: str) -> None:
    (problem,) = problems_of(a_file(tmp_path, rule(id="good"), fault))
    assert (problem.code, problem.field) == (code, f"rules[1]{'.' if field else ''}{field}")
    assert problem.line == 10


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "json-syntax"),
        ("[]", "wrong-type"),
        ('{"name": "x"}', "missing-field"),
        ('{"name": "x", "rules": []}', "too-few"),
        ('{"name": "x", "rules": 1}', "wrong-type"),
        ('{"rules": [{"id": "a", "name": "b", "severity": "low"}]}', "missing-field"),
        ('{"name": "x", "severity_definitions": {"high": 1}, "rules": [{"id": "a", "name": "b", "severity": "low"}]}',
         "wrong-type"),
    ],
)  # fmt: skip
def test_faults_of_the_whole_file(tmp_path: Path, text: str, code: str) -> None:
    path = tmp_path / "rubric.json"
    path.write_text(text)
    assert [problem.code for problem in problems_of(path)] == [code]


def test_a_rule_id_used_twice_is_a_problem(tmp_path: Path) -> None:
    (problem,) = problems_of(a_file(tmp_path, rule(), rule()))
    assert (problem.code, problem.field) == ("duplicate-id", "rules[1].id")


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    path = a_file(tmp_path, rule(severity="x"), rule(name=""), version=0)
    assert [problem.code for problem in problems_of(path)] == ["out-of-range", "unknown-value", "empty", "duplicate-id"]


def test_what_is_odd_is_kept_and_told_to_whoever_listens(tmp_path: Path) -> None:
    odd = rule(description=..., owner="me", evaluation_criteria={"weight": 2})
    bare = rule(id="R2", description=...)
    path = a_file(tmp_path, odd, bare, changelog=[1])
    heard: list[Problem] = []
    rubric = read_rubric(path, heard.append)
    assert {problem.level for problem in heard} == {Level.WARNING}
    assert [(problem.code, problem.field) for problem in heard] == [
        ("unknown-field", "changelog"),
        ("unknown-field", "rules[0].owner"),
        ("unknown-field", "rules[0].evaluation_criteria.weight"),
        ("no-conditions", "rules[1].evaluation_criteria"),
    ]
    document = rubric_document(rubric)
    assert document["changelog"] == [1]
    assert document["rules"][0]["owner"] == "me"
    assert document["rules"][0]["evaluation_criteria"] == {"pass_conditions": [], "fail_conditions": [], "weight": 2}


@pytest.mark.parametrize(
    ("head", "known"),
    [(b'{"rubric_id": "x"', True), (b'{"name": "x", "rules": [', True), (b'{"items": []}', False), (b"x", False)],
)
def test_a_rubric_is_known_by_its_keys(head: bytes, known: bool) -> None:
    assert is_rubric(Path("a.json"), head) is known


RUBRIC = Rubric(
    name="r",
    rules=(
        Rule(id="everywhere", name="n", severity=Severity.LOW),
        Rule(id="prompt", name="n", severity=Severity.LOW, scope=Scope.PROMPT),
        Rule(id="kb1", name="n", severity=Severity.LOW, scope=Scope.KNOWLEDGE_BASE, component_ids=("1",)),
        Rule(id="kb12", name="n", severity=Severity.LOW, scope=Scope.KNOWLEDGE_BASE, component_ids=("1", "2")),
    ),
)


@pytest.mark.parametrize(
    ("scope", "ids", "kept"),
    [
        (None, (), ["everywhere", "prompt", "kb1", "kb12"]),
        ("prompt", (), ["everywhere", "prompt"]),
        ("knowledge_base", (), ["everywhere", "kb1", "kb12"]),
        ("knowledge_base", ("2",), ["everywhere", "kb12"]),
        (None, ("2",), ["everywhere", "prompt", "kb12"]),
        (None, ("9",), ["everywhere", "prompt"]),
        ("function", (), ["everywhere"]),
    ],
)
def test_rules_apply_by_scope_and_component_and_those_without_apply_everywhere(
    scope: str | None, ids: tuple[str, ...], kept: list[str]
) -> None:
    assert [one.id for one in applicable(RUBRIC, scope, ids).rules] == kept


def test_a_filter_may_leave_no_rule() -> None:
    only_prompt = Rubric(name="r", rules=(RUBRIC.rules[1],))
    assert applicable(only_prompt, "function").rules == ()


def test_an_unknown_scope_is_refused() -> None:
    with pytest.raises(UnknownName, match="unknown component scope 'tool'; known: function, general"):
        applicable(RUBRIC, "tool")


conditions = st.fixed_dictionaries(
    {}, optional={"pass_conditions": st.lists(filled, max_size=2), "fail_conditions": st.lists(filled), "odd": values}
)
rules: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "id": filled.filter(lambda it: "\0" not in it),
        "name": filled,
        "severity": st.sampled_from(["high", "medium", "low"]),
    },
    optional={
        "category": st.none() | texts,
        "description": st.none() | texts,
        "evaluation_criteria": st.none() | conditions,
        "examples": st.none() | st.fixed_dictionaries({}, optional={"violation": texts, "correct": st.none() | texts}),
        "component_scope": st.sampled_from([None, "prompt", "general"]),
        "component_ids": st.none() | st.lists(filled, max_size=2),
        "odd": values,
    },
)
rubrics: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"name": filled, "rules": st.lists(rules, min_size=1, max_size=3, unique_by=lambda one: one["id"])},
    optional={"rubric_id": texts, "version": st.integers(1, 9), "created_at": texts, "odd": values},
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rubrics)
def test_a_rubric_that_was_written_reads_the_same(tmp_path: Path, document: dict[str, Any]) -> None:
    path, again = tmp_path / "a.json", tmp_path / "b.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    rubric = read_rubric(path)
    again.write_text(json.dumps(rubric_document(rubric)), encoding="utf-8")
    assert read_rubric(again) == rubric
