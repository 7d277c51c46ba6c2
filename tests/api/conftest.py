"""Every test of the API on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import postgres
from api.shared import Asker, Service, in_a_thread
from assay.api.app import Access

KINDS = ("sqlite", "postgresql")


@contextmanager
def a_database(kind: str, folder: Path) -> Iterator[str]:
    if kind == "sqlite":
        yield str(folder / "assay.db")
        return
    try:
        url = postgres.new_store()
    except postgres.Unavailable as reason:
        pytest.skip(str(reason))
    yield url
    postgres.drop_database(url)


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where the service keeps everything."""
    with a_database(request.param, tmp_path) as where:
        yield where


@pytest.fixture(scope="session", params=KINDS)
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service that all tests of this process share; it needs keys."""
    folder = tmp_path_factory.mktemp(f"service-{request.param}")
    with (
        a_database(request.param, folder) as where,
        in_a_thread(folder, where, Access(keys_needed=True), runs=8, runs_per_agent=8) as running,
    ):
        yield running


@pytest.fixture
def ask(service: Service) -> Asker:
    """Somebody who may do everything in an organisation of their own."""
    return service.asker()
