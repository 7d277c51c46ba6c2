"""A store whose clock is the test's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest

from howsure.store.store import Store
from store.making import NOON


class Clock:
    """Stands still unless it is set on."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now

    def on(self, **time: float) -> None:
        self.now += timedelta(**time)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def kept(location: str, clock: Clock) -> AsyncIterator[Store]:
    async with await Store.open(location, clock=clock) as opened:
        yield opened
