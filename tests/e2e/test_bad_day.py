"""A bad day: a model server that is slow, refuses, breaks and hangs. Every case is scored, none twice, in good time."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dialect_rows import reference_qa
from house import asked_and_answered

Howsure = Callable[..., Any]
SERVER = Path(__file__).with_name("model_server.py")


def dataset(folder: Path, cases: int) -> tuple[Path, Path]:
    fields = {"dataset": "bad-day", "reference_answers": ["Fourteen days."]}
    return asked_and_answered(
        folder,
        [reference_qa(f"q:{n}", prompt=f"How long is the period in case {n}?", **fields) for n in range(cases)],
        [{"case_id": f"q:{n}", "response_text": f"{n} days"} for n in range(cases)],
    )


def timed(howsure: Howsure, folder: Path, mood: str, cases: int) -> tuple[float, dict[str, Any], dict[str, int]]:
    """Seconds for the whole run, the run, and what the server counted."""
    port = folder / f"port-{mood}"
    process = subprocess.Popen([sys.executable, str(SERVER), str(port), mood])
    try:
        while not port.is_file() or not port.read_text(encoding="utf-8"):
            time.sleep(0.05)
        base = f"http://127.0.0.1:{port.read_text(encoding='utf-8')}"
        questions, answers = dataset(folder, cases)
        began = time.monotonic()
        done = howsure(
            "run", questions, "--responses", answers, "--judge", f"openai-compatible:judge@{base}/v1",
            "--max-concurrency", "50", "--database", folder / f"{mood}.db", "--no-cache", "--json",
        )  # fmt: skip
        took = time.monotonic() - began
        assert done.code == 0, done.err
        with urllib.request.urlopen(f"{base}/count") as answer:
            return took, done.json, json.load(answer)
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("cases", [200, pytest.param(2_000, marks=pytest.mark.thorough)])
def test_no_case_is_lost_or_judged_twice_on_a_bad_day(howsure: Howsure, tmp_path: Path, cases: int) -> None:
    (tmp_path / "howsure.yaml").write_text("attempt_seconds: 2\n", encoding="utf-8")
    quiet, run, counts = timed(howsure, tmp_path, "slow", cases)
    assert (run["passed"], run["errored"], counts["answered"]) == (cases, 0, cases)
    disturbed, run, counts = timed(howsure, tmp_path, "bad-day", cases)
    assert (run["completed"], run["passed"], run["errored"]) == (cases, cases, 0)
    assert counts["answered"] == cases
    # Two to three times as long here; the bound is loose because others may share the machine.
    assert disturbed < 10 * quiet, f"{disturbed:.1f} s against {quiet:.1f} s"
