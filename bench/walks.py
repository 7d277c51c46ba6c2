"""How many files a call walks through: three real calls, each traced from the command to its end with `sys.setprofile`.
What an import executes is not counted, and neither is anything outside the package.

    python -m bench walks                   the three walks, with the files that each passes
    python -m bench.walks --package NAME    another edition of the package, installed in this environment
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from io import BytesIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any
from urllib.request import Request, urlopen

LIMITS = {"recorded run": 80, "live scenario with judge": 140, "POST /runs, the worker": 115}
"""Files that a walk may pass."""
IMPORTED = ("<module>", "<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>", "<lambda>")
TEST_SET = {
    "test_set_id": "walk",
    "agent_id": "a" * 24,
    "version": 1,
    "name": "Walk",
    "items": [
        {
            "item_id": "one",
            "type": "scenario",
            "name": "one",
            "inputs": {"persona": "A customer who is short of time", "initial_message": "Hello", "max_turns": 2},
            "expected": {"success_criteria": ["Greets the customer"]},
        }
    ],
}
QUESTION = {
    "schema_version": "legal_eval_v1",
    "id": "q1",
    "dataset": "walk",
    "task_type": "mcq",
    "prompt": "How long is the notice period?",
    "choices": [{"id": "A", "text": "Thirty days"}, {"id": "B", "text": "A year"}],
    "correct_choice_ids": ["A"],
}
CHILD = """
import atexit, json, sys, threading
from pathlib import Path
from bench.walks import Trace
trace = Trace(Path({folder!r}))

def begin(frame, event, _):
    if frame.f_code.co_name == "serve_runs":
        threading.setprofile(trace)
        sys.setprofile(trace)

sys.setprofile(begin)
atexit.register(lambda: Path({told!r}).write_text(json.dumps(list(trace.calls))))
"""
"""What a process that the worker starts does first: it traces from where it serves runs, and writes the functions that
were called when it ends."""
ANSWER = {"example_id": "q1", "response_text": "Answer: A"}
REPLY = {"reason": "it does", "evidence": [], "passed": True, "message": "Thank you.", "ending": "goal_reached"}


class Trace:
    """Counts the functions of one package that are called, in every thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self.calls: Counter[tuple[str, str]] = Counter()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        inside = event == "call" and code.co_filename.startswith(self.folder + os.sep)
        if inside and code.co_name not in IMPORTED:
            self.calls[os.path.relpath(code.co_filename, self.folder), code.co_qualname] += 1

    @property
    def files(self) -> list[str]:
        return sorted({file for file, _ in self.calls})


@contextmanager
def tracing(package: str) -> Iterator[Trace]:
    folder = Path(str(import_module(package).__file__)).parent
    trace = Trace(folder)
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        yield trace
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


class Bot(BaseHTTPRequestHandler):
    """A bot at /chat, and a language model at /v1 that judges and plays users."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        message = {"role": "assistant", "content": json.dumps(REPLY)}
        body = {"choices": [{"message": message, "finish_reason": "stop"}], "answer": "Hello, what can I do for you?"}
        said = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: Any) -> None:
        return None


@contextmanager
def bot() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bot)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()


def command(package: str, *words: str) -> None:
    """Run a command of the package in this process."""
    program = import_module(f"{package}.main").program
    with redirect_stdout(TextIOWrapper(BytesIO())), redirect_stderr(TextIOWrapper(BytesIO())), suppress(SystemExit):
        program.main([*words], standalone_mode=True)


def recorded_run(package: str) -> Trace:
    Path("cases.jsonl").write_text(json.dumps(QUESTION) + "\n")
    Path("answers.jsonl").write_text(json.dumps(ANSWER) + "\n")
    words = ("run", "cases.jsonl", "--responses", "answers.jsonl", "--judge", "offline")
    command(package, *words)
    with tracing(package) as trace:
        command(package, *words)
    return trace


def live_scenario(package: str) -> Trace:
    Path("scenario.json").write_text(json.dumps(TEST_SET))
    with bot() as port:
        model = f"openai-compatible:m@http://127.0.0.1:{port}/v1"
        words = ("run", "scenario.json", "--target", f"http:http://127.0.0.1:{port}/chat", "--no-cache")
        said = (*words, "--simulator", model, "--judge", model)
        command(package, *said)
        with tracing(package) as trace:
            command(package, *said)
    return trace


def call(url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(url, data, {"content-type": "application/json"}), timeout=10) as reply:
        return json.load(reply)


def worker(package: str) -> Trace:
    """The service takes the request; a worker in this process has the run carried out, in a process of its own where
    the edition does so: both are one walk."""
    with bot() as port:
        target = f"targets: {{bot: {{kind: http, url: 'http://127.0.0.1:{port}/chat'}}}}\nservice: {{target: bot}}\n"
        Path(f"{package}.yaml").write_text(target)
        served = 18_000 + os.getpid() % 10_000
        api = f"http://127.0.0.1:{served}/api/v1"
        words = (sys.executable, "-m", package, "serve", "--port", str(served), "--workers", "0")
        service = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: call(f"{api}/health"))
            made = call(f"{api}/test-sets", {key: TEST_SET[key] for key in ("name", "items")})
            run_id = call(f"{api}/runs", {"test_set_id": made["test_set_id"]})["run_id"]
            ended = threading.Thread(target=stop_at_end, args=(f"{api}/runs/{run_id}",), daemon=True)
            ended.start()
            with tracing(package) as trace, traced_child(trace):
                command(package, "worker")
        finally:
            service.terminate()
            service.wait(10)
    return trace


@contextmanager
def traced_child(trace: Trace) -> Iterator[None]:
    """What the processes started inside call counts too; `sitecustomize` is imported by Python when it starts."""
    before, told = os.environ.get("PYTHONPATH"), Path("called.json").absolute()
    with TemporaryDirectory() as folder:
        Path(folder, "sitecustomize.py").write_text(CHILD.format(folder=trace.folder, told=str(told)))
        os.environ["PYTHONPATH"] = os.pathsep.join((folder, str(Path(__file__).parents[1])))
        try:
            yield
        finally:
            os.environ.pop("PYTHONPATH")
            os.environ |= {} if before is None else {"PYTHONPATH": before}
    if told.exists():
        trace.calls.update((file, function) for file, function in json.loads(told.read_text()))
    else:
        print("no process of its own was traced: on a busy machine it may be killed before it has reported")


def wait_for(attempt: Callable[[], Any]) -> None:
    for _ in range(200):
        with suppress(OSError):
            attempt()
            return
        time.sleep(0.1)
    raise TimeoutError("the service did not start")


def stop_at_end(url: str) -> None:
    while call(url)["status"] in ("pending", "running"):
        time.sleep(0.1)
    os.kill(os.getpid(), signal.SIGTERM)


WALKS = {"recorded run": recorded_run, "live scenario with judge": live_scenario, "POST /runs, the worker": worker}


def main(package: str = "howsure", *, listed: bool = False) -> None:
    before = Path.cwd()
    for name, walk in WALKS.items():
        with TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                trace = walk(package)
            finally:
                os.chdir(before)
        print(f"{name}: {len(trace.files)} files (at most {LIMITS[name]}), {len(trace.calls)} functions")
        if listed:
            print("  " + "\n  ".join(trace.files))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", default="howsure")
    parser.add_argument("--list", action="store_true", help="name the files")
    given = parser.parse_args()
    main(given.package, listed=given.list)
