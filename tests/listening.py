"""Something that listens at a port of its own while a test lasts: a bot, or the service that describes bots."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from aiohttp import web

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def listening(method: str, path: str, answer: Answer) -> AsyncIterator[int]:
    """The port; requests by this method to this path are answered."""
    app = web.Application()
    app.router.add_route(method, path, answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


@contextmanager
def in_a_thread(app: web.Application) -> Iterator[str]:
    """Its address, for tests that block."""
    ready, ports = threading.Event(), list[int]()
    loop = asyncio.new_event_loop()

    async def serve() -> web.AppRunner:
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        ports.append(runner.addresses[0][1])
        ready.set()
        return runner

    def work() -> None:
        asyncio.set_event_loop(loop)
        runner = loop.run_until_complete(serve())
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=work, name="loopback", daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield f"http://127.0.0.1:{ports[0]}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)


@asynccontextmanager
async def a_chat_bot() -> AsyncIterator[tuple[int, list[str]]]:
    """Says hello at `/chat`: its port, and the names by which it was asked for."""
    came: list[str] = []

    async def chat(request: web.Request) -> web.Response:
        came.append(request.host)
        return web.json_response({"answer": "hello there"})

    async with listening("POST", "/chat", chat) as port:
        yield port, came
