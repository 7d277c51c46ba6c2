"""Answers that come one thing a line, read as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from howsure.client.connection import Connection, Request
from howsure.client.errors import unreadable
from howsure.client.pages import Pages
from howsure.client.wire.base import S, read

BATCH = 500
"""Lines that are read before whoever waits for them is given any."""


def streamed(connection: Connection, kind: type[S], request: Request) -> Pages[S]:
    """The things that come one a line; they are read as they come, however many there are."""

    async def walk() -> AsyncIterator[list[S]]:
        page: list[S] = []
        async for line in connection.lines(request):
            page.append(_read(kind, line, request))
            if len(page) == BATCH:
                yield page
                page = []
        if page:
            yield page

    return Pages(walk)


def _read(kind: type[S], line: bytes, request: Request) -> S:
    try:
        return read(kind, msgspec.json.decode(line))
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise unreadable(f"{request.method} {request.path}", error) from None
