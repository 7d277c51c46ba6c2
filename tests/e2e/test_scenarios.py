"""Scenarios from the file to the stored result: how conversations end, who plays the user, and what is done when the
simulated user spoils one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from live_files import FASTAPI_BOT, MODEL_SERVER, scenario, serving, test_set

Howsure = Callable[..., Any]

AGENT = """
SAID = {
    "goal_reached": ["Your order has been cancelled."],
    "gave_up": ["What is your tax number?", "I need your tax number.", "Could you look your tax number up?"],
    "handed_off": ["I am transferring you to a colleague."],
    "silence": ["Certainly.", ""],
    "loop": ["Our shop is open."] * 9,
    "turn_limit": ["Red is a colour.", "Green is one as well.", "So is blue.", "Then there is grey."],
    "tool": [{"answer": "One moment.", "tool_calls": [{"name": "transfer_to_human", "arguments": {"why": "angry"}}]}],
}


def answer(text, case, turn):
    return SAID[case.id][turn - 1]


def ask(text, turn):
    said = ["Which order is it?", "The order was shipped on Monday.", "It arrives soon.", "It is in a red van."]
    return said[turn - 1]
"""


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A model that finds that every criterion holds, and plays users."""
    with serving(MODEL_SERVER, tmp_path_factory.mktemp("good"), "good") as base:
        yield f"openai-compatible:m@{base}/v1"


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A judge that finds that no criterion holds."""
    with serving(MODEL_SERVER, tmp_path_factory.mktemp("bad"), "bad") as base:
        yield f"openai-compatible:m@{base}/v1"


@pytest.fixture(autouse=True)
def agent(tmp_path: Path) -> None:
    (tmp_path / "bots.py").write_text(AGENT, encoding="utf-8")


def results(howsure: Howsure) -> dict[str, dict[str, Any]]:
    printed = howsure("results", "latest", "--json")
    assert printed.code == 0, printed.err
    return {one["test_case_id"]: one for one in printed.json}


ENDINGS = {
    "goal_reached": ("goal_reached", 1),
    "gave_up": ("gave_up", 2),
    "handed_off": ("handed_off", 1),
    "silence": ("silence", 2),
    "loop": ("loop", 3),
    "turn_limit": ("turn_limit", 4),
    "tool": ("handed_off", 1),
}
"""By case: how it ends, and how often the user speaks."""


@pytest.fixture
def endings(tmp_path: Path) -> Path:
    held = [
        scenario(id, "Please cancel my order.", goal="Have the order cancelled.", max_turns=4, criteria=["It is fine."])
        for id in ENDINGS
    ]
    return test_set(tmp_path / "endings.json", *held)


def test_a_scenario_of_each_stop_rule_ends_in_that_state(howsure: Howsure, endings: Path, judge: str) -> None:
    done = howsure("run", endings, "--target", "function:bots.py:answer", "--judge", judge, "--json")
    assert done.code == 0, done.err
    assert (done.json["passed"], done.json["simulator"], done.json["faults"]) == (len(ENDINGS), "offline", {})
    found = results(howsure)
    ended = {id: one["simulation"]["ending"] for id, one in found.items()}
    spoken = {id: sum(message["role"] == "user" for message in one["output"]["messages"]) for id, one in found.items()}
    assert {id: (ended[id], spoken[id]) for id in found} == ENDINGS
    assert all(one["simulation"]["reason"] and one["simulation"]["user"] == "offline" for one in found.values())
    assert not any(one["simulation"].get("slips") for one in found.values())


def test_a_handoff_is_no_failure_by_itself(howsure: Howsure, endings: Path, judge: str, strict: str) -> None:
    graders = ("--graders", "criteria,simulator_fidelity")
    words = ("run", endings, "--target", "function:bots.py:answer", *graders, "--json", "--judge")
    assert howsure(*words, judge).code == 0
    for id in ("handed_off", "tool"):
        handed = results(howsure)[id]
        assert (handed["verdict"], handed["error"], handed["fault"]) == ("passed", None, None)
        assert handed["simulation"]["ending"] == "handed_off"
    assert results(howsure)["tool"]["simulation"]["reason"] == "the agent called transfer_to_human"
    done = howsure(*words, strict)
    assert (done.code, done.json["failed"]) == (0, len(ENDINGS))
    assert done.json["faults"] == {"agent": len(ENDINGS)}
    assert results(howsure)["handed_off"]["fault"]["reason"].endswith("is below its mark")


def test_a_scenario_reaches_a_bot_behind_an_address(howsure: Howsure, tmp_path: Path) -> None:
    held = scenario("s1", "hello", conversation_plan=[{"say": "order:42"}, {"say": "how often"}], max_turns=3)
    dataset = test_set(tmp_path / "shop.json", held)
    with serving(FASTAPI_BOT, tmp_path) as base:
        done = howsure("run", dataset, "--target", f"http:{base}/chat", "--json")
    assert done.code == 0, done.err
    result = results(howsure)["s1"]
    said = [message["content"] for message in result["output"]["messages"] if message["role"] == "user"]
    assert said == ["hello", "order:42", "how often"]
    assert result["output"]["answer"] == "3 times"
    assert [call["name"] for call in result["output"]["tool_calls"]] == ["look_up"]
    assert result["simulation"]["ending"] == "turn_limit"


def test_a_fact_is_told_when_it_is_asked_for_and_not_before(howsure: Howsure, tmp_path: Path) -> None:
    facts = {"order": "LM-204817", "e-mail": "kim@larkmoor.example"}
    held = scenario("s1", "Where is it?", goal="Know whether the order was shipped.", facts=facts)
    done = howsure("run", test_set(tmp_path / "facts.json", held), "--target", "function:bots.py:ask", "--json")
    assert done.code == 0, done.err
    result = results(howsure)["s1"]
    told = [message["content"] for message in result["output"]["messages"] if message["role"] == "user"]
    assert "LM-204817" in told[1]
    assert not any("larkmoor" in text for text in told)
    assert result["simulation"]["ending"] == "goal_reached"


def test_a_model_plays_the_user(howsure: Howsure, tmp_path: Path, judge: str) -> None:
    held = scenario("s1", "Where is my order?", goal="Know where the order is.", criteria=["It is fine."])
    words = ("--target", "function:bots.py:ask", "--simulator", judge, "--judge", judge)
    done = howsure("run", test_set(tmp_path / "played.json", held), *words, "--json")
    assert done.code == 0, done.err
    assert (done.json["simulator"], done.json["passed"]) == (judge, 1)
    assert done.json["spent"]["calls"] == 6  # four turns of the user's after the first, two verdicts
    result = results(howsure)["s1"]
    said = [message["content"] for message in result["output"]["messages"] if message["role"] == "user"]
    assert said == [
        "Where is my order?",
        "Okay, please go on.",
        "And what happens next?",
        "That is good to know, thanks.",
    ]
    assert result["simulation"] == {"user": judge, "ending": "goal_reached", "reason": "all was told"}


def test_a_model_that_cannot_play_is_the_simulators_fault(howsure: Howsure, tmp_path: Path) -> None:
    held = scenario("s1", "Where is my order?", goal="Know where the order is.")
    with serving(MODEL_SERVER, tmp_path, "garbage") as base:
        words = ("--target", "function:bots.py:ask", "--simulator", f"openai-compatible:m@{base}/v1")
        done = howsure("run", test_set(tmp_path / "played.json", held), *words, "--json")
    assert done.code == 3, done.err
    assert done.json["faults"] == {"simulator": 1}
    result = results(howsure)["s1"]
    assert result["verdict"] == "errored"
    assert "no usable reply in 2 tries" in result["error"]


USERS = """
from howsure.model.simulation import Ending
from howsure.users.base import UserExit, UserMessage

