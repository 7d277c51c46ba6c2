"""`howsure run` with live agents on loopback: a FastAPI bot, a program, a Python function. What they did arrives."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from live_files import FASTAPI_BOT, TESTS, fetched, golden, lines, scenario, serving, test_set
from shop_bot import GREETING

Howsure = Callable[..., Any]
WAYS = ("http", "command", "function")

BOTS = """
from shop_bot import ShopBot

BOT = ShopBot()


def answer(text, session_id, state):
    if text == "break":
        raise RuntimeError("the shop is on fire: boom")
    return BOT.answer(text, session_id, state)
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the FastAPI bot."""
    with serving(FASTAPI_BOT, tmp_path_factory.mktemp("shop")) as base:
        yield base


@pytest.fixture(params=WAYS)
def target(request: pytest.FixtureRequest, shop: str, tmp_path: Path) -> str:
    """One bot, reached in each way."""
    (tmp_path / "live_bots.py").write_text(BOTS, encoding="utf-8")
    return {
        "http": f"http:{shop}/chat",
        "command": f"command:{shlex.join([sys.executable, str(TESTS / 'shop_bot.py')])}",
        "function": "function:live_bots:answer",
    }[request.param]


def results(howsure: Howsure) -> list[dict[str, Any]]:
    printed = howsure("results", "latest", "--json")
    assert printed.code == 0, printed.err
    return list(printed.json)


def test_calls_with_results_agents_usage_and_the_answer_arrive(howsure: Howsure, target: str, tmp_path: Path) -> None:
    expected = {
        "reference_tool_interactions": [{"tool_name": "look_up", "input_arguments": {"order": "42"}}],
        "reference_trajectory": ["router", "look_up", "orders"],
    }
    asked = {"id": "q1", "user_inputs": ["hello", "order:42"], "reference_data": expected}
    dataset = golden(tmp_path / "shop_golden.json", {**asked, "agents_evaluated": ["router", "orders"]})
    done = howsure("run", dataset, "--target", target, "--json")
    assert done.code == 0, done.err
    assert (done.json["passed"], done.json["total"], done.json["target"]) == (1, 1, target)
    (result,) = results(howsure)
    assert result["output"] == {
        "messages": [
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": GREETING},
            {"role": "user", "content": "order:42"},
            {"role": "assistant", "content": "Let me see.", "agent": "router"},
            {"role": "assistant", "content": "Order 42 is on its way.", "agent": "orders"},
        ],
        "tool_calls": [
            {
                "name": "look_up",
                "arguments": {"order": "42"},
                "id": "c1",
                "result": {"content": {"status": "shipped"}, "failed": False},
            }
        ],
        "state": None,
        "answer": "Order 42 is on its way.",
        "usage": {"prompt_tokens": 11, "completion_tokens": 7},
    }


def test_the_state_of_the_run_and_of_the_case_arrive_and_come_back(
    howsure: Howsure, target: str, tmp_path: Path
) -> None:
    dataset = golden(
        tmp_path / "state_golden.json",
        {"id": "plain", "user_inputs": ["count", "count"]},
        {"id": "own", "user_inputs": ["count"], "initial_state": {"count": 7, "vip": True}},
    )
    words = ("--state", "count:4", "--state", "shop:Moss & Co")
    done = howsure("run", dataset, "--target", target, *words, "--json")
    assert done.code == 0, done.err
    plain, own = (result["output"] for result in results(howsure))
    assert (plain["answer"], plain["state"]) == ("6", {"count": 6, "shop": "Moss & Co"})
    assert (own["answer"], own["state"]) == ("8", {"count": 8, "shop": "Moss & Co", "vip": True})


def test_repeats_are_conversations_of_their_own(howsure: Howsure, target: str, tmp_path: Path) -> None:
    dataset = golden(tmp_path / "often_golden.json", {"id": "q1", "user_inputs": ["hello", "how often"]})
    done = howsure("run", dataset, "--target", target, "--repeat", "3", "--json")
    assert done.code == 0, done.err
    assert done.json["total"] == 3
    found = [(result["repeat"], result["output"]["answer"]) for result in results(howsure)]
    assert found == [(1, "2 times"), (2, "2 times"), (3, "2 times")]


def test_several_replies_in_one_turn_are_all_kept(howsure: Howsure, target: str, tmp_path: Path) -> None:
    dataset = golden(tmp_path / "several_golden.json", {"id": "q1", "user_inputs": ["several"]})
    assert howsure("run", dataset, "--target", target, "--quiet").code == 0
    (result,) = results(howsure)
    said = [message["content"] for message in result["output"]["messages"]]
    assert said == ["several", "One moment.", "There it is."]
    assert result["output"]["answer"] == "There it is."


def test_a_turn_that_breaks_errors_its_case_and_the_reason_is_kept(
    howsure: Howsure, target: str, tmp_path: Path
) -> None:
    dataset = golden(
        tmp_path / "break_golden.json",
        {"id": "broken", "user_inputs": ["hello", "break", "hello"]},
        {"id": "whole", "user_inputs": ["hello"]},
        {"id": "refused", "user_inputs": ["refuse"]},
    )
    done = howsure("run", dataset, "--target", target, "--json")
    assert done.code == 3, done.err
    assert (done.json["errored"], done.json["skipped"], done.json["total"]) == (2, 1, 3)
    broken, whole, refused = results(howsure)
    assert (broken["verdict"], whole["verdict"], refused["verdict"]) == ("errored", "skipped", "errored")
    assert "boom" in broken["error"]
    assert "no tokens left" in refused["error"]
    said = [message["content"] for message in broken["output"]["messages"]]
    assert said == ["hello", GREETING]


def test_the_body_of_an_http_error_is_kept(howsure: Howsure, shop: str, tmp_path: Path) -> None:
    dataset = golden(tmp_path / "break_golden.json", {"id": "q1", "user_inputs": ["break"]})
    assert howsure("run", dataset, "--target", f"http:{shop}/chat", "--quiet").code == 3
    (result,) = results(howsure)
    assert f"POST {shop}/chat answered 500 Internal Server Error (application/json)" in result["error"]
    assert '{"detail":"the shop is on fire: boom"}' in result["error"]


def test_a_bot_that_is_not_there_stops_the_run_before_it_starts(howsure: Howsure, tmp_path: Path) -> None:
    dataset = golden(tmp_path / "shop_golden.json", {"id": "q1", "user_inputs": ["hello"]})
    done = howsure("run", dataset, "--target", "http:http://127.0.0.1:9/chat")
    assert done.code == 2
    assert "connection refused" in done.err
    assert "Nothing was run." in done.err
    assert howsure("runs", "--json").json == []


def test_a_block_in_the_settings_needs_no_code(howsure: Howsure, shop: str, tmp_path: Path) -> None:
    block = f"""
