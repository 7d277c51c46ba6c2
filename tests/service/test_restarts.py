"""A PostgreSQL that is restarted, and stays away for a while, under a service with runs: requests wait or are refused
cleanly, the runs go on, and nothing is lost."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import postgres
from databases import a_machine
from service.battered import Away, Service, Watch, results, service_at

CASES = 2_000
AWAY_SECONDS = 20.0
DURABLE = "-c fsync=off -c synchronous_commit=on"
RULE = {"id": "KIND", "name": "Be kind", "severity": "low", "description": "The answer is kind"}
READERS = ("/runs?limit=5", "/datasets", "/ready", "/rubrics?limit=2")


@pytest.fixture
def machine() -> Iterator[postgres.Server]:
    with a_machine(DURABLE) as server:
        yield server


class Clients:
    """People who go on asking; every answer is a good one or a 503."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._stopping = threading.Event()
        self.heard: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._threads = [threading.Thread(target=self._ask, args=(path,)) for path in READERS]
        self._threads.append(threading.Thread(target=self._write))

    def __enter__(self) -> Clients:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, path: str) -> None:
        while not self._stopping.wait(0.02):
            self._note(lambda: self._service("GET", path))

    def _write(self) -> None:
        """Rubrics, so many of which must be there afterwards."""
        while not self._stopping.wait(0.1):
            if self._note(lambda: self._service("POST", "/rubrics", {"name": "Kindness", "rules": [RULE]})):
                self.heard["written"] += 1

    def _note(self, ask: object) -> bool:
        try:
            ask()  # type: ignore[operator]
        except Away:
            self.heard["away"] += 1
        except AssertionError as error:
            self.wrong.append(str(error))
        else:
            self.heard["answered"] += 1
            return True
        return False


def look(watch: Watch, completed: int) -> None:
    """As `watch.until`, though the database may be away."""
    end = time.monotonic() + 120
    while watch.completed < completed:
        assert time.monotonic() < end, f"it does not go on: {watch.completed}"
        with suppress(Away):
            watch.look()
        time.sleep(0.05)


@pytest.mark.slow
def test_runs_go_on_though_their_database_is_restarted_and_away(machine: postgres.Server, tmp_path: Path) -> None:
    with service_at(tmp_path, machine.address, workers=2) as service:
        run_id = service.order(CASES)
        watch = Watch(service, run_id, CASES)
        with Clients(service) as clients:
            for number, how in enumerate(("fast", "immediate", "fast", "immediate"), 1):
                look(watch, number * CASES // 8)
                machine.restart(how)
            look(watch, 5 * CASES // 8)
            machine.stop("fast")
            time.sleep(AWAY_SECONDS)
            machine.start()
            look(watch, CASES)
        assert clients.wrong == []
        assert clients.heard["answered"] > 50
        run = watch.to_the_end()
        assert (run["passed"], run["error"], run["state"]) == (CASES, None, "completed")
        assert len(results(service, run_id)) == CASES
        assert set(service.asked()) == set(range(CASES))
        found = postgres.execute(machine.address, "SELECT count(*) FROM documents WHERE kind = 'rubric'")[0][0]
        assert found >= clients.heard["written"] > 0
        service.stop()
        service.alone()
