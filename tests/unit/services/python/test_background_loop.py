"""Waiting for coroutines, beside a loop that runs and without one."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading

import pytest

from howsure.services.python.background_loop import BackgroundLoop, run_sync


async def which() -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


def test_without_a_loop_it_is_done_here() -> None:
    assert run_sync(which()) == "MainThread"


async def test_with_a_loop_it_is_done_beside_it() -> None:
    assert run_sync(which()) == "howsure"


@pytest.mark.parametrize("error", [ValueError("broken"), TimeoutError("broken")])
async def test_what_goes_wrong_beside_it_arrives_here(error: Exception) -> None:
    async def wrong() -> None:
        raise error

    with pytest.raises(type(error), match="broken"):
        run_sync(wrong())


def test_one_after_the_other_share_a_loop() -> None:
    async def loop() -> int:
        return id(asyncio.get_running_loop())

    with BackgroundLoop() as beside:
        assert beside.run(loop()) == beside.run(loop())


PROGRAM = """
import asyncio, sys
from howsure.services.python.background_loop import run_sync

async def work():
    try:
        print("begun", flush=True)
        await asyncio.sleep(60)
    finally:
        print("put away", flush=True)

async def notebook():
    run_sync(work())

asyncio.run(notebook())
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_interrupted_it_puts_its_things_away() -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"begun\n"
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=120)
    assert out == b"put away\n"
    assert running.returncode != 0
