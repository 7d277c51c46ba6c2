"""One service for all tests of a process: in a thread with a loop of its own, asked from anywhere. Whoever asks has a
key of an organisation of their own, so that no test sees another's things."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

# Loaded before the first service: the second one would load it while the first builds statements in another thread.
import sqlalchemy.ext.asyncio  # noqa: F401

from api.served import Caller, Reply, serving
from howsure.api.app import ServiceAccess
from howsure.services.host.keys import KeyRequest, make_key
from howsure.services.host.worker import WorkerPace
from howsure.services.workspace import Host
from howsure.store.keys import KeyScope

AGENT = "64f0c2a1e4b0a1b2c3d4e5f6"
NOBODY = "127.0.0.2"
"""An address that the service may call, and where nobody listens."""
SECONDS = 120.0
CALM = WorkerPace(look=0.2, beat=0.5)
T = TypeVar("T")
_numbers = count(1)


class Asker:
    """Asks with one key, and waits for the answer."""

    def __init__(self, service: Service, key: str, key_id: str = "", organization_id: str | None = None) -> None:
        self.service = service
        self.key = key
        self.key_id = key_id
        self.organization_id = organization_id

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        return self.service.within(lambda ask: ask(method, path, body, **self._with_key(headers)))

    def made(self, path: str, body: Any, status: int = 201) -> Any:
        """What was made; it must be."""
        reply = self("POST", path, body)
        assert reply.status == status, (path, reply.status, reply.body)
        return reply.body

    def at_once(self, *requests: tuple[Any, ...], heads: Sequence[dict[str, str]] = (), **headers: str) -> list[Reply]:
        """Several requests at the same time; `heads` are headers of each of them."""
        own = heads or [headers] * len(requests)

        async def all_of_them(ask: Caller) -> list[Reply]:
            asked = zip(requests, own, strict=True)
            return await asyncio.gather(*(ask(*each, **self._with_key(head)) for each, head in asked))

        return self.service.within(all_of_them)

    def finished(self, run_id: str) -> dict[str, Any]:
        async def ended(ask: Caller) -> dict[str, Any]:
            while True:
                reply = await ask("GET", f"/runs/{run_id}", **self._with_key({}))
                assert reply.status == 200, reply.body
                run: dict[str, Any] = reply.body
                if run["status"] in ("completed", "failed"):
                    return run
                await asyncio.sleep(0.05)

        return self.service.within(ended)

    def pages(self, path: str, limit: int) -> list[list[Any]]:
        """Every page of a list."""
        found: list[list[Any]] = []
        sign, cursor = "&" if "?" in path else "?", ""
        while True:
            reply = self("GET", f"{path}{sign}limit={limit}{cursor}")
            assert reply.status == 200, (path, reply.body)
            assert isinstance(reply.body, list)
            found.append(reply.body)
            if "x-next-cursor" not in reply.headers:
                return found
            cursor = f"&cursor={reply.headers['x-next-cursor']}"

    def _with_key(self, headers: dict[str, str]) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}", **headers} if self.key else headers


class Service:
    """A service that runs in another thread."""

    def __init__(self, caller: Caller, loop: asyncio.AbstractEventLoop) -> None:
        self._caller = caller
        self._loop = loop
        self.base = caller.base

    @property
    def host(self) -> Host:
        return self._caller.host

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(SECONDS)

    def within(self, work: Callable[[Caller], Awaitable[T]]) -> T:
        async def done() -> T:
            return await work(self._caller)

        return self.wait(done())

    def asker(
        self,
        *scopes: str,
        organization_id: str | None = "",
        agent_ids: Sequence[str] | None = None,
        days: float | None = None,
    ) -> Asker:
        """Somebody with a new key: of a new organisation, unless it is said which; None: of every one."""
        home = f"org-{next(_numbers)}" if organization_id == "" else organization_id
        wanted = KeyRequest(
            name="tester",
            scopes=[KeyScope(each) for each in scopes or ("admin",)],
            organization_id=home,
            agent_ids=None if agent_ids is None else tuple(agent_ids),
            days=days,
        )
        key, secret = self.wait(make_key(self.host.store, wanted))
        return Asker(self, secret, key.id, home)

    def nobody(self) -> Asker:
        return Asker(self, "")


@contextmanager
def in_a_thread(folder: Path, database: str, access: ServiceAccess, **rules: Any) -> Iterator[Service]:
    started = threading.Event()
    found: list[Service] = []
    broken: list[BaseException] = []
    stop: list[Callable[[], object]] = []

    async def serve() -> None:
        loop, stopping = asyncio.get_running_loop(), asyncio.Event()
        stop.append(lambda: loop.call_soon_threadsafe(stopping.set))
        async with serving(folder, access, database, pace=CALM, **rules) as caller:
            found.append(Service(caller, loop))
            started.set()
            await stopping.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            broken.append(error)
            raise
        finally:
            started.set()

    thread = threading.Thread(target=run, name="service")
    thread.start()
    started.wait()
    assert not broken, broken
    try:
        yield found[0]
    finally:
        stop[0]()
        thread.join()
