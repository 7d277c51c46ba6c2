"""Requests that mean harm: too large, too slow, too deep, not JSON, paths and names that point elsewhere. Each is
refused in the one shape of errors, nothing of our insides is told, and others are answered meanwhile."""

from __future__ import annotations

import asyncio
import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp import ClientSession

from api.operations import a_bot, a_dataset, a_rubric, a_test_set, entry, rule
from api.served import Reply
from api.shared import AGENT, Asker, Service, in_a_thread
from howsure.api import middleware
from howsure.api.app import PREFIX, ServiceAccess
from howsure.api.counters import Counters
from howsure.api.middleware import RequestLimits, RequestMiddleware

INSIDES = (
    "Traceback",
    "/tmp/",
    "/home/",
    "/root/",
    "site-packages",
    "sqlalchemy",
    "SELECT",
    "INSERT",
    ".py",
    ".howsure",
)
SMALL = 64 * 1024


def refused(reply: Reply, *statuses: int) -> None:
    assert reply.status in (statuses or (400, 404, 405, 413, 415, 422)), (reply.status, reply.raw[:300])
    assert set(reply.body) <= {"error", "detail", "problems"}
    told = reply.raw.decode()
    assert not [word for word in INSIDES if word in told], told


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b'{"name": NaN}',
        b'{"name": "\\ud800", "rules": []}',
        b'{"name": "\xff"}',
        b'{"name": "a\\u0000b", "rules": []}',
        b'{"name": 1e400}',
        b'{"name": ' + b"9" * 5000 + b"}",
        b"[" * 50_000 + b"]" * 50_000,
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
        b'{"name": "x", "rules": [{"id": "a b", "name": "x", "severity": "low"}]}',
        b'{"name": "x", "rules": [{"id": "../../x", "name": "x", "severity": "low"}]}',
        json.dumps({"name": "x", "rules": [rule(), rule()]}).encode(),
        json.dumps({"name": "x" * 301, "rules": [rule()]}).encode(),
        json.dumps({"name": "x", "description": "x" * 100_001, "rules": [rule()]}).encode(),
        json.dumps({"name": "  ", "rules": [rule()]}).encode(),
    ],
    ids=["nothing", "half", "a list", "text", "NaN", "half a character", "not UTF-8", "NUL", "too large a float",
         "too large a number", "deep lists", "deep objects", "a space in an id", "a path for an id", "an id twice",
         "a long name", "long text", "a blank name"],
)  # fmt: skip
def test_a_body_that_cannot_be_used_is_refused(ask: Asker, body: bytes) -> None:
    refused(ask("POST", "/rubrics", body, Content_Type="application/json"), 400, 422)
    assert ask("GET", "/rubrics").body == []


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "payload",
    [{"big": 10**30}, {"small": -(10**30)}, {"nul": "a\x00b"}, {"nested": deep(60)}, {"text": "\U0001f600 \u202e"}],
    ids=["huge integer", "huge negative", "NUL inside", "nested", "odd characters"],
)
def test_odd_values_in_free_places_are_kept_or_refused(ask: Asker, payload: dict[str, Any]) -> None:
    key = ask.made("/test-sets", a_test_set(entry(1)))["test_set_id"]
    asked = ask("POST", "/runs", {"test_set_id": key, "initial_payload": payload})
    assert asked.status in (202, 422), asked.body
    if asked.status == 202:
        assert ask.finished(asked.body["run_id"])["status"] in ("completed", "failed")
    bot = ask("PUT", f"/bots/{AGENT}/context", a_bot(harness_context=payload))
    assert bot.status in (200, 422), bot.body
    more = ask("POST", "/test-sets", a_test_set({**entry(2), "more": payload}))
    assert more.status in (201, 422), more.body


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "..", ".", "/etc/passwd", "a/b", "C:\\x", "CON", "x" * 300, "ä.jsonl\n"]
)
def test_names_never_become_paths(ask: Asker, name: str) -> None:
    made = ask("POST", "/datasets", a_dataset(name=name))
    assert made.status in (201, 422), made.body
    if made.status == 201:
        listed = ask("GET", f"/datasets/{made.body['dataset_id']}/test-cases?limit=1")
        assert (listed.status, len(listed.body)) == (200, 1)
        documents = ask.service.host.work.data_folder / "documents"
        assert all(documents in path.resolve().parents for path in documents.rglob("*"))


@pytest.mark.parametrize(
    "key", ["../rubrics", "..%2f..%2fetc", "%252e%252e", "a%00b", "%ff", "x" * 201, "a b", "'; DROP--", "*"]
)
@pytest.mark.parametrize(
    "path", ["/rubrics/{}", "/runs/{}/results", "/datasets/{}/versions/1/content", "/bots/{}/context"]
)
def test_ids_lead_nowhere_else(ask: Asker, path: str, key: str) -> None:
    reply = ask("GET", path.format(key if "%" in key else quote(key, safe="")))
    assert reply.status in (404, 422), reply.body
    refused(reply)


