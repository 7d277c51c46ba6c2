"""The service with its pages in a thread of its own, on an ephemeral port, with a worker in its loop, for as long as a
test lasts: a browser's driver has this thread."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import uvicorn

from howsure.api.app import ServiceAccess, create_service
from howsure.config import ServiceSettings, Settings
from howsure.kit.plugins import builtin_kit
from howsure.policies.verdicts import builtin_profiles
from howsure.services.host.worker import Worker, WorkerPace
from howsure.services.workspace import Host, Workspace
from howsure.store.store import Store
from howsure.web.app import create_pages

QUICK = WorkerPace(look=0.05, beat=0.05)
T = TypeVar("T")


class Served:
    """A service that is up: where it is, and a way into its store."""

    def __init__(self, base: str, host: Host, loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
        self.base = base
        self.host = host
        self._loop = loop
        self._ended = ended
        self.working: list[asyncio.Task[None]] = []

    @property
    def store(self) -> Store:
        return self.host.store

    def do(self, work: Awaitable[T]) -> T:
        """Something of the store's, done in its own thread."""

        async def done() -> T:
            return await work

        return asyncio.run_coroutine_threadsafe(done(), self._loop).result(60)

    def work(self) -> None:
        """From now on, what is queued is carried out."""

        async def begin() -> None:
            self.working.append(asyncio.create_task(Worker(self.host, QUICK).run(self._ended)))

        self.do(begin())


@contextmanager
def serving(
    folder: Path,
    *,
    keys_needed: bool = False,
    working: bool = True,
    database: str = "",
    targets: Mapping[str, Mapping[str, Any]] | None = None,
    **rules: Any,
) -> Iterator[Served]:
    """`working`: with a worker, so that what is queued is carried out."""
    up: Future[tuple[Served, Callable[[], None]]] = Future()
    reached = {name: dict(each) for name, each in (targets or {}).items()}
    place = database or str(folder / "howsure.db")
    options = Settings(database=place, service=ServiceSettings(**rules), targets=reached)
    thread = Thread(target=lambda: asyncio.run(_serve(folder, up, keys_needed, working, options)), daemon=True)
    thread.start()
    served, stop = up.result(60)
    try:
        yield served
    finally:
        stop()
        thread.join(60)


async def _serve(
    folder: Path,
    up: Future[tuple[Served, Callable[[], None]]],
    keys_needed: bool,
    working: bool,
    settings: Settings,
) -> None:
    work = Workspace(settings, builtin_kit(builtin_profiles()), folder)
    async with await work.store() as store:
        host, ended = Host(work, store), asyncio.Event()
        app = create_service(host, ServiceAccess(keys_needed=keys_needed), create_pages(host, keys_needed=keys_needed))
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, lifespan="off"))
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        tasks = [asyncio.create_task(server.serve())]
        while not server.started:
            await asyncio.sleep(0.01)
        port, loop = server.servers[0].sockets[0].getsockname()[1], asyncio.get_running_loop()

        def stop() -> None:
            server.should_exit = True
            loop.call_soon_threadsafe(ended.set)

        served = Served(f"http://127.0.0.1:{port}", host, loop, ended)
        if working:
            served.working.append(asyncio.create_task(Worker(host, QUICK).run(ended)))
        up.set_result((served, stop))
        await asyncio.gather(*tasks)
        await asyncio.gather(*served.working)
