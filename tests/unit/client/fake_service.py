"""A service that answers what it is told: for what a real one does only on bad days."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from listening import listening


class Fake:
    """A service that answers what it is told, one after the other, and remembers what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[web.Request] = []
        self.url = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request)
        await request.read()
        told = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if told == "lost":
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        status, body = told[:2]
        headers = told[2] if len(told) > 2 else {}
        if isinstance(body, str):
            return web.Response(status=status, text=body, content_type="text/html", headers=headers)
        return web.json_response(body, status=status, headers=headers)


@asynccontextmanager
async def faking(*answers: Any) -> AsyncIterator[Fake]:
    fake = Fake(*answers)
    async with listening("*", "/{path:.*}", fake.answer) as port:
        fake.url = f"http://127.0.0.1:{port}"
        yield fake
