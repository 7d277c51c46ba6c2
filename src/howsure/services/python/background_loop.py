"""Waiting for a coroutine where no event loop runs, and where one does: in a notebook the work is done in a thread with
a loop of its own, while the notebook's waits."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from threading import Event, Thread
from typing import Any, TypeVar

T = TypeVar("T")

GRACE = 10.0
"""Seconds that something interrupted has to put its things away."""
LOOK = 0.2
"""Seconds between two looks at whether somebody wants us to stop."""


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """What the coroutine returns, wherever this is called."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with BackgroundLoop() as beside:
        return beside.do(work)


class BackgroundLoop:
    """A thread with an event loop of its own: what is given to it one after the other shares that loop, so that
    connections stay open between. `with Beside() as beside: beside.do(coroutine)`."""

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

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for it; interrupted, it is cancelled and waited for, so that what it holds is let go."""
        ended = Event()
        future = asyncio.run_coroutine_threadsafe(_telling(work, ended), self._loop)
        try:
            return _result(future)
        except (KeyboardInterrupt, asyncio.CancelledError):
            future.cancel()
            ended.wait(GRACE)
            raise


def _result(future: Future[T]) -> T:
    """A loop that runs around us takes Ctrl-C to cancel its task, and cannot tell us while we block it: so we look."""
    task = _task()
    while True:
        with suppress(TimeoutError):
            return future.result(LOOK if task else None)
        if future.done():  # the timeout was its own
            return future.result()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError


def _task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


async def _telling(work: Coroutine[Any, Any, T], ended: Event) -> T:
    try:
        return await work
    finally:
        ended.set()
