"""Connections: those that say nothing are closed, there are not more of them than descriptors, whatever happens often
is logged once a second, and a stream ends with its key. Breaks 12 and 16 of the review, and `/ready` on a full disk."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from databases import a_database
from hardening.served_process import HealthWatch, ServedProcess, served, tried_twice
from howsure.api.connections import RESERVED_FILES, TimedConnection, connection_limit
from howsure.services.host.logs import RepeatFilter

HEAD = b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n"


class HastyConnection(TimedConnection):
    """Waits for tenths of seconds, not for seconds."""

    head_seconds = 0.3
    unread_seconds = 0.3


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """Ten megabytes at `/large`; else as soon as the first piece of the body is there."""
    if scope["path"] == "/slow":
        await asyncio.sleep(1.0)
    body = b"x" * (10_000_000 if scope["path"] == "/large" else 2)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def hasty(limit: int | None = None) -> AsyncIterator[uvicorn.Server]:
    settings = uvicorn.Config(
        answer, port=0, http=HastyConnection, log_config=None, lifespan="off", limit_concurrency=limit
    )
    server = uvicorn.Server(settings)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield server
    finally:
        server.should_exit = True
        await task


def port_of(server: uvicorn.Server) -> int:
    return int(server.servers[0].sockets[0].getsockname()[1])


async def until_closed(reader: asyncio.StreamReader) -> float:
    """After how many seconds the other side closed the connection."""
    begun = time.perf_counter()
    async with asyncio.timeout(30):
        with suppress(ConnectionError):
            while await reader.read(65_536):
                pass
    return time.perf_counter() - begun


@pytest.mark.parametrize("sent", [b"", b"G", HEAD, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\nx"])
async def test_break_12_whoever_does_not_say_what_they_want_is_not_waited_for(sent: bytes) -> None:
    async with hasty() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", port_of(server))
        writer.write(sent)
        assert await until_closed(reader) > 0.2
        writer.close()


async def test_break_12_a_head_that_trickles_is_not_waited_for() -> None:
    async with hasty() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", port_of(server))

        async def trickle() -> None:
            writer.write(HEAD)
            while True:
                writer.write(b"X-A: b\r\n")
                await asyncio.sleep(0.05)

        task = asyncio.create_task(trickle())
        await until_closed(reader)
        task.cancel()
        writer.close()


async def test_an_answer_that_takes_long_is_waited_for_and_the_connection_used_again() -> None:
    async with hasty() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", port_of(server))
        for _ in range(2):
            writer.write(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await reader.readuntil(b"xx")).startswith(b"HTTP/1.1 200")
        writer.close()


async def test_an_answer_that_nobody_reads_is_given_up() -> None:
    async with hasty() as server:
        with socket.create_connection(("127.0.0.1", port_of(server))) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
            await asyncio.sleep(0.1)
            assert len(server.server_state.connections) == 1
            async with asyncio.timeout(30):
                while server.server_state.connections:
                    await asyncio.sleep(0.05)


async def test_a_slow_reader_gets_all_of_it() -> None:
    async with hasty() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", port_of(server), limit=1 << 16)
        writer.write(b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        read = 0
        while piece := await reader.read(500_000):
            read += len(piece)
            await asyncio.sleep(0.02)
        writer.close()
    assert read > 10_000_000


async def test_break_12_beyond_the_limit_the_answer_is_503() -> None:
    async with hasty(limit=5) as server:
        held = [await asyncio.open_connection("127.0.0.1", port_of(server)) for _ in range(4)]
        await asyncio.sleep(0.05)
        reader, writer = await asyncio.open_connection("127.0.0.1", port_of(server))
        writer.write(HEAD + b"\r\n")
        said = await reader.read(4096)
        for _, each in (*held, (reader, writer)):
            each.close()
    assert said.startswith(b"HTTP/1.1 503 ")
    assert json.loads(said.rpartition(b"\r\n")[2])["error"] == "unavailable"


@pytest.mark.parametrize(
    ("wanted", "files", "limit"), [(1000, 65_536, 1000), (1000, 1024, 1024 - RESERVED_FILES), (1000, 100, 16)]
)
def test_descriptors_are_kept_for_other_things(wanted: int, files: int, limit: int) -> None:
    assert connection_limit(wanted, files) == limit


def slow_connections(service: ServedProcess, number: int, stack: ExitStack) -> list[socket.socket]:
    made = []
    for _ in range(number):
        with suppress(OSError):
            made.append(stack.enter_context(socket.create_connection(("127.0.0.1", service.port), timeout=5)))
            made[-1].sendall(HEAD)
    return made


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProcess]:
    with served(tmp_path_factory.mktemp("connections")) as process:
        process.ask("GET", "/api/v1/health")
        yield process


@tried_twice
def test_break_12_two_hundred_slow_connections_disturb_nobody(service: ServedProcess) -> None:
    with ExitStack() as stack, HealthWatch(service) as watch:
        slow_connections(service, 200, stack)
        time.sleep(2)
    assert set(watch.answers) == {200}
    watch.expect(seconds=1.0, megabytes=50.0)


@pytest.mark.parametrize(("settings", "answered"), [("service: {connections: 16}", 503), ("", 200)])
def test_the_setting_is_the_number_of_connections(tmp_path: Path, settings: str, answered: int) -> None:
    with served(tmp_path, settings) as service, ExitStack() as stack:
        slow_connections(service, 20, stack)
        until = time.monotonic() + 30
        while service.ask("GET", "/api/v1/health")[0] != answered:
            assert time.monotonic() < until
            time.sleep(0.05)


@pytest.mark.thorough
def test_break_12_with_few_descriptors_the_service_goes_on_and_its_log_stays_short(tmp_path: Path) -> None:
    with served(tmp_path, files=256) as few:
        with ExitStack() as stack:
            slow_connections(few, 300, stack)
            time.sleep(2)
            status, said = few.ask("GET", "/api/v1/health")
            assert (status, b"as many connections as it can take" in said) == (503, True)
        until = time.monotonic() + 20
        while few.ask("GET", "/api/v1/health")[0] != 200:
            assert time.monotonic() < until
            time.sleep(0.2)
        assert few.ask("GET", "/api/v1/runs")[0] == 200
        assert len(few.log.splitlines()) < 200
        assert "Too many open files" not in few.log


def test_a_fault_that_repeats_is_logged_once_a_second() -> None:
    now = [0.0]
    repeats, shown = RepeatFilter(lambda: now[0]), []
    for number in range(5_000):
        now[0] = number / 1000
        for level in (logging.ERROR, logging.INFO):
            record = logging.LogRecord("x", level, "", 0, "broke: %s", (number,), None)
            if repeats.filter(record):
                shown.append((level, record.getMessage()))
    errors = [text for level, text in shown if level == logging.ERROR]
    assert errors == ["broke: 0", *(f"broke: {each}000 (and 999 more like it before)" for each in range(1, 5))]
    assert len(shown) == 5_005, "what is no fault is all there"
    other = logging.LogRecord("x", logging.ERROR, "", 0, "another: %s", (1,), None)
    assert repeats.filter(other) is True


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.thorough
def test_break_16_the_stream_of_a_run_ends_with_its_key(tmp_path: Path, kind: str) -> None:
    with (
        a_database(kind, tmp_path) as database,
        served(tmp_path, "service: {hosts: [127.0.0.1]}", "--require-keys", database=database) as service,
    ):
        keys = {scope: service.make_key(scope) for scope in ("admin", "read")}
        heads = {scope: {"Authorization": f"Bearer {key}"} for scope, key in keys.items()}
        run_id = queued_run(service, {**heads["admin"], "Content-Type": "application/json"})
        connection = HTTPConnection("127.0.0.1", service.port, timeout=20)
        connection.request("GET", f"/api/v1/runs/{run_id}/events", headers=heads["read"])
        stream = connection.getresponse()
        assert stream.readline() == b"event: progress\n"
        listed = json.loads(service.ask("GET", "/api/v1/keys", headers=heads["admin"])[1])
        (key_id,) = [each["id"] for each in listed if each["scopes"] == ["read"]]
        begun = time.monotonic()
        assert service.ask("DELETE", f"/api/v1/keys/{key_id}", headers=heads["admin"])[0] == 200
        rest = stream.read()
        connection.close()
        assert time.monotonic() - begun < 6.0
        assert b"event: end" not in rest, "the run has not ended"


def queued_run(service: ServedProcess, headers: dict[str, str]) -> str:
    """A run that no worker takes."""
    item = {"type": "single_turn", "name": "n", "inputs": {"message": "Hello"}, "expected": {"success_criteria": ["x"]}}
    body = json.dumps({"name": "t", "items": [item]}).encode()
    made = json.loads(service.ask("POST", "/api/v1/test-sets", body, headers)[1])
    sent = json.dumps({"test_set_id": made["test_set_id"], "target": "http://127.0.0.1:9/"}).encode()
    status, answer = service.ask("POST", "/api/v1/runs", sent, headers)
    assert status == 202, answer
    return str(json.loads(answer)["run_id"])
