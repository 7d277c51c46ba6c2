"""The importer of tau2 tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmark_files import Row, faults, imported, report, tau2, written
from howsure.dialects.datasets import read_cases
from howsure.dialects.golden import GoldenDialect
from howsure.dialects.importers.base import ImportOptions
from howsure.dialects.importers.tau2 import OPENING, Tau2GoldenImporter, Tau2Importer
from howsure.model.case import Fact, PlanStep, Scenario, Script
from howsure.model.expectation import Criteria, ExpectedCall, ToolCalls

IMPORTER, GOLDEN = Tau2Importer(), Tau2GoldenImporter()


def file_of(folder: Path, *tasks: Any) -> Path:
    return written(folder, "tasks.json", json.dumps(list(tasks), indent=1))


def criteria_of(**fields: Any) -> Row:
    return {"evaluation_criteria": {**tau2()["evaluation_criteria"], **fields}}


def told(**fields: Any) -> Row:
    user = tau2()["user_scenario"]
    return {"user_scenario": {**user, "instructions": {**user["instructions"], **fields}}}


def test_a_task_becomes_a_scenario(tmp_path: Path) -> None:
    (case,) = imported(IMPORTER, file_of(tmp_path, tau2()))
    assert case.id == "retail-0"
    assert case.world == "test-set"
    assert case.input == Scenario(
        persona="You are in a hurry.",
        initial_message=OPENING,
        max_turns=20,
        goal="You want to exchange the keyboard of order #W1.",
        facts=(
            Fact(name="known_info", value="You are Yusuf Rossi in zip code 19122.", asked_by=("name", "zip code")),
            Fact(name="unknown_info", value="You do not remember your email address.", asked_by=("email", "address")),
        ),
        plan=(PlanStep(say="You want to exchange the keyboard of order #W1."),),
    )


def test_what_depends_on_the_agent_is_said_only_then(tmp_path: Path) -> None:
    wish = "You want a refund. It was a gift. When the agent asks for confirmation, change your mind."
    manner = "You are calm. If the agent offers a voucher, decline it."
    (case,) = imported(IMPORTER, file_of(tmp_path, tau2(**told(reason_for_call=wish, task_instructions=manner))))
    assert isinstance(case.input, Scenario)
    assert case.input.plan == (
        PlanStep(say="You want a refund. It was a gift."),
        PlanStep(say="change your mind.", when="the agent asks for confirmation"),
        PlanStep(say="decline it.", when="the agent offers a voucher"),
    )
    assert case.input.goal == wish


def test_actions_are_expected_calls_and_only_compared_arguments_count(tmp_path: Path) -> None:
    (case,) = imported(IMPORTER, file_of(tmp_path, tau2()))
    (calls,) = [one for one in case.expectations if isinstance(one, ToolCalls)]
    assert calls.expected == (
        ExpectedCall(name="get_order", arguments={"order_id": "#W1"}),
        ExpectedCall(name="transfer", arguments={"queue": "b"}),
    )


def test_assertions_and_information_are_criteria(tmp_path: Path) -> None:
    (case,) = imported(IMPORTER, file_of(tmp_path, tau2()))
    (criteria,) = [one for one in case.expectations if isinstance(one, Criteria)]
    assert [one.text for one in criteria.criteria] == [
        "Agent should not refund.",
        "The agent tells the user: 44.08",
    ]


def test_nothing_of_the_task_is_lost(tmp_path: Path) -> None:
    (case,) = imported(IMPORTER, file_of(tmp_path, tau2()))
    kept = case.metadata["inputs"]["tau2"]
    assert kept["evaluation_criteria"] == tau2()["evaluation_criteria"]
    assert kept["description"] == {"purpose": "an exchange"}
    assert kept["instructions"] == tau2()["user_scenario"]["instructions"]


@pytest.mark.parametrize(
    ("fields", "persona"),
    [
        ({"user_scenario": {"persona": "Blunt.", "instructions": "Get a refund."}}, "Blunt."),
        (told(task_instructions="."), "You are Yusuf Rossi in zip code 19122."),
        (told(task_instructions=".", known_info=None), "A customer."),
    ],
    ids=["told", "a full stop says nothing", "nothing known"],
)
def test_the_persona_is_the_best_there_is(fields: Row, persona: str, tmp_path: Path) -> None:
    (case,) = imported(IMPORTER, file_of(tmp_path, tau2(**fields)))
    assert isinstance(case.input, Scenario)
    assert case.input.persona == persona


def test_ids_are_the_tasks_own_with_the_domain_before_them(tmp_path: Path) -> None:
    plain = tau2(id="create_1", user_scenario={"instructions": "Create a task."})
    assert [case.id for case in imported(IMPORTER, file_of(tmp_path, plain, tau2()))] == ["create_1", "retail-0"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        (criteria_of(actions=[]), "[0].evaluation_criteria.actions"),
        (
            criteria_of(actions=[{"name": "toggle", "requestor": "user", "arguments": {}}]),
            "[0].evaluation_criteria.actions[0]",
        ),
        (criteria_of(env_assertions=[{"func_name": "f"}]), "[0].evaluation_criteria.env_assertions"),
        ({"initial_state": {"message_history": [{"role": "user"}]}}, "[0].initial_state.message_history"),
    ],
    ids=["no actions", "the user's action", "assertions", "history"],
)
def test_what_is_not_carried_is_said(fields: Row, field: str, tmp_path: Path) -> None:
    found = report(IMPORTER, file_of(tmp_path, tau2(**fields)))
    assert found.valid
    assert [(one.code, one.field) for one in found.warnings] == [("not-carried", field)]


def test_an_empty_list_of_actions_forbids_no_reading(tmp_path: Path) -> None:
    (case,) = imported(IMPORTER, file_of(tmp_path, tau2(**criteria_of(actions=[]))))
    assert not any(isinstance(one, ToolCalls) for one in case.expectations)


def test_as_golden_it_is_one_message_with_the_calls_and_the_rest_in_the_reference(tmp_path: Path) -> None:
    (case,) = imported(GOLDEN, file_of(tmp_path, tau2()))
    assert case.input == Script(
        turns=(
            "You want to exchange the keyboard of order #W1.\n\nYou are Yusuf Rossi in zip code 19122.\n\n"
            "You do not remember your email address.\n\nYou are in a hurry.",
        )
    )
    assert [type(one) for one in case.expectations] == [ToolCalls]
    assert case.metadata["reference_data"]["nl_assertions"] == ["Agent should not refund."]
    assert case.labels == {"source": "tau2", "domain": "retail"}
    path = tmp_path / "tau_golden.json"
    GoldenDialect().write([case], path)
    # the name of the file gives the agent
    assert [one.input for one in read_cases(path, GoldenDialect())] == [case.input]


def test_it_is_read_so_for_golden_files_and_where_it_is_asked_for() -> None:
    assert not GOLDEN.detect(Path("tasks.json"), b'[{"user_scenario": {}}]')
    assert IMPORTER.detect(Path("tasks.json"), b'[{"user_scenario": {}}]')
    chosen = [IMPORTER.chosen(ImportOptions(to=kind)).name for kind in ("golden", "test-set", "")]
    assert chosen == ["tau2-golden", "tau2", "tau2"]
    assert GOLDEN.chosen(ImportOptions(to="test-set")) is GOLDEN


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (3, [(2, "[0]", "wrong-type")]),
        (tau2(id=...), [(2, "[0].id", "missing-field")]),
        (tau2(user_scenario=...), [(2, "[0].user_scenario", "missing-field")]),
        (tau2(user_scenario={"instructions": " "}), [(2, "[0].user_scenario.instructions", "empty")]),
        (
            tau2(**criteria_of(actions=[{"arguments": {}}])),
            [(2, "[0].evaluation_criteria.actions[0].name", "missing-field")],
        ),
        (tau2(**criteria_of(nl_assertions=[""])), [(2, "[0].evaluation_criteria.nl_assertions[0]", "empty")]),
        (
            tau2(**criteria_of(actions=[{"name": "f", "arguments": {"$any": True}}])),
            [(2, "[0].evaluation_criteria.actions[0].arguments.$any", "bad-matcher")],
        ),
        (
            tau2(**criteria_of(actions=[{"name": "f", "arguments": {"x": {"$nope": 1}}}])),
            [(2, "[0].evaluation_criteria.actions[0].arguments.x.$nope", "bad-matcher")],
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(task: Any, expected: list[Any], tmp_path: Path) -> None:
    assert faults(IMPORTER, file_of(tmp_path, task)) == expected


def test_a_task_that_stands_twice_is_a_problem(tmp_path: Path) -> None:
    ((_, field, code),) = faults(IMPORTER, file_of(tmp_path, tau2(), tau2()))
    assert (field, code) == ("[1].id", "duplicate-id")


@pytest.mark.parametrize(
    ("text", "code"),
    [("{}", "wrong-kind"), ("[", "json-syntax"), ('"x"', "wrong-kind"), ("[]", "empty-file")],
)
def test_a_file_of_another_kind_is_refused(text: str, code: str, tmp_path: Path) -> None:
    assert [one[2] for one in faults(IMPORTER, written(tmp_path, "tasks.json", text))] == [code]
