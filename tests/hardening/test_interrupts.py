"""Breaks 2 and 3 on the command line: an interrupt ends the program within two seconds whatever a case does, nobody is
left behind, and what wants to end the program errors its own case."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from shlex import quote
from typing import Any

import pytest

BOT = """
import asyncio, re, time

async def spin(text):
    while True:
        pass

async def stubborn(text):
    while True:
        try:
            await asyncio.sleep(100)
        except BaseException:
            pass

def block(text):
    while True:
        pass

async def spin_if_asked(text):
    if "spins" in text:
        await spin(text)
    return "Answer: A"

def harmless(text):
    return "Answer: A"

class Own(BaseException):
    pass

RAISED = {"exit": SystemExit(3), "interrupt": KeyboardInterrupt(), "closing": GeneratorExit(), "own": Own("mine")}
RAISED["cancelled"] = asyncio.CancelledError()

def raising(text):
    for name, error in RAISED.items():
        if name in text:
            raise error
    return "Answer: A"

async def raising_async(text):
    return raising(text)

class Hostile:
    name = "hostile"

    def wants(self, case):
        return True

    async def grade(self, case, transcript):
        text = case.input.message
        if "task of the grader spins" in text:
            await asyncio.create_task(spin(text))
        if "grader spins" in text:
            while True:
                pass
        if "grader catches" in text:
            try:
                await spin(text)
            except Exception:
                await spin(text)
        if "grader waits" in text:
            time.sleep(0.1)
        if "grader sleeps" in text:
            time.sleep(1000)
        if "grader backtracks" in text:
            re.match("(a|aa)+$", "a" * 60 + "!")
        if "grader raises" in text:
            raising(text)
        return []

def register(kit):
    kit.graders.add(Hostile())
"""
DEAF = "import time\nwhile True:\n    time.sleep(1)\n"


def howsure(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HOWSURE_")}
    return subprocess.Popen(
        [sys.executable, "-m", "howsure", *words],
        cwd=folder,
        env={**environ, "HOWSURE_TRUST": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def prepare(folder: Path, *questions: str) -> None:
    (folder / "hostile.py").write_text(BOT)
    choices = [{"id": "A", "text": "yes"}, {"id": "B", "text": "no"}]
    row = {"schema_version": "legal_eval_v1", "dataset": "d", "task_type": "mcq", "choices": choices}
    rows = [{**row, "id": f"q{at}", "prompt": text, "correct_choice_ids": ["A"]} for at, text in enumerate(questions)]
    (folder / "cases.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))


def run_words(target: str) -> tuple[str, ...]:
    return ("run", "cases.jsonl", "--plugin", "hostile.py", "--target", target, "--max-concurrency", "1")


def until_begun(process: subprocess.Popen[bytes]) -> None:
    """The line that says who judges comes right before the first case."""
    assert process.stderr is not None
    while b"judge:" not in (line := process.stderr.readline()):
        assert line, "it ended before it began"
    time.sleep(0.7)


HARMLESS = "function:hostile.py:harmless"


def patience() -> float:
    """How many times longer things take on a machine that has more to do than it has cores."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1) / 2)


@pytest.mark.parametrize(
    ("question", "target", "number"),
    [
        pytest.param("the grader spins", HARMLESS, signal.SIGINT, id="grader spins"),
        pytest.param(
            "the grader spins", HARMLESS, signal.SIGTERM, id="grader spins, SIGTERM", marks=pytest.mark.thorough
        ),
        pytest.param(
            "the grader backtracks", HARMLESS, signal.SIGINT, id="grader backtracks", marks=pytest.mark.thorough
        ),
        pytest.param("the grader sleeps", HARMLESS, signal.SIGINT, id="grader sleeps", marks=pytest.mark.thorough),
        pytest.param("the bot", "function:hostile.py:spin", signal.SIGINT, id="bot spins"),
        pytest.param(
            "the bot", "function:hostile.py:stubborn", signal.SIGINT, id="bot goes on", marks=pytest.mark.thorough
        ),
        pytest.param("the bot", "function:hostile.py:block", signal.SIGINT, id="bot blocks"),
        pytest.param("the bot", "command:PYTHON deaf.py", signal.SIGINT, id="deaf program", marks=pytest.mark.thorough),
    ],
)
def test_2_an_interrupt_ends_a_run_within_two_seconds(
    tmp_path: Path, question: str, target: str, number: signal.Signals
) -> None:
    prepare(tmp_path, "harmless", question)
    (tmp_path / "deaf.py").write_text(DEAF)
    process = howsure(tmp_path, *run_words(target.replace("PYTHON", quote(sys.executable))))
    until_begun(process)
    began = time.monotonic()
    process.send_signal(number)
    _, said = process.communicate(timeout=120)
    assert time.monotonic() - began < 2.5 * patience(), said
    assert process.returncode == 130
    assert b"Interrupted. Nothing that was finished is lost; `howsure resume latest` goes on." in said
    assert b"Traceback" not in said
    assert not subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, check=False).stdout
    listed = howsure(tmp_path, "runs", "--json").communicate(timeout=240)[0]
    assert json.loads(listed)[0]["state"] == "interrupted"


