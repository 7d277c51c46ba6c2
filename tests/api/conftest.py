"""Every test of the API on both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from api.shared import Asker, Service, in_a_thread
from databases import KINDS, a_database, database
from howsure.api.app import ServiceAccess

__all__ = ["ask", "database", "service", "services"]


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Service]]:
    """The services that all tests of this process share, one on each database; they need keys."""
    with ExitStack() as stack:

        @cache
        def running(kind: str) -> Service:
            folder = tmp_path_factory.mktemp(f"service-{kind}")
            where = stack.enter_context(a_database(kind, folder))
            access = ServiceAccess(keys_needed=True)
            return stack.enter_context(in_a_thread(folder, where, access, runs=8, runs_per_agent=8))

        yield running


@pytest.fixture(params=KINDS)
def service(request: pytest.FixtureRequest, services: Callable[[str], Service]) -> Service:
    return services(request.param)


@pytest.fixture
def ask(service: Service) -> Asker:
    """Somebody who may do everything in an organisation of their own."""
    return service.asker()
