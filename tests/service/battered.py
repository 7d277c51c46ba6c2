"""`howsure serve` and `howsure worker` as processes of their own, to be killed, with a bot that takes its time. What
the service says of a run is checked whenever it is asked."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from dialect_rows import mcq, write_rows

Json = dict[str, Any]
STEP = 0.05
PATIENCE = 120.0
"""Seconds: far more than anything here takes, on a machine that is busy with other things, too."""

BOT = """
import asyncio, os

LOG = os.open(os.path.join(os.path.dirname(__file__), "asked"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)

async def answer(text: str) -> str:
    os.write(LOG, (text.split()[1].rstrip("?") + "\\n").encode())
    await asyncio.sleep(float(os.environ.get("BOT_SECONDS", "0.03")))
    return "Answer: A"
"""
SETTINGS = """
targets:
  slow:
    kind: function
    function: slow_bot:answer
service:
  target: slow
"""


class Away(Exception):
    """The service does not answer, or says that it cannot."""


class Service:
    """A service in a folder, on a port of its own choosing, in a session of its own."""

    def __init__(self, folder: Path, database: str, workers: int = 2) -> None:
        self._folder = folder
        self._database = database
        self._workers = workers
        self._process: subprocess.Popen[bytes] | None = None
        self._base = ""
        self.sessions: list[int] = []
        self._begun: list[subprocess.Popen[bytes]] = []
        (folder / "slow_bot.py").write_text(BOT)
        (folder / "howsure.yaml").write_text(SETTINGS)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        log = self._folder / f"serve-{len(self.sessions)}.log"
        self._process = self._begin(log, "serve", "--port", "0", "--workers", str(self._workers))
        until = time.monotonic() + PATIENCE
        while not (found := re.search(rb"serving (http://127[^\"\s]+)", log.read_bytes())):
            assert self._process.poll() is None and time.monotonic() < until, log.read_text()
            time.sleep(STEP)
        self._base = found[1].decode()

    def start_worker(self) -> subprocess.Popen[bytes]:
        return self._begin(self._folder / f"worker-{len(self.sessions)}.log", "worker")

    def _begin(self, log: Path, *words: str) -> subprocess.Popen[bytes]:
        environ = {
            name: value for name, value in os.environ.items() if not name.startswith("HOWSURE_") or "TRUST" in name
        }
        command = [sys.executable, "-m", "howsure", *words, "--database", self._database]
        with log.open("wb") as said:
            process = subprocess.Popen(
                command,
                cwd=self._folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        self.sessions.append(process.pid)
        self._begun.append(process)
        return process

    def kill(self, *, everything: bool) -> None:
        """Kill -9: the service alone, or its workers with it."""
        (os.killpg if everything else os.kill)(self.pid, signal.SIGKILL)
        self._ended()

    def stop(self) -> int:
        """As an operator would; how it ended."""
        os.kill(self.pid, signal.SIGTERM)
        return self._ended()

    def _ended(self) -> int:
        assert self._process is not None
        return self._process.wait(PATIENCE)

    def left(self) -> list[int]:
        """The processes that are still there of all that were started."""
        return [pid for session in self.sessions for pid in members(session)]

    def alone(self) -> None:
        """Wait until nobody of ours is left."""
        until = time.monotonic() + PATIENCE
        while left := self.left():
            assert time.monotonic() < until, f"still there: {left}"
            time.sleep(STEP)

    def end(self) -> None:
        for session in self.sessions:
            with suppress(ProcessLookupError):
                os.killpg(session, signal.SIGKILL)
        for process in self._begun:
            process.wait()

    def asked(self) -> list[int]:
        """What the bot was asked, in order."""
        return [int(line) for line in (self._folder / "asked").read_text().split()]

    def __call__(self, method: str, path: str, body: Json | bytes | None = None) -> Any:
        raw = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        kind = "application/x-ndjson" if isinstance(body, bytes) else "application/json"
        request = Request(self._base + path, raw, {"Content-Type": kind}, method=method)
        try:
            with urlopen(request, timeout=PATIENCE) as response:
                return json.loads(response.read() or b"null")
        except HTTPError as error:
            said = json.loads(error.read())
            assert error.code == 503 and set(said) == {"error", "detail"}, (error.code, said)
            raise Away(said["detail"]) from error
        except (URLError, ConnectionError, TimeoutError) as error:
            raise Away(str(error)) from error

    def order(self, cases: int, **fields: Any) -> str:
        """A run over so many questions."""
        path = write_rows(self._folder / "cases.jsonl", [_question(number) for number in range(cases)])
        made = self("POST", "/datasets/upload?name=cases.jsonl&dialect=legal", path.read_bytes())
        run = self("POST", "/runs", {"dataset_id": made["dataset_id"], "concurrency": 10, **fields})
        return str(run["run_id"])


def _question(number: int) -> Json:
    return mcq(f"case:{number}", dataset="durability", prompt=f"Is {number}?")


def members(session: int) -> list[int]:
    """The processes of a session that have not ended."""
    found: list[int] = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = place.read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(place.parent.name))
    return found


class Watch:
    """Polls a run: it always adds up, it never goes back, and it never says that it failed."""

    def __init__(self, service: Service, run_id: str, total: int) -> None:
        self._service = service
        self._run_id = run_id
        self._total = total
        self.completed = 0
        self.polls = 0

    def look(self) -> Json:
        run: Json = self._service("GET", f"/runs/{self._run_id}")
        assert run["status"] in ("pending", "running", "completed"), run
        assert run["total"] == self._total
        for counts in (run, *run["candidates"].values()):
            parts = [counts[name] for name in ("passed", "failed", "errored", "skipped", "pending")]
            assert sum(parts) == counts["total"] == self._total, run
        assert run["completed"] == self._total - run["pending"] >= self.completed, "it went back"
        assert (run["status"] == "completed") == (run["completed_at"] is not None)
        self.completed = run["completed"]
        self.polls += 1
        return run

    def until(self, completed: int) -> Json:
        """Look until so many cases are done."""
        end = time.monotonic() + PATIENCE
        while (run := self.look())["completed"] < completed:
            assert time.monotonic() < end, run
            time.sleep(STEP)
        return run

    def getting_on(self, completed: int) -> None:
        """Look until so many are done, and somebody is at work and has finished more than there was."""
        self.until(max(completed, self.look()["completed"] + 1))
        end = time.monotonic() + PATIENCE
        while (run := self.look())["status"] != "running":
            assert time.monotonic() < end, run
            time.sleep(STEP)

    def to_the_end(self) -> Json:
        self.until(self._total)
        end = time.monotonic() + PATIENCE
        while (run := self.look())["status"] != "completed":
            assert time.monotonic() < end, run
            time.sleep(STEP)
        return run


def results(service: Service, run_id: str) -> dict[str, Json]:
    """Every result, by its case; a case that has two is a failure."""
    with urlopen(f"{service._base}/runs/{run_id}/results.ndjson", timeout=PATIENCE) as response:
        found = [json.loads(line) for line in response]
    by_case = {each["test_case_id"]: each for each in found}
    assert len(by_case) == len(found), "a case has two results"
    return by_case


@contextmanager
def service_at(folder: Path, database: str, workers: int = 2) -> Iterator[Service]:
    service = Service(folder, database, workers)
    try:
        service.start()
        yield service
    finally:
        service.end()