targets:
  shop:
    kind: http
    url: {shop}/chat
    body: {{message: "order:{{message}}", session_id: "{{session_id}}", state: "{{state}}", mine: ["{{case_id}}"]}}
    answer: messages[-1].content
    tool_calls: messages[0].tool_calls
    usage: usage
"""
    (tmp_path / "howsure.yaml").write_text(block, encoding="utf-8")
    fetched(f"{shop}/asked", "DELETE")
    dataset = golden(tmp_path / "shop_golden.json", {"id": "q1", "user_inputs": ["7"]})
    done = howsure("run", dataset, "--target", "shop", "--json")
    assert done.code == 0, done.err
    (result,) = results(howsure)
    assert result["output"]["answer"] == "Order 7 is on its way."
    assert [call["arguments"] for call in result["output"]["tool_calls"]] == [{"order": "7"}]
    (asked,) = fetched(f"{shop}/asked")
    assert (asked["mine"], asked["message"]) == (["q1"], "order:7")


EARLIER = [
    {
        "case_id": "q1",
        "messages": [
            {"role": "user", "content": "order:1"},
            {"role": "assistant", "content": "I cannot find it."},
            {"role": "user", "content": "order:2"},
            {"role": "assistant", "content": "Neither."},
        ],
    }
]


def test_what_users_said_before_is_sent_to_the_agent_as_it_is_now(howsure: Howsure, shop: str, tmp_path: Path) -> None:
    fetched(f"{shop}/asked", "DELETE")
    dataset = golden(tmp_path / "shop_golden.json", {"id": "q1", "user_inputs": ["hello"]})
    earlier = lines(tmp_path / "earlier.jsonl", EARLIER)
    done = howsure("run", dataset, "--target", f"replay:http:{shop}/chat", "--responses", earlier, "--json")
    assert done.code == 0, done.err
    assert [asked["message"] for asked in fetched(f"{shop}/asked")] == ["order:1", "order:2"]
    (result,) = results(howsure)
    assert result["output"]["answer"] == "Order 2 is on its way."


def test_the_conversations_of_an_earlier_run_are_replayed(howsure: Howsure, shop: str, tmp_path: Path) -> None:
    dataset = golden(tmp_path / "shop_golden.json", {"id": "q1", "user_inputs": ["hello", "order:9"]})
    assert howsure("run", dataset, "--target", f"http:{shop}/chat", "--name", "first", "--quiet").code == 0
    fetched(f"{shop}/asked", "DELETE")
    done = howsure("run", dataset, "--target", f"replay:http:{shop}/chat", "--responses", "run:first", "--json")
    assert done.code == 0, done.err
    assert [asked["message"] for asked in fetched(f"{shop}/asked")] == ["hello", "order:9"]


# Transcript mode: finished conversations against the criteria of a whole test set.


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    """Three criteria, one of them in two places."""
    return test_set(
        tmp_path / "pool.json",
        scenario("s1", "Hi", criteria=["The agent names the order.", "The agent greets."]),
        scenario("s2", "Hello", criteria=["The agent greets.", "The agent offers help."]),
    )


def pooled(howsure: Howsure, source: str | Path, pool: Path) -> dict[str, list[str]]:
    """The criteria that each conversation was held against."""
    done = howsure("run", source, "--criteria-from", pool, "--name", "pooled", "--json")
    assert done.code in (0, 3), done.err
    assert done.json["target"] == "recorded"
    found = howsure("results", "pooled", "--json").json
    # Those of a conversation that broke are listed, too.
    assert done.json["criteria_total"] == 3 * len(found) == sum(len(one["criteria_scores"]) for one in found)
    return {one["test_case_id"]: [each["criterion"] for each in one["criteria_scores"]] for one in found}


CRITERIA = ["The agent names the order.", "The agent greets.", "The agent offers help."]


def test_a_simulation_file_is_held_against_pooled_criteria(howsure: Howsure, demos: Path, pool: Path) -> None:
    found = pooled(howsure, demos / "simulation" / "support-simulation.csv", pool)
    assert len(found) == 13
    assert set(map(tuple, found.values())) == {tuple(CRITERIA)}


def test_transcripts_in_a_file_are_held_against_pooled_criteria(howsure: Howsure, tmp_path: Path, pool: Path) -> None:
    second = {**EARLIER[0], "case_id": "q2"}
    found = pooled(howsure, lines(tmp_path / "transcripts.jsonl", [*EARLIER, second]), pool)
    assert found == {"q1": CRITERIA, "q2": CRITERIA}


def test_an_earlier_run_is_held_against_pooled_criteria_and_nobody_is_called(
    howsure: Howsure, shop: str, tmp_path: Path, pool: Path
) -> None:
    dataset = golden(tmp_path / "shop_golden.json", {"id": "q1", "user_inputs": ["hello", "order:9"]})
    run = ("run", dataset, "--target", f"http:{shop}/chat", "--repeat", "2", "--name", "live", "--quiet")
    assert howsure(*run).code == 0
    fetched(f"{shop}/asked", "DELETE")
    assert pooled(howsure, "run:live", pool) == {"q1": CRITERIA, "q1 (repeat 2)": CRITERIA}
    assert fetched(f"{shop}/asked") == []
    first = howsure("results", "pooled", "--json").json[0]
    assert [call["name"] for call in first["output"]["tool_calls"]] == ["look_up"]
    assert first["output"]["answer"] == "Order 9 is on its way."


@pytest.fixture
def demos() -> Path:
    return TESTS.parent / "src" / "howsure" / "demo"
