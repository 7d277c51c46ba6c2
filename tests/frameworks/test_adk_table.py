"""The tables of docs/adk.md: what stands on ADK's side, the real ADK has; every command on our side is run, on the
agent and the files that ADK ran on."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from google.adk.evaluation.agent_evaluator import AgentEvaluator
from google.adk.evaluation.eval_metrics import PrebuiltMetrics

from frameworks.talking import HERE
from frameworks.test_adk_eval import evaluated
from howsure.main import program

PAGE = (HERE.resolve().parents[1] / "docs" / "adk.md").read_text(encoding="utf-8")
ROWS = [row.split(" | ") for row in PAGE.split("## Commands")[1].split("## Criteria")[0].splitlines()[4:] if "|" in row]
NAMES = {
    "FILE.evalset.json": "basic.evalset.json",
    "AGENT.agent": "shop.agent",
    "AGENT": "shop",
    "case1,case2": "refund1",
    "N": "2",
    "RUN": "latest",
    "CASE": "refund1",
}
"""What a user puts in for the words of the table. FILE is another in each row."""
SCENARIOS = {"scenarios": [{"starting_prompt": "I want a refund", "conversation_plan": "The order is A1."}]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("table")
    evaluated(folder)
    (folder / "wishes.json").write_text(json.dumps(SCENARIOS))
    return folder


def ours(row: list[str], file: str) -> list[list[str]]:
    """The commands in the right column, with real names in them."""
    commands = []
    for written in re.findall(r"`howsure ([^`]+)`", row[1]):
        for word, name in {**NAMES, "FILE": file}.items():
            written = re.sub(rf"(?<![\w.]){re.escape(word)}(?![\w.]*\.json)(?!\w)", name, written)
        commands.append(shlex.split(written.replace("…", "questions.json")))
    return commands


def howsure(words: list[str]) -> str:
    done = CliRunner().invoke(program, words)
    assert done.exit_code == 0, (words, done.output)
    return done.stdout


def results() -> list[Any]:
    found: list[Any] = json.loads(howsure(["results", "latest", "--json"]))
    return found


def test_every_row_of_the_table_is_done_as_it_says(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    agent = ["--target", "adk-agent:shop.agent:root_agent"]
    rows = dict(
        zip(("eval", "config", "filter", "repeat", "show", "pytest", "scenarios", "history"), ROWS, strict=False)
    )
    assert len(ROWS) == len(rows) + 1  # the last is `howsure serve`

    convert, run = ours(rows["eval"], "")
    howsure(convert)
    howsure(run)
    assert [(one["test_case_id"], one["verdict"]) for one in results()] == [("refund1", "passed")]

    (convert,) = ours(rows["config"], "criteria.json")
    howsure(["convert", "basic.evalset.json", "-o", "questions.json", "--force", *convert[2:]])
    howsure(run)
    (result,) = results()
    assert {"tool_trajectory_avg_score", "response_match_score"} <= result["scores"].keys()

    for name, count in (("filter", 1), ("repeat", 2)):
        (words,) = ours(rows[name], "")
        howsure([*words, *agent])
        assert len(results()) == count
    (show,) = ours(rows["show"], "")
    assert "issue_refund" in howsure(show)

    (convert,) = ours(rows["scenarios"], "wishes.json")
    howsure(convert)
    howsure(["run", "scenarios.json", *agent, "--simulator", "offline"])
    assert results()[0]["output"]["messages"][0]["content"] == "I want a refund"

    (history,) = (folder / "shop" / ".adk" / "eval_history").glob("*.json")
    imported, convert = ours(rows["history"], str(history))
    howsure(imported)
    assert [one["verdict"] for one in results()] == ["passed"]
    howsure(convert)
    howsure(["run", "recorded.jsonl"])
    assert results()[0]["scores"]["tool_trajectory_avg_score"]["score"] == 1.0


def test_the_left_column_is_what_adk_has() -> None:
    adk = str(Path(sys.executable).parent / "adk")
    done = subprocess.run([adk, "eval", "--help"], capture_output=True, text=True, check=True)
    named = {option for row in ROWS if "adk eval " in row[0] for option in re.findall(r"--\w+", row[0])}
    assert named == {"--config_file_path", "--print_detailed_results"}
    assert [option for option in named if option not in done.stdout] == []
    tries = signature(AgentEvaluator.evaluate).parameters["num_runs"]
    assert (tries.default, "`AgentEvaluator.evaluate(…, num_runs=N)`, which tries everything twice" in PAGE) == (
        2,
        True,
    )
    criteria = PAGE.split("## Criteria")[1].split("\n\n")[2]
    assert [one.value for one in PrebuiltMetrics if f"`{one.value}`" not in criteria] == []
