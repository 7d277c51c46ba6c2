"""Running a blocking function beside the event loop, in a thread that nobody has to wait for: a bot that hangs must not
keep the program from ending, as the loop's own pool of threads would.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from threading import Thread
from typing import TypeVar

from howsure.errors import CaseFailure, TargetFailed, boundary

T = TypeVar("T")

LEFT = (SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError)
"""What a function may raise that is no error of it, and must not end us."""


async def in_thread(work: Callable[[], T], who: str) -> T:
    """What `work` returns; what it raises is attributed to `who`. Cancelled, the thread is left to itself."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        settle = _outcome(work, who, future)
        with suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(settle)

    Thread(target=copy_context().run, args=(run,), daemon=True, name=f"howsure {who}").start()
    return await future


def _outcome(work: Callable[[], T], who: str, future: asyncio.Future[T]) -> Callable[[], None]:
    """How the future is to be settled; decided in the thread, done in the loop."""
    try:
        with boundary(TargetFailed, who):
            value = work()
    except CaseFailure as failure:
        failed: CaseFailure = failure
    except LEFT as error:
        failed = quit_failure(error, who)
    else:
        return lambda: None if future.done() else future.set_result(value)
    return lambda: None if future.done() else future.set_exception(failed)


def quit_failure(error: BaseException, who: str) -> TargetFailed:
    """A function that wanted to end the program."""
    said = f" {error}" if str(error) else ""
    return TargetFailed(f"{who}: it wanted to end the program ({type(error).__name__}{said})")
