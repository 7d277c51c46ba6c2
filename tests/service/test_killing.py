"""The service killed again and again in the middle of a run: it goes on by itself, and every case is recorded once."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import postgres
from service.battered import Service, Watch, results, service_at

CASES = 2_000
KILLS = 10
AT_ONCE = 10
GATHERED = 0.1 / 0.03
"""How many more each of those at once may have answered that were not yet stored."""


def some(service: Service, run_id: str) -> dict[str, str]:
    """When the first cases were finished."""
    found = service("GET", f"/runs/{run_id}/results?limit=50")
    return {each["test_case_id"]: each["created_at"] for each in found}


def complete(service: Service, run_id: str, early: dict[str, str]) -> None:
    """Every case once; those that were finished early were not tried again."""
    found = results(service, run_id)
    assert set(found) == {f"case:{number}" for number in range(CASES)}
    assert all(result["verdict"] == "passed" for result in found.values())
    assert {case: found[case]["created_at"] for case in early} == early
    asked = service.asked()
    assert set(asked) == set(range(CASES))
    assert all(asked.count(int(case.removeprefix("case:"))) == 1 for case in list(early)[:20])


@pytest.mark.slow
def test_a_service_killed_ten_times_finishes_the_run_by_itself(tmp_path: Path, database: str) -> None:
    with service_at(tmp_path, database, workers=2) as service:
        run_id = service.order(CASES)
        watch = Watch(service, run_id, CASES)
        early: dict[str, str] = {}
        for kill in range(KILLS):
            watch.getting_on(CASES * (kill + 1) // (KILLS + 2))
            early = early or some(service, run_id)
            # The service alone, or its workers with it: those that are left end by themselves.
            service.kill(everything=kill % 2 == 0)
            if kill % 4 == 1:
                service.alone()
            service.start()
        run = watch.to_the_end()
        assert (run["passed"], run["pending"], run["error"]) == (CASES, 0, None)
        assert len(service.sessions) == KILLS + 1
        complete(service, run_id, early)
        assert len(service.asked()) <= CASES + KILLS * AT_ONCE * (GATHERED + 20)
        service.stop()
        service.alone()


@pytest.mark.slow
def test_workers_killed_ten_times_are_taken_over_from(tmp_path: Path, database: str) -> None:
    with service_at(tmp_path, database, workers=0) as service:
        workers = [service.start_worker(), service.start_worker()]
        run_id = service.order(CASES)
        watch = Watch(service, run_id, CASES)
        early: dict[str, str] = {}
        for kill in range(KILLS):
            watch.getting_on(CASES * (kill + 1) // (KILLS + 2))
            early = early or some(service, run_id)
            at_it = working_on(database, run_id)
            (killed,) = (each for each in workers if each.pid == at_it)
            os.kill(killed.pid, signal.SIGKILL)
            killed.wait()
            workers.remove(killed)
            workers.append(service.start_worker())
        run = watch.to_the_end()
        assert (run["passed"], run["pending"], run["error"]) == (CASES, 0, None)
        complete(service, run_id, early)
        for worker in workers:
            os.kill(worker.pid, signal.SIGTERM)
            assert worker.wait(30) == 0
        service.stop()
        service.alone()


def working_on(database: str, run_id: str) -> int:
    """The process that has the run."""
    statement = f"SELECT owner FROM runs WHERE id = '{run_id}'"
    if "://" in database:
        owner = postgres.execute(database, statement)[0][0]
    else:
        with closing(sqlite3.connect(database)) as connection:
            owner = connection.execute(statement).fetchone()[0]
    return int(owner.split("/")[-3])
