"""Lists that come page by page, or as lines of one answer. Nothing is requested before somebody iterates."""

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


def read_answer(kind: type[S], answered: ServiceAnswer) -> S:
    """The one thing that was answered."""
    try:
        return read_shape(kind, answered.json)
    except msgspec.ValidationError as error:
        raise unreadable(answered.place, error) from None


def read_list(kind: type[S], answered: ServiceAnswer) -> list[S]:
    """Everything in an array."""
    try:
        return [read_shape(kind, each) for each in msgspec.convert(answered.json, list[Any])]
    except msgspec.ValidationError as error:
        raise unreadable(answered.place, error) from None


def list_pages(connection: Connection, kind: type[S], path: str, most: int | None = None, **query: Any) -> PagedList[S]:
    """The list at a path; `most` limits its length."""

    async def walk() -> AsyncIterator[list[S]]:
        left, cursor = most, None
        while left is None or left > 0:
            size = LARGEST if left is None else min(left, LARGEST)
            asked = ServiceRequest(method="GET", path=path, query={**query, "limit": size, "cursor": cursor})
            answered = await connection.ask(asked)
            page = read_list(kind, answered)
            yield page
            cursor = answered.headers.get(NEXT)
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
            page.append(_read(kind, line, request))
            if len(page) == BATCH:
                yield page
                page = []
        if page:
            yield page

    return PagedList(walk)


def _read(kind: type[S], line: bytes, request: ServiceRequest) -> S:
    try:
        return read_shape(kind, msgspec.json.decode(line))
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise unreadable(f"{request.method} {request.path}", error) from None
