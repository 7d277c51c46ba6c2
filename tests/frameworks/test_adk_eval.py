"""`adk eval` run for real on a real agent, and a session that ADK kept: converted and graded by commands alone. The
agent's model follows a fixed policy and the measures asked of ADK need no judge, so there is no network in this."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from google.adk.runners import InMemoryRunner
from google.adk.sessions import Session
from google.genai import types

from frameworks.adk_apps.shop.agent import root_agent
from frameworks.talking import HERE
from howsure.main import program

WISH = "I want a refund"
CALLS = [
    {"name": "transfer_to_agent", "args": {"agent_name": "billing"}},
    {"name": "issue_refund", "args": {"order_id": "A1", "amount": 50}},
]
EVAL_SET = {
    "eval_set_id": "basic",
    "eval_cases": [
        {
            "eval_id": "refund1",
            "conversation": [
                {
                    "invocation_id": "first",
                    "user_content": {"role": "user", "parts": [{"text": WISH}]},
                    "final_response": {"role": "model", "parts": [{"text": "The tool said ok."}]},
                    "intermediate_data": {"tool_uses": CALLS, "intermediate_responses": []},
                }
            ],
            "session_input": {"app_name": "shop", "user_id": "u", "state": {}},
            "final_session_state": {"refund_amount": 50},
        }
    ],
}
CRITERIA = {"criteria": {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.1}}
MEASURES = ("token_usage", "context_saturation", "output_density")
"""What is counted in tokens. (This model reports neither cached tokens nor those of thinking.)"""


def evaluated(folder: Path) -> None:
    """The shop in `folder`, as its framework wants an agent, and the history that `adk eval` leaves in it. Its model
    names itself, as a real one does: tokens have a price by the model."""
    shutil.copytree(HERE / "adk_apps" / "shop", folder / "shop", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "shop" / "__init__.py").write_text("from . import agent\n")
    agent = (folder / "shop" / "agent.py").read_text()
    named = agent.replace("usage_metadata=SPENT", 'usage_metadata=SPENT, model_version="gemini-2.5-flash"')
    (folder / "shop" / "agent.py").write_text(named)
    (folder / "basic.evalset.json").write_text(json.dumps(EVAL_SET))
    (folder / "criteria.json").write_text(json.dumps(CRITERIA))
    adk = [str(Path(sys.executable).parent / "adk"), "eval", "shop", "basic.evalset.json"]
    command = [*adk, "--config_file_path", "criteria.json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "Tests passed: 1" in done.stdout


def howsure(*words: str) -> Any:
    done = CliRunner().invoke(program, [*words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def graded(*words: str) -> dict[str, tuple[Any, str]]:
    howsure("run", *words)
    (result,) = howsure("results", "latest")
    return {name: (one["score"], json.loads(one["comment"])["status"]) for name, one in result["scores"].items()}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluated")
    evaluated(folder)
    return folder


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_the_history_of_adk_eval_is_graded_with_the_latency_that_adk_measured(
    shop: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop)
    report = howsure("convert", "shop", "--to", "simulation", "-o", f"shop.{ending}")
    assert (report["sources"][0]["dialect"], report["read"], report["written"]) == ("adk-history", 1, 1)
    assert (report["lost"], report["changed"], report["skipped"]) == ([], [], [])
    scores = graded(f"shop.{ending}")
    assert scores["tool_usage_accuracy"] == (1.0, "scored")
    assert {name: scores[name][1] for name in MEASURES} == dict.fromkeys(MEASURES, "scored")
    # 33 tokens read at $0.30 and 21 written at $2.50 a million, in three calls
    assert scores["token_usage"][0] == pytest.approx(6.24e-05)
    assert scores["context_saturation"][0] == 18.0
    assert (scores["tool_utilization"], scores["tool_success_rate"]) == ((2.0, "scored"), (1.0, "scored"))
    # ADK 2 measures each turn while it runs; the times of the spans stay made up.
    seconds, status = scores["latency_metrics"]
    assert status == "scored" and 0 < seconds < 60
    assert "__llm_request_key__" not in Path(f"shop.{ending}").read_text()


def test_what_the_eval_set_expects_is_held_against_the_history(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """State and trajectory are expected in the eval set, and not in what ADK writes of its run."""
    monkeypatch.chdir(shop)
    howsure("convert", "basic.evalset.json", "--to", "golden", "--agent", "billing", "-o", "basic_golden.json")
    howsure("convert", "shop", "--to", "simulation", "-o", "answers.jsonl")
    scores = graded("basic_golden.json", "--responses", "answers.jsonl")
    wanted = ("tool_usage_accuracy", "trajectory_accuracy", "state_management_fidelity", "agent_routing")
    assert {name: scores[name] for name in wanted} == dict.fromkeys(wanted, (1.0, "scored"))
    assert {name: scores[name][1] for name in MEASURES} == dict.fromkeys(MEASURES, "scored")
    # ADK 2 measures each turn while it runs; the times of the spans stay made up.
    seconds, status = scores["latency_metrics"]
    assert status == "scored" and 0 < seconds < 60


def test_the_marks_that_adk_gave_are_kept_and_never_read_as_ours(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop)
    howsure("convert", "shop", "--to", "simulation", "-o", "marks.jsonl")
    row = json.loads(Path("marks.jsonl").read_text())
    assert row["adk_score.tool_trajectory_avg_score"] == 1.0
    assert 0 < row["adk_score.response_match_score"] < 1
    assert row["extracted_data"]["state_variables"] == {"refund_amount": 50}
    declared = row["extracted_data"]["tool_declarations"][0]["function_declarations"]
    assert [tool["name"] for tool in declared] == ["transfer_to_agent", "lookup_order", "issue_refund"]


async def talked(text: str) -> Session:
    """A session of the shop, as its framework keeps it."""
    runner = InMemoryRunner(agent=root_agent, app_name="shop")
    begun = await runner.session_service.create_session(app_name="shop", user_id="u")
    message = types.Content(role="user", parts=[types.Part(text=text)])
    async for _ in runner.run_async(user_id="u", session_id=begun.id, new_message=message):
        pass
    kept = await runner.session_service.get_session(app_name="shop", user_id="u", session_id=begun.id)
    assert kept is not None
    return kept


def test_a_saved_session_of_a_real_agent_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session = asyncio.run(talked(WISH))
    (tmp_path / "one.session.json").write_text(session.model_dump_json())
    report = howsure("convert", "one.session.json", "--to", "simulation", "-o", "one.csv")
    assert (report["sources"][0]["dialect"], report["written"]) == ("adk-session", 1)
    scores = graded("one.csv")
    assert scores["tool_utilization"] == (2.0, "scored")
    assert scores["token_usage"] == (None, "error")  # this model does not name itself, so its tokens have no price