MISTAKES = {
    "invents": UserMessage("It is order 42. My passport number is 88217345."),
    "drops": UserMessage("As an AI language model, I have no order of my own."),
    "leaves": UserExit(Ending.GOAL_REACHED, "nothing is left to say"),
}


class Careless:
    name = "careless"

    def open(self, case, attempt=1):
        return Talker(case, attempt)


class Talker:
    def __init__(self, case, attempt):
        self.case = case
        self.attempt = attempt

    async def next(self, said):
        spoken = sum(one.role.value == "user" for one in said)
        if spoken == 0:
            return UserMessage(self.case.input.initial_message)
        if spoken == 1 and self.attempt == 1 and self.case.id in MISTAKES:
            return MISTAKES[self.case.id]
        if spoken == 1:
            return UserMessage("It is order 42.")
        return UserExit(Ending.GOAL_REACHED, "it was told")


def register(kit):
    kit.users.add(Careless())
"""
SLIPS = {"invents": "invented_fact", "drops": "out_of_persona", "leaves": "stopped_early"}


@pytest.fixture
def careless(tmp_path: Path) -> tuple[str | Path, ...]:
    """A user from a plug-in who makes three mistakes, and one conversation without any."""
    (tmp_path / "users.py").write_text(USERS, encoding="utf-8")
    held = [
        scenario(id, "Where is my order?", goal="Know when the order was shipped.", facts={"order": "42"},
                 criteria=["It is fine."])
        for id in (*SLIPS, "clean")
    ]  # fmt: skip
    dataset = test_set(tmp_path / "careless.json", *held)
    return (
        "run", dataset, "--target", "function:bots.py:ask", "--simulator", "careless",
        "--plugin", tmp_path / "users.py", "--graders", "criteria,simulator_fidelity", "--json", "--judge",
    )  # fmt: skip


def test_a_user_that_errs_is_caught_and_answerable(
    howsure: Howsure, careless: tuple[str | Path, ...], strict: str
) -> None:
    done = howsure(*careless, strict)
    assert done.code == 3, done.err
    assert (done.json["failed"], done.json["errored"]) == (1, 3)
    assert done.json["faults"] == {"simulator": 3, "agent": 1}
    (fidelity,) = [one for one in done.json["graders"] if one["name"] == "simulator_fidelity"]
    assert (fidelity["passed"], fidelity["failed"]) == (1, 3)
    found = results(howsure)
    kinds = {id: [slip["kind"] for slip in one["simulation"].get("slips", [])] for id, one in found.items()}
    assert kinds == {**{id: [kind] for id, kind in SLIPS.items()}, "clean": []}
    assert {id: one["fault"]["party"] for id, one in found.items()} == dict.fromkeys(SLIPS, "simulator") | {
        "clean": "agent"
    }
    assert "88217345" in found["invents"]["fault"]["evidence"]
    shown = howsure("show", "latest").out
    assert "careless" in shown
    assert "3 of 4" in shown


def test_a_judge_may_find_what_no_program_does(howsure: Howsure, endings: Path, strict: str) -> None:
    done = howsure("run", endings, "--target", "function:bots.py:answer", "--judge", strict, "--json")
    assert done.json["faults"] == {"simulator": len(ENDINGS)}
    assert results(howsure)["loop"]["fault"]["reason"] == "the judge gives the simulated user 0 of 5"


def test_a_spoiled_conversation_is_played_again(
    howsure: Howsure, careless: tuple[str | Path, ...], strict: str, judge: str
) -> None:
    done = howsure(*careless, strict, "--replay-spoiled", "1")
    assert done.code == 0, done.err
    assert done.json["faults"] == {"agent": 4}
    found = results(howsure)
    thrown = {
        id: [[slip["kind"] for slip in one] for one in result["simulation"].get("discarded", [])]
        for id, result in found.items()
    }
    assert thrown == {**{id: [[kind]] for id, kind in SLIPS.items()}, "clean": []}
    assert not any(one["simulation"].get("slips") for one in found.values())
    said = [message["content"] for message in found["invents"]["output"]["messages"]]
    assert said == ["Where is my order?", "Which order is it?", "It is order 42.", "The order was shipped on Monday."]
    done = howsure(*careless, judge, "--replay-spoiled", "1")
    assert (done.json["passed"], done.json["faults"]) == (4, {})
