"""Every test of the API on both databases; on PostgreSQL with `make test-thorough`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from api.shared import NOBODY, Asker, Service, in_a_thread
from databases import IN_TURN, a_database, database
from howsure.api.app import ServiceAccess

__all__ = ["ask", "database", "service", "services"]


HERE = Path(__file__).parent
_running: dict[str, Service] = {}
_open = ExitStack()


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Service]]:
    """The services that tests of the API share, one on each database; they need keys."""

    def running(kind: str) -> Service:
        if kind not in _running:
            folder = tmp_path_factory.mktemp(f"service-{kind}")
            where = _open.enter_context(a_database(kind, folder))
            access = ServiceAccess(keys_needed=True, wrong_keys=1_000_000)
            _running[kind] = _open.enter_context(
                in_a_thread(folder, where, access, runs=8, runs_per_agent=8, hosts=(NOBODY,))
            )
        return _running[kind]

    with _open:
        yield running


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """A service that nobody asks looks for work all the same: it ends where other tests begin."""
    yield
    if nextitem is None or HERE not in nextitem.path.parents:
        _running.clear()
        _open.close()


@pytest.fixture(params=IN_TURN)
def service(request: pytest.FixtureRequest, services: Callable[[str], Service]) -> Service:
    return services(request.param)


@pytest.fixture
def ask(service: Service) -> Asker:
    """Somebody who may do everything in an organisation of their own."""
    return service.asker()
