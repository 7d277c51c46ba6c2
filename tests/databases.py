"""A place for a store, on a real file or on a real PostgreSQL: gone after the test, which is skipped where there is no
PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import postgres

KINDS = ("sqlite", "postgresql")
IN_TURN = ("sqlite", pytest.param("postgresql", marks=pytest.mark.thorough))
"""For what is above the store: `make test` has a file, `make test-thorough` the server. The store itself is always
tested on both."""


@contextmanager
def a_database(kind: str, folder: Path, make: Callable[[], str] = postgres.new_store) -> Iterator[str]:
    if kind == "sqlite":
        yield str(folder / "howsure.db")
        return
    try:
        url = make()
    except postgres.Unavailable as reason:
        pytest.skip(str(reason))
    yield url
    postgres.drop_database(url)


@pytest.fixture(params=IN_TURN)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with a_database(request.param, tmp_path) as where:
        yield where


@contextmanager
def a_machine(settings: str) -> Iterator[postgres.Server]:
    """A PostgreSQL for one test alone, which may stop it; the test is skipped where there is none to be had."""
    try:
        with postgres.own_server(settings) as server:
            yield server
    except postgres.Unavailable as reason:
        pytest.skip(str(reason))
