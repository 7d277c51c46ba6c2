"""Lists that come page by page: how many are asked for, where they end, and that nothing is asked for too early."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.client.connection import Connection, Retries, ServiceRequest
from howsure.client.errors import ServiceError, Unavailable
from howsure.client.pages import LARGEST, list_pages
from howsure.wire.base import WireShape
from unit.client.fake_service import Fake, faking


class Point(WireShape, frozen=True, kw_only=True):
    """A place."""

    x: int


def page(*numbers: int, cursor: str = "") -> tuple[int, list[dict[str, int]], dict[str, str]]:
    return 200, [{"x": number} for number in numbers], {"X-Next-Cursor": cursor} if cursor else {}


async def walked(fake: Fake, most: int | None = None, **query: Any) -> list[int]:
    connection = Connection(fake.url, "", 5.0, Retries(tries=1))
    try:
        return [each.x async for each in list_pages(connection, Point, "/points", most, **query)]
    finally:
        await connection.close()


async def test_pages_are_walked_to_the_last() -> None:
    async with faking(page(1, 2, cursor="c1"), page(3, cursor="c2"), page(), page(9)) as fake:
        assert await walked(fake, agent_id="a1") == [1, 2, 3]
        assert [dict(request.query) for request in fake.asked] == [
            {"agent_id": "a1", "limit": str(LARGEST)},
            {"agent_id": "a1", "limit": str(LARGEST), "cursor": "c1"},
            {"agent_id": "a1", "limit": str(LARGEST), "cursor": "c2"},
        ]


@pytest.mark.parametrize(
    ("most", "found", "limits"),
    [(0, [], []), (1, [1], ["1"]), (2, [1, 2], ["2"]), (3, [1, 2, 3], ["3", "1"]), (None, [1, 2, 3], ["1000", "1000"])],
)
async def test_no_more_is_asked_for_than_is_wanted(most: int | None, found: list[int], limits: list[str]) -> None:
    first = page(1, cursor="c") if most == 1 else page(1, 2, cursor="c")
    async with faking(first, page(3)) as fake:
        assert await walked(fake, most) == found
        assert [request.query["limit"] for request in fake.asked] == limits


async def test_nothing_is_asked_before_somebody_walks() -> None:
    async with faking(page(1, cursor="c1"), page(2)) as fake:
        connection = Connection(fake.url, "", 5.0, Retries(tries=1))
        pages = list_pages(connection, Point, "/points")
        assert fake.asked == []
        walking = pages.walk()
        assert [each.x for each in await anext(walking)] == [1]
        assert len(fake.asked) == 1
        assert [each.x for each in await anext(walking)] == [2]
        # Walked along again, it is asked for again.
        assert [each.x async for each in pages] == [2]
        await connection.close()


async def test_trouble_in_the_middle_is_raised_there() -> None:
    away = (503, {"error": "unavailable", "detail": "not now"})
    async with faking(page(1, cursor="c1"), away) as fake:
        connection = Connection(fake.url, "", 5.0, Retries(tries=1))
        walking = aiter(list_pages(connection, Point, "/points"))
        assert (await anext(walking)).x == 1
        with pytest.raises(Unavailable):
            await anext(walking)
        await connection.close()


@pytest.mark.parametrize("body", [{"x": 1}, [1], [{"y": 1}], [{"x": "1"}], "text"], ids=str)
async def test_a_page_that_is_none_is_an_error(body: Any) -> None:
    async with faking((200, body)) as fake:
        with pytest.raises(ServiceError, match=r"the answer of GET .*/points cannot be read"):
            await walked(fake)


@settings(max_examples=30, deadline=None)
@given(sizes=st.lists(st.integers(0, 4), min_size=1, max_size=5), most=st.none() | st.integers(0, 12))
async def test_whatever_the_pages_are_everything_comes_once(sizes: list[int], most: int | None) -> None:
    """A service may give fewer than it was asked for, and even none, and still go on."""
    whole = list(range(sum(sizes)))
    left, answers = iter(whole), []
    for place, size in enumerate(sizes):
        last = place == len(sizes) - 1
        answers.append(page(*[next(left) for _ in range(size)], cursor="" if last else f"c{place}"))

    class Served(Connection):
        """Answers from the list, never more than asked for."""

        async def ask(self, request: ServiceRequest) -> Any:
            _, body, headers = answers[int((request.query["cursor"] or "c-1")[1:]) + 1]
            return _Answer(body, headers)

    found = [each.x async for each in list_pages(Served("http://x", "", 1.0, Retries()), Point, "/points", most)]
    assert found[: len(whole)] == whole[: len(found)]
    if most is None:
        assert found == whole


class _Answer:
    """What was answered."""

    place = "GET /points"

    def __init__(self, json: Any, headers: dict[str, str]) -> None:
        self.json = json
        self.headers = headers
