"""A service that is killed between the end of a run and the delivery, and one that is killed while it delivers: the
next one sends it, under the same id."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

import postgres
from service.battered import PATIENCE, STEP, Service

CASES = 40


class Inbox:
    """Takes what comes, and answers as soon as it is told to."""

    def __init__(self) -> None:
        self.came: list[dict[str, Any]] = []
        self.answers = Event()
        inbox = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                inbox.came.append({**body, "header": self.headers["Howsure-Delivery"]})
                inbox.answers.wait(PATIENCE)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Not on the terminal."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True

    def until(self, number: int) -> None:
        end = time.monotonic() + PATIENCE
        while len(self.came) < number:
            assert time.monotonic() < end, self.came
            time.sleep(STEP)


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    found = Inbox()
    thread = Thread(target=found.server.serve_forever)
    thread.start()
    yield found
    found.answers.set()
    found.server.shutdown()
    thread.join()
    found.server.server_close()


@contextmanager
def service_with_hosts(folder: Path, database: str) -> Iterator[Service]:
    service = Service(folder, database, workers=0)
    with (folder / "howsure.yaml").open("a") as settings:
        settings.write("  hosts: [127.0.0.1]\n")
    try:
        service.start()
        yield service
    finally:
        service.end()


def state_of(database: str, run_id: str) -> str:
    statement = f"SELECT state FROM runs WHERE id = '{run_id}'"
    if "://" in database:
        return str(postgres.execute(database, statement)[0][0])
    with closing(sqlite3.connect(database)) as connection:
        return str(connection.execute(statement).fetchone()[0])


@pytest.mark.slow
def test_a_killed_service_leaves_what_is_to_be_told_to_the_next_one(
    tmp_path: Path, database: str, inbox: Inbox
) -> None:
    with service_with_hosts(tmp_path, database) as service:
        url = f"http://127.0.0.1:{inbox.server.server_port}/hook"
        hook = service("POST", "/webhooks", {"url": url, "events": ["run.completed", "run.failed"]})
        run_id = service.order(CASES)
        service.kill(everything=True)
        # The run ends while no service is there that could tell of it.
        worker = service.start_worker()
        end = time.monotonic() + PATIENCE
        while state_of(database, run_id) != "completed":
            assert time.monotonic() < end
            time.sleep(STEP)
        os.kill(worker.pid, signal.SIGTERM)
        assert worker.wait(PATIENCE) == 0
        assert inbox.came == []
        service.start()
        assert service("GET", f"/runs/{run_id}")["status"] == "completed"
        inbox.until(1)
        # It is told, and does not answer yet: the sender is killed in the middle.
        service.kill(everything=True)
        inbox.answers.set()
        service.start()
        inbox.until(2)
        end = time.monotonic() + PATIENCE
        while (delivery := service("GET", f"/webhooks/{hook['id']}/deliveries")[0])["state"] == "waiting":
            assert time.monotonic() < end
            time.sleep(STEP)
        service.stop()
    assert [each["event"] for each in inbox.came] == ["run.completed"] * 2
    assert [each["data"]["run"]["run_id"] for each in inbox.came] == [run_id] * 2
    assert {(each["id"], each["header"]) for each in inbox.came} == {(delivery["id"], delivery["id"])}
    assert (delivery["state"], delivery["tries"], delivery["status"]) == ("delivered", 2, 204)
