"""What triage keeps of a result: little, and nothing decided."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.model.agent import Agent, AgentTool
from howsure.model.result import Failure
from howsure.model.rubric import Severity
from howsure.model.simulation import Party
from howsure.services.triage.facts import found_nothing, read_facts, search_tools, searches
from unit.services.triage.triage_results import called, criterion, grade, result, rule, talk, unreadable


def test_long_texts_are_cut_so_that_thousands_fit_in_memory() -> None:
    facts = read_facts(result(criterion("t" * 900, False, "r" * 900)))
    assert (len(facts.parts[0].text), len(facts.parts[0].reason)) == (401, 401)


def test_a_grader_gates_when_the_verdict_names_it() -> None:
    given = result(
        grade("tool_calls", False, "`x` was not called"),
        grade("output_contract", False, "not JSON"),
        grade("criteria", False),
        reasons=("hard fail: output_contract 0.00 < 1.00: not JSON", "tool_calls_2 is low"),
    )
    assert {failed.name: failed.gates for failed in read_facts(given).failed} == {
        "tool_calls": False,
        "output_contract": True,
        "criteria": False,
    }


def test_only_what_failed_is_kept_and_what_held_is_counted() -> None:
    facts = read_facts(
        result(
            criterion("a", True),
            criterion("b", False),
            rule("R1", True),
            rule("R2", True),
            rule("R3", False, severity=Severity.LOW),
            unreadable("fluency"),
        )
    )
    assert [(part.grader, part.text, part.severe) for part in facts.parts] == [
        ("criteria", "b", True),
        ("rubric", "about R3", False),
    ]
    assert (facts.passed_criteria, facts.passed_rules) == (1, 2)
    assert facts.errors == (("fluency", "no value in the reply"),)


def test_a_penalty_is_a_criterion_that_costs_points() -> None:
    facts = read_facts(result(criterion("a", False, weight=-3), criterion("b", False, weight=2)))
    assert [part.penalty for part in facts.parts] == [True, False]


def test_criteria_of_the_same_words_have_the_same_key_and_ids_of_a_file_their_cases() -> None:
    def key(case: str, id: str = "") -> str:
        return read_facts(result(criterion("Is polite", False, id=id), id=case)).parts[0].key

    assert key("q1") == key("q2")
    assert key("q1", "c1") != key("q2", "c1")
    rules = [read_facts(result(rule("R1", False), id=case)).parts[0].key for case in ("q1", "q2")]
    assert rules == ["R1", "R1"]


def test_the_texts_are_the_reasons_that_somebody_wrote() -> None:
    facts = read_facts(
        result(
            criterion("a", False, "Calls names."),
            grade("criteria", False, "0 of 1 criteria met"),
            grade("composite", False, "6 evals under x"),
            grade("choice", False, "chose A"),
            unreadable("fluency", "no value"),
        )
    )
    assert list(facts.texts) == ["Calls names.", "chose A", "no value"]
    broke = read_facts(result(broke=[Failure(kind="TargetFailed", message="HTTP 503")]))
    assert list(broke.texts) == ["HTTP 503"]


def test_tools_are_sorted_by_what_is_wrong_with_them() -> None:
    told = grade(
        "tool_usage_accuracy",
        False,
        "`a` was not called; `b` was called with other arguments: `x`: missing; `c` was called, but not expected",
    )
    said = talk(called("c"), called("d", "no such order", failed=True), called("search_x", "No results."))
    tools = read_facts(result(told, said=said)).tools
    assert (tools.missing, tools.wrong, tools.unwanted) == (("a",), ("b",), ("c",))
    assert (tools.failed, tools.empty, tools.searched) == (("d",), ("search_x",), True)
    assert tools.named == ("a", "b", "c", "d", "search_x")


def test_a_search_without_a_recorded_result_says_nothing() -> None:
    call = called("search_x")
    silent = type(call)(name="search_x")
    assert read_facts(result(criterion("a", False), said=talk(silent))).tools.empty == ()


def test_the_fault_that_a_run_stored_is_kept() -> None:
    plain = read_facts(result(criterion("a", False)))
    assert plain.fault is not None
    assert plain.fault.party is Party.AGENT


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("search_help", True),
        ("searchHelp", True),
        ("vertex-ai-search", True),
        ("KBLookup", True),
        ("retrieve_documents", True),
        ("query_rag", True),
        ("look_up_order", False),
        ("check_stock", False),
        ("research_grant", False),
        ("dragRace", False),
        ("", False),
    ],
)
def test_a_search_tool_is_told_by_the_words_of_its_name(name: str, expected: bool) -> None:
    assert searches(name) is expected


def test_the_agents_own_description_counts_whatever_the_name() -> None:
    tools = (AgentTool(tool_name="moss", type="faqs-retriever"), AgentTool(tool_name="pay", type="rest_api"))
    assert search_tools(Agent(id="a", name="A", tools=tools)) == {"moss"}
    assert search_tools(None) == frozenset()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, True),
        ("", True),
        ("No results found.", True),
        ("nothing was found for that", True),
        ("[]", True),
        ({}, True),
        ([], True),
        ({"documents": []}, True),
        ({"results": [], "documents": ["a page"]}, False),
        ({"results": [{"title": "Gifts"}]}, False),
        ({"balance": 0}, False),
        ("Nothing beats a good tent: see page 4", False),
        ("not found in stock, but here is the rule", False),
        (["a page"], False),
        (0, False),
    ],
)
def test_a_search_found_nothing_when_what_it_gave_is_empty_or_says_so(content: Any, expected: bool) -> None:
    assert found_nothing(content) is expected
