"""Requests and responses on the wire, byte by byte: against servers that are scripts of bytes."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import pytest
from aiohttp import ClientError, ClientResponseError, ConnectionTimeoutError, ServerDisconnectedError
from yarl import URL

from howsure.llm.exchange import Exchanged, Pool, Reading, TooLarge

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
ALL = Reading(1_000_000)


class Script:
    """A server that answers the first request with the first bytes, and so on. `hang_up` closes after each answer;
    None instead of bytes closes without one."""

    def __init__(self, *answers: bytes | None, hang_up: bool = False) -> None:
        self._answers = iter(answers)
        self._hang_up = hang_up
        self.asked: list[bytes] = []
        self.connections = 0
        self.url = URL()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
                self.asked.append(head + await reader.readexactly(int(length or 0)))
                answer = next(self._answers)
                if answer is None:
                    break
                writer.write(answer)
                await writer.drain()
                if self._hang_up:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def playing(script: Script) -> AsyncIterator[Pool]:
    serving: list[asyncio.Task[None] | None] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.append(asyncio.current_task())
        await script.serve(reader, writer)
        with suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    script.url = URL(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/chat?a=b%20c")
    pool = Pool(keep_alive=5.0)
    try:
        yield pool
    finally:
        await pool.close()
        server.close()
        await server.wait_closed()
        await asyncio.gather(*(each for each in serving if each))


async def told(script: Script, body: bytes | None = b"{}", method: str = "POST", reading: Reading = ALL) -> Exchanged:
    async with playing(script) as pool:
        return await pool.exchange(pool.road(method, script.url, {}), body, 5.0, reading)


async def test_a_request_is_its_line_its_headers_its_length_and_its_body() -> None:
    script = Script(OK)
    async with playing(script) as pool:
        road = pool.road("POST", script.url, {"Content-Type": "application/json", "X-Key": "grün"})
        answer = await pool.exchange(road, b'{"a":1}', 5.0, ALL)
    head, _, body = script.asked[0].partition(b"\r\n\r\n")
    line, *headers = head.decode().split("\r\n")
    assert (line, body) == ("POST /chat?a=b%20c HTTP/1.1", b'{"a":1}')
    assert headers[0] == f"Host: 127.0.0.1:{script.url.port}"
    assert {"Content-Type: application/json", "X-Key: grün", "Content-Length: 7"} < set(headers)
    assert (answer.status, answer.body) == (200, b"ok")


@pytest.mark.parametrize(("method", "body", "length"), [("GET", None, None), ("POST", b"", "0"), ("POST", None, None)])
async def test_only_a_body_has_a_length(method: str, body: bytes | None, length: str | None) -> None:
    script = Script(OK)
    await told(script, body, method)
    lines = script.asked[0].decode().lower().split("\r\n")
    assert [line for line in lines if line.startswith("content-length")] == (
        [f"content-length: {length}"] if length else []
    )


async def test_the_name_and_password_in_an_address_become_a_header() -> None:
    script = Script(OK)
    async with playing(script) as pool:
        road = pool.road("POST", script.url.with_user("ann").with_password("x"), {})
        await pool.exchange(road, b"", 5.0, ALL)
    assert b"Authorization: Basic YW5uOng=\r\n" in script.asked[0]
    assert b"ann" not in script.asked[0]


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\0b"])
async def test_a_header_cannot_bring_another_one_along(value: str) -> None:
    async with playing(Script(OK)) as pool:
        with pytest.raises(ValueError):
            pool.road("POST", URL("http://127.0.0.1:1/"), {"X-Id": value})


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
PACKED = gzip.compress(b"packed")
GZIPPED = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(PACKED), PACKED)


@pytest.mark.parametrize(
    ("answer", "status", "body"),
    [
        (CHUNKED, 200, b"abcde"),
        (GZIPPED, 200, b"packed"),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n" + OK, 200, b"ok"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
        (b"HTTP/1.1 500 Oh\r\nContent-Length: 4\r\n\r\noops", 500, b"oops"),
        (b"HTTP/1.1 302 Go\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n", 302, b""),
    ],
    ids=["in chunks", "compressed", "after a hint", "nothing", "an error", "elsewhere"],
)
async def test_a_response_is_read_whatever_its_form(answer: bytes, status: int, body: bytes) -> None:
    found = await told(Script(answer))
    assert (found.status, found.body) == (status, body)


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.0 200 OK\r\n\r\n"])
async def test_a_response_without_a_length_ends_with_the_connection(head: bytes) -> None:
    assert (await told(Script(head + b"all of it", hang_up=True))).body == b"all of it"


async def test_the_head_alone_has_no_body_to_wait_for() -> None:
    script = Script(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")
    assert (await told(script, None, "HEAD")).body == b""


async def asked_in_turn(script: Script, times: int, reading: Reading = ALL) -> list[bytes]:
    async with playing(script) as pool:
        road = pool.road("POST", script.url, {})
        return [(await pool.exchange(road, b"{}", 5.0, reading)).body for _ in range(times)]


CLOSING = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
EVENTS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\na DONE\r\n"


@pytest.mark.parametrize(
    ("answers", "reading", "connections"),
    [
        ((OK, OK, OK), ALL, 1),
        ((CLOSING, CLOSING, OK), ALL, 3),
        ((EVENTS, EVENTS, OK), Reading(1_000, b"DONE"), 3),
    ],
    ids=["kept", "closed by the server", "not read to the end"],
)
async def test_a_connection_is_used_again_where_it_can_be(
    answers: Sequence[bytes], reading: Reading, connections: int
) -> None:
    script = Script(*answers)
    assert len(await asked_in_turn(script, 3, reading)) == 3
    assert script.connections == connections


async def test_a_response_ends_at_the_mark_even_where_that_comes_in_two_pieces() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\na DO\r\n")
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.write(b"2\r\nNE\r\n")
        await reader.read()
        writer.close()

    script = Script()
    script.serve = serve  # type: ignore[method-assign]
    assert (await told(script, reading=Reading(1_000, b"DONE"))).body == b"a DONE"


@pytest.mark.parametrize(("size", "whole"), [(100, True), (101, False)])
async def test_a_response_may_be_just_as_large_as_allowed(size: int, whole: bool) -> None:
    script = Script(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (size, b"x" * size))
    if whole:
        assert len((await told(script, reading=Reading(100))).body) == 100
        return
    with pytest.raises(TooLarge, match="more than 100 bytes"):
        await told(script, reading=Reading(100))


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (None, ServerDisconnectedError),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", ClientResponseError),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", ClientError),
    ],
    ids=["no answer", "no HTTP", "half of it"],
)
async def test_what_is_no_response_is_an_error_of_its_kind(answer: bytes | None, error: type[Exception]) -> None:
    with pytest.raises(error):
        await told(Script(answer, hang_up=True))


@pytest.mark.parametrize(("method", "asked"), [("GET", 2), ("POST", 1)])
async def test_only_what_may_be_repeated_is_sent_again_when_a_connection_was_closed(method: str, asked: int) -> None:
    script = Script(None, OK)
    if method == "GET":
        assert (await told(script, None, method)).body == b"ok"
    else:
        with pytest.raises(ServerDisconnectedError):
            await told(script, b"{}", method)
    assert len(script.asked) == asked


async def test_silence_is_a_time_out_and_its_connection_is_not_used_again() -> None:
    script = Script(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", OK)
    async with playing(script) as pool:
        road = pool.road("POST", script.url, {})
        with pytest.raises(TimeoutError) as caught:
            await pool.exchange(road, b"{}", 0.1, ALL)
        assert not isinstance(caught.value, ConnectionTimeoutError)
        assert (await pool.exchange(road, b"{}", 5.0, ALL)).body == b"ok"
    assert script.connections == 2


async def test_a_call_that_is_cancelled_leaves_nothing_behind() -> None:
    script = Script(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", OK)
    async with playing(script) as pool:
        road = pool.road("POST", script.url, {})
        call = asyncio.create_task(pool.exchange(road, b"{}", 5.0, ALL))
        await asyncio.sleep(0.05)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await pool.exchange(road, b"{}", 5.0, ALL)).body == b"ok"
    assert script.connections == 2


async def test_a_proxy_is_told_the_whole_address_and_its_own_password_each_time() -> None:
    script = Script(OK, OK)
    async with playing(script) as pool:
        proxy = str(script.url.origin().with_user("ann").with_password("x"))
        for number in range(2):
            road = pool.road("POST", URL(f"http://bot.example/chat/{number}"), {"X-Key": "k"}, proxy)
            assert (await pool.exchange(road, b"{}", 5.0, ALL)).body == b"ok"
    for number, asked in enumerate(script.asked):
        assert asked.startswith(b"POST http://bot.example/chat/%d HTTP/1.1\r\nHost: bot.example\r\n" % number)
        assert b"Proxy-Authorization: Basic YW5uOng=\r\n" in asked
    assert script.connections == 1


async def test_roads_are_made_once_and_do_not_grow_without_end() -> None:
    async with playing(Script()) as pool:
        first = pool.road("POST", URL("http://h/0"), {"A": "b"})
        assert pool.road("POST", URL("http://h/0"), {"A": "b"}) is first
        assert pool.road("POST", URL("http://h/0"), {"A": "c"}) is not first
        assert pool.road("POST", URL("http://h/0"), {"A": "b"}, None, {"sid": "1"}) is not first
        for number in range(1, 1_100):
            pool.road("POST", URL(f"http://h/{number}"), {"A": "b"})
        assert pool.road("POST", URL("http://h/0"), {"A": "b"}) is not first
