"""The edge of the service: cookies and addresses that are none, private addresses in odd spellings, and a database that
cannot be written or has lost a part. Breaks 15 and 17 of the review, and its weak messages about the database."""

from __future__ import annotations

import json
import resource
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hardening.served_process import ServedProcess, served
from hardening.test_connections import queued_run
from howsure.services.host.allowed_hosts import may_connect

JSON = {"Content-Type": "application/json"}


def limit_file_size(pid: int, most: int) -> None:
    """How large the files of a process may become; -1: as large as they like."""
    resource.prlimit(
        pid, resource.RLIMIT_FSIZE, (most if most >= 0 else resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    )


def wait_for(service: ServedProcess, status: int) -> None:
    until = time.monotonic() + 30
    while service.ask("GET", "/api/v1/ready")[0] != status:
        assert time.monotonic() < until, service.log
        time.sleep(0.2)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProcess]:
    with served(tmp_path_factory.mktemp("edge"), "service: {hosts: [127.0.0.1]}", "--require-keys") as process:
        process.key = process.make_key("admin")
        yield process


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/sign-in", {"Cookie": "howsure_session=\xe9.\xe9"}, 403),
        ("/sign-in", {"X-CSRF-Token": "\xe9"}, 403),
        ("/sign-out", {"Cookie": "howsure_session=\xff|a|1.\xff", "X-CSRF-Token": "\xff"}, 403),
        ("/api/v1/rubrics", {"Authorization": "Bearer \xe9"}, 401),
        ("/api/v1/rubrics", {"Origin": "http://[bad", "Authorization": "Bearer x"}, 401),
    ],
)
def test_break_15_a_cookie_or_token_beyond_ascii_is_refused(
    service: ServedProcess, path: str, headers: dict[str, str], status: int
) -> None:
    answered, _ = service.ask("POST", path, b"{}", {**JSON, **headers})
    assert answered in (status, 400)
    assert '"level":"error"' not in service.log


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("http://127.0.0.1:99999/", "Port out of range"),
        ("http://[bad/", "Invalid IPv6"),
        ("http://127.0.0.1:0/", "expected a port from 1 to 65535, found 0"),
        ("http://127.0.0.1:x/", "Port could not be cast"),
    ],
)
def test_break_15_a_target_that_is_no_address_is_refused(service: ServedProcess, target: str, said: str) -> None:
    headers = {**JSON, "Authorization": f"Bearer {service.key}"}
    run_id = queued_run(service, headers)
    test_set = json.loads(service.ask("GET", "/api/v1/test-sets", headers=headers)[1])[0]["test_set_id"]
    body = json.dumps({"test_set_id": test_set, "target": target}).encode()
    status, answer = service.ask("POST", "/api/v1/runs", body, headers)
    assert (status, said in json.loads(answer)["detail"]) == (422, True), (answer, run_id)


@pytest.mark.parametrize(
    "address",
    [
        *("64:ff9b:1::7f00:1", "64:ff9b:1:ffff::8.8.8.8", "fec0::1", "feff::1", "::127.0.0.1", "::8.8.8.8"),
        *("::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8", "::ffff:127.0.0.1", "64:ff9b::127.0.0.1", "fc00::1", "fe80::1"),
        *("2002:7f00:1::", "::1", "::", "127.0.0.1", "169.254.169.254"),
    ],
)
def test_break_17_a_private_address_is_one_however_it_is_written(address: str) -> None:
    assert not may_connect(("bot.example",), "bot.example", address, 443)


@pytest.mark.parametrize("address", ["64:ff9b:1::7f00:1", "fec0::1", "::127.0.0.1", "::1", "10.0.0.1"])
def test_a_private_address_that_is_listed_itself_may_be_called(address: str) -> None:
    assert may_connect((address,), "bot.example", address, 443)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::8.8.8.8", "::ffff:8.8.8.8"])
def test_break_17_a_public_address_stays_one(address: str) -> None:
    assert may_connect(("bot.example",), "bot.example", address, 443)


@pytest.mark.thorough
def test_ready_turns_503_while_nothing_can_be_written(tmp_path: Path) -> None:
    """Weak message: `/ready` stayed 200 while writes failed. A file as large as it may be is what a full disk is."""
    with served(tmp_path) as service:
        assert service.ask("GET", "/api/v1/ready")[0] == 200
        limit_file_size(service.pid, 0)
        wait_for(service, 503)
        assert service.ask("GET", "/api/v1/health")[0] == 200
        assert "cannot be written to" in service.ask("GET", "/api/v1/ready")[1].decode()
        limit_file_size(service.pid, -1)
        wait_for(service, 200)


def test_a_dropped_table_is_damage_and_not_a_bug(tmp_path: Path) -> None:
    """Weak message: it said "This is a bug of …, not of your data"."""
    with served(tmp_path) as service:
        database = sqlite3.connect(tmp_path / "howsure.db")
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute("DROP TABLE runs")
        database.commit()
        database.close()
        status, answer = service.ask("GET", "/api/v1/runs")
        assert (status, json.loads(answer)["error"]) == (500, "internal")
        assert "until its operator acts: its log says why" in json.loads(answer)["detail"]
        assert "is damaged: a part of it is missing; `howsure db check` says" in service.log
        assert "Traceback" not in service.log
