"""What a case decides of a real ADK agent: the state it starts with, the answers of the person that its tools ask; and
what a case shows of it: the agents behind tools, saved files, its tools and instructions."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import Agent
from google.adk.tools import AgentTool, FunctionTool, LongRunningFunctionTool, ToolContext

import howsure
from frameworks.adk_golden.desk.agent import issue_refund, lookup_order, save_artifact
from frameworks.adk_golden.desk.model import ScriptedLlm
from frameworks.talking import a_wish, talk, talk_to
from howsure.graders.state_and_steps import AgentsInvolvedGrader
from howsure.judges.base import Question
from howsure.judges.judge_inputs import INPUTS, available_tools
from howsure.model.case import Case, Script
from howsure.model.expectation import AgentsInvolved
from howsure.model.score import Score
from howsure.model.transcript import Transcript
from howsure.targets.frameworks.adk_runner import AdkAgentKind, AdkAgentSettings, adk_target
from howsure.traces.declared import declared_tools
from howsure.traces.read import read_trace
from howsure.traces.trace import ToolOutcome


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESK_SECONDS", "0")


async def told(agent: Agent, *turns: str, metadata: dict[str, Any] | None = None, **state: Any) -> Transcript:
    target = adk_target(a_wish(state=state), AdkAgentSettings(object="x:y"), agent)
    return await talk(target, Case(id="1", input=Script(turns=turns), metadata=metadata or {}))


SEED: dict[str, Any] = {"a": 1, "user:a": 2, "app:a": 3, "temp:a": 4}


def an_agent(*tools: Any, name: str = "desk", **fields: Any) -> Agent:
    return Agent(name=name, model=ScriptedLlm(), instruction="Help.", tools=list(tools), **fields)


async def test_the_state_of_app_and_user_is_the_cases_own_and_every_prefix_can_be_seeded() -> None:
    def issue_refund(order_id: str, amount: float, tool_context: ToolContext) -> dict[str, Any]:
        """Pay back."""
        return {"seen": [tool_context.state.get(f"{prefix}a") for prefix in ("", "user:", "app:", "temp:")]}

    agent = an_agent(lookup_order, issue_refund)
    target = adk_target(a_wish(), AdkAgentSettings(object="x:y"), agent)
    for _ in range(2):
        found = await talk(target, Case(id="1", input=Script(turns=("Where is my order?",))))
        assert found.state == {"app:lookups": 1}
    seeded = await told(agent, "Refund, please", **SEED)
    assert seeded.tool_calls[0].result is not None
    assert seeded.tool_calls[0].result.content == {"seen": [1, 2, 3, 4]}


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (True, {"ok": True}),
        ({"confirmed": True, "payload": {"by": "Ann"}}, {"ok": True, "by": "Ann"}),
        (False, {"error": "This tool call is rejected."}),
    ],
    ids=["approved", "with something", "refused"],
)
async def test_a_confirmation_is_answered_from_the_case(answer: Any, result: Any) -> None:
    def issue_refund(order_id: str, amount: float, tool_context: ToolContext) -> dict[str, Any]:
        """Pay back."""
        confirmation = tool_context.tool_confirmation
        return {"ok": True, **((confirmation.payload or {}) if confirmation else {})}

    agent = an_agent(FunctionTool(issue_refund, require_confirmation=True))
    found = await told(agent, "Refund, please", metadata={"metadata": {"tool_answers": {"issue_refund": answer}}})
    assert [call.name for call in found.tool_calls] == ["issue_refund", "adk_request_confirmation"]
    assert found.answer == f"The tool said {result}."
    assert found.flags == ()


async def test_a_confirmation_without_an_answer_is_flagged() -> None:
    def look_up(order_id: str) -> dict[str, Any]:
        """Look up."""
        return {}

    look_up.__name__ = "lookup_order"
    agent = an_agent(FunctionTool(look_up, require_confirmation=True))
    found = await told(agent, "Where is my order?")
    (flag,) = found.flags
    assert (flag.kind, flag.text) == (
        "waits_for_a_person",
        "lookup_order waits for an answer that the case does not have",
    )


async def test_a_long_running_tool_gets_its_result_from_the_case() -> None:
    def issue_refund(order_id: str, amount: float) -> dict[str, Any]:
        """Ask for a refund."""
        return {"status": "pending"}

    answers = {"tool_answers": {"issue_refund": {"status": "approved"}}}
    found = await told(an_agent(LongRunningFunctionTool(issue_refund)), "Refund, please", metadata=answers)
    assert found.answer == "The tool said {'status': 'approved'}."


class Boss(ScriptedLlm):
    """The word `order` makes the scripted model call `lookup_order`: here that is an agent, which is asked this."""

    request: str = "Hi"

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        async for one in super().generate_content_async(llm_request, stream):
            for part in one.content.parts or []:
                if part.function_call:
                    part.function_call.args = {"request": self.request}
            yield one


async def test_what_an_agent_behind_a_tool_spent_and_what_its_tools_gave_is_known() -> None:
    helper = an_agent(issue_refund, name="lookup_order", description="Finds orders")
    boss = Agent(name="boss", model=Boss(request="Refund"), instruction="Lead.", tools=[AgentTool(helper)])
    trace = read_trace((await told(boss, "Where is my order?")).spans or ())
    assert [(use.name, use.outcome) for use in trace.tool_uses] == [
        ("lookup_order", ToolOutcome.SUCCEEDED),
        ("issue_refund", ToolOutcome.SUCCEEDED),
    ]
    assert [(call.model, call.agent) for call in trace.llm_calls] == [
        ("gemini-2.5-flash", agent) for agent in ("boss", "lookup_order", "lookup_order", "boss")
    ]


async def test_agents_behind_a_tool_take_part_and_judges_see_the_tools_there_are() -> None:
    def search(words: str, most: int = 5) -> list[str]:
        """Search orders."""
        return []

    helper = an_agent(search, name="lookup_order", description="Finds orders")
    boss = Agent(name="boss", model=Boss(), instruction="Lead {team}.", tools=[AgentTool(helper)])
    found = await told(boss, "Where is my order?", "Where is my order?", team="the night shift")
    case = Case(id="1", input=Script(turns=("x",)), expectations=(AgentsInvolved(names=("boss", "lookup_order")),))
    (score,) = await AgentsInvolvedGrader().grade(case, found)
    assert isinstance(score, Score)
    assert score.value == 1.0

    # ADK's own spans leave out instructions and parameters. Every agent, every turn told them; each is there once.
    name, about, takes, searches, what, words = available_tools(case, None, found).splitlines()
    assert (name, about) == ('"lookup_order"', "| Finds orders")
    assert takes.startswith('| parameters: {"type": "object", "properties": {"request": {"type": "string"}}')
    assert (searches, what) == ('"search"', "| Search orders.")
    assert '"words"' in words and '"most": {"default": 5' in words
    instructions = INPUTS["agent_instructions"](Question(grader="x", case=case, transcript=found))
    assert [part.splitlines()[0] for part in instructions.split("\n\n")] == [
        "Lead the night shift.",
        'You are an agent. Your internal name is "boss".',
        "Help.",
        'You are an agent. Your internal name is "lookup_order". The description about you is "Finds orders".',
    ]


async def test_agents_whose_tool_takes_different_things_each_declare_it() -> None:
    billing = an_agent(issue_refund, name="billing")
    found = await told(an_agent(lookup_order, sub_agents=[billing]), "Refund, please")
    agents = [
        tool.parameters["properties"]["agent_name"]["enum"]
        for tool in declared_tools(found.spans) or ()
        if tool.name == "transfer_to_agent" and tool.parameters
    ]
    assert agents == [["billing"], ["desk"]]


async def test_saved_files_are_part_of_the_transcript() -> None:
    found = await told(an_agent(save_artifact), "A receipt please", "Another receipt please")
    assert found.metadata == {"artifacts": {"receipt.txt": 1}}


async def test_an_agents_file_imports_its_neighbours_and_has_its_env(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "apps" / "clerk"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("from . import agent\n")
    (folder / ".env").write_text("CLERK_NAME=rosa\nDESK_SECONDS=9\n")
    (folder / "names.py").write_text("import os\nNAME = os.environ['CLERK_NAME']\n")
    (folder / "agent.py").write_text(
        "from google.adk.agents import Agent\n"
        "from frameworks.adk_golden.desk.model import ScriptedLlm\n"
        "from .names import NAME\n"
        "root_agent = Agent(name=NAME, model=ScriptedLlm(), instruction='Help.')\n"
    )
    monkeypatch.setenv("DESK_SECONDS", "0")
    monkeypatch.delenv("CLERK_NAME", raising=False)
    found = await talk_to(AdkAgentKind(), a_wish("apps/clerk/agent.py:root_agent", folder=tmp_path), "Hi")
    assert (found.agents, found.answer) == (("rosa",), "Hello.")
    assert os.environ["DESK_SECONDS"] == "0"
    monkeypatch.delenv("CLERK_NAME", raising=False)


def test_evaluate_takes_the_agent_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    question = {"id": "q", "user_inputs": ["Hi"], "agents_evaluated": ["desk"], "reference_data": {}}
    path = tmp_path / "desk_golden.json"
    path.write_text(json.dumps({"golden_questions": [question]}))
    run = howsure.evaluate(str(path), an_agent(lookup_order), judge="offline")
    assert run.passed