@pytest.mark.parametrize("target", ["raising", "raising_async", "harmless"], ids=["function", "coroutine", "grader"])
def test_3_what_wants_to_end_the_program_errors_its_own_case(tmp_path: Path, target: str) -> None:
    kinds = ["exit", "interrupt", "closing", "own", "cancelled"]
    who = "the grader raises: " if target == "harmless" else ""
    prepare(tmp_path, "harmless", *(f"{who}{kind}" for kind in kinds), "harmless too")
    process = howsure(tmp_path, *run_words(f"function:hostile.py:{target}"), "--json")
    out, said = process.communicate(timeout=240)
    assert process.returncode == 3, said
    run: dict[str, Any] = json.loads(out)
    assert (run["total"], run["passed"], run["errored"]) == (7, 2, 5)
    found = json.loads(howsure(tmp_path, "results", "latest", "--json").communicate(timeout=240)[0])
    errors = {each["test_case_id"]: each["error"] for each in found if each["error"]}
    names = ["SystemExit 3", "KeyboardInterrupt", "GeneratorExit", "Own mine", "CancelledError"]
    for at, name in enumerate(names, 1):
        assert f"it tried to end the program ({name})" in errors[f"q{at}"]


@pytest.mark.parametrize(
    ("deed", "target"),
    [
        pytest.param("grader spins", "harmless", id="grader spins"),
        pytest.param("grader sleeps", "harmless", id="grader sleeps", marks=pytest.mark.thorough),
        pytest.param("grader backtracks", "harmless", id="grader backtracks", marks=pytest.mark.thorough),
        pytest.param("task of the grader spins", "harmless", id="task spins", marks=pytest.mark.thorough),
        pytest.param("grader catches errors and spins", "harmless", id="catches", marks=pytest.mark.thorough),
        pytest.param("bot spins", "spin_if_asked", id="bot spins"),
    ],
)
def test_2_what_holds_up_the_other_cases_errors_its_own_case(tmp_path: Path, deed: str, target: str) -> None:
    prepare(tmp_path, "harmless", f"the {deed}", "harmless too")
    (tmp_path / "howsure.yaml").write_text("service: {compute_seconds: 1}\n")
    began = time.monotonic()
    out, said = howsure(tmp_path, *run_words(f"function:hostile.py:{target}"), "--json").communicate(timeout=240)
    assert time.monotonic() - began < 30
    run: dict[str, Any] = json.loads(out)
    assert (run["total"], run["passed"], run["errored"]) == (3, 2, 1), said
    found = json.loads(howsure(tmp_path, "results", "latest", "--json").communicate(timeout=240)[0])
    (error,) = [each["error"] for each in found if each["error"]]
    assert "it blocked other cases for 1 s (compute_seconds)" in error
    assert ("grader 'hostile'" if target == "harmless" else "hostile.py:spin_if_asked") in error


@pytest.mark.thorough
def test_2_a_program_that_the_system_stops_for_a_while_goes_on(tmp_path: Path) -> None:
    prepare(tmp_path, *(f"the grader waits {number}" for number in range(30)))
    (tmp_path / "howsure.yaml").write_text("service: {compute_seconds: 1}\n")
    process = howsure(tmp_path, *run_words(HARMLESS))
    until_begun(process)
    process.send_signal(signal.SIGSTOP)
    time.sleep(2.5)
    process.send_signal(signal.SIGCONT)
    _, said = process.communicate(timeout=240)
    assert process.returncode == 0, said
