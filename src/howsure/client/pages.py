"""Lists that come page by page. Nothing is asked before somebody walks along them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Generic, TypeVar

import msgspec

from howsure.client.connection import NEXT, Answered, Connection, Request
from howsure.client.errors import unreadable
from howsure.client.wire.base import Shape, read

LARGEST = 1000
"""How many the service gives at most at a time."""

S = TypeVar("S", bound=Shape)
T = TypeVar("T")


class Pages(Generic[T]):
    """`async for each in pages`, over as many pages as there are; `pages.walk()` gives them page by page."""

    def __init__(self, walk: Callable[[], AsyncIterator[list[T]]]) -> None:
        self.walk = walk

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.walk():
            for each in page:
                yield each


def read_answer(kind: type[S], answered: Answered) -> S:
    """The one thing that was answered."""
    try:
        return read(kind, answered.json)
    except msgspec.ValidationError as error:
        raise unreadable(answered.place, error) from None


def read_list(kind: type[S], answered: Answered) -> list[S]:
    """Everything in an array."""
    try:
        return [read(kind, each) for each in msgspec.convert(answered.json, list[Any])]
    except msgspec.ValidationError as error:
        raise unreadable(answered.place, error) from None


def paged(connection: Connection, kind: type[S], path: str, most: int | None = None, **query: Any) -> Pages[S]:
    """The list at a path, at most so many of it."""

    async def walk() -> AsyncIterator[list[S]]:
        left, cursor = most, None
        while left is None or left > 0:
            size = LARGEST if left is None else min(left, LARGEST)
            asked = Request(method="GET", path=path, query={**query, "limit": size, "cursor": cursor})
            answered = await connection.ask(asked)
            page = read_list(kind, answered)
            yield page
            cursor = answered.headers.get(NEXT)
            left = None if left is None else left - len(page)
            if cursor is None:
                return

    return Pages(walk)
