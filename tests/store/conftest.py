"""A store on a real file and on a real PostgreSQL, closed after each test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import postgres
from assay.store.store import Store
from store.making import NOON

DATABASES = ("sqlite", "postgresql")


@contextmanager
def _database(kind: str, folder: Path, make: Callable[[], str]) -> Iterator[str]:
    if kind == "sqlite":
        yield str(folder / "assay.db")
        return
    try:
        url = make()
    except postgres.Unavailable as reason:
        pytest.skip(str(reason))
    yield url
    postgres.drop_database(url)


@pytest.fixture(params=DATABASES)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a store is, or will be when it is first opened."""
    with _database(request.param, tmp_path, postgres.new_store) as where:
        yield where


@pytest.fixture(params=DATABASES)
def nowhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A place for a store, with nothing in it."""
    with _database(request.param, tmp_path, postgres.new_database) as where:
        yield where


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a PostgreSQL database with nothing in it."""
    with _database("postgresql", tmp_path, postgres.new_database) as where:
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
