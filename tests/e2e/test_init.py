"""From nothing to a graded conversation: what `howsure init` writes works at once, and what it suggests does, too."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Howsure = Callable[..., Any]
TEST_SET = "evaluation/datasets/first_test_set.json"


@pytest.fixture(autouse=True)
def the_path() -> Iterator[None]:
    """Loading the agent makes its neighbours importable; other tests have none of that."""
    before = list(sys.path)
    yield
    sys.path[:] = before


def test_everything_it_suggests_works_and_all_cases_pass(howsure: Howsure, tmp_path: Path) -> None:
    done = howsure("init", "shop")
    assert done.code == 0, done.err
    assert (tmp_path / "shop" / "howsure.yaml").is_file()
    commands = re.findall(r"^  (\w.+)$", done.out, re.MULTILINE)
    assert commands[0] == "cd shop"
    assert len(commands) == 5
    for command in commands[1:]:
        ended = howsure(*command.split()[1:], cwd=tmp_path / "shop")
        assert ended.code == 0, (command, ended.err)
    assert (tmp_path / "shop" / "report.html").is_file()


def test_the_conversation_with_the_simulated_user_reaches_its_goal(howsure: Howsure) -> None:
    assert howsure("init").code == 0
    done = howsure("run", TEST_SET, "--target", "agent", "--json")
    assert done.code == 0, done.err
    assert (done.json["passed"], done.json["total"]) == (2, 2)
    question, talk = howsure("results", "--json").json
    assert (question["test_case_id"], talk["test_case_id"]) == ("where-is-it", "broken-lamp")
    assert talk["simulation"]["ending"] == "goal_reached"
    assert [call["name"] for call in talk["output"]["tool_calls"]] == ["look_up_order", "refund_order"]
    assert talk["output"]["state"] == {"intent": "refund", "order_id": "L-1077"}
    assert all(each["passed"] for each in talk["criteria_scores"])


def test_nothing_is_overwritten_unless_it_is_forced(howsure: Howsure, tmp_path: Path) -> None:
    (tmp_path / "howsure.yaml").write_text("judge: [", encoding="utf-8")
    done = howsure("init")
    assert done.code == 2
    assert "howsure.yaml already; nothing was written (--force overwrites)" in done.err
    assert not (tmp_path / "evaluation").exists()
    forced = howsure("init", "--force", "--json")
    assert forced.code == 0
    assert forced.json["written"][0] == "howsure.yaml"
    assert howsure("doctor", "--target", "agent").code == 0


def test_a_second_init_says_what_it_kept(howsure: Howsure) -> None:
    howsure("init")
    again = howsure("init")
    assert again.code == 0
    assert again.out.count("kept   ") == 4
    assert "wrote" not in again.out
    assert "cd " not in again.out


def test_the_doctor_tells_of_a_target_in_one_line_and_fails_with_it(howsure: Howsure, tmp_path: Path) -> None:
    howsure("init")
    well = howsure("doctor", "--target", "agent")
    assert well.code == 0
    assert well.out.splitlines()[-1] == "ok   target agent: support_agent.py:answer is there and takes text, state"
    (tmp_path / "support_agent.py").unlink()
    gone = howsure("doctor", "--target", "agent", "--json")
    assert gone.code == 2
    assert gone.json["healthy"] is False
    found = gone.json["findings"][-1]
    assert found["what"] == "target agent"
    assert found["found"].endswith("support_agent.py: no such file")
    assert found["hint"] == "`targets.agent` in howsure.yaml says how to reach it"
