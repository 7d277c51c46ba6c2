"""Agents that break, each in its own way, beside one that works: what becomes of them, and who is answerable."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from frameworks.talking import HERE
from frameworks.test_adk import serving

TABLE = {
    "fine": ("passed", "", ""),
    "tool raises": ("errored", "agent", "ValueError: the tool exploded"),
    "model raises": ("errored", "agent", "RuntimeError: the model exploded"),
    "callback raises": ("errored", "agent", "KeyError: 'the callback exploded'"),
    "tool hangs": ("errored", "agent", "no answer in 12 s"),
    "model hangs": ("errored", "agent", "no answer in 12 s"),
    "nothing": ("failed", "agent", "the agent 'ping' said nothing"),
    "image": ("failed", "agent", "the agent 'ping' answered with image/png and no text"),
    "loop": ("errored", "agent", "no answer in 12 s"),
    "large state": ("passed", "", ""),
    "strange state": ("passed", "", ""),
    "tool dies": ("errored", "agent", "the agent tried to end the program (SystemExit 9)"),
    "model dies": ("errored", "agent", "the agent tried to end the program (SystemExit 7)"),
    "quota": ("errored", "environment", "RESOURCE_EXHAUSTED: out of quota"),
    "quota raised": ("errored", "environment", "429 RESOURCE_EXHAUSTED"),
}
"""By case: the verdict, who is answerable, and what is said."""
HOWSURE = [sys.executable, "-m", "howsure"]


def prepare(folder: Path, *cases: str, **settings: Any) -> list[str]:
    """The files of a run in `folder`, and its command. `settings`: of the target's block."""
    reference = {"reference_tool_interactions": [{"tool_name": "work"}]}
    questions = [
        {
            "id": case,
            "user_inputs": [case],
            "agents_evaluated": ["ping"],
            "reference_data": reference if TABLE[case][0] == "passed" else {},
        }
        for case in cases
    ]
    (folder / "broken_golden.json").write_text(json.dumps({"golden_questions": questions}), encoding="utf-8")
    here = {"kind": "adk-agent", "object": f"{HERE / 'adk_broken.py'}:root_agent"}
    block = {"targets": {"broken": settings if "kind" in settings else here | settings}}
    (folder / "howsure.yaml").write_text(json.dumps(block), encoding="utf-8")
    return [*HOWSURE, "run", "broken_golden.json", "--target", "broken", "--max-concurrency", "16"]


def test_every_way_to_break_has_a_verdict_and_somebody_who_is_answerable(tmp_path: Path) -> None:
    command = prepare(tmp_path, *TABLE, turn_seconds=12)
    # The tool that hangs does so for 600 s, and must not keep the program.
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    found = outcomes(tmp_path)
    assert {case: each[:2] for case, each in found.items()} == {case: each[:2] for case, each in TABLE.items()}
    assert [case for case, (*_, said) in TABLE.items() if said not in found[case][2]] == []


def outcomes(folder: Path) -> dict[str, tuple[str, str, str]]:
    """By case, as in the table."""
    found: dict[str, tuple[str, str, str]] = {}
    for result in read(folder, "results", "latest"):
        found[result["test_case_id"]] = (result["verdict"], "", " ".join(result["reasons"]))
    for one in read(folder, "triage", "latest")["findings"]:
        verdict, _, reasons = found[one["case_id"]]
        found[one["case_id"]] = (verdict, one["party"], f"{reasons} {one['why']}")
    return found


@pytest.mark.parametrize(("stream", "cases"), [(False, ["quota"]), (True, ["quota", "quota raised"])])
def test_a_quota_behind_a_server_is_the_providers(server: str, stream: bool, cases: list[str], tmp_path: Path) -> None:
    command = prepare(tmp_path, *cases, kind="adk", url=server, app_name="broken", stream=stream)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 3, done.stderr
    found = outcomes(tmp_path)
    assert {case: each[:2] for case, each in found.items()} == {case: TABLE[case][:2] for case in cases}
    assert [case for case in cases if TABLE[case][2] not in found[case][2]] == []


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The broken agent behind `adk api_server`."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "apps" / "broken").mkdir(parents=True)
    shutil.copy(HERE / "adk_broken.py", folder / "apps" / "broken" / "agent.py")
    (folder / "apps" / "broken" / "__init__.py").write_text("from . import agent\n")
    with serving("api_server", folder, folder / "apps") as url:
        yield url


def read(folder: Path, *words: str) -> Any:
    return json.loads(subprocess.run([*HOWSURE, *words, "--json"], cwd=folder, capture_output=True, check=True).stdout)


def test_the_traceback_of_an_agent_that_raises_is_shown_on_request(tmp_path: Path) -> None:
    command = prepare(tmp_path, "tool raises", turn_seconds=30, log=True)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert 'raise ValueError("the tool exploded")' in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT to a process")
def test_ctrl_c_ends_a_run_whose_tool_hangs(tmp_path: Path) -> None:
    """Within 2 s. What else the machine does only adds to it: the best of three counts."""
    command = prepare(tmp_path, "tool hangs", turn_seconds=300)
    taken: list[float] = []
    while len(taken) < 3 and min(taken, default=9) > 2:
        (tmp_path / "hangs").unlink(missing_ok=True)
        running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not (tmp_path / "hangs").exists() and running.poll() is None:
            time.sleep(0.1)
        began = time.monotonic()
        running.send_signal(signal.SIGINT)
        assert running.wait(120) == 130
        taken.append(time.monotonic() - began)
    assert min(taken) <= 2
