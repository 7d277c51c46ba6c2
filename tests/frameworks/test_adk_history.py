"""Histories and sessions that ADK itself wrote of a real agent, converted and graded. `adk eval` runs where its extra
is installed (600 MB); elsewhere ADK's own parts run the agent, make the invocations and write the history."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from google.adk.evaluation.eval_case import IntermediateData, Invocation
from google.adk.evaluation.eval_metrics import EvalMetricResultPerInvocation, EvalStatus
from google.adk.evaluation.eval_result import EvalCaseResult
from google.adk.evaluation.evaluation_generator import EvaluationGenerator
from google.adk.evaluation.local_eval_set_results_manager import LocalEvalSetResultsManager
from google.adk.runners import InMemoryRunner
from google.adk.sessions import Session
from google.genai import types

from assay.main import program
from frameworks.adk_apps.shop.agent import root_agent
from frameworks.talking import HERE

EXTRA = all(find_spec(name) for name in ("pandas", "agentplatform", "rouge_score"))
WISH = "I want a refund"
CALLS = [("transfer_to_agent", {"agent_name": "billing"}), ("issue_refund", {"order_id": "A1", "amount": 50})]


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


def expected() -> Invocation:
    uses = [types.FunctionCall(name=name, args=arguments) for name, arguments in CALLS]
    return Invocation(
        user_content=types.Content(role="user", parts=[types.Part(text=WISH)]),
        intermediate_data=IntermediateData(tool_uses=uses),
    )


def written_by_adk(folder: Path) -> None:
    """A history in the agent's folder, by ADK's own writer."""
    session = asyncio.run(talked(WISH))
    actual = EvaluationGenerator.convert_events_to_eval_invocations(session.events)
    per_turn = [
        EvalMetricResultPerInvocation(actual_invocation=one, expected_invocation=expected(), eval_metric_results=[])
        for one in actual
    ]
    result = EvalCaseResult(
        eval_set_id="basic",
        eval_id="refund1",
        final_eval_status=EvalStatus.PASSED,
        overall_eval_metric_results=[],
        eval_metric_result_per_invocation=per_turn,
        session_id=session.id,
        session_details=session,
        user_id="u",
    )
    LocalEvalSetResultsManager(agents_dir=str(folder)).save_eval_set_result("shop", "basic", [result])


def assay(*words: str) -> Any:
    done = CliRunner().invoke(program, [*words, "--json"])
    assert done.exit_code in (0, 3), done.output
    return json.loads(done.stdout)


def graded(dataset: str) -> dict[str, tuple[Any, str]]:
    assay("run", dataset)
    (result,) = assay("results", "latest")
    return {name: (one["score"], json.loads(one["comment"])["status"]) for name, one in result["scores"].items()}


def test_a_history_of_a_real_agent_is_graded_and_no_latency_is_invented(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written_by_adk(tmp_path)
    report = assay("convert", "shop", "--to", "simulation", "-o", "shop.jsonl")
    assert (report["read"], report["written"], report["lost"]) == (1, 1, [])
    row = json.loads((tmp_path / "shop.jsonl").read_text())
    row["reference_data"] |= {
        "reference_state_variables": {"refund_amount": 50},
        "reference_trajectory": ["billing", "issue_refund"],
    }
    (tmp_path / "shop.jsonl").write_text(json.dumps(row))
    scores = graded("shop.jsonl")
    wanted = ("tool_usage_accuracy", "trajectory_accuracy", "state_management_fidelity")
    assert {name: scores[name] for name in wanted} == dict.fromkeys(wanted, (1.0, "scored"))
    for name in ("context_saturation", "output_density", "thinking_metrics", "tool_utilization", "tool_success_rate"):
        assert scores[name][1] == "scored", name
    assert scores["tool_utilization"][0] == 2.0
    assert scores["latency_metrics"] == (None, "not_applicable")
    assert "__llm_request_key__" not in (tmp_path / "shop.jsonl").read_text()


def test_a_saved_session_of_a_real_agent_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session = asyncio.run(talked(WISH))
    (tmp_path / "one.session.json").write_text(session.model_dump_json())
    report = assay("convert", "one.session.json", "--to", "simulation", "-o", "one.csv")
    assert (report["sources"][0]["dialect"], report["written"]) == ("adk-session", 1)
    assert graded("one.csv")["tool_utilization"] == (2.0, "scored")


@pytest.mark.skipif(not EXTRA, reason="adk eval needs google-adk[eval] (600 MB), which is not installed here")
def test_adk_eval_for_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(HERE / "adk_apps" / "shop", tmp_path / "shop")
    session = {"app_name": "shop", "user_id": "u", "state": {}}
    said = [json.loads(expected().model_dump_json())]
    case = {"eval_id": "refund1", "conversation": said, "session_input": session}
    (tmp_path / "basic.evalset.json").write_text(json.dumps({"eval_set_id": "basic", "eval_cases": [case]}))
    (tmp_path / "config.json").write_text('{"criteria": {"tool_trajectory_avg_score": 1.0}}')
    adk = [str(Path(sys.executable).parent / "adk"), "eval", "shop", "basic.evalset.json"]
    subprocess.run([*adk, "--config_file_path", "config.json"], check=True, timeout=300)
    assay("convert", "shop", "--to", "simulation", "-o", "shop.jsonl")
    scores = graded("shop.jsonl")
    assert scores["tool_usage_accuracy"] == (1.0, "scored")
    assert scores["latency_metrics"] == (None, "not_applicable")
