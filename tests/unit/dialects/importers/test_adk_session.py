"""Saved ADK sessions, old and new, and the tools that an agent's source declares."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adk_files import event, refund_events
from howsure.dialects.datasets import read_cases, validate
from howsure.dialects.importers.adk_history import AdkSessionImporter
from howsure.dialects.importers.adk_tools import declared_tools_of
from howsure.dialects.importers.base import ImportOptions
from howsure.model.transcript import Tool, Transcript


def session(folder: Path, **changes: Any) -> Path:
    base = {"id": "s1", "app_name": "shop", "user_id": "u", "state": {"a": 1}, "events": refund_events()}
    path = folder / "x.session.json"
    path.write_text(json.dumps({**base, **changes}))
    return path


def test_a_session_has_an_id_from_what_the_user_said_and_keeps_its_own(tmp_path: Path) -> None:
    (case,) = read_cases(session(tmp_path), AdkSessionImporter())
    (again,) = read_cases(session(tmp_path, id="s2"), AdkSessionImporter())
    assert case.id == again.id
    assert case.id.startswith("sim-")
    assert (case.metadata["session_id"], again.metadata["session_id"]) == ("s1", "s2")
    assert isinstance(case.recorded, Transcript)
    assert case.recorded.invented_times
    assert case.recorded.state == {"a": 1}


def test_old_sessions_keep_their_state_in_context_and_log_the_models_requests(tmp_path: Path) -> None:
    config = {
        "system_instruction": "Help.",
        "tools": [{"function_declarations": [{"name": "look", "description": "Look it up."}]}],
    }
    logs = [{"model_request": {"config": config}}]
    (case,) = read_cases(session(tmp_path, state=None, context={"b": 2}, event_logs=logs), AdkSessionImporter())
    assert isinstance(case.recorded, Transcript)
    assert case.recorded.state == {"b": 2}
    assert case.tools == (Tool(name="look", description="Look it up."),)
    assert case.metadata["extracted_data"] == {"system_instruction": "Help."}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"events": []}, "no-user-inputs"),
        ({"events": [event("root", {"text": "Welcome"})]}, "no-user-inputs"),
        ({"events": {}}, "wrong-kind"),
        ({"events": None}, "wrong-kind"),
    ],
    ids=["none", "the agent alone", "no list", "null"],
)
def test_a_session_in_which_nobody_speaks_is_no_conversation(
    changes: dict[str, Any], code: str, tmp_path: Path
) -> None:
    assert [problem.code for problem in validate(session(tmp_path, **changes), AdkSessionImporter()).problems] == [code]


def test_sessions_before_a_time_are_left_out(tmp_path: Path) -> None:
    path = session(tmp_path, last_update_time=100.0)
    assert validate(path, AdkSessionImporter(ImportOptions(since=50.0))).cases == 1
    assert [one.code for one in validate(path, AdkSessionImporter(ImportOptions(since=200.0))).warnings] == [
        "skipped-case"
    ]


SOURCE = '''
from google.adk.agents import Agent
from google.adk.tools import FunctionTool


def lookup(order_id: str, limit: int = 3, *, tags: list[str] | None = None, tool_context=None) -> dict:
    """Look an order up."""


async def refund(order_id: str, amount: float):
    """Give money back."""


billing = Agent(name="billing", tools=[FunctionTool(func=refund)])
root_agent = Agent(name="root", tools=[lookup], sub_agents=[billing])
'''


def test_tools_are_read_from_the_source_without_running_it(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(SOURCE + "\nraise SystemExit('must not run')\n")
    declared = declared_tools_of(tmp_path)
    assert declared.problems == []
    functions = {one["name"]: one for one in declared.declarations[0]["function_declarations"]}
    assert list(functions) == ["refund", "lookup", "transfer_to_agent"]
    assert functions["lookup"] == {
        "name": "lookup",
        "description": "Look an order up.",
        "parameters": {
            "type": "object",
            "properties": {"order_id": {"type": "string"}, "limit": {"type": "integer"}, "tags": {}},
            "required": ["order_id"],
        },
    }


@pytest.mark.parametrize(
    "tools", ["[McpToolset(server='x')]", "make_tools()", "[lookup, *more]", "[undefined]"], ids=str
)
def test_a_list_that_only_running_would_tell_is_not_used(tools: str, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(f"def lookup():\n    pass\n\nagent = Agent(tools={tools})\n")
    declared = declared_tools_of(tmp_path)
    assert declared.declarations == []
    assert [(one.code, one.line) for one in declared.problems] == [("unreadable-tool", 4)]


def test_a_folder_without_agents_or_with_broken_source_declares_nothing(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def (:\n")
    assert declared_tools_of(tmp_path).declarations == []
