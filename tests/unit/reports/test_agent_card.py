"""An agent on one page."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostile import HOSTILE, hostile_agent
from howsure.model.agent import Agent, AgentModel, AgentTool, KnowledgeBase
from howsure.model.summary import Summary
from howsure.reports.agent_card import AgentCard, card_markdown, card_shape
from unit.reports.northwind import MOMENT, SUPPORT_PINS, refund_results, summary_of, support_results
from unit.reports.snapshot import json_matches, matches

AGENT = Agent(
    id="bot-1",
    name="Northwind support",
    organization_name="Northwind Kitchen",
    system_prompt="You are kind.\n\nNever invent amounts.",
    model=AgentModel(provider="openai", model="mini", parameters={"temperature": 0.2}),
    tools=(
        AgentTool(tool_name="lookup_order", type="rest_api", description="Status of | one order."),
        AgentTool(tool_name="issue_refund", name="Refund"),
    ),
    knowledge_bases=(KnowledgeBase(id="kb-1", name="Handbook", type="faq", document_count=1200),),
    harness={"retries": 2},
)


def a_card(*runs: Summary, **fields: object) -> AgentCard:
    return AgentCard(agent=AGENT, runs=runs, **fields)  # type: ignore[arg-type]


def test_the_card_is_as_it_was() -> None:
    runs = (summary_of(support_results(), pins=SUPPORT_PINS), summary_of(refund_results()))
    matches("agent_card.md", card_markdown(a_card(*runs)))
    json_matches("agent_card.json", json.loads(json.dumps(card_shape(a_card(*runs)))))


def test_the_card_says_what_the_agent_is() -> None:
    text = card_markdown(a_card())
    assert "- model: openai/mini (temperature 0.2)" in text
    assert "```text\nYou are kind.\n\nNever invent amounts.\n```" in text
    assert "## 2 tools" in text
    assert "| lookup_order | rest_api | Status of \\| one order. |" in text
    assert "| issue_refund |  | Refund |" in text
    assert "| Handbook | faq | 1,200 |" in text
    assert '```json\n{\n  "retries": 2\n}\n```' in text


def test_every_rate_of_its_history_has_an_interval() -> None:
    text = card_markdown(a_card(summary_of(refund_results())))
    assert (
        "| 2026-11-15 09:31 | 3f2a9c1b support-v1 on refund policy | refund_policy.json (golden, 12 cases) | 12 |"
        in text
    )
    assert "| 70.0 % [40–89] of 10 decided; 64–73 % of all 11 | 1 | recorded:judge.jsonl |" in text
    assert "| tool_usage_accuracy | 70.0 % [40–89] n 10 |" in text
    assert "| response_correctness | mean 4.1 n 10 |" in text


def test_a_grader_a_run_did_not_have_is_a_dash() -> None:
    other = summary_of(support_results(), id="11111111-1111-4111-8111-111111111111")
    text = card_markdown(a_card(summary_of(refund_results()), other))
    assert "| grader | 3f2a9c1b | 11111111 |" in text
    assert "| criteria | – | 66.7 % [21–98] n 3 |" in text


def test_candidates_of_one_grader_are_named() -> None:
    text = card_markdown(a_card(summary_of([*refund_results("a"), *refund_results("b")])))
    assert "| tool_usage_accuracy | a: 70.0 % [40–89] n 10; b: 70.0 % [40–89] n 10 |" in text


@pytest.mark.parametrize(
    ("more", "told"), [(False, "- runs: 1\n"), (True, "- runs: the newest 1; there are older ones\n")]
)
def test_older_runs_are_not_forgotten(more: bool, told: str) -> None:
    assert told in card_markdown(a_card(summary_of([]), more=more))
    assert card_shape(a_card(summary_of([]), more=more))["older_runs"] is more


def test_repeats_are_said_to_be_alike() -> None:
    repeated = summary_of(refund_results(), pins={"repeat": 3})
    assert "the true intervals are wider" in card_markdown(a_card(repeated))
    assert "the true intervals are wider" not in card_markdown(a_card(summary_of(refund_results())))


def test_an_agent_nobody_knows_much_about_has_a_card_too() -> None:
    text = card_markdown(AgentCard(agent=Agent(id="x", name="Bare")))
    assert "- model: not known" in text
    assert "No prompt is known." in text
    assert "None is completed yet." in text
    assert "## 0 tools" in text


def test_the_json_has_the_agent_as_a_file_has_it_and_every_interval() -> None:
    shape = card_shape(a_card(summary_of(refund_results())))
    assert (shape["agent"]["bot_id"], shape["agent"]["llm_config"]["model"]) == ("bot-1", "mini")
    (run,) = shape["runs"]
    assert (run["pass_rate"], [round(end, 2) for end in run["pass_rate_interval"]]) == (0.7, [0.4, 0.89])
    assert run["completed_at"] == "2026-11-15T09:31:00Z"
    assert run["graders"][0]["pass_rate_interval"] == run["pass_rate_interval"]
    assert run["graders"][1]["pass_rate_interval"] is None


def test_a_run_still_without_an_end_is_dated_by_its_start() -> None:
    run = summary_of([]).run
    open_ended = replace(summary_of([]), run=replace(run, completed_at=None, created_at=MOMENT + timedelta(days=1)))
    assert "| 2026-11-16 09:30 |" in card_markdown(a_card(open_ended))


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_what_an_agent_says_of_itself_is_never_markup(text: str) -> None:
    shown = card_markdown(AgentCard(agent=hostile_agent(text)))
    outside = re.sub(r"^(`{3,})\w*\n.*?^\1$", "", shown, flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"<(?!!-- -->)", outside)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
