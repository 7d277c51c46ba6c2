"""Bodies of requests: their size, depth, values and problems are limited while they come, and others are answered
meanwhile. Breaks 1, 4, 14 and 15 of the review, and the message for JSON that is too deep."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from databases import IN_TURN, a_database
from hardening.served_process import HealthWatch, ServedProcess, served, tried_twice
from howsure.api.app import ServiceAccess, create_service
from howsure.config import Settings
from howsure.kit.plugins import builtin_kit
from howsure.policies.verdicts import builtin_profiles
from howsure.services.workspace import Host, Workspace
from howsure.web.app import create_pages

JSON = {"Content-Type": "application/json"}
FILE = {"Content-Type": "application/octet-stream"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
HEALTH_SECONDS = 1.0
MEGABYTES = 300.0
BAD_ROW = b'{"schema_version":"legal_eval_v1","id":7,"task_type":"none","choices":[{}]}\n'
UPLOAD = "/api/v1/datasets/upload?name=x.jsonl&dialect=legal"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProcess]:
    """It needs keys, so that there is a page to sign in at; what is asked of the API has one."""
    settings = "service: {largest_body: 150000000}"
    with served(tmp_path_factory.mktemp("bodies"), settings, "--require-keys") as process:
        process.key = process.make_key("write")
        process.ask("GET", "/api/v1/health")
        yield process


def posted(service: ServedProcess, path: str, body: Any, headers: dict[str, str] | None = None) -> tuple[int, Any]:
    own = {**(headers or JSON), "Authorization": f"Bearer {service.key}"}
    status, text = service.ask("POST", path, body, own)
    return status, json.loads(text)


def rubric(rules: bytes) -> bytes:
    return b'{"name":"x","rules":[' + rules + b"]}"


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (rubric(b"[[]]," * 11_000_000 + b"[]"), 413, "larger than the 8,388,608 bytes"),
        (rubric(b"[[]]," * 1_600_000 + b"[]"), 422, "more than 200,000 values"),
        (rubric(b"[[]]," * 66_000 + b"[]"), 422, "1,000 problems and at least 65,001 more"),
        (rubric(b"{}," * 66_000 + b"{}"), 422, "1,000 problems and at least 197,003 more"),
        (json.dumps({f"f{number}": 1 for number in range(190_000)}).encode(), 422, "190,000 fields are too many"),
        (b'{"name":"x","rules":' + b"[" * 5_000_000, 422, "nested too deeply: at most 100 levels"),
        (b"[" * 99 + b"]" * 99, 422, "body: Input should be"),
    ],
    ids=["55 MB", "8 MB", "lists for rules", "empty rules", "unknown fields", "deep", "as deep as may be"],
)
@tried_twice
def test_break_1_one_request_takes_neither_memory_nor_time(
    service: ServedProcess, body: bytes, status: int, said: str
) -> None:
    with HealthWatch(service) as watch, ThreadPoolExecutor(4) as threads:
        for answered, answer in threads.map(lambda _: posted(service, "/api/v1/rubrics", body), range(4)):
            assert (answered, said in answer["detail"]) == (status, True), answer
            assert len(answer.get("problems", ())) <= 1_000
    watch.expect(HEALTH_SECONDS, MEGABYTES)


def test_too_deep_json_is_named_and_not_called_unparseable(service: ServedProcess) -> None:
    body = b'{"name":"x","rules":[{"a":' + b"[" * 200 + b"]" * 200 + b"}]}"
    status, answer = posted(service, "/api/v1/rubrics", body)
    assert (status, answer["error"]) == (422, "invalid")
    assert answer["detail"] == "the JSON is nested too deeply: at most 100 levels" == answer["problems"][0]["message"]


def uploaded(service: ServedProcess, rows: int, alone: bool = False) -> None:
    with HealthWatch(service, alone=alone) as watch:
        status, answer = posted(service, UPLOAD, BAD_ROW * rows, FILE)
    assert (status, len(answer["problems"])) == (422, 1_000)
    assert answer["detail"].startswith("1,000 problems and at least ")
    assert int(answer["detail"].split()[5].replace(",", "")) > rows - 1_000
    watch.expect(HEALTH_SECONDS, MEGABYTES)


@tried_twice
def test_break_1_bad_lines_are_counted_and_not_all_built(service: ServedProcess) -> None:
    uploaded(service, 20_000)


@pytest.mark.thorough
@pytest.mark.alone
@tried_twice
def test_break_1_a_hundred_megabytes_of_bad_lines(service: ServedProcess) -> None:
    uploaded(service, 1_400_000, alone=True)


@pytest.mark.thorough
@pytest.mark.alone
@tried_twice
def test_a_whole_file_that_needs_too_much_memory_is_refused(service: ServedProcess) -> None:
    body = b'{"golden_questions":[' + b"[[]]," * 11_000_000 + b"[]]}"
    with HealthWatch(service, alone=True) as watch:
        status, answer = posted(service, "/api/v1/datasets/upload?name=x.json", body, FILE)
    assert (status, "cannot be checked within 512 MB" in answer["detail"]) == (422, True), str(answer)[:2000]
    watch.expect(HEALTH_SECONDS, 600.0)


def test_a_large_upload_is_stored_byte_for_byte(service: ServedProcess) -> None:
    rows = [
        {
            "schema_version": "legal_eval_v1",
            "id": f"q{number}",
            "dataset": "d",
            "task_type": "reference_qa",
            "prompt": "What is due? " + "x" * 500,
            "reference_answers": ["Nothing."],
        }
        for number in range(4_000)
    ]
    content = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    assert len(content) > 2_000_000, "checked in a process of its own"
    headers = {**FILE, "Idempotency-Key": "once"}
    status, made = posted(service, "/api/v1/datasets/upload?name=x", content, headers)
    assert (status, made["dialect"], made["cases"], made["bytes"]) == (201, "legal", 4_000, len(content))
    assert posted(service, "/api/v1/datasets/upload?name=x", content, headers)[1] == made
    assert posted(service, "/api/v1/datasets/upload?name=x", content + b"\n", headers)[0] == 409


@tried_twice
def test_import_is_read_line_by_line(service: ServedProcess) -> None:
    lines = {"Content-Type": "application/x-ndjson"}
    for body, said in (
        (b"\n" * 1_000_000, "send documents, one a line"),
        (b"x\n" * 200_000, "at most 100,000 lines at a time, found 200,000"),
    ):
        status, answer = posted(service, "/api/v1/import", body, lines)
        assert (status, said in answer["detail"]) == (422, True)
    with HealthWatch(service) as watch:
        hostile = b'{"kind":"rubric","id":"x","document":{"rules":[' + b"[[]]," * 5_000_000 + b"[]]}}"
        status, answer = posted(service, "/api/v1/import", hostile, lines)
    assert (status, answer[0]["status"], "more than 200,000 values" in answer[0]["detail"]) == (200, "refused", True)
    watch.expect(HEALTH_SECONDS, MEGABYTES)


def sent_without_length(service: ServedProcess, path: str, megabytes: int) -> bytes:
    """The first line of the answer to a body that comes in pieces and does not say how long it is."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {FORM['Content-Type']}\r\n"
    piece = b"x" * 65_536
    with socket.create_connection(("127.0.0.1", service.port), timeout=120) as connection:
        connection.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
        with suppress(ConnectionError):
            for _ in range(megabytes * 16):
                connection.sendall(b"%x\r\n" % len(piece) + piece + b"\r\n")
        with suppress(ConnectionError):
            return connection.recv(4096).partition(b"\r\n")[0]
    return b""


