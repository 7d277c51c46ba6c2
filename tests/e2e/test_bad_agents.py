"""Agents that hang, close the connection, send garbage or answer 500 in one turn of five: every case ends in a defined
state with its reason, the counts add up, and nothing is left behind."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from live_files import FASTAPI_BOT, TESTS, fetched, golden, scenario, serving, test_set, trouble_of
from live_targets import alive

Howsure = Callable[..., Any]
CASES = 40
TURNS = 4
REASONS = {
    "hangs": "in 2 s",
    "closes": "the connection broke in the answer",
    "garbage": "and that is no answer: expected JSON",
    "500": "answered 500 Internal Server Error (text/plain): upstream exploded",
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(FASTAPI_BOT, tmp_path_factory.mktemp("shop")) as base:
        yield base


def expected(case: str) -> tuple[str, int]:
    """What goes wrong with a case first, and in which turn; nothing, after its last one."""
    for turn in range(1, TURNS + 1):
        if trouble := trouble_of(case, turn):
            return trouble, turn
    return "", TURNS + 1


def results(howsure: Howsure) -> dict[str, dict[str, Any]]:
    return {one["test_case_id"]: one for one in howsure("results", "latest", "--json").json}


def open_files() -> int:
    gc.collect()
    held = Path("/proc/self/fd")
    return len(os.listdir(held)) if held.exists() else 0


@pytest.fixture
def troubled(shop: str, tmp_path: Path) -> str:
    block = f"targets: {{shop: {{kind: http, url: '{shop}/troubled', turn_seconds: 2}}}}\n"
    (tmp_path / "howsure.yaml").write_text(block, encoding="utf-8")
    return "shop"


def test_every_case_of_a_bad_agent_ends_in_a_defined_state(
    howsure: Howsure, shop: str, troubled: str, tmp_path: Path
) -> None:
    plan = [{"say": f"Then I would like number {word}."} for word in ("two", "three", "four")]
    held = [
        scenario(f"case-{number}", "I would like number one.", conversation_plan=plan, max_turns=TURNS)
        for number in range(CASES)
    ]
    dataset = test_set(tmp_path / "bad.json", *held)
    files = open_files()
    done = howsure("run", dataset, "--target", troubled, "--max-concurrency", "40", "--json")
    assert done.code == 3, done.err
    wanted = {f"case-{number}": expected(f"case-{number}") for number in range(CASES)}
    broken = {case for case, (trouble, _) in wanted.items() if trouble}
    assert Counter(trouble for trouble, _ in wanted.values() if trouble) == dict.fromkeys(REASONS, len(broken) / 4)
    run = done.json
    assert (run["total"], run["completed"], run["errored"]) == (CASES, CASES, len(broken))
    assert run["passed"] + run["failed"] + run["errored"] + run["skipped"] == CASES
    assert sum(run["faults"].values()) == len(broken)
    found = results(howsure)
    assert set(found) == set(wanted)
    for case, (trouble, turn) in wanted.items():
        result = found[case]
        spoken = sum(message["role"] == "user" for message in result["output"]["messages"])
        assert spoken == turn - 1, case
        if trouble:
            assert result["verdict"] == "errored"
            assert REASONS[trouble] in result["error"], result["error"]
            assert result["fault"]["party"] in ("agent", "environment")
        else:
            assert (result["verdict"], result["error"], result["simulation"]["ending"]) == (
                "skipped", None, "turn_limit",
            )  # fmt: skip
    assert open_files() <= files + 2
    asked = Counter(asked["case_id"] for asked in fetched(f"{shop}/asked"))
    assert asked == {case: min(turn, TURNS) for case, (_, turn) in wanted.items()}, "nothing is sent twice"


def test_what_broke_can_be_tried_again(howsure: Howsure, troubled: str, tmp_path: Path) -> None:
    dataset = golden(
        tmp_path / "again_golden.json",
        {"id": "case-1", "user_inputs": ["one", "two"]},
        {"id": "case-4", "user_inputs": ["one", "two"]},
    )
    assert howsure("run", dataset, "--target", troubled, "--json").json["errored"] == 1
    done = howsure("retry", "latest", "--errors", "--json")
    assert done.code == 3, done.err
    assert (done.json["errored"], done.json["total"]) == (1, 2)
    assert "the connection broke" in results(howsure)["case-4"]["error"]


@pytest.mark.parametrize("mode", ["conversation", "server"])
@pytest.mark.thorough
def test_programs_that_misbehave_are_ended_and_told_of(howsure: Howsure, tmp_path: Path, mode: str) -> None:
    pids = tmp_path / "pids"
    block = f"""
