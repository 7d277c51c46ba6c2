"""ADK eval sets: the form with `eval_cases`, and the older lists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adk_files import said
from howsure.dialects.datasets import read_cases, validate
from howsure.dialects.importers.adk_evalset import AdkEvalSetImporter
from howsure.dialects.importers.base import ImportOptions
from howsure.dialects.importers.raw_logs import RawLogImporter
from howsure.model.case import Case, PlanStep, Scenario, Script
from howsure.model.expectation import AgentsInvolved, ExpectedCall, FinalState, ToolCalls, Trajectory


def invocation(text: str, answer: str = "", **data: Any) -> dict[str, Any]:
    turn: dict[str, Any] = {"user_content": said(text, "user"), "final_response": said(answer) if answer else None}
    return {**turn, **({"intermediate_data": data} if data else {})}


def eval_set(*cases: Any) -> dict[str, Any]:
    return {"eval_set_id": "s", "eval_cases": list(cases)}


def read(folder: Path, document: Any, **options: Any) -> list[Case]:
    path = folder / "a.evalset.json"
    path.write_text(json.dumps(document))
    return list(read_cases(path, AdkEvalSetImporter(ImportOptions(**options))))


def test_a_case_becomes_a_question_with_its_calls_and_state(tmp_path: Path) -> None:
    turns = [
        invocation("Hi", "Hello", tool_uses=[], intermediate_responses=[]),
        invocation("Refund A1", "Done", tool_uses=[{"name": "refund", "args": {"order": "A1"}}]),
    ]
    session = {"app_name": "shop", "user_id": "u", "state": {"tier": "gold", "__llm_request_key__": "x"}}
    case = {
        "eval_id": "r1",
        "conversation": turns,
        "session_input": session,
        "final_session_state": {"refunded": True},
    }
    (question,) = read(tmp_path, eval_set(case))
    assert question.id == "r1"
    assert question.input == Script(turns=("Hi", "Refund A1"))
    assert question.state == {"tier": "gold"}
    assert question.expectations == (
        ToolCalls(expected=(ExpectedCall(name="refund", arguments={"order": "A1"}, turn=2),)),
        FinalState(variables={"refunded": True}),
    )
    assert question.metadata["reference_data"]["expected_responses"] == ["Hello", "Done"]


def test_the_name_of_an_app_is_kept_and_is_no_agent_that_must_take_part(tmp_path: Path) -> None:
    case = {"eval_id": "r1", "conversation": [invocation("Hi", "Hello")], "session_input": {"app_name": "shop"}}
    (question,) = read(tmp_path, eval_set(case))
    assert question.expectations == ()
    assert question.metadata["metadata"]["app_name"] == "shop"
    assert question.labels == {"source_file": "a.evalset.json", "app_name": "shop", "agent": "shop"}
    (named,) = read(tmp_path, eval_set(case), agent="root")
    assert named.expectations == (Trajectory(steps=("root",)), AgentsInvolved(names=("root",)))
    assert named.metadata["metadata"]["app_name"] == "shop"


def test_calls_may_be_told_as_events_and_keys_in_camel_case(tmp_path: Path) -> None:
    call = {"content": {"parts": [{"functionCall": {"name": "look", "args": {"a": 1}}}]}}
    turn = {"userContent": said("x", "user"), "intermediateData": {"invocationEvents": [call]}}
    (question,) = read(tmp_path, {"evalSetId": "s", "evalCases": [{"evalId": "c", "conversation": [turn]}]})
    assert question.expectations == (ToolCalls(expected=(ExpectedCall(name="look", arguments={"a": 1}),)),)


def test_the_older_list_names_conversations(tmp_path: Path) -> None:
    (question,) = read(tmp_path, [{"name": "n1", "data": [{"query": "a", "expected_tool_use": []}, {"query": "b"}]}])
    assert (question.id, question.input) == ("n1", Script(turns=("a", "b")))
    assert question.expectations == ()  # nobody knows what the second turn calls


def test_the_oldest_list_is_the_turns_of_one(tmp_path: Path) -> None:
    (question,) = read(tmp_path, [{"query": "a"}, {"query": "b"}])
    assert question.input == Script(turns=("a", "b"))


def test_a_scenario_keeps_its_plan_with_conditions(tmp_path: Path) -> None:
    plan = "Ask for a refund. If the agent offers a voucher, decline it."
    case = {"eval_id": "s1", "conversation_scenario": {"starting_prompt": "Hi", "conversation_plan": plan}}
    (question,) = read(tmp_path, eval_set(case))
    assert isinstance(question.input, Scenario)
    assert question.input.plan == (
        PlanStep(say="Ask for a refund."),
        PlanStep(say="decline it.", when="the agent offers a voucher"),
    )


@pytest.mark.parametrize(
    ("document", "code", "field"),
    [
        ({"eval_set_id": "s"}, "wrong-kind", ""),
        ({"eval_cases": [{"eval_id": "x", "conversation": []}]}, "missing-field", "eval_cases[0].conversation"),
        ({"eval_cases": [3]}, "wrong-kind", "eval_cases[0]"),
        (
            {"eval_cases": [{"eval_id": "x", "conversation": [{"user_content": {"parts": [{"inline_data": {}}]}}]}]},
            "no-user-text",
            "eval_cases[0].conversation[0].user_content",
        ),
        ([{"name": "n", "data": []}], "wrong-kind", "[0].data"),
        ([{"name": "n", "data": [{"q": 1}]}], "missing-field", "[0].data[0].query"),
        ("text", "wrong-kind", ""),
    ],
    ids=["no cases", "no turns", "a number", "a picture alone", "no data", "no query", "a text"],
)
def test_what_is_no_eval_set_is_a_problem_with_its_place(document: Any, code: str, field: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document))
    problems = validate(path, AdkEvalSetImporter()).problems
    assert [(problem.code, problem.field) for problem in problems[:1]] == [(code, field)]


def test_two_cases_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    case = {"eval_id": "same", "conversation": [invocation("a")]}
    path.write_text(json.dumps(eval_set(case, case), indent=1))
    assert [problem.code for problem in validate(path, AdkEvalSetImporter()).problems] == ["duplicate-id"]


RUBRIC = {"rubricId": "polite", "rubricContent": {"textProperty": "Is polite."}, "type": "FINAL_RESPONSE_QUALITY"}
SAFETY = {"rubric_id": "safe", "rubric_content": {"text_property": "Is safe."}}
CONFIG = {
    "criteria": {
        "tool_trajectory_avg_score": {"threshold": 1.0, "matchType": "in order", "ignoreArgs": True},
        "response_match_score": 0.5,
        "rubric_based_tool_use_quality_v1": {
            "threshold": 0.8,
            "judge_model_options": {"num_samples": 3},
            "rubrics": [SAFETY],
        },
        "mine": 0.3,
    },
    "custom_metrics": {"mine": {"code_config": {"name": "my.metric"}}},
    "user_simulator_config": {"model": "m"},
}


def test_rubrics_and_the_criteria_beside_the_file_are_carried_and_the_rest_is_lost_aloud(tmp_path: Path) -> None:
    turns = [invocation("a", "b", tool_uses=[]), {**invocation("c", "d", tool_uses=[]), "rubrics": [SAFETY]}]
    (tmp_path / "test_config.json").write_text(json.dumps(CONFIG))
    path = tmp_path / "a.evalset.json"
    path.write_text(json.dumps(eval_set({"eval_id": "r1", "conversation": turns, "rubrics": [RUBRIC]})))
    importer = AdkEvalSetImporter()
    (question,) = read_cases(path, importer)
    reference = question.metadata["reference_data"]
    assert reference["adk_criteria"] == {
        "tool_trajectory_avg_score": {"threshold": 1.0, "match_type": "IN_ORDER", "ignore_args": True},
        "response_match_score": 0.5,
        "rubric_based_tool_use_quality_v1": {"threshold": 0.8, "rubrics": [{"rubric_id": "safe", "text": "Is safe."}]},
    }
    assert reference["adk_rubrics"] == [
        {"rubric_id": "polite", "text": "Is polite.", "type": "FINAL_RESPONSE_QUALITY"},
        {"rubric_id": "safe", "text": "Is safe.", "turn": 2},
    ]
    assert sorted(field for _, field, _ in importer.losses) == [
        "criteria.mine",
        "criteria.rubric_based_tool_use_quality_v1.judge_model_options",
        "user_simulator_config",
    ]
    assert {id for id, _, _ in importer.losses} == {"r1"}


def test_what_a_case_has_no_place_for_is_lost_aloud(tmp_path: Path) -> None:
    picture = {"inline_data": {"mime_type": "image/png", "data": "aGk="}, "text": None}
    turn = {
        "user_content": {"parts": [{"text": "What is this?", "thought": None}, picture]},
        "final_response": {
            "parts": [{"text": "A cat?", "thought": True}, {"text": "A cat.", "thought_signature": "x"}]
        },
        "intermediate_data": {"tool_uses": [], "tool_responses": [{"name": "see", "response": {"ok": True}}]},
    }
    session = {"app_name": "zoo", "user_id": "u7", "session_id": "", "state": {}, "locale": "de"}
    plain = {"user_content": {"parts": [{"text": "Hi", "inline_data": None}]}}
    cases = [
        {"eval_id": "full", "conversation": [turn], "session_input": session, "creation_timestamp": 1.5, "note": "x"},
        {"eval_id": "plain", "conversation": [plain], "session_input": {"app_name": "zoo", "user_id": ""}},
    ]
    path = tmp_path / "a.evalset.json"
    path.write_text(json.dumps(eval_set(*cases)))
    importer = AdkEvalSetImporter()
    assert [case.id for case in read_cases(path, importer)] == ["full", "plain"]
    assert [(id, field) for id, field, _ in importer.losses] == [
        ("full", "note"),
        ("full", "session_input.user_id"),
        ("full", "session_input.locale"),
        ("full", "conversation.user_content"),
        ("full", "conversation.final_response"),
        ("full", "conversation.intermediate_data"),
    ]


def test_a_file_of_criteria_may_be_named_and_older_lists_have_them_too(tmp_path: Path) -> None:
    (tmp_path / "test_config.json").write_text('{"criteria": {"safety_v1": 1.0}}')
    (tmp_path / "mine.json").write_text('{"criteria": {"response_match_score": 0.2}}')
    path = tmp_path / "a.test.json"
    path.write_text(json.dumps([{"query": "a"}]))
    assert AdkEvalSetImporter().detect(path, path.read_bytes())
    assert not RawLogImporter().detect(path, path.read_bytes())
    for options, criteria in (
        (ImportOptions(), {"safety_v1": 1.0}),
        (ImportOptions(criteria=tmp_path / "mine.json"), {"response_match_score": 0.2}),
    ):
        (question,) = read_cases(path, AdkEvalSetImporter(options))
        assert question.metadata["reference_data"]["adk_criteria"] == criteria


@pytest.mark.parametrize(
    ("criteria", "code", "field"),
    [
        ({"tool_trajectory_avg": 1.0}, "unknown-name", "criteria.tool_trajectory_avg"),
        ({"token_usage_v1": 1.0}, "unknown-name", "criteria.token_usage_v1"),
        ({"safety_v1": "high"}, "wrong-kind", "criteria.safety_v1.threshold"),
        (
            {"tool_trajectory_avg_score": {"threshold": 1, "match_type": 7}},
            "unknown-value",
            "criteria.tool_trajectory_avg_score.match_type",
        ),
        ([], "wrong-kind", "criteria"),
    ],
)
def test_criteria_that_nobody_knows_are_problems_of_their_file(
    criteria: Any, code: str, field: str, tmp_path: Path
) -> None:
    (tmp_path / "test_config.json").write_text(json.dumps({"criteria": criteria}))
    path = tmp_path / "a.evalset.json"
    path.write_text(json.dumps(eval_set({"eval_id": "c", "conversation": [invocation("a")]})))
    (problem,) = validate(path, AdkEvalSetImporter()).problems
    assert (Path(problem.file).name, problem.code, problem.field) == ("test_config.json", code, field)


PERSONA = {
    "id": "CURT",
    "description": "Says little.",
    "behaviors": [{"name": "b", "behavior_instructions": ["Answer in one word."], "violation_rubrics": ["Talks."]}],
}


@pytest.mark.parametrize(
    ("persona", "words", "lost"),
    [
        (PERSONA, "Says little.\n- Answer in one word.", ["user_persona.behaviors.violation_rubrics"]),
        ("NOVICE", "A newcomer, friendly and patient", []),
        ("A pirate", "A pirate", []),
        (None, "A user of the agent.", []),
    ],
    ids=["their own", "built in", "another name", "none"],
)
def test_a_list_of_scenarios_keeps_its_personas(persona: Any, words: str, lost: list[str], tmp_path: Path) -> None:
    scenario = {"starting_prompt": "Hi", "conversation_plan": "Ask for a refund.", "user_persona": persona}
    path = tmp_path / "scenarios.json"
    path.write_text(json.dumps({"scenarios": [scenario]}))
    importer = AdkEvalSetImporter()
    assert importer.detect(path, path.read_bytes())
    (case,) = read_cases(path, importer)
    assert isinstance(case.input, Scenario)
    assert case.input.persona.startswith(words)
    assert (case.input.initial_message, case.input.plan) == ("Hi", (PlanStep(say="Ask for a refund."),))
    assert [field for _, field, _ in importer.losses] == lost
