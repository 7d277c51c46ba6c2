"""A real service on a thread of its own, so that a test may block as a script does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from api.served import serving
from api.shared import CALM


class Served:
    """A service that answers until it is told to stop."""

    def __init__(self, folder: Path) -> None:
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = Thread(target=self._loop.run_until_complete, args=(self._serve(folder),))

    async def _serve(self, folder: Path) -> None:
        async with serving(folder, pace=CALM) as caller:
            self.url = caller.base
            self._ready.set()
            await self._stop.wait()

    def start(self) -> None:
        self._ready = asyncio.Event()
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._ready.wait(), self._loop).result(60)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)
        self._loop.close()


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service with one worker, whose bot says what it is told."""
    served = Served(tmp_path_factory.mktemp("service"))
    served.start()
    yield served.url
    served.stop()
