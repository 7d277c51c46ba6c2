"""A real Ray cluster of several nodes on this machine, and programs that work on it. Each test has its own cluster, in
a folder of its own, so that nodes and drivers can be killed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

QUICK = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
}


class Nodes:
    """A head and some workers. What is in the environment when a node is added is the environment of its workers."""

    def __init__(self) -> None:
        self._cluster: Any = None
        self._added: list[Any] = []

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def start(self, head: Mapping[str, Any]) -> None:
        given = {"include_dashboard": False, "object_store_memory": 100 * 2**20, **head}
        made = import_module("ray.cluster_utils").Cluster
        self._cluster = made(initialize_head=True, head_node_args=given)

    def add(self, env: Mapping[str, str] | None = None, **offers: Any) -> None:
        with environment(env or {}):
            self._added.append(self._cluster.add_node(object_store_memory=100 * 2**20, **offers))

    def kill(self, number: int) -> None:
        """At once, as a machine dies."""
        self._cluster.remove_node(self._added.pop(number), allow_graceful=False)

    def shutdown(self) -> None:
        self._cluster.shutdown()


@contextmanager
def environment(env: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(env)
    try:
        yield
    finally:
        for name in env:
            os.environ.pop(name, None)
            if name in before:
                os.environ[name] = before[name]


@contextmanager
def cluster(env: Mapping[str, str] | None = None, **head: Any) -> Iterator[Nodes]:
    """Its own folder has a short name: Ray puts sockets there."""
    with (
        tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder,
        environment({**QUICK, "RAY_TMPDIR": folder, **(env or {})}),
    ):
        nodes = Nodes()
        nodes.start(head)
        try:
            yield nodes
        finally:
            nodes.shutdown()


class Program:
    """`howsure` in a process of its own, in a folder."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self._folder = folder
        clean = {name: value for name, value in os.environ.items() if not name.startswith("HOWSURE_")}
        self._environ = {**clean, "HOWSURE_TRUST": "1", **QUICK, **env}

    def begin(self, *words: str | Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "howsure", *map(str, words)]
        log = (self._folder / "driver.log").open("ab")
        with log:
            return subprocess.Popen(command, cwd=self._folder, env=self._environ, stdout=log, stderr=log)

    def run(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "howsure", *map(str, words)]
        return subprocess.run(
            command, cwd=self._folder, env=self._environ, capture_output=True, text=True, check=False, timeout=1_200
        )

    def json(self, *words: str | Path) -> Any:
        done = self.run(*words, "--json")
        said = f"exit code {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        assert done.returncode in (0, 3), said
        assert done.stdout.startswith("{"), said
        return msgspec.json.decode(done.stdout)

    def said(self) -> str:
        return (self._folder / "driver.log").read_text(encoding="utf-8", errors="replace")


def until(done: Callable[[], bool], seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, what
        time.sleep(0.05)