targets:
  shop:
    kind: command
    command: [{sys.executable}, {TESTS / "shop_bot.py"}]
    env: [SHOP_BOT_PIDS]
    mode: {mode}
    turn_seconds: 3
    stop_seconds: 1
"""
    (tmp_path / "howsure.yaml").write_text(block, encoding="utf-8")
    turns = {"hangs": "hang", "leaves": "leave", "garbage": "garbage", "breaks": "break", "fine": "hello"}
    questions = [{"id": id, "user_inputs": ["hello", text]} for id, text in turns.items()]
    dataset = golden(tmp_path / "programs_golden.json", *questions)
    words = ("--target", "shop", "--max-concurrency", "1", "--json")
    done = howsure("run", dataset, *words, env={"SHOP_BOT_PIDS": str(pids)})
    assert done.code == 3, done.err
    found = results(howsure)
    told = {id: found[id]["error"] for id in turns}
    assert told["fine"] is None
    assert "in 3 s" in told["hangs"]
    assert "exit code 3" in told["leaves"]
    assert "this is no answer" in told["garbage"]
    assert "boom" in told["breaks"]
    assert alive(pids) == []


FUNCTION = """
import asyncio

async def answer(text, case):
    match case.id:
        case "hangs":
            await asyncio.sleep(60)
        case "breaks":
            raise ValueError("no such shelf")
        case "garbage":
            return 7
    return "Yes."
"""


def test_functions_that_misbehave_are_told_of(howsure: Howsure, tmp_path: Path) -> None:
    (tmp_path / "bad_bots.py").write_text(FUNCTION, encoding="utf-8")
    (tmp_path / "howsure.yaml").write_text("turn_seconds: 0.5\n", encoding="utf-8")
    names = ("hangs", "breaks", "garbage", "fine")
    dataset = golden(tmp_path / "f_golden.json", *({"id": name, "user_inputs": ["one"]} for name in names))
    done = howsure("run", dataset, "--target", "function:bad_bots:answer", "--json")
    assert done.code == 3, done.err
    told = {id: one["error"] for id, one in results(howsure).items()}
    assert told["fine"] is None
    assert "turn 1 was not answered within 0.5 seconds" in told["hangs"]
    assert "ValueError: no such shelf (bad_bots.py:9, in answer)" in told["breaks"]
    assert "expected text" in told["garbage"]


def test_a_case_that_takes_too_long_is_given_up(howsure: Howsure, tmp_path: Path) -> None:
    slow = "import asyncio\n\n\nasync def answer(text):\n    await asyncio.sleep(0.3)\n    return text\n"
    (tmp_path / "slow_bots.py").write_text(slow, encoding="utf-8")
    (tmp_path / "howsure.yaml").write_text("case_seconds: 1\n", encoding="utf-8")
    dataset = golden(
        tmp_path / "s_golden.json",
        {"id": "long", "user_inputs": ["one", "two", "three", "four"]},
        {"id": "short", "user_inputs": ["one"]},
    )
    done = howsure("run", dataset, "--target", "function:slow_bots:answer", "--json")
    assert done.code == 3, done.err
    found = results(howsure)
    assert "the conversation was not over within 1 seconds" in found["long"]["error"]
    assert [message["content"] for message in found["long"]["output"]["messages"]][:2] == ["one", "one"]
    assert found["short"]["error"] is None
