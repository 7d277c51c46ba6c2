"""Running coroutines from synchronous code. Where an event loop runs already (a notebook), the work is done in a thread
with a loop of its own while the caller waits."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from threading import Event, Thread
from typing import Any, TypeVar

T = TypeVar("T")

CLEANUP_SECONDS = 10.0
"""Time that interrupted work has to clean up."""
POLL_SECONDS = 0.2
"""Time between two checks for an interrupt."""


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """What the coroutine returns, whether or not an event loop runs here."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with BackgroundLoop() as loop:
        return loop.run(work)


class BackgroundLoop:
    """A thread with an event loop of its own. Coroutines that are run in it one after the other share the loop, so that
    connections stay open between them: `with BackgroundLoop() as loop: loop.run(coroutine)`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._serve, daemon=True, name="howsure")

    def __enter__(self) -> BackgroundLoop:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for the coroutine. When the wait is interrupted, the coroutine is cancelled and has time to clean up."""
        ended = Event()
        future = asyncio.run_coroutine_threadsafe(_set_when_done(work, ended), self._loop)
        try:
            return _result(future)
        except (KeyboardInterrupt, asyncio.CancelledError):
            future.cancel()
            ended.wait(CLEANUP_SECONDS)
            raise


def _result(future: Future[T]) -> T:
    """An outer event loop turns Ctrl-C into a cancellation of its task, but cannot deliver it while this call blocks
    the loop. So the task is polled."""
    task: asyncio.Task[Any] | None = None
    with suppress(RuntimeError):  # no loop runs here
        task = asyncio.current_task()
    while True:
        with suppress(TimeoutError):
            return future.result(POLL_SECONDS if task else None)
        if future.done():  # the timeout was its own
            return future.result()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError


async def _set_when_done(work: Coroutine[Any, Any, T], ended: Event) -> T:
    try:
        return await work
    finally:
        ended.set()
