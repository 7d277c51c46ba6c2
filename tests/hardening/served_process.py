"""`howsure serve` as a process of its own, watched while it is asked: how long `/health` takes, and how much memory the
process and those that it starts use."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from http.client import HTTPConnection
from pathlib import Path
from threading import Event, Thread
from typing import Any

from howsure.services.processes import descendants

PATIENCE = 180.0


class ServedProcess:
    """A service on a port of its own choosing. `log` is what it has written so far."""

    def __init__(self, folder: Path, port: int, process: subprocess.Popen[bytes], where: list[str]) -> None:
        self.folder = folder
        self._where = where
        self.port = port
        self.pid = process.pid
        self.key = ""

    @property
    def log(self) -> str:
        return (self.folder / "serve.log").read_text(errors="replace")

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: dict[str, str] | None = None,
        seconds: float = PATIENCE,
    ) -> tuple[int, bytes]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            connection.request(method, path, body, headers or {})  # type: ignore[arg-type]
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def make_key(self, scope: str) -> str:
        """The secret of a new key for the whole service, made as an operator makes it."""
        command = [sys.executable, "-m", "howsure", "keys", "create", "--name", "tester", "--scope", scope, "--json"]
        made = subprocess.run([*command, *self._where], cwd=self.folder, capture_output=True, check=True)
        return str(json.loads(made.stdout)["secret"])

    def memory(self) -> float:
        """Megabytes, of the process and of those that it started."""
        pages = 0
        for pid in (self.pid, *descendants(self.pid)):
            with suppress(OSError):
                pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1024 / 1024

    def work(self) -> float:
        """Seconds that the process itself has computed for."""
        user, system = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served(
    folder: Path, settings: str = "", *words: str, database: str = "", files: int = 0
) -> Iterator[ServedProcess]:
    """Without workers, unless `words` say otherwise; `files`: how many it may open."""
    (folder / "howsure.yaml").write_text(settings)
    command = [sys.executable, "-m", "howsure", "serve", "--port", "0", "--workers", "0", *words]
    where = ["--database", database or str(folder / "howsure.db")]
    command += where
    if files:
        command = ["prlimit", f"--nofile={files}:{files}", *command]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HOWSURE_")}
    log = folder / "serve.log"
    with log.open("wb") as said:
        process = subprocess.Popen(command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
    try:
        until = time.monotonic() + PATIENCE
        while not (found := re.search(rb"serving http://127[^\"\s]+:(\d+)", log.read_bytes())):
            assert process.poll() is None and time.monotonic() < until, log.read_text()
            time.sleep(0.05)
        yield ServedProcess(folder, int(found[1]), process, where)
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class TooSlow(AssertionError):
    """Somebody waited for too long."""


def tried_twice(test: Callable[..., None]) -> Callable[..., None]:
    """Once more where somebody waited for too long: the machine may have had other work."""

    @wraps(test)
    def tried(*args: Any, **named: Any) -> None:
        try:
            test(*args, **named)
        except TooSlow:
            test(*args, **named)

    return tried


class HealthWatch:
    """`with HealthWatch(service) as watch: …`: the slowest answer of `/health` in seconds, and the most memory beyond
    what there was at first, in megabytes. An answer waits no longer than the service computes meanwhile: the rest is
    the work of others on the machine; with `alone` there are none, and every second counts."""

    def __init__(self, service: ServedProcess, pause: float = 0.05, alone: bool = False) -> None:
        self._service = service
        self._pause = pause
        self._alone = alone
        self._stop = Event()
        self._thread = Thread(target=self._watch)
        self.slowest = self.grown = 0.0
        self.answers: list[int] = []

    def __enter__(self) -> HealthWatch:
        self._first = self._service.memory()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def expect(self, seconds: float, megabytes: float) -> None:
        """Every answer came within this time, and no more memory than this was needed."""
        assert (set(self.answers) <= {200}, self.grown < megabytes) == (True, True), (self.answers, self.grown)
        if self.slowest >= seconds:
            raise TooSlow(f"an answer took {self.slowest:.2f} s, {seconds} s are allowed")

    def _watch(self) -> None:
        while not self._stop.is_set():
            begun, worked = time.perf_counter(), self._service.work()
            try:
                status, _ = self._service.ask("GET", "/api/v1/health", seconds=20)
            except OSError:
                status = 0
            waited, worked = time.perf_counter() - begun, self._service.work() - worked
            self.slowest = max(self.slowest, waited if self._alone else min(waited, worked))
            self.answers.append(status)
            self.grown = max(self.grown, self._service.memory() - self._first)
            self._stop.wait(self._pause)