@pytest.mark.parametrize("number", ["0", "-1", "9" * 30, "1.5", "x", "٣"])
def test_versions_are_numbers(ask: Asker, number: str) -> None:
    key = ask.made("/rubrics", a_rubric())["rubric_id"]
    read = ask("GET", f"/rubrics/{key}/versions/{quote(number)}")
    refused(read)
    assert read.status == 422
    if number.isascii():
        changed = ask("PUT", f"/rubrics/{key}", a_rubric(), If_Match=f'"{number}"')
        refused(changed, 412, 422)
        assert changed.status == (412 if number == "0" else 422)
    assert ask("GET", f"/rubrics/{key}").body["latest_version"] == 1, "nothing was written"


PLACES = [
    *("", "x", "99999999999999999999", "3000000000", "-1", "2026-11-15~x", "~", "|", "5|~", "\u0663"),
    "2026-11-15T09:30:00Z~\x00",
    "0001-01-01T00:00:00+23:59~x",
    "9999-12-31T23:59:59-23:59~x",
    "99999999999|2026-11-15T09:30:00Z~x",
]
LISTS = [
    *("/rubrics", "/runs", "/results", "/keys", "/audit", "/datasets"),
    *("{rubric}/versions", "{dataset}/test-cases", "{run}/results"),
]


@pytest.mark.parametrize("path", LISTS)
def test_cursors_of_ones_own_making_are_refused(ask: Asker, path: str) -> None:
    rubric = ask.made("/rubrics", a_rubric())["rubric_id"]
    dataset = ask.made("/datasets", a_dataset())["dataset_id"]
    key = ask.made("/test-sets", a_test_set(entry(1)))["test_set_id"]
    run = ask.made("/runs", {"test_set_id": key}, 202)["run_id"]
    ask.finished(run)
    filled = path.format(rubric=f"/rubrics/{rubric}", dataset=f"/datasets/{dataset}", run=f"/runs/{run}")
    for place in PLACES:
        reply = ask("GET", f"{filled}?cursor={urlsafe_b64encode(place.encode()).decode()}")
        assert reply.status in (200, 422), (place, reply.body)
    for cursor in ("====", "a", "%ff", "x" * 501):
        assert ask("GET", f"{filled}?cursor={cursor}").status == 422, cursor


ODD: list[dict[str, Any]] = [
    *({"profile": "nope"}, {"budget": "lots"}, {"gates": ["nonsense"]}, {"item_ids": ["nope"]}),
    *({"target": "/bin/sh"}, {"target": "command:ls"}, {"target": "function:os:getcwd"}),
    *({"target": "http://169.254.169.254/latest"}, {"target": "http://localhost:1/"}, {"target": "file:///etc/passwd"}),
    *({"eval_model": "openai:gpt-4.1"}, {"eval_model": "recorded:/etc/passwd"}, {"simulator": "openai:gpt-4.1"}),
]


def test_errors_do_not_tell_where_files_lie(ask: Asker) -> None:
    for content in ("nothing known", "{}", '{"items": []}', '{"items": [{"item_id": 1}]}', "a,b\n1,2\n"):
        refused(ask("POST", "/datasets", {"name": "x.json", "content": content}), 422)
        refused(ask("POST", "/datasets/upload?name=x", content.encode(), Content_Type="application/octet-stream"), 422)
    refused(ask("POST", "/datasets", {"name": "x.json", "content": "{}", "dialect": "golden"}), 422)
    key = ask.made("/test-sets", a_test_set(entry(1)))["test_set_id"]
    for odd in ODD:
        refused(ask("POST", "/runs", {"test_set_id": key, **odd}), 422)
    assert ask("GET", "/runs").body == []