@tried_twice
def test_break_4_sign_ins_of_60_megabytes_take_no_memory(service: ServedProcess) -> None:
    with HealthWatch(service) as watch, ThreadPoolExecutor(12) as threads:
        answers = list(threads.map(lambda _: sent_without_length(service, "/sign-in", 60), range(12)))
    assert set(answers) <= {b"HTTP/1.1 413 Request Entity Too Large", b"HTTP/1.1 413 Content Too Large"}
    watch.expect(HEALTH_SECONDS, 50.0)


@pytest.mark.parametrize(
    ("form", "status"),
    [(b"name=" + b"x" * 70_000, 413), (b"a=1&" * 1_500, 422), (b"name=a%00b&password=c", 422), (b"\xff" * 100, 403)],
    ids=["64 KB and more", "fields", "NUL", "no text"],
)
def test_breaks_4_and_14_a_form_is_refused_by_name(service: ServedProcess, form: bytes, status: int) -> None:
    answered, page = service.ask("POST", "/sign-in", form, FORM)
    assert answered == status
    assert status != 422 or b"at most 1000 fields" in page or b"the character U+0000 (NUL) stands in the form" in page


async def test_break_15_a_slow_form_is_answered_408(tmp_path: Path) -> None:
    work = Workspace(Settings(database=str(tmp_path / "howsure.db")), builtin_kit(builtin_profiles()), tmp_path)
    said: list[Any] = []

    async def receive() -> Any:
        await asyncio.sleep(1)

    async def send(message: Any) -> None:
        said.append(message)

    async with await work.store() as store:
        host, access = Host(work, store), ServiceAccess(chunk_seconds=0.05)
        app = create_service(host, access, create_pages(host, keys_needed=True))
        head = [(b"host", b"localhost"), (b"content-type", FORM["Content-Type"].encode()), (b"content-length", b"50")]
        scope = {"type": "http", "method": "POST", "path": "/sign-in", "headers": head, "query_string": b""}
        await app({**scope, "asgi": {}, "server": ("localhost", 80), "client": ("127.0.0.1", 1)}, receive, send)
    assert said[0]["status"] == 408
    assert b"the body did not come in time" in said[1]["body"]


