"""A receiver of webhooks, on a port of its own: it takes what comes, or fails, hangs or redirects as it is told."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from listening import listening


class Receiver:
    """`answers` are given one after the other: a status, or "hang"; afterwards 204. `came` is what was sent, in order;
    `elsewhere` how often a redirect was followed."""

    def __init__(self, *answers: int | str) -> None:
        self._answers = list(answers)
        self.came: list[tuple[dict[str, str], bytes]] = []
        self.port = 0
        self.elsewhere = 0
        self.over = asyncio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def events(self) -> list[str]:
        return [headers["Howsure-Event"] for headers, _ in self.came]

    @property
    def ids(self) -> list[str]:
        return [headers["Howsure-Delivery"] for headers, _ in self.came]

    def body(self, number: int = -1) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.came[number][1])
        return found

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.path != "/hook":
            self.elsewhere += 1
            return web.Response()
        self.came.append((dict(request.headers), await request.read()))
        answer = self._answers.pop(0) if self._answers else 204
        if answer == "hang":
            await self.over.wait()
        status = int(answer) if isinstance(answer, int) else 204
        return web.Response(status=status, headers={"Location": "/elsewhere"} if status == 302 else {})

    async def until(self, number: int, seconds: float = 120.0) -> None:
        async with asyncio.timeout(seconds):
            while len(self.came) < number:
                await asyncio.sleep(0.01)


@asynccontextmanager
async def receiving(*answers: int | str) -> AsyncIterator[Receiver]:
    receiver = Receiver(*answers)
    async with listening("*", "/{path}", receiver.answer) as receiver.port:
        try:
            yield receiver
        finally:
            receiver.over.set()


def is_signed(receiver: Receiver, secret: str, number: int = -1) -> bool:
    """As a receiver checks it, with nothing of ours: HMAC-SHA256 over the timestamp, a point and the body."""
    headers, body = receiver.came[number]
    signed = f"{headers['Howsure-Timestamp']}.".encode() + body
    return headers["Howsure-Signature"] == "v1=" + hmac.digest(secret.encode(), signed, "sha256").hex()