def test_every_answer_has_its_headers(ask: Asker) -> None:
    for path in ("/rubrics", "/nothing", "/health"):
        reply = ask("GET", path)
        for name, value in middleware.HEADERS.items():
            assert reply.headers[name.lower()] == value
        assert len(reply.headers["x-request-id"]) == 32
        assert "server" not in reply.headers or "uvicorn" not in reply.headers["server"]
    assert ask("GET", "/health", X_Request_ID="mine_1").headers["x-request-id"] == "mine_1"
    assert ask("GET", "/health", X_Request_ID="no spaces").headers["x-request-id"] != "no spaces"


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml", ""],
)
def test_only_json_is_read(ask: Asker, kind: str) -> None:
    reply = ask("POST", "/rubrics", json.dumps(a_rubric()).encode(), Content_Type=kind or "x")
    refused(reply, 415)
    assert reply.body["detail"] == f"send JSON (content-type application/json), not {kind or 'x'}"
    assert ask("GET", "/rubrics").body == []


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that takes small bodies, and wants them soon."""
    folder = tmp_path_factory.mktemp("narrow")
    access = ServiceAccess(chunk_seconds=0.3, body_seconds=1.0)
    with in_a_thread(folder, "", access, largest_body=SMALL) as service:
        yield service


async def raw(service: Service, head: bytes, parts: AsyncIterator[bytes]) -> bytes:
    """What is answered to a request that is sent piece by piece."""
    port = int(service.base.removesuffix(PREFIX).rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST " + PREFIX.encode() + b"/rubrics HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                 b"Content-Type: application/json\r\n" + head + b"\r\n\r\n")  # fmt: skip
    answer = asyncio.create_task(reader.read(4096))
    with suppress(ConnectionError):
        async for part in parts:
            if answer.done():
                break
            writer.write(part)
            await writer.drain()
    async with asyncio.timeout(30):
        found = await answer
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()
    return found


async def nothing() -> AsyncIterator[bytes]:
    if False:
        yield b""


async def endless(size: int, pause: float) -> AsyncIterator[bytes]:
    for _ in range(20_000):
        yield b"%x\r\n" % size + b" " * size + b"\r\n"
        await asyncio.sleep(pause)


GIGABYTE = b"Content-Length: 1073741824"
CHUNKED = b"Transfer-Encoding: chunked"


async def others_are_answered(service: Service, *, during: asyncio.Task[bytes]) -> None:
    async with ClientSession() as session:
        for _ in range(5):
            async with session.get(f"{service.base}/rubrics") as reply:
                assert reply.status == 200
    await during


async def test_a_gigabyte_is_refused_by_its_length(narrow: Service) -> None:
    sending = asyncio.create_task(raw(narrow, GIGABYTE, nothing()))
    await others_are_answered(narrow, during=sending)
    assert sending.result().startswith(b"HTTP/1.1 413 ")


async def test_a_gigabyte_without_a_length_is_refused_as_it_comes(narrow: Service) -> None:
    sending = asyncio.create_task(raw(narrow, CHUNKED, endless(50_000, 0.0)))
    await others_are_answered(narrow, during=sending)
    assert sending.result().startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(("size", "pause"), [(1, 5.0), (1, 0.2)], ids=["that pauses", "that trickles"])
async def test_a_body_that_does_not_come_is_not_waited_for(narrow: Service, size: int, pause: float) -> None:
    begun = perf_counter()
    sending = asyncio.create_task(raw(narrow, CHUNKED, endless(size, pause)))
    await others_are_answered(narrow, during=sending)
    assert sending.result().startswith(b"HTTP/1.1 408 ")
    assert perf_counter() - begun < 29.0


@pytest.mark.parametrize(
    ("head", "status"),
    [(b"Content-Length: x", 400), (b"Content-Length: -1", 400), (b"Content-Length: 99999999999999999999999999", 413)],
)
async def test_a_length_that_is_none_is_refused(narrow: Service, head: bytes, status: int) -> None:
    assert (await raw(narrow, head, nothing())).split(b" ")[1] in (b"%d" % status, b"400")


async def test_whoever_goes_away_in_the_middle_is_forgotten(narrow: Service) -> None:
    port = int(narrow.base.removesuffix(PREFIX).rpartition(":")[2])
    for _ in range(5):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"POST /api/v1/rubrics HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"
        )
        await writer.drain()
        writer.close()
    async with ClientSession() as session, session.get(f"{narrow.base}/health") as reply:
        assert reply.status == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost", 200), ("localhost:99", 200), ("[::1]", 200), ("[::1]:80", 200), ("LOCALHOST", 200), ("", 400),
     ("evil.test", 400), ("localhost.evil.test", 400), ("127.0.0.1.nip.io:8002", 400)],
)  # fmt: skip
async def test_names_that_are_not_ours_are_not_answered(host: str, status: int) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body"})

    said: list[Any] = []

    async def send(message: Any) -> None:
        said.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    limits = RequestLimits(largest_body=10, hosts=("localhost", "127.0.0.1", "::1"))
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", host.encode())]}
    await RequestMiddleware(app, limits, Counters())(scope, receive, send)
    assert said[0]["status"] == status


def test_what_breaks_us_is_told_to_the_log_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with in_a_thread(tmp_path, "", ServiceAccess()) as service:
        gallery = service.host.store.documents
        broken = RuntimeError("secret insides at /home/x/y.py")

        async def several(*_: Any, **__: Any) -> Any:
            raise broken

        object.__setattr__(gallery, "several", several)
        reply = service.nobody()("GET", "/rubrics")
    assert (reply.status, reply.body["error"]) == (500, "internal")
    assert "secret" not in reply.raw.decode()
    assert reply.headers["x-request-id"]
    assert any(record.exc_info and record.exc_info[1] is broken for record in caplog.records)
