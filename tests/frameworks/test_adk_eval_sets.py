"""`adk eval` run for real on public eval sets and on ours, by an agent whose tools carry the sets' names and whose
mistakes are written down here. ADK's own scores, from the histories that it leaves, equal ours on the same
conversations, case by case; and on the converted eval sets, put to the same agent by us."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from frameworks.talking import HERE
from howsure.main import program

SHARED = Path(os.environ.get("HOWSURE_SHARED") or HERE.resolve().parents[2] / "shared")
PUBLIC = {
    "retail": "customer-service/eval/eval_data/full_conversation.test.json",
    "filings": "RAG/eval/data/conversation.test.json",
    "travel": "travel-concierge/eval/data/inspire.test.json",
    "trip": "travel-concierge/eval/data/intrip.test.json",
    "home": "tests/integration/fixture/home_automation_agent/test_files/dependent_tool_calls.test.json",
    "dice": "tests/integration/fixture/hello_world_agent/roll_die.test.json",
    "orders": "tests/integration/fixture/ecommerce_customer_service_agent/order_query.test.json",
    "brands": "brand-search-optimization/eval/data/eval_data1.evalset.json",
}
CRITERIA: dict[str, Any] = {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.5}
MATCHES = ("EXACT", "IN_ORDER", "ANY_ORDER")


def turn(text: str, answer: str, *calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    uses = [{"name": name, "args": arguments} for name, arguments in calls]
    return {
        "user_content": {"role": "user", "parts": [{"text": text}]},
        "final_response": {"role": "model", "parts": [{"text": answer}]},
        "intermediate_data": {"tool_uses": uses, "intermediate_responses": []},
    }


OURS = {
    "eval_set_id": "ours",
    "eval_cases": [
        {
            "eval_id": "two turns",
            "conversation": [
                turn("Where is A1?", "It ships on Friday.", ("find", {"id": "A1"})),
                turn("Pay it back", "We have paid it back.", ("find", {"id": "A1"}), ("refund", {"id": "A1", "n": 50})),
            ],
        },
        {
            "eval_id": "other scripts",
            "conversation": [turn("How's the weather?", "今日は晴れです — สวัสดี, café Zürich!")],
        },
    ],
}


def with_mistakes(number: int, calls: list[dict[str, Any]], answer: str) -> dict[str, Any]:
    """What the agent does in a turn: mistakes that differ from turn to turn."""
    words = answer.split()
    match number % 5:
        case 1:
            return {"calls": calls[:-1], "answer": " ".join(words[: len(words) // 2]) or "I do not know."}
        case 2:
            return {"calls": [*calls, {"name": "look_around", "args": {}}], "answer": f"{answer} Anything else?"}
        case 3:
            return {"calls": list(reversed(calls)), "answer": " ".join(reversed(words))}
        case 4:
            changed = [{**call, "args": {**call["args"], "more": 1}} for call in calls]
            return {"calls": changed, "answer": "Walking, walked: " + answer.upper()}
        case _:
            return {"calls": calls, "answer": answer}


def modern(path: Path) -> dict[str, Any]:
    """The eval set in the form that ADK 2 reads, as ADK migrates its older lists."""
    document = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(document, dict):
        return document
    data = document if "query" in document[0] else document[0]["data"]
    turns = [
        turn(
            one["query"],
            one["reference"],
            *((call["tool_name"], call["tool_input"]) for call in one["expected_tool_use"]),
        )
        for one in data
    ]
    return {"eval_set_id": path.stem, "eval_cases": [{"eval_id": path.stem, "conversation": turns}]}


def script_of(sets: list[dict[str, Any]]) -> dict[str, Any]:
    script: dict[str, Any] = {}
    for case in (case for each in sets for case in each["eval_cases"]):
        for one in case["conversation"]:
            text = "\n".join(part["text"] for part in one["user_content"]["parts"])
            uses = [{"name": use["name"], "args": use["args"]} for use in one["intermediate_data"]["tool_uses"]]
            parts = (one["final_response"] or {}).get("parts") or []
            answer = "\n".join(part["text"] for part in parts if part.get("text"))
            script.setdefault(text, with_mistakes(len(script), uses, answer or "Nothing to say."))
    return script


def howsure(*words: str) -> Any:
    done = CliRunner().invoke(program, [*words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def grade(folder: Path, *words: str) -> dict[str, dict[str, float]]:
    """Our scores of every case, by case and criterion."""
    howsure("run", *words)
    return {
        result["test_case_id"]: {name: result["scores"][name]["score"] for name in CRITERIA}
        for result in howsure("results", "latest")
    }


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the agent, the eval sets (`NAME.evalset.json`), and the histories of a run of `adk eval` for each
    way to match calls (`histories-EXACT` …)."""
    if not (SHARED / "data" / "adk_evalsets").is_dir():
        pytest.skip("the public eval sets are not here")
    folder = tmp_path_factory.mktemp("public")
    shutil.copytree(HERE / "adk_apps" / "scripted", folder / "scripted", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "scripted" / "__init__.py").write_text("from . import agent\n")
    sets = {name: modern(SHARED / "data" / "adk_evalsets" / path) for name, path in PUBLIC.items()} | {"ours": OURS}
    for name, each in sets.items():
        for number, case in enumerate(each["eval_cases"], start=1):
            case["eval_id"] = f"{name} {number}"
            if case.get("session_input"):
                case["session_input"]["app_name"] = "scripted"  # some sets leave it empty, which ADK refuses today
        each["eval_set_id"] = name
        (folder / f"{name}.evalset.json").write_text(json.dumps(each))
    (folder / "scripted" / "script.json").write_text(json.dumps(script_of(list(sets.values()))))
    adk = [str(Path(sys.executable).parent / "adk"), "eval", "scripted", *(f"{name}.evalset.json" for name in sets)]
    for match in MATCHES:
        criteria = CRITERIA | {"tool_trajectory_avg_score": {"threshold": 1.0, "match_type": match}}
        (folder / f"{match}.json").write_text(json.dumps({"criteria": criteria}))
        command = [*adk, "--config_file_path", f"{match}.json"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 1, done.stderr[-3000:]  # cases failed, as they should
        (folder / "scripted" / ".adk" / "eval_history").rename(folder / f"histories-{match}")
    return folder


@pytest.mark.parametrize("match", MATCHES)
def test_the_scores_of_adk_eval_equal_ours_case_by_case(
    match: str, evaluated: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(evaluated)
    report = howsure("convert", f"histories-{match}", "--to", "simulation", "-o", f"{match}.jsonl", "--force")
    assert (report["written"], report["lost"], report["skipped"]) == (10, [], [])
    rows = [json.loads(line) for line in Path(f"{match}.jsonl").read_text(encoding="utf-8").splitlines()]
    theirs = {row["question_id"]: {name: row[f"adk_score.{name}"] for name in CRITERIA} for row in rows}
    of_history = grade(evaluated, f"{match}.jsonl")
    sets = sorted(map(str, Path().glob("*.evalset.json")))
    howsure("convert", *sets, "-o", f"{match}_golden.json", "--criteria", f"{match}.json", "--force")
    live = grade(evaluated, f"{match}_golden.json", "--target", "adk-agent:scripted.agent:root_agent")
    with capsys.disabled():
        print(f"\n{match:<11} {'criterion':<26} {'adk eval':>9} {'history':>9} {'put to it':>9}")
        for id, scores in sorted(theirs.items()):
            for name, score in scores.items():
                print(f"{id:<11} {name:<26} {score:9.6f} {of_history[id][name]:9.6f} {live[id][name]:9.6f}")
    assert of_history == {id: pytest.approx(scores, abs=1e-6) for id, scores in theirs.items()}
    assert live == {id: pytest.approx(scores, abs=1e-6) for id, scores in theirs.items()}
    # The mistakes are seen: not everything is 0 or 1, and the ways to match differ.
    assert len({round(scores["response_match_score"], 6) for scores in theirs.values()}) > 5


def test_the_verdicts_of_adk_eval_equal_ours(evaluated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(evaluated)
    howsure("convert", "histories-EXACT", "--to", "simulation", "-o", "verdicts.jsonl", "--force")
    rows = [json.loads(line) for line in Path("verdicts.jsonl").read_text(encoding="utf-8").splitlines()]
    theirs = {row["question_id"]: "passed" if row["adk_score.final_eval_status"] else "failed" for row in rows}
    howsure("run", "verdicts.jsonl")
    results = {result["test_case_id"]: result for result in howsure("results", "latest")}
    assert {id: result["verdict"] for id, result in results.items()} == theirs
    assert set(theirs.values()) == {"passed", "failed"}
    # What ADK counts, a mean over the turns, are our measures.
    for row in rows:
        scores, turns = results[row["question_id"]]["scores"], len(row["user_inputs"])
        spent = json.loads(scores["token_usage"]["comment"])["details"]
        assert scores["tool_utilization"]["score"] == pytest.approx(row["adk_score.tool_call_count_v1"] * turns)
        assert spent["llm_calls"] == pytest.approx(row["adk_score.inference_call_count_v1"] * turns)
        assert spent["total_tokens"] == pytest.approx(row["adk_score.token_usage_v1"] * turns)
