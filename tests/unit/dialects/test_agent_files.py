"""Agent files (BotContext)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howsure.dialects.agent_files import agent_document, is_agent, read_agent
from howsure.errors import DatasetInvalid, Problem
from howsure.model.agent import Agent, AgentModel, AgentTool, KnowledgeBase
from json_strategies import filled, objects, texts, values

FIXTURES = Path(__file__).parents[2] / "fixtures"
FIXTURE = FIXTURES / "seed_003_agent.json"


def a_file(folder: Path, **fields: Any) -> Path:
    path = folder / "agent.json"
    whole = {"bot_id": "b", "bot_name": "Bot", **fields}
    path.write_text(json.dumps({key: value for key, value in whole.items() if value is not ...}), encoding="utf-8")
    return path


def test_the_block_of_the_seed_reads_as_it_stands() -> None:
    agent = read_agent(FIXTURE)
    assert agent == Agent(
        id="mongodb-objectid",
        name="O'Connor Internal Operations Associate",
        organization_id="mongodb-objectid",
        organization_name="O'Connor Insurance",
        system_prompt="You are an AI assistant for O'Connor Insurance...",
        model=AgentModel(provider="openai", model="gpt-4.1", parameters={"temperature": 0.3}),
        tools=(
            AgentTool(
                id="objectid",
                name="Live Chat Handoff",
                tool_name="live_handoff",
                type="human_handoff",
                description="Transfer to a live agent when...",
                output_instructions="...",
            ),
        ),
        knowledge_bases=(
            KnowledgeBase(id="objectid", name="O'Connor Employee Handbook", type="file", document_count=3),
        ),
        harness=json.loads(FIXTURE.read_text())["harness_context"],
    )


def test_the_seed_comes_back_as_it_was() -> None:
    assert agent_document(read_agent(FIXTURE)) == json.loads(FIXTURE.read_text())


@pytest.mark.parametrize("name", ["run", "result"])
def test_the_other_blocks_of_the_seed_are_json(name: str) -> None:
    assert "run_id" in json.loads((FIXTURES / f"seed_003_{name}.json").read_text())


def test_an_agent_needs_only_an_id_and_a_name(tmp_path: Path) -> None:
    assert read_agent(a_file(tmp_path)) == Agent(id="b", name="Bot")
    nulls = dict.fromkeys(["llm_config", "tools", "knowledge_bases", "harness_context", "system_prompt"])
    assert read_agent(a_file(tmp_path, **nulls)) == Agent(id="b", name="Bot")


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"bot_id": ...}, "missing-field", "bot_id"),
        ({"bot_id": " "}, "empty", "bot_id"),
        ({"bot_name": ...}, "missing-field", "bot_name"),
        ({"system_prompt": []}, "wrong-type", "system_prompt"),
        ({"llm_config": "gpt"}, "wrong-type", "llm_config"),
        ({"llm_config": {"parameters": []}}, "wrong-type", "llm_config.parameters"),
        ({"tools": {}}, "wrong-type", "tools"),
        ({"tools": [{"id": "x"}]}, "missing-field", "tools[0].tool_name"),
        ({"knowledge_bases": [{"id": "x"}]}, "missing-field", "knowledge_bases[0].name"),
        ({"knowledge_bases": [{"id": "x", "name": "n", "document_count": -1}]}, "out-of-range",
         "knowledge_bases[0].document_count"),
        ({"harness_context": "LangGraph"}, "wrong-type", "harness_context"),
    ],
)  # fmt: skip
def test_each_fault_is_one_problem_at_its_place(tmp_path: Path, fields: dict[str, Any], code: str, field: str) -> None:
    with pytest.raises(DatasetInvalid) as refused:
        read_agent(a_file(tmp_path, **fields))
    assert [(problem.code, problem.field) for problem in refused.value.problems] == [(code, field)]


def test_broken_json_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    path.write_text("{")
    with pytest.raises(DatasetInvalid):
        read_agent(path)


def test_a_tool_that_is_listed_twice_counts_once_with_a_warning(tmp_path: Path) -> None:
    tools = [
        {"id": "1", "tool_name": "a"},
        {"id": "1", "tool_name": "a", "note": "again"},
        {"id": "2", "tool_name": "a", "note": "other"},
        {"tool_name": "b"},
        {"tool_name": "b"},
    ]
    heard: list[Problem] = []
    agent = read_agent(a_file(tmp_path, tools=tools), heard.append)
    assert [(tool.id, tool.tool_name) for tool in agent.tools] == [("1", "a"), ("2", "a"), ("", "b")]
    assert [(problem.code, problem.field) for problem in heard] == [
        ("duplicate-tool", "tools[1]"),
        ("duplicate-tool", "tools[4]"),
        ("unknown-field", "tools[1].note"),
    ]
    assert agent_document(agent)["tools"][1]["note"] == "other"


@pytest.mark.parametrize(("head", "known"), [(b'{"bot_id": "x"', True), (b'{"rules": []}', False), (b"", False)])
def test_an_agent_is_known_by_its_keys(head: bytes, known: bool) -> None:
    assert is_agent(Path("a.json"), head) is known


loose = st.none() | texts
tools = st.fixed_dictionaries({"tool_name": filled}, optional={"id": loose, "name": loose, "odd": values})
agents = st.fixed_dictionaries(
    {"bot_id": filled, "bot_name": filled},
    optional={
        "organization_id": loose,
        "system_prompt": loose,
        "llm_config": st.none()
        | st.fixed_dictionaries({}, optional={"provider": loose, "parameters": st.none() | objects}),
        "tools": st.none() | st.lists(tools, max_size=3),
        "knowledge_bases": st.none()
        | st.lists(st.fixed_dictionaries({"id": filled, "name": filled}, optional={"document_count": st.integers(0)})),
        "harness_context": st.none() | objects,
        "odd": values,
    },
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(agents)
def test_an_agent_that_was_written_reads_the_same(tmp_path: Path, document: dict[str, Any]) -> None:
    path, again = tmp_path / "a.json", tmp_path / "b.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    agent = read_agent(path)
    again.write_text(json.dumps(agent_document(agent)), encoding="utf-8")
    assert read_agent(again) == agent
