"""Two organisations on one service. One uploads 100 MB of bad rows, runs a hostile pattern and a function that never
returns, and holds 200 slow connections, all at once; the other's run takes at most twice its time, health is answered
within a second at every probe, and all processes together stay below 800 MB.

Alone on the machine: `make test-service` runs it after everything else. Memory is the sum of PSS over the service, its
workers and all their children: shared pages count once."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from howsure.services.demo import demo_folder
from service.battered import members

MEGABYTE = 1 << 20
CASES = 3_000
UPLOAD_MEGABYTES = 100
CONNECTIONS = 200
MOST_SECONDS_RATIO = 2.0
MOST_HEALTH_SECONDS = 1.0
MOST_MEGABYTES = 800
PATIENCE = 600.0

BOTS = """
def hang(text: str) -> str:
    while True:
        pass

def call(text: str) -> dict:
    return {"answer": "Done.", "tool_calls": [{"name": "look_up", "args": {"text": "a" * 50 + "!"}}]}
"""
SETTINGS = """
targets:
  hang: {kind: function, function: noisy_bots:hang}
  call: {kind: function, function: noisy_bots:call}
service:
  target: recorded
  largest_body: 150000000
"""
PATTERN = {
    "golden_questions": [
        {
            "id": f"q{number}",
            "user_inputs": ["Look it up."],
            "agents_evaluated": ["support"],
            "metadata": {},
            "reference_data": {
                "reference_tool_interactions": [
                    {"tool_name": "look_up", "input_arguments": {"text": {"$regex": "(a|aa)+$"}}}
                ]
            },
        }
        for number in range(20)
    ]
}
HANGING = {
    "golden_questions": [
        {
            "id": "q",
            "user_inputs": ["Hang."],
            "agents_evaluated": ["support"],
            "metadata": {},
            "reference_data": {"expected_response": "Never."},
        }
    ]
}


class Tenant:
    """Asks with the key of one organisation."""

    def __init__(self, base: str, key: str) -> None:
        self._base = base
        self._key = key

    def __call__(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        raw = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        headers = {"Content-Type": kind, "Authorization": f"Bearer {self._key}"}
        try:
            with urlopen(Request(self._base + path, raw, headers, method=method), timeout=PATIENCE) as response:
                return response.status, json.loads(response.read() or b"null")
        except HTTPError as error:
            return error.code, json.loads(error.read() or b"null")

    def upload(self, name: str, dialect: str, content: bytes) -> str:
        status, made = self("POST", f"/datasets/upload?name={name}&dialect={dialect}", content)
        assert status == 201, made
        return str(made["dataset_id"])

    def start(self, dataset: str, **fields: Any) -> str:
        status, run = self("POST", "/runs", {"dataset_id": dataset, **fields})
        assert status in (200, 201, 202), run
        return str(run["run_id"])

    def run(self, dataset: str, **fields: Any) -> tuple[float, dict[str, Any]]:
        """The seconds that a run takes, and the run."""
        begun = time.monotonic()
        run_id = self.start(dataset, **fields)
        while (run := self("GET", f"/runs/{run_id}")[1])["status"] not in ("completed", "failed"):
            assert time.monotonic() - begun < PATIENCE, run
            time.sleep(0.1)
        return time.monotonic() - begun, run


class Probes:
    """Asks for health four times a second, and adds up the memory of all processes twice a second."""

    def __init__(self, base: str, pid: int) -> None:
        self._base = base
        self._pid = pid
        self._stop = threading.Event()
        self.health: list[float] = []
        self.memory: list[float] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        threads = [threading.Thread(target=each) for each in (self._probe, self._weigh)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()

    def _probe(self) -> None:
        while not self._stop.wait(0.25):
            begun = time.monotonic()
            try:
                with urlopen(f"{self._base}/health", timeout=60) as response:
                    response.read()
            except OSError:
                self.health.append(float("inf"))
            else:
                self.health.append(time.monotonic() - begun)

    def _weigh(self) -> None:
        while not self._stop.wait(0.5):
            self.memory.append(megabytes(self._pid))


def megabytes(session: int) -> float:
    """The PSS of a process, of those of its session, and of all their children."""
    known, parents = set(members(session)) | {session}, {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(place.parent.name)] = int(place.read_text(errors="replace").rpartition(")")[2].split()[1])
    while more := {pid for pid, parent in parents.items() if parent in known} - known:
        known |= more
    total = 0
    for pid in known:
        with suppress(OSError):
            found = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
            total += int(found[1]) if found else 0
    return total / 1024


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, int, tuple[str, str]]]:
    """A service that asks for keys: its address, its process, and the keys of two organisations."""
    (folder / "noisy_bots.py").write_text(BOTS)
    (folder / "howsure.yaml").write_text(SETTINGS)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HOWSURE_")}
    environ["HOWSURE_TRUST"] = "1"
    common: dict[str, Any] = {"cwd": folder, "env": environ, "stdin": subprocess.DEVNULL}
    command = [sys.executable, "-m", "howsure"]
    scopes = [word for scope in ("read", "write", "run") for word in ("--scope", scope)]
    keys = [
        json.loads(
            subprocess.run(
                [*command, "keys", "create", "--name", name, "--organization", name, *scopes, "--json"],
                check=True,
                stdout=subprocess.PIPE,
                **common,
            ).stdout
        )
        for name in ("quiet", "noisy")
    ]
    log = folder / "serve.log"
    with log.open("wb") as said:
        words = [*command, "serve", "--port", "0", "--workers", "2", "--require-keys"]
        process = subprocess.Popen(words, stdout=said, stderr=said, start_new_session=True, **common)
    try:
        while not (found := re.search(rb"serving (http://127[^\"\s]+)", log.read_bytes())):
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
        yield found[1].decode(), process.pid, (keys[0]["secret"], keys[1]["secret"])
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def recorded_cases(number: int) -> bytes:
    """Recorded conversations with tool calls, trajectories and states to compare: nothing to wait for."""
    with (demo_folder() / "simulation" / "support-simulation.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    written = io.StringIO()
    table = csv.DictWriter(written, list(rows[0]))
    table.writeheader()
    for place in range(number):
        row = rows[place % len(rows)]
        table.writerow({**row, "question_id": f"{row['question_id']}_{place}", "session_id": f"s{place}"})
    return written.getvalue().encode()


def bad_rows(size: int) -> bytes:
    row = b'{"schema_version":"legal_eval_v1","id":7,"task_type":"none","choices":[{}]}\n'
    return row * (size // len(row))


@contextmanager
def slow_connections(base: str, number: int) -> Iterator[None]:
    """Connections that say a byte of their request now and then, and half of them a byte of a body."""
    host, port = base.split("//")[1].split("/")[0].split(":")
    head = b"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 60000000\r\n\r\n"
    opened: list[socket.socket] = []
    stop = threading.Event()

    def trickle() -> None:
        while not stop.wait(1.0):
            for each in opened:
                with suppress(OSError):
                    each.send(b"x")

    for place in range(number):
        opened.append(socket.create_connection((host, int(port))))
        opened[-1].setblocking(False)
        with suppress(OSError):
            opened[-1].send(head if place % 2 else head[:20])
    thread = threading.Thread(target=trickle)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        for each in opened:
            each.close()


@contextmanager
def noise(base: str, tenant: Tenant, key: str) -> Iterator[dict[str, Any]]:
    """Everything that an organisation should not do. What became of it is in what is yielded, at the end."""
    outcome: dict[str, Any] = {}
    pattern = tenant.upload("pattern.json", "golden", json.dumps(PATTERN).encode())
    hanging = tenant.upload("hanging.json", "golden", json.dumps(HANGING).encode())

    def upload() -> None:
        begun = time.monotonic()
        host, port = base.split("//")[1].split("/")[0].split(":")
        connection = HTTPConnection(host, int(port), timeout=PATIENCE)
        headers = {"Content-Type": "application/octet-stream", "Authorization": f"Bearer {key}"}
        content = bad_rows(UPLOAD_MEGABYTES * MEGABYTE)
        try:
            connection.request("POST", "/api/v1/datasets/upload?name=bad.jsonl&dialect=legal", content, headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
            outcome["upload"] = (response.status, answer.get("detail"), len(answer.get("problems", ())))
        except OSError as error:
            outcome["upload"] = repr(error)
        finally:
            outcome["upload_seconds"] = round(time.monotonic() - begun, 1)
            connection.close()

    def run(name: str, dataset: str, target: str) -> Callable[[], None]:
        def started() -> None:
            outcome[name] = tenant.start(dataset, target=target)

        return started

    threads = [
        threading.Thread(target=each)
        for each in (upload, run("pattern", pattern, "call"), run("hanging", hanging, "hang"))
    ]
    with slow_connections(base, CONNECTIONS):
        for thread in threads:
            thread.start()
        # The others are at work before the run that is measured begins.
        time.sleep(2.0)
        yield outcome
        threads[0].join(PATIENCE)
    for name in ("pattern", "hanging"):
        if name in outcome:
            _, found = tenant("GET", f"/runs/{outcome[name]}")
            outcome[name] = {field: found[field] for field in ("status", "completed", "passed", "errored", "error")}


def measure(folder: Path) -> dict[str, Any]:
    """A run of one organisation alone, and again while another does its worst."""
    folder.mkdir()
    with serving(folder) as (base, pid, (quiet_key, noisy_key)):
        quiet, noisy = Tenant(base, quiet_key), Tenant(base, noisy_key)
        dataset = quiet.upload("cases.csv", "simulation", recorded_cases(CASES))
        # The first run loads what later ones find loaded.
        quiet.run(dataset, limit=10)
        before = megabytes(pid)
        alone, first = quiet.run(dataset)
        probes = Probes(base, pid)
        with probes.watching(), noise(base, noisy, noisy_key) as outcome:
            disturbed, second = quiet.run(dataset)
    assert (first["completed"], second["completed"]) == (CASES, CASES)
    assert first["passed"] == second["passed"]
    return {
        "cases": CASES,
        "alone_seconds": round(alone, 1),
        "disturbed_seconds": round(disturbed, 1),
        "ratio": round(disturbed / alone, 2),
        "health_seconds": round(max(probes.health), 2),
        "probes": len(probes.health),
        "megabytes_idle": round(before),
        "megabytes": round(max(probes.memory)),
        "noise": outcome,
    }


@pytest.mark.thorough
def test_what_one_organisation_does_slows_another_at_most_twofold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever else the machine does counts as noise of the other organisation, so what is too slow is measured once
    more; both measurements are printed."""
    for number in (1, 2):
        measured = measure(tmp_path / str(number))
        with capsys.disabled():
            print("\n" + json.dumps(measured, indent=1, default=str))
        assert measured["megabytes"] <= MOST_MEGABYTES
        if measured["ratio"] <= MOST_SECONDS_RATIO and measured["health_seconds"] <= MOST_HEALTH_SECONDS:
            return
    pytest.fail("twice too slow")
