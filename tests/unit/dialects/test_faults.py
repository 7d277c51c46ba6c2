"""Every fault a legal or explain file can have, one row of a table each; a file of all of them gives all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dialect_rows import Row, explain, mcq, reference_qa, rubric_qa, write_rows
from howsure.dialects.datasets import read_cases, validate
from howsure.dialects.explain import ExplainDialect
from howsure.dialects.legal import LegalDialect
from howsure.errors import DatasetInvalid

Fault = tuple[Row | bytes, str, str]
"""A row, and the code and field of its one problem."""

TWO = [{"id": "A", "text": "yes"}, {"id": "B", "text": "no"}]


def text(row: Row, old: str, new: str) -> bytes:
    """A row as text, with one piece changed: for faults that no JSON library would write."""
    written = json.dumps(row)
    assert old in written
    return written.replace(old, new).encode("utf-8", "surrogatepass")


LEGAL: dict[str, Fault] = {
    "broken JSON": (b'{"id": "r", }', "json-syntax", ""),
    "not UTF-8": (b'{"id": "\xe9"}', "encoding", ""),
    "a key twice": (
        text(mcq("t1"), '"dataset": "d"', '"dataset": "d", "dataset": "e"'),
        "json-duplicate-key",
        "dataset",
    ),
    "not finite": (text(rubric_qa("t2"), '"weight": 5', '"weight": NaN'), "json-not-finite", "rubric[0].weight"),
    "half a character": (text(mcq("t3"), "Is it?", r"Is \ud800it?"), "json-surrogate", "prompt"),
    "too deep": (mcq(metadata=json.loads('{"a":' * 201 + "1" + "}" * 201)), "json-depth", ""),
    "too many digits": (text(mcq("t4", metadata={"n": 7}), "7", "7" * 5000), "json-number-too-long", "metadata.n"),
    "not an object": (b"[1, 2]", "wrong-type", ""),
    "no id": (mcq(id=...), "missing-field", "id"),
    "blank id": (mcq(id=" "), "empty", "id"),
    "an id twice": (mcq(id="first"), "duplicate-id", "id"),
    "another version": (mcq(schema_version="legal_eval_v2"), "unknown-value", "schema_version"),
    "blank dataset": (mcq(dataset=""), "empty", "dataset"),
    "unknown task type": (mcq(task_type="quiz"), "unknown-value", "task_type"),
    "no prompt": (mcq(prompt=...), "missing-field", "prompt"),
    "blank prompt": (mcq(prompt="\n\t"), "empty", "prompt"),
    "context is no text": (mcq(context=["x"]), "wrong-type", "context"),
    "metadata is no object": (mcq(metadata="x"), "wrong-type", "metadata"),
    "reserved metadata": (mcq(metadata={"unknown_fields": {}}), "reserved-key", "metadata.unknown_fields"),
    "unknown policy": (mcq(metadata={"policy_id": "prbench"}), "unknown-policy", "metadata.policy_id"),
    "policy that is no text": (mcq(metadata={"policy_id": 3}), "wrong-type", "metadata.policy_id"),
    "unknown role": (mcq(messages=[{"role": "tool", "content": "x"}]), "unknown-value", "messages[0].role"),
    "blank message": (mcq(messages=[{"role": "user", "content": " "}]), "empty", "messages[0].content"),
    "message without content": (mcq(messages=[{"role": "user"}]), "missing-field", "messages[0].content"),
    "absolute attachment": (mcq(attachments=[{"path": "/etc/passwd"}]), "attachment-escapes", "attachments[0].path"),
    "climbing attachment": (
        mcq(attachments=[{"path": "here.txt"}, {"path": "a/../../x.pdf"}]),
        "attachment-escapes",
        "attachments[1].path",
    ),
    "attachment kind": (mcq(attachments=[{"path": "here.txt", "kind": 1}]), "wrong-type", "attachments[0].kind"),
    "mcq with a rubric": (mcq(rubric=[{"id": "c", "title": "t"}]), "forbidden-field", "rubric"),
    "mcq with references": (mcq(reference_answers=["x"]), "forbidden-field", "reference_answers"),
    "one choice": (mcq(choices=TWO[:1]), "too-few", "choices"),
    "a choice id twice": (mcq(choices=[*TWO, TWO[0]]), "duplicate-choice-id", "choices[2].id"),
    "choice without text": (mcq(choices=[*TWO, {"id": "C"}]), "missing-field", "choices[2].text"),
    "nothing correct": (mcq(correct_choice_ids=[]), "too-few", "correct_choice_ids"),
    "a correct id twice": (mcq(correct_choice_ids=["A", "A"]), "duplicate-correct-id", "correct_choice_ids[1]"),
    "unknown correct id": (mcq(correct_choice_ids=["C"]), "unknown-correct-id", "correct_choice_ids[0]"),
    "reference_qa without references": (reference_qa(reference_answers=...), "missing-field", "reference_answers"),
    "no references": (reference_qa(reference_answers=[]), "too-few", "reference_answers"),
    "blank reference": (reference_qa(reference_answers=["x", ""]), "empty", "reference_answers[1]"),
    "reference_qa with choices": (reference_qa(choices=TWO), "forbidden-field", "choices"),
    "rubric_qa with correct ids": (rubric_qa(correct_choice_ids=["A"]), "forbidden-field", "correct_choice_ids"),
    "no rubric": (rubric_qa(rubric=...), "missing-field", "rubric"),
    "empty rubric": (rubric_qa(rubric=[]), "too-few", "rubric"),
    "a criterion id twice": (
        rubric_qa(rubric=[{"id": "c", "title": "t"}, {"id": "c", "title": "u"}]),
        "duplicate-criterion-id",
        "rubric[1].id",
    ),
    "criterion without title": (rubric_qa(rubric=[{"id": "c"}]), "missing-field", "rubric[0].title"),
    "weight is a boolean": (
        rubric_qa(rubric=[{"id": "c", "title": "t", "weight": True}]),
        "wrong-type",
        "rubric[0].weight",
    ),
    "weight too large": (
        rubric_qa(rubric=[{"id": "c", "title": "t", "weight": 10**400}]),
        "out-of-range",
        "rubric[0].weight",
    ),
}

INPUTS = {"input": "Start with the basics.", "question": "What should I study?"}
CALL = {"tool": "search", "arguments": {"q": "x"}}


def inputs(name: str, **payload: Any) -> Row:
    """The explain_inputs of a row, with this payload beside the one it has."""
    return {"CoherenceExplain": INPUTS, name: {**INPUTS, **payload}}


EXPLAIN: dict[str, Fault] = {
    "broken JSON": (b'{"case_id": ', "json-syntax", ""),
    "a key twice": (text(explain(901), '"phase"', '"difficulty": "hard", "phase"'), "json-duplicate-key", "difficulty"),
    "not an object": (b'"x"', "wrong-type", ""),
    "no case_id": (explain(case_id=...), "missing-field", "case_id"),
    "case_id of another agent": (explain(case_id="study-plan-generator-001"), "bad-pattern", "case_id"),
    "an id twice": (explain(0), "duplicate-id", "case_id"),
    "blank scenario": (explain(scenario_id=""), "empty", "scenario_id"),
    "unknown scenario": (explain(scenario_id="SCN-999"), "unknown-scenario", "scenario_id"),
    "no agent": (explain(agent_name=...), "missing-field", "agent_name"),
    "no phase": (explain(phase=...), "missing-field", "phase"),
    "unknown phase": (explain(phase="review"), "unknown-value", "phase"),
    "unknown difficulty": (explain(difficulty="Easy"), "unknown-value", "difficulty"),
    "unknown band": (explain(quality_band="great"), "unknown-value", "quality_band"),
    "unknown level": (explain(learner_level="expert"), "unknown-value", "learner_level"),
    "no topic": (explain(topic_family=...), "missing-field", "topic_family"),
    "blank question": (explain(question=" ", explain_inputs=...), "empty", "question"),
    "context is no text": (explain(context=5), "wrong-type", "context"),
    "answer is no text": (explain(model_answer={"a": 1}, explain_inputs=...), "wrong-type", "model_answer"),
    "calls without an answer": (
        explain(model_answer=..., explain_inputs=..., invoked_tool_calls=[CALL]),
        "missing-field",
        "model_answer",
    ),
    "tools are no list": (explain(available_tools="search"), "wrong-type", "available_tools"),
    "blank tool": (explain(available_tools=["search", ""]), "empty", "available_tools[1]"),
    "call without a tool": (
        explain(expected_tool_calls=[{"arguments": {}}]),
        "missing-field",
        "expected_tool_calls[0].tool",
    ),
    "arguments are a list": (
        explain(invoked_tool_calls=[{"tool": "search", "arguments": []}]),
        "wrong-type",
        "invoked_tool_calls[0].arguments",
    ),
    "arguments are no JSON": (
        explain(invoked_tool_calls=[{"tool": "search", "arguments": "{q: x}"}]),
        "not-an-object",
        "invoked_tool_calls[0].arguments",
    ),
    "misspelt matcher": (
        explain(expected_tool_calls=[{"tool": "search", "arguments": {"q": {"$regx": "x"}}}]),
        "bad-matcher",
        "expected_tool_calls[0].arguments.q.$regx",
    ),
    "unknown eval": (explain(required_evals=["CoherenceExplain", "HumorExplain"]), "unknown-eval", "required_evals[1]"),
    "eval is no name": (explain(required_evals=["CoherenceExplain", 5]), "unknown-value", "required_evals[1]"),
    "unknown payload": (explain(explain_inputs=inputs("HumorExplain")), "unknown-eval", "explain_inputs.HumorExplain"),
    "payload twice": (
        explain(explain_inputs=inputs("coherenceexplain")),
        "duplicate-eval",
        "explain_inputs.coherenceexplain",
    ),
    "payload without a key": (
        explain(explain_inputs=inputs("RelevanceExplain")),
        "missing-field",
        "explain_inputs.RelevanceExplain.context",
    ),
    "rag mode": (
        explain(context="c", explain_inputs=inputs("PerceivedIntelligenceExplain", context="c", rag_mode="rag")),
        "unknown-value",
        "explain_inputs.PerceivedIntelligenceExplain.rag_mode",
    ),
    "another input": (
        explain(explain_inputs=inputs("FluencyExplain", input="Start with the end.")),
        "explain-inputs-disagree",
        "explain_inputs.FluencyExplain.input",
    ),
    "another question": (
        explain(explain_inputs=inputs("EmpathyExplain", question="Why?")),
        "explain-inputs-disagree",
        "explain_inputs.EmpathyExplain.question",
    ),
    "another context": (
        explain(context="c", explain_inputs=inputs("RelevanceExplain", context="d")),
        "explain-inputs-disagree",
        "explain_inputs.RelevanceExplain.context",
    ),
    "another intent": (
        explain(relevant_context="c", explain_inputs=inputs("IntentResolutionExplain", relevantContext="d")),
        "explain-inputs-disagree",
        "explain_inputs.IntentResolutionExplain.relevantContext",
    ),
    "another goal": (
        explain(task_goal="g", explain_inputs=inputs("TaskAdherenceExplain", goal="h")),
        "explain-inputs-disagree",
        "explain_inputs.TaskAdherenceExplain.goal",
    ),
    "other tools": (
        explain(
            available_tools=["search"],
            explain_inputs=inputs("ToolCallAccuracyExplain", availableTools='["find"]', invokedTools="[]"),
        ),
        "explain-inputs-disagree",
        "explain_inputs.ToolCallAccuracyExplain.availableTools",
    ),
    "other calls": (
        explain(
            invoked_tool_calls=[CALL],
            explain_inputs=inputs("ToolCallAccuracyExplain", availableTools=[], invokedTools=[]),
        ),
        "explain-inputs-disagree",
        "explain_inputs.ToolCallAccuracyExplain.invokedTools",
    ),
    "tools that cannot be read": (
        explain(explain_inputs=inputs("ToolCallAccuracyExplain", availableTools="search, find", invokedTools=[])),
        "not-a-list",
        "explain_inputs.ToolCallAccuracyExplain.availableTools",
    ),
    "no goal for task adherence": (
        explain(required_evals=["CoherenceExplain", "TaskAdherenceExplain"]),
        "missing-field",
        "task_goal",
    ),
    "no tools for tool accuracy": (
        explain(required_evals=["CoherenceExplain", "ToolCallAccuracyExplain"]),
        "missing-field",
        "available_tools",
    ),
    "unknown profile": (explain(threshold_profile="strict"), "unknown-profile", "threshold_profile"),
}


def numbered(faults: dict[str, Fault], field: str) -> list[Row | bytes]:
    """The rows with an id of their own each, except where the id is the fault."""
    rows: list[Row | bytes] = []
    for number, (row, _, at) in enumerate(faults.values(), 1):
        if isinstance(row, dict) and at != field and field in row:
            row = {**row, field: f"learning-path-curator-{number:03}" if field == "case_id" else f"row-{number}"}
        rows.append(row)
    return rows


@pytest.fixture
def legal_file(tmp_path: Path) -> Path:
    (tmp_path / "here.txt").touch()
    return tmp_path / "faults.jsonl"


@pytest.fixture
def explain_file(tmp_path: Path) -> Path:
    write_rows(tmp_path / "scenario-catalog.jsonl", [{"scenario_id": "SCN-001"}])
    return tmp_path / "faults.explain.jsonl"


@pytest.mark.parametrize("name", LEGAL)
def test_each_legal_fault_is_one_problem(name: str, legal_file: Path) -> None:
    row, code, field = LEGAL[name]
    report = validate(write_rows(legal_file, [mcq("first"), row]), LegalDialect())
    assert [(problem.code, problem.field, problem.line) for problem in report.problems] == [(code, field, 2)]
    assert report.problems[0].message
    assert report.problems[0].file == str(legal_file)
    assert (report.cases, report.valid) == (1, False)


@pytest.mark.parametrize("name", EXPLAIN)
def test_each_explain_fault_is_one_problem(name: str, explain_file: Path) -> None:
    row, code, field = EXPLAIN[name]
    report = validate(write_rows(explain_file, [explain(0), row]), ExplainDialect())
    assert [(problem.code, problem.field, problem.line) for problem in report.problems] == [(code, field, 2)]
    assert report.problems[0].message
    assert report.problems[0].file == str(explain_file)
    assert (report.cases, report.valid) == (1, False)


def test_a_file_of_all_legal_faults_gives_each_of_them_in_one_report(legal_file: Path) -> None:
    assert len(LEGAL) >= 30
    write_rows(legal_file, [mcq("first"), *numbered(LEGAL, "id")])
    report = validate(legal_file, LegalDialect())
    found = [(problem.line, problem.code, problem.field) for problem in report.problems]
    assert found == [(line, code, field) for line, (_, code, field) in enumerate(LEGAL.values(), 2)]


def test_thirty_different_faults_are_thirty_different_problems(legal_file: Path) -> None:
    thirty = list({(code, field): row for row, code, field in LEGAL.values()}.items())[:30]
    rows = numbered({str(at): (row, *place) for at, (place, row) in enumerate(thirty)}, "id")
    report = validate(write_rows(legal_file, [mcq("first"), *rows]), LegalDialect())
    assert len(report.problems) == 30
    assert len({(problem.code, problem.field) for problem in report.problems}) == 30


def test_a_file_of_all_explain_faults_gives_each_of_them_in_one_report(explain_file: Path) -> None:
    assert len(EXPLAIN) >= 30
    write_rows(explain_file, [explain(0), *numbered(EXPLAIN, "case_id")])
    report = validate(explain_file, ExplainDialect())
    found = [(problem.line, problem.code, problem.field) for problem in report.problems]
    assert found == [(line, code, field) for line, (_, code, field) in enumerate(EXPLAIN.values(), 2)]


def test_not_one_case_is_given_of_a_file_with_problems(legal_file: Path) -> None:
    write_rows(legal_file, [mcq("first"), *numbered(LEGAL, "id")])
    with pytest.raises(DatasetInvalid) as raised:
        read_cases(legal_file, LegalDialect())
    assert len(raised.value.problems) == len(LEGAL)


def test_a_row_with_several_faults_tells_all_of_them(legal_file: Path) -> None:
    row = mcq(" ", dataset=5, choices=[TWO[0], TWO[0]], correct_choice_ids=["Z"], rubric=[], context=None)
    report = validate(write_rows(legal_file, [row]), LegalDialect())
    assert sorted((problem.code, problem.field) for problem in report.problems) == [
        ("duplicate-choice-id", "choices[1].id"),
        ("empty", "id"),
        ("forbidden-field", "rubric"),
        ("unknown-correct-id", "correct_choice_ids[0]"),
        ("wrong-type", "context"),
        ("wrong-type", "dataset"),
    ]