def test_whoever_goes_away_is_no_error(service: ServedProcess) -> None:
    """Weak message: a client that disconnects was logged as an error with a trace."""
    paths = {"/sign-in": FORM, "/api/v1/rubrics": JSON, "/api/v1/datasets/upload?name=x": FILE}
    for path, headers in paths.items():
        lines = "".join(f"{name}: {value}\r\n" for name, value in {**headers, "Content-Length": "90"}.items())
        with socket.create_connection(("127.0.0.1", service.port), timeout=10) as connection:
            head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {service.key}\r\n{lines}\r\n"
            connection.sendall(head.encode() + b'{"name')
            time.sleep(0.2)
    until = time.monotonic() + 30
    while service.log.count('"status":499') < len(paths) and time.monotonic() < until:
        time.sleep(0.05)
    assert service.log.count('"status":499') == len(paths)
    assert "ClientDisconnect" not in service.log


@pytest.fixture(scope="module", params=IN_TURN)
def on_both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProcess]:
    folder = tmp_path_factory.mktemp("nul")
    with a_database(request.param, folder) as database, served(folder, database=database) as process:
        process.key = ""
        yield process


@pytest.mark.parametrize(
    "path", ["/runs/%00", "/api/v1/runs/%00", "/api/v1/runs/a%00b/results", "/library/rubrics/%00"]
)
def test_break_14_nul_in_a_path_is_not_found(on_both: ServedProcess, path: str) -> None:
    status, answer = on_both.ask("GET", path)
    assert (status, b"the character U+0000 (NUL)" in answer) == (404, True)


@pytest.mark.parametrize("path", ["/api/v1/rubrics?agent_id=a%00b", "/?q=%00", "/api/v1/results?rule_id=%00"])
def test_break_14_nul_in_a_query_is_refused(on_both: ServedProcess, path: str) -> None:
    status, answer = on_both.ask("GET", path)
    assert (status, b"the character U+0000 (NUL)" in answer) == (422, True)


def test_break_14_nul_in_bodies_is_refused_by_name(on_both: ServedProcess) -> None:
    row = {"schema_version": "legal_eval_v1", "id": "a\0b", "dataset": "d", "task_type": "reference_qa"}
    line = json.dumps({**row, "prompt": "?", "reference_answers": ["!"]}).encode()
    for path, body, headers in (
        ("/api/v1/rubrics", b'{"name":"a\\u0000b","rules":[{"id":"A","name":"n","severity":"low"}]}', JSON),
        ("/api/v1/datasets", json.dumps({"name": "x.jsonl", "content": line.decode()}).encode(), JSON),
        ("/api/v1/datasets/upload?name=x.jsonl", line, FILE),
    ):
        status, answer = on_both.ask("POST", path, body, headers)
        assert (status, b"the character U+0000 (NUL) stands in" in answer) == (422, True), answer
    assert '"level":"error"' not in on_both.log


def test_break_1_validate_lists_the_first_thousand_problems_and_counts_the_others(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(BAD_ROW * 1_200)
    command = [sys.executable, "-m", "howsure", "validate", "x.jsonl", "--dialect", "legal"]
    told = subprocess.run([*command, "--json"], check=False, cwd=tmp_path, capture_output=True)
    (file,) = json.loads(told.stdout)["files"]
    assert (told.returncode, len(file["problems"]), file["more_problems"] > 1_000) == (2, 1_000, True)
    text = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True).stdout
    assert text.endswith(f"x.jsonl (legal): 1000 problems and at least {file['more_problems']:,} more, not usable\n")
