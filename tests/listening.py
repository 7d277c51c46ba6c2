"""Something that listens at a port of its own while a test lasts: a bot, or the service that describes bots."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

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


@asynccontextmanager
async def a_chat_bot() -> AsyncIterator[tuple[int, list[str]]]:
    """Says hello at `/chat`: its port, and the names by which it was asked for."""
    came: list[str] = []

    async def chat(request: web.Request) -> web.Response:
        came.append(request.host)
        return web.json_response({"answer": "hello there"})

    async with listening("POST", "/chat", chat) as port:
        yield port, came
