"""A store on a real file and on a real PostgreSQL, closed after each test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import postgres
from databases import KINDS, a_database
from howsure.store.store import Store
from store.making import NOON


@pytest.fixture(params=KINDS)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a store is, or will be when it is first opened."""
    with a_database(request.param, tmp_path, postgres.new_store) as where:
        yield where


@pytest.fixture(params=KINDS)
def nowhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A place for a store, with nothing in it."""
    with a_database(request.param, tmp_path, postgres.new_database) as where:
        yield where


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a PostgreSQL database with nothing in it."""
    with a_database("postgresql", tmp_path, postgres.new_database) as where:
        yield where


@pytest.fixture
async def store(location: str) -> AsyncIterator[Store]:
    async with await Store.open(location, clock=lambda: NOON) as opened:
        yield opened


@pytest.fixture
async def file_store(tmp_path: Path) -> AsyncIterator[Store]:
    """For what is said of SQLite alone."""
    async with await Store.open(tmp_path / "file.db", clock=lambda: NOON) as opened:
        yield opened


@pytest.fixture
async def server_store(server: str) -> AsyncIterator[Store]:
    """For what is said of PostgreSQL alone."""
    async with await Store.open(server, clock=lambda: NOON) as opened:
        yield opened


class Clock:
    """A clock that moves only when a test moves it."""

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
