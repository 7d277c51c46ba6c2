"""A run killed in the middle of conversations goes on: what is finished is not called again, what is half-finished
starts afresh, and every case has one result."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from live_files import FASTAPI_BOT, fetched, scenario, serving, test_set

Howsure = Callable[..., Any]
CASES = 20
AT_ONCE = 4
STEPS = ("order:42", "several", "how often")
LATENCY = "0.15"

Sessions = dict[str, dict[str, list[int]]]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[str]:
    with serving(FASTAPI_BOT, tmp_path, LATENCY) as base:
        yield base


def sessions(shop: str) -> Sessions:
    """By case and session: the turns that the bot was asked for."""
    found: Sessions = defaultdict(lambda: defaultdict(list))
    for asked in fetched(f"{shop}/asked"):
        found[asked["case_id"]][asked["session_id"]].append(asked["turn"])
    return found


def killed_in_the_middle(shop: str, folder: Path, words: list[str], turns: int) -> None:
    """Starts Howsure and kills it once the bot was asked for a second turn so often: some talk, and some have
    talked."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HOWSURE_") or "TRUST" in name}
    command = [sys.executable, "-m", "howsure", *words]
    process = subprocess.Popen(command, cwd=folder, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while sum(asked["turn"] == 2 for asked in fetched(f"{shop}/asked")) < turns:
        assert process.poll() is None and time.monotonic() < until, "it ended before it could be killed"
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.returncode == -signal.SIGKILL


def kept(howsure: Howsure) -> dict[str, dict[str, Any]]:
    found = howsure("results", "latest", "--json").json
    by_case = {one["test_case_id"]: one for one in found}
    assert len(by_case) == len(found), "a case has two results"
    return by_case


@pytest.mark.thorough
def test_a_killed_run_calls_nobody_again_whose_case_was_finished(howsure: Howsure, shop: str, tmp_path: Path) -> None:
    plan = [{"say": step} for step in STEPS]
    held = [scenario(f"s{number}", "hello", conversation_plan=plan, max_turns=4) for number in range(CASES)]
    dataset = test_set(tmp_path / "shop.json", *held)
    words = ["run", str(dataset), "--target", f"http:{shop}/chat", "--max-concurrency", str(AT_ONCE)]
    killed_in_the_middle(shop, tmp_path, words, turns=2 * AT_ONCE + 1)
    first, before = kept(howsure), sessions(shop)
    assert 0 < len(first) < len(before) < CASES
    half = {case for case, talks in before.items() if case not in first and max(map(len, talks.values())) < 4}
    assert half, "nobody was in the middle"

    killed_in_the_middle(shop, tmp_path, ["resume", "latest"], turns=5 * AT_ONCE)
    second = kept(howsure)
    assert len(first) < len(second) < CASES
    done = howsure("resume", "latest", "--json")
    assert done.code == 0, done.err
    assert (done.json["total"], done.json["completed"], done.json["pending"]) == (CASES, CASES, 0)

    results, talks = kept(howsure), sessions(shop)
    assert set(results) == {f"s{number}" for number in range(CASES)}
    assert all(len(talks[case]) == 1 for case in first)
    assert all(len(talks[case]) == len(before[case]) for case in first)
    assert all(len(talks[case]) > 1 for case in half)
    for case in results:
        *_, last = talks[case].values()
        assert last == [1, 2, 3, 4]
        assert results[case]["output"]["answer"] == "4 times"
    assert {case: result["result_id"] for case, result in first.items()} == {
        case: results[case]["result_id"] for case in first
    }
    assert {case: result["created_at"] for case, result in second.items()} == {
        case: results[case]["created_at"] for case in second
    }
