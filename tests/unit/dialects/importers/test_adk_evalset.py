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
        ToolCalls(expected=(ExpectedCall(name="refund", arguments={"order": "A1"}),)),
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
