"""A real server on loopback that plays what it is told, and remembers what it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import web
from msgspec import Struct

from unit.llm import bodies


class Play(Struct, kw_only=True):
    """One response; `hang`: none at all, `cut`: the connection ends in the middle of it."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = {}
    hang: bool = False
    cut: bool = False


class Seen(Struct):
    path: str
    headers: Mapping[str, str]
    body: Any


class Server:
    def __init__(self, play: Callable[[int], Play]) -> None:
        self._play = play
        self.seen: list[Seen] = []
        self.peers: set[Any] = set()
        self.url = ""

    async def meet(self, request: web.Request) -> web.StreamResponse:
        number = len(self.seen)
        body = await request.read()
        self.peers.add(request.transport and request.transport.get_extra_info("peername"))
        self.seen.append(Seen(request.path_qs, dict(request.headers), msgspec.json.decode(body) if body else None))
        play = self._play(number)
        if play.hang:
            await asyncio.sleep(60)
        if play.cut:
            response = web.StreamResponse(headers={"Content-Length": "1000"})
            await response.prepare(request)
            await response.write(b'{"choices": [')
            assert request.transport is not None
            request.transport.abort()
            return response
        return web.Response(status=play.status, body=play.body, headers=play.headers)


@asynccontextmanager
async def serving(play: Callable[[int], Play]) -> AsyncIterator[Server]:
    server = Server(play)
    application = web.Application(client_max_size=2**26)
    application.router.add_route("*", "/{path:.*}", server.meet)
    runner = web.AppRunner(application, shutdown_timeout=0.01)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()


def in_order(*plays: Play) -> Callable[[int], Play]:
    """One after another; the last for ever."""
    return lambda number: plays[min(number, len(plays) - 1)]


REPLIES: dict[str, dict[str, Any]] = {
    "openai": bodies.OPENAI,
    "openai-compatible": bodies.VLLM,
    "vllm": bodies.VLLM,
    "azure": bodies.OPENAI,
    "mistral": bodies.MISTRAL,
    "anthropic": bodies.ANTHROPIC,
    "google": bodies.GOOGLE,
    "ollama": bodies.OLLAMA,
}
KEY_HEADERS = {
    "azure": "api-key",
    "anthropic": "x-api-key",
    "google": "x-goog-api-key",
}


def reply(provider: str, text: str = "") -> Play:
    body = bodies.said(REPLIES[provider], text) if text else REPLIES[provider]
    return Play(body=bodies.raw(body), headers={"Content-Type": "application/json"})
