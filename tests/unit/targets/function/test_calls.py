"""Blocking functions run beside the loop, and nobody waits for those that hang."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from contextvars import ContextVar

import pytest

from howsure.errors import TargetFailed
from howsure.targets.function.calls import in_thread

NAME: ContextVar[str] = ContextVar("NAME", default="nobody")


async def test_it_returns_what_the_function_returns_with_the_context_of_its_caller() -> None:
    NAME.set("somebody")
    assert await in_thread(lambda: (NAME.get(), threading.current_thread() is threading.main_thread()), "bot") == (
        "somebody",
        False,
    )


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("boom"), "bot: ValueError: boom"),
        (StopIteration(), "bot: StopIteration"),
        (SystemExit(2), "bot: it tried to end the program (SystemExit 2)"),
        (KeyboardInterrupt(), "bot: it tried to end the program (KeyboardInterrupt)"),
        (asyncio.CancelledError(), "bot: it tried to end the program (CancelledError)"),
        (TargetFailed("as it is"), "as it is"),
    ],
    ids=repr,
)
async def test_whatever_it_raises_is_a_failure(error: BaseException, told: str) -> None:
    def work() -> None:
        raise error

    with pytest.raises(TargetFailed) as caught:
        await in_thread(work, "bot")
    assert str(caught.value) == told


async def test_a_cancelled_call_ends_at_once_and_its_thread_harms_nobody() -> None:
    release = threading.Event()
    call = asyncio.create_task(in_thread(lambda: release.wait(5), "bot"))
    await asyncio.sleep(0.02)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    release.set()
    await asyncio.sleep(0.02)


def test_a_function_that_hangs_does_not_keep_the_program_from_ending() -> None:
    source = """
import asyncio, time
from howsure.targets.function.calls import in_thread
async def main():
    try:
        async with asyncio.timeout(0.1):
            await in_thread(lambda: time.sleep(60), "bot")
    except TimeoutError:
        print("ended")
asyncio.run(main())
"""
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, timeout=50)
    assert done.stdout == "ended\n"
    assert time.monotonic() - begun < 40
