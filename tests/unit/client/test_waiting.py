"""Waiting for a run while the service goes away: it is killed and started again, and the waiting goes on."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import howsure
from howsure.api.openapi import read_examples
from howsure.client.async_client import AsyncClient
from howsure.client.connection import Retries
from howsure.client.errors import ResourceNotFound, Unavailable
from howsure.wire.runs import Run
from unit.client.fake_service import faking

AWAY = (503, {"error": "unavailable", "detail": "not now"})
GONE = (404, {"error": "not_found", "detail": "there is no run r"})
ONCE = Retries(tries=1)


def a_run(state: str, completed: int = 0) -> tuple[int, dict[str, Any]]:
    done = {"total": 2, "completed": completed, "pending": 2 - completed}
    return 200, {**read_examples().answers["RunShape"], "run_id": "r", "status": state, "state": state, **done}


async def waited(*answers: Any, patience: float = 30.0) -> list[tuple[str, int]]:
    seen: list[tuple[str, int]] = []
    async with faking(*answers) as fake, AsyncClient(fake.url, retries=ONCE, environ={}) as client:
        await client.runs.wait(
            "r", lambda run: seen.append((run.state, run.completed)), every=0.01, seconds=60, patience=patience
        )
    return seen


async def test_progress_is_told_when_there_is_any() -> None:
    answers = [a_run("pending"), a_run("pending"), a_run("running", 1), a_run("running", 1), a_run("completed", 2)]
    assert await waited(*answers) == [("pending", 0), ("running", 1), ("completed", 2)]


async def test_a_service_that_was_there_is_waited_for() -> None:
    answers = [a_run("running", 1), AWAY, "lost", AWAY, "lost", a_run("completed", 2)]
    assert await waited(*answers) == [("running", 1), ("completed", 2)]


async def test_patience_has_an_end() -> None:
    with pytest.raises(Unavailable):
        await waited(a_run("running", 1), AWAY, patience=0.05)


async def test_a_service_that_was_never_there_is_not_waited_for() -> None:
    with pytest.raises(Unavailable):
        await waited(AWAY, a_run("completed", 2))


async def test_a_run_that_was_deleted_ends_the_waiting() -> None:
    with pytest.raises(ResourceNotFound, match="there is no run r"):
        await waited(a_run("running", 1), GONE)


SLOW = """
import time

def answer(text: str) -> str:
    time.sleep(0.1)
    return f"You said {text}"
"""


def served(folder: Path, port: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "howsure", "serve", "--port", str(port)]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL, start_new_session=True)


def killed(process: subprocess.Popen[bytes]) -> None:
    """The service and its workers, at once."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(30)


@pytest.mark.thorough
def test_a_run_is_waited_for_across_a_kill_of_the_service(tmp_path: Path) -> None:
    (tmp_path / "slow_bot.py").write_text(SLOW)
    settings = (
        "targets: {slow: {kind: function, function: 'slow_bot:answer'}}\nservice: {target: slow, unknown_bots: true}\n"
    )
    (tmp_path / "howsure.yaml").write_text(settings)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    service = served(tmp_path, port)
    restarted: list[subprocess.Popen[bytes]] = []

    def progress(run: Run) -> None:
        if run.completed and not restarted:
            killed(service)
            restarted.append(served(tmp_path, port))

    try:
        with howsure.Client(f"http://127.0.0.1:{port}", environ={}) as client:
            until_up(client)
            made = client.test_sets.create({"name": "Greetings", "items": [entry(number) for number in range(40)]})
            started = client.evaluate("bot", made.test_set_id, concurrency=2)
            run = client.runs.wait(started.run_id, progress, seconds=100, every=0.2)
            assert restarted
            assert (run.state, run.completed, run.errored) == ("completed", 40, 0)
            assert len({result.test_case_id for result in client.runs.results(run.run_id)}) == 40
    finally:
        for process in (service, *restarted):
            if process.poll() is None:
                killed(process)


def entry(number: int) -> dict[str, Any]:
    return {
        "item_id": f"i{number}",
        "type": "single_turn",
        "name": f"Greeting {number}",
        "inputs": {"message": f"hello {number}"},
        "expected": {"success_criteria": [f"The answer says hello {number}"]},
    }


def until_up(client: howsure.Client) -> None:
    until = time.monotonic() + 60
    while True:
        try:
            client.health()
            return
        except Unavailable:
            assert time.monotonic() < until
            time.sleep(0.2)
