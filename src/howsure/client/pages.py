"""What every part of the client is made of: requests that are answered by one shape or an array, and lists that come
page by page or as lines. Of a list, nothing is requested before somebody iterates."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Generic, TypeVar

import msgspec

from howsure.client.connection import NEXT, Connection, ServiceAnswer, ServiceRequest
from howsure.client.errors import unreadable
from howsure.wire.base import S, read_shape

LARGEST = 1000
"""How many the service gives at most at a time."""

T = TypeVar("T")


class PagedList(Generic[T]):
    """`async for each in pages`, over as many pages as there are; `pages.walk()` gives them page by page."""

    def __init__(self, walk: Callable[[], AsyncIterator[list[T]]]) -> None:
        self.walk = walk

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.walk():
            for each in page:
                yield each


def read_answer(kind: type[S], answer: ServiceAnswer) -> S:
    """The one thing that was answered."""
    try:
        return read_shape(kind, answer.json)
    except msgspec.ValidationError as error:
        raise unreadable(answer.place, error) from None


def read_list(kind: type[S], answer: ServiceAnswer) -> list[S]:
    """Everything in an array."""
    try:
        return [read_shape(kind, each) for each in msgspec.convert(answer.json, list[Any])]
    except msgspec.ValidationError as error:
        raise unreadable(answer.place, error) from None


def list_pages(connection: Connection, kind: type[S], path: str, most: int | None = None, **query: Any) -> PagedList[S]:
    """The list at a path; `most` limits its length."""

    async def walk() -> AsyncIterator[list[S]]:
        left, cursor = most, None
        while left is None or left > 0:
            size = LARGEST if left is None else min(left, LARGEST)
            request = ServiceRequest(method="GET", path=path, query={**query, "limit": size, "cursor": cursor})
            answer = await connection.ask(request)
            page = read_list(kind, answer)
            yield page
            cursor = answer.headers.get(NEXT)
            left = None if left is None else left - len(page)
            if cursor is None:
                return

    return PagedList(walk)


BATCH = 500
"""Lines that are read before they are handed on."""


def stream_lines(connection: Connection, kind: type[S], request: ServiceRequest) -> PagedList[S]:
    """The things that come one a line; they are read as they come, however many there are."""

    async def walk() -> AsyncIterator[list[S]]:
        page: list[S] = []
        async for line in connection.lines(request):
            try:
                page.append(read_shape(kind, msgspec.json.decode(line)))
            except (msgspec.DecodeError, msgspec.ValidationError) as error:
                raise unreadable(f"{request.method} {request.path}", error) from None
            if len(page) == BATCH:
                yield page
                page = []
        if page:
            yield page

    return PagedList(walk)


class ServiceResource:
    """A part of the service, reached by one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def _send(self, method: str, path: str, body: Any = None, **details: Any) -> ServiceAnswer:
        return await self._connection.ask(ServiceRequest(method=method, path=path, body=body, **details))

    async def _read(self, kind: type[S], method: str, path: str, body: Any = None, **details: Any) -> S:
        return read_answer(kind, await self._send(method, path, body, **details))

    async def _read_list(self, kind: type[S], path: str) -> list[S]:
        return read_list(kind, await self._send("GET", path))

    def _pages(self, kind: type[S], path: str, most: int | None = None, **query: Any) -> PagedList[S]:
        return list_pages(self._connection, kind, path, most, **query)
