"""Answers that come one thing a line: given on in batches, read as they come, and asked for when somebody walks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from howsure.client import pages
from howsure.client.connection import Connection, ServiceRequest
from howsure.client.errors import ServiceError
from howsure.client.pages import stream_lines
from howsure.wire.base import WireShape

ASKED = ServiceRequest(method="GET", path="/points")


class Point(WireShape, frozen=True, kw_only=True):
    """A place."""

    x: int


class Lines:
    """Gives these lines, and remembers how many were taken."""

    def __init__(self, *lines: bytes) -> None:
        self._lines = lines
        self.asked = self.taken = 0

    async def lines(self, request: ServiceRequest) -> AsyncIterator[bytes]:
        assert request is ASKED
        self.asked += 1
        for line in self._lines:
            self.taken += 1
            yield line


def numbered(number: int) -> Lines:
    return Lines(*(b'{"x": %d, "more": {}, "colour": "green"}' % place for place in range(number)))


async def walked(source: Lines) -> list[Any]:
    return [each async for each in stream_lines(cast(Connection, source), Point, ASKED)]


@pytest.mark.parametrize("number", [0, 1, 2, 3, 7])
async def test_everything_comes_once_and_whole(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr(pages, "BATCH", 3)
    found = await walked(numbered(number))
    assert [each.x for each in found] == list(range(number))
    assert all(each.more == {"more": {}, "colour": "green"} for each in found)


async def test_whoever_stops_takes_no_more_than_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "BATCH", 3)
    source = numbered(100)
    streamed = stream_lines(cast(Connection, source), Point, ASKED)
    assert source.asked == 0
    walking = streamed.walk()
    assert [each.x for each in await anext(walking)] == [0, 1, 2]
    assert (source.asked, source.taken) == (1, 3)


@pytest.mark.parametrize("line", [b"{half", b"[]", b'{"y": 1}', b'{"x": "1"}', b"\xff"])
async def test_a_line_that_cannot_be_read_ends_it(line: bytes) -> None:
    with pytest.raises(ServiceError, match="the answer of GET /points cannot be read"):
        await walked(Lines(b'{"x": 1}', line))
