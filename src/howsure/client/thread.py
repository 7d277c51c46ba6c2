"""A loop on a thread of its own, for callers that cannot wait in one: scripts, and notebooks, whose own loop is running
already."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from threading import Lock, Thread, current_thread
from typing import Any, TypeVar

from howsure.errors import InputError

T = TypeVar("T")
STOP_SECONDS = 5.0
CLOSED = "this client is closed: make another"


class LoopThread:
    """Runs coroutines and waits for them. The thread begins with the first one and does not keep the program alive."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._lock = Lock()
        self._stopped = False

    def run(self, doing: Coroutine[Any, Any, T]) -> T:
        """What it comes to. Ctrl-C while waiting stops it there, too."""
        try:
            loop = self._running()
        except InputError:
            doing.close()
            raise
        future = asyncio.run_coroutine_threadsafe(doing, loop)
        try:
            return future.result()
        except CancelledError:
            raise InputError(CLOSED) from None
        finally:
            future.cancel()

    def finish(self, doing: Coroutine[Any, Any, object]) -> None:
        """Do a last thing, and stop. Where nothing was ever done, nothing is."""
        with self._lock:
            self._stopped = True
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            doing.close()
            return
        asyncio.run_coroutine_threadsafe(_last(doing), loop)
        # The garbage collector may call us on that very thread, which cannot wait for itself.
        if thread is not current_thread():
            thread.join(STOP_SECONDS)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._stopped:
                raise InputError(CLOSED)
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = Thread(target=_carry, args=(self._loop,), name="howsure-client", daemon=True)
                self._thread.start()
            return self._loop


def _carry(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
        loop.run_until_complete(_let_go())
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


async def _let_go() -> None:
    """Others may still wait for something: nobody else would ever tell them."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for each in left:
        each.cancel()
    await asyncio.gather(*left, return_exceptions=True)


async def _last(doing: Coroutine[Any, Any, object]) -> None:
    try:
        await doing
    finally:
        asyncio.get_running_loop().stop()
