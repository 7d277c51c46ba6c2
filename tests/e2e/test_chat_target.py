"""Models under test: several side by side, asked through the one door, cached, repeated, and their failures counted."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dialect_rows import reference_qa
from e2e.model_server import application
from house import lines, mcq
from listening import in_a_thread

Howsure = Callable[..., Any]


@pytest.fixture
def base() -> Iterator[str]:
    with in_a_thread(application("good")) as address:
        yield address


def calls(base: str) -> int:
    with urllib.request.urlopen(f"{base}/count") as answer:
        return int(json.load(answer)["calls"])


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    right = {number: {"correct_choice_ids": ["A" if number % 2 else "B"]} for number in range(1, 7)}
    context = "The facts of the case."
    return lines(tmp_path / "questions.jsonl", *(mcq(n, context=context, **fields) for n, fields in right.items()))


def test_a_model_is_asked_and_graded(howsure: Howsure, base: str, dataset: Path) -> None:
    done = howsure("run", dataset, "--target", f"chat:openai-compatible:m@{base}/v1", "--json")
    assert done.code == 0, done.err
    assert (done.json["passed"], done.json["failed"]) == (3, 3)
    assert done.json["spent"]["calls"] == 6
    first = howsure("results", "--json").json[0]
    assert first["output"]["messages"][-1]["content"] == "Answer: A"


def test_several_models_stand_side_by_side(howsure: Howsure, base: str, dataset: Path) -> None:
    names = [f"openai-compatible:{name}@{base}/v1" for name in ("juno", "orchid")]
    chosen = [word for name in names for word in ("--candidate", name)]
    done = howsure("run", dataset, "--target", "chat", *chosen, "--json")
    assert done.code == 0, done.err
    assert {name: counts["passed"] for name, counts in done.json["candidates"].items()} == dict.fromkeys(names, 3)


def test_answers_are_cached_and_repeats_are_asked_anew(howsure: Howsure, base: str, dataset: Path) -> None:
    target = f"chat:openai-compatible:m@{base}/v1"
    howsure("run", dataset, "--target", target, "--quiet")
    howsure("run", dataset, "--target", target, "--quiet")
    assert calls(base) == 6
    done = howsure("run", dataset, "--target", target, "--repeat", "3", "--json")
    assert done.json["total"] == 18
    assert calls(base) == 18


@pytest.mark.thorough
def test_a_model_that_cannot_be_reached_errors_its_cases(howsure: Howsure, tmp_path: Path, dataset: Path) -> None:
    (tmp_path / "howsure.yaml").write_text("attempt_seconds: 1\n", encoding="utf-8")
    target = "chat:openai-compatible:m@http://127.0.0.1:9/v1"
    done = howsure("run", dataset, "--target", target, "--limit", "1", "--budget", "3s", "--json")
    assert done.code in (2, 3), done.err
    assert done.json["passed"] == done.json["failed"] == 0
    assert "Traceback" not in done.err


def test_chat_without_a_model_says_what_is_missing(howsure: Howsure, dataset: Path) -> None:
    done = howsure("run", dataset, "--target", "chat")
    assert done.code == 2
    assert "--candidate" in done.err


def test_attachments_settings_and_the_datasets_own_instructions_reach_the_model(
    howsure: Howsure, base: str, tmp_path: Path
) -> None:
    (tmp_path / "lease.txt").write_text("The lease ends in May.", encoding="utf-8")
    (tmp_path / "plan.png").write_bytes(b"\x89PNG\r\n\x1a\n0000")
    row = reference_qa(
        "q1",
        prompt="When does it end?",
        reference_answers=["In May."],
        attachments=[{"path": "lease.txt"}, {"path": "plan.png", "title": "Plan"}],
        metadata={"policy_id": "apexv1_extended_v1"},
    )
    dataset, trace = tmp_path / "attached.jsonl", tmp_path / "trace.jsonl"
    dataset.write_text(json.dumps(row) + "\n", encoding="utf-8")
    (tmp_path / "howsure.yaml").write_text("target_settings: {temperature: 0.3, seed: 5}\n", encoding="utf-8")
    target = f"chat:openai-compatible:m@{base}/v1"
    done = howsure("run", dataset, "--target", target, "--judge", "none", "--trace", trace, "--json")
    assert done.code in (0, 3), done.err
    traced = trace.read_text(encoding="utf-8")
    for part in ("The lease ends in May.", "image_url", "data:image/png;base64,", "experienced lawyer"):
        assert part in traced
    asked = json.loads(traced.splitlines()[0])
    assert (asked["request"]["temperature"], asked["request"]["seed"]) == (0.3, 5)


TOOLS = """
targets:
  shop:
    kind: chat
    model: openai-compatible:m@{base}/v1
    system_prompt: You are Moss.
    agent: moss
    tools:
      - name: look_up
        description: Finds an order.
        parameters: {{type: object, properties: {{order: {{type: string}}}}}}
      - {{name: refund}}
    tool_results:
      look_up:
        - {{when: {{order: A1}}, result: {{status: shipped}}}}
        - {{result: no such order, failed: true}}
    tool_functions: shop_functions.py:TOOLS
"""


def test_tools_are_offered_answered_and_graded(howsure: Howsure, base: str, tmp_path: Path) -> None:
    (tmp_path / "howsure.yaml").write_text(TOOLS.format(base=base), encoding="utf-8")
    (tmp_path / "shop_functions.py").write_text(
        "TOOLS = {'refund': lambda order: {'refunded': order}}\n", encoding="utf-8"
    )
    calls_ = [{"tool_name": name, "input_arguments": {"order": "A1"}} for name in ("look_up", "refund")]
    reference = {"reference_tool_interactions": calls_}
    question = {"id": "q1", "user_inputs": ["Refund A1."], "agents_evaluated": ["moss"], "reference_data": reference}
    golden = tmp_path / "moss_golden.json"
    golden.write_text(json.dumps({"golden_questions": [question]}), encoding="utf-8")
    for _ in range(2):
        done = howsure("run", golden, "--target", "shop", "--json")
        assert done.code == 0, done.err + done.out
        (result,) = howsure("results", "--json").json
        made = [(call["name"], call["arguments"]) for call in result["output"]["tool_calls"]]
        assert made == [("look_up", {"order": "A1"}), ("refund", {"order": "A1"})]
        assert result["output"]["messages"][-1]["content"] == 'It says: {"refunded":"A1"}'
        assert result["scores"]["tool_usage_accuracy"]["score"] == 1.0
    # Both rounds of the second run came from the cache.
    assert calls(base) == 2


def test_every_wrong_setting_of_a_chat_block_is_told_at_once(howsure: Howsure, tmp_path: Path, dataset: Path) -> None:
    block = "targets: {bot: {kind: chat, model: 3, tool: [], max_tool_rounds: 0}}\n"
    (tmp_path / "howsure.yaml").write_text(block, encoding="utf-8")
    done = howsure("run", dataset, "--target", "bot")
    assert done.code == 2
    for name in ("model", "tool", "max_tool_rounds"):
        assert f"`targets.bot.{name}`" in done.err
