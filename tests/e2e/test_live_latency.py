"""How long live agents take is measured: a gate on latency fails a slow one, holds a quick one, and believes no cache.
What the clock says stays out of grades and of canonical exports."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from live_files import MODEL_SERVER, golden, serving

Howsure = Callable[..., Any]
CASES = 80
SLOW_SECONDS = 2.5
GATE = "p95_latency <= 2s"
HELD, FAILED, INCONCLUSIVE = 0, 100, 101
BOTS = f"""
import time


def quick(text):
    return "Yes."


def slow(text):
    time.sleep({SLOW_SECONDS})
    return "Yes."
"""


class Bot(BaseHTTPRequestHandler):
    """Says yes, at once or (under /slow) after a while."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/slow":
            time.sleep(SLOW_SECONDS)
        body = json.dumps({"answer": "Yes."}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return None


class Bots(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 2 * CASES


@pytest.fixture(scope="module")
def bot() -> Iterator[str]:
    with Bots(("127.0.0.1", 0), Bot) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    (tmp_path / "timed_bots.py").write_text(BOTS, encoding="utf-8")
    questions = ({"id": f"q{place}", "user_inputs": [f"Is {place} a number?"]} for place in range(CASES))
    return golden(tmp_path / "asked.json", *questions)


@pytest.mark.parametrize(("pace", "code"), [("quick", HELD), ("slow", FAILED)])
@pytest.mark.parametrize("way", ["http", "function"])
def test_a_gate_on_latency_tells_a_slow_agent_from_a_quick_one(
    howsure: Howsure, bot: str, asked: Path, way: str, pace: str, code: int
) -> None:
    target = f"http:{bot}/{pace}" if way == "http" else f"function:timed_bots:{pace}"
    at_once = CASES if pace == "slow" else 4
    done = howsure("run", asked, "--target", target, "--gate", GATE, "--max-concurrency", str(at_once), "--json")
    assert done.code == code, done.err
    (gate,) = done.json["gates"]
    assert (gate["n"], gate["unjudged"]) == (CASES, 0)
    assert (gate["value"] >= SLOW_SECONDS) == (pace == "slow")


def test_what_the_clock_says_is_no_grade_and_in_no_canonical_export(howsure: Howsure, asked: Path) -> None:
    for name in ("first", "again"):
        assert howsure("run", asked, "--target", "function:timed_bots:quick", "--name", name).code == 0
    exports = [howsure("results", name, "--canonical").out for name in ("first", "again")]
    assert exports[0] == exports[1]
    assert "duration_ms" not in exports[0]
    (result, *_) = howsure("results", "first", "--json").json
    assert json.loads(result["scores"]["latency_metrics"]["comment"])["status"] == "not_applicable"


def test_replies_from_the_cache_say_nothing_of_a_models_latency(howsure: Howsure, asked: Path, tmp_path: Path) -> None:
    with serving(MODEL_SERVER, tmp_path) as base:
        words = ("run", asked, "--target", f"chat:openai-compatible:m@{base}/v1", "--gate", "p95_latency <= 1m")
        fresh, again = howsure(*words, "--json"), howsure(*words, "--json")
    assert (fresh.code, again.code) == (HELD, INCONCLUSIVE), fresh.err
    assert fresh.json["gates"][0]["n"] == CASES
    (gate,) = again.json["gates"]
    assert (gate["n"], gate["unjudged"], gate["reason"]) == (0, CASES, "No answer has a known duration.")
