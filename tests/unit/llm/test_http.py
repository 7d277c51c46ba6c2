"""HTTP against servers that are scripts of bytes, and the models' transport against real ones: requests on the wire,
bodies of every kind, failures by their kind, proxies."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import pytest
from aiohttp import ClientError, ClientResponseError, ConnectionTimeoutError, ServerDisconnectedError
from msgspec.structs import replace
from yarl import URL

from howsure.llm.http import BodyTooLarge, HttpPool, HttpTransport
from howsure.llm.transport import HttpRequest, HttpResponse, TransportError, TransportFault
from unit.llm.loopback import Play, in_order, serving

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
POST = HttpRequest(method="POST", url="", headers={}, body=b"{}")


class Script:
    """A server that answers the first request with the first bytes, and so on. `hang_up` closes after each answer;
    None instead of bytes closes without one."""

    def __init__(self, *answers: bytes | None, hang_up: bool = False) -> None:
        self._answers = iter(answers)
        self._hang_up = hang_up
        self.requests: list[bytes] = []
        self.connections = 0
        self.url = URL()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
                self.requests.append(head + await reader.readexactly(int(length or 0)))
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
async def playing(script: Script, environ: Mapping[str, str] | None = None) -> AsyncIterator[HttpPool]:
    tasks: list[asyncio.Task[None] | None] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.append(asyncio.current_task())
        await script.serve(reader, writer)
        with suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    script.url = URL(f"http://127.0.0.1:{port}/chat?a=b%20c")
    proxies = {name: value.format(port=port) for name, value in (environ or {}).items()}
    pool = HttpPool(proxies, keep_alive=5.0)
    try:
        yield pool
    finally:
        await pool.close()
        server.close()
        await server.wait_closed()
        await asyncio.gather(*filter(None, tasks))


async def send(script: Script, request: HttpRequest = POST) -> HttpResponse:
    async with playing(script) as pool:
        return await pool.send(replace(request, url=str(script.url)), 5.0)


async def test_a_request_is_its_line_its_headers_its_length_and_its_body() -> None:
    script = Script(OK)
    headers = {"Content-Type": "application/json", "X-Key": "grün"}
    response = await send(script, replace(POST, headers=headers, body=b'{"a":1}'))
    head, _, body = script.requests[0].partition(b"\r\n\r\n")
    line, *lines = head.decode().split("\r\n")
    assert (line, body) == ("POST /chat?a=b%20c HTTP/1.1", b'{"a":1}')
    assert lines[0] == f"Host: 127.0.0.1:{script.url.port}"
    assert {"Content-Type: application/json", "X-Key: grün", "Content-Length: 7"} < set(lines)
    assert (response.status, response.body) == (200, b"ok")


async def test_a_content_type_is_sent_only_where_one_is_set() -> None:
    script = Script(OK)
    await send(script)
    assert b"content-type" not in script.requests[0].lower()


async def test_a_post_without_a_body_says_that_its_length_is_zero() -> None:
    script = Script(OK)
    response = await send(script, replace(POST, body=None))
    head, _, body = script.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /chat")
    assert b"Content-Length: 0" in head.split(b"\r\n")
    assert (body, response.body) == (b"", b"ok")


async def test_the_answer_to_a_head_has_no_body_whatever_its_length_says() -> None:
    script = Script(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
    response = await send(script, replace(POST, method="HEAD", body=None))
    assert script.requests[0].startswith(b"HEAD /chat")
    assert (response.status, response.headers["Content-Length"], response.body) == (200, "5", b"")


async def test_user_and_password_in_an_address_are_sent_as_a_header_and_not_shown() -> None:
    script = Script(OK)
    async with playing(script) as pool:
        request = replace(POST, url=str(script.url.with_user("ann").with_password("secret")))
        await pool.send(request, 5.0)
    line, *lines = script.requests[0].partition(b"\r\n\r\n")[0].split(b"\r\n")
    assert line == b"POST /chat?a=b%20c HTTP/1.1"
    assert b"Authorization: Basic YW5uOnNlY3JldA==" in lines
    assert request.place == f"http://127.0.0.1:{script.url.port}/chat"


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\0b"])
async def test_a_header_cannot_bring_another_one_along(value: str) -> None:
    script = Script(OK)
    with pytest.raises(ValueError):
        await send(script, replace(POST, headers={"X-Id": value}))
    assert script.requests == []


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
    response = await send(Script(answer))
    assert (response.status, response.body) == (status, body)


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.0 200 OK\r\n\r\n"])
async def test_a_response_without_a_length_ends_with_the_connection(head: bytes) -> None:
    assert (await send(Script(head + b"all of it", hang_up=True))).body == b"all of it"


CLOSING = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
EVENTS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\na DONE\r\n"


@pytest.mark.parametrize(
    ("answers", "stop", "connections"),
    [((OK, OK, OK), None, 1), ((CLOSING, CLOSING, OK), None, 3), ((EVENTS, EVENTS, OK), b"DONE", 3)],
    ids=["kept", "closed by the server", "not read to the end"],
)
async def test_a_connection_is_used_again_where_it_can_be(
    answers: Sequence[bytes], stop: bytes | None, connections: int
) -> None:
    script = Script(*answers)
    async with playing(script) as pool:
        for _ in range(3):
            await pool.send(replace(POST, url=str(script.url), stop=stop), 5.0)
    assert script.connections == connections


async def test_a_response_ends_at_the_mark_even_where_that_comes_in_two_pieces() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\na DO\r\n")
        await writer.drain()
        await asyncio.sleep(0.02)
        writer.write(b"2\r\nNE\r\n")
        await reader.read()
        writer.close()

    script = Script()
    script.serve = serve  # type: ignore[method-assign]
    assert (await send(script, replace(POST, stop=b"DONE"))).body == b"a DONE"


@pytest.mark.parametrize(("size", "fits"), [(100, True), (101, False)])
async def test_a_response_may_be_just_as_large_as_allowed(size: int, fits: bool) -> None:
    script = Script(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (size, b"x" * size))
    if fits:
        assert len((await send(script, replace(POST, largest=100))).body) == 100
        return
    with pytest.raises(BodyTooLarge, match="more than 100 bytes"):
        await send(script, replace(POST, largest=100))


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
        await send(Script(answer, hang_up=True))


@pytest.mark.parametrize(("method", "requests"), [("GET", 2), ("POST", 1)])
async def test_a_turn_is_not_sent_again_when_its_connection_was_closed(method: str, requests: int) -> None:
    script = Script(None, OK)
    if method == "GET":
        assert (await send(script, replace(POST, method="GET", body=None))).body == b"ok"
    else:
        with pytest.raises(ServerDisconnectedError):
            await send(script)
    assert len(script.requests) == requests


@pytest.mark.parametrize("cancelled", [False, True], ids=["timed out", "cancelled"])
async def test_a_connection_in_the_middle_of_an_answer_is_not_used_again(cancelled: bool) -> None:
    script = Script(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", OK)
    async with playing(script) as pool:
        request = replace(POST, url=str(script.url))
        if cancelled:
            call = asyncio.create_task(pool.send(request, 5.0))
            await asyncio.sleep(0.05)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
        else:
            with pytest.raises(TimeoutError) as caught:
                await pool.send(request, 0.1)
            assert not isinstance(caught.value, ConnectionTimeoutError)
        assert (await pool.send(request, 5.0)).body == b"ok"
    assert script.connections == 2


async def test_a_proxy_gets_the_whole_address_and_its_own_password_each_time() -> None:
    script = Script(OK, OK)
    async with playing(script, {"HTTP_PROXY": "http://ann:x@127.0.0.1:{port}"}) as pool:
        for number in range(2):
            request = replace(POST, url=f"http://bot.example/chat/{number}")
            assert (await pool.send(request, 5.0)).body == b"ok"
    for number, sent in enumerate(script.requests):
        assert sent.startswith(b"POST http://bot.example/chat/%d HTTP/1.1\r\nHost: bot.example\r\n" % number)
        assert b"Proxy-Authorization: Basic YW5uOng=\r\n" in sent
    assert script.connections == 1


@pytest.mark.parametrize(
    ("environ", "is_used"),
    [
        ({"HTTP_PROXY": "{proxy}"}, True),
        ({"http_proxy": "{proxy}"}, True),
        ({"ALL_PROXY": "{proxy}"}, True),
        ({"HTTPS_PROXY": "{proxy}"}, False),
        ({"ALL_PROXY": "{proxy}", "NO_PROXY": "other, .model.invalid"}, False),
        ({"ALL_PROXY": "{proxy}", "NO_PROXY": "*.model.invalid"}, False),
        ({"ALL_PROXY": "{proxy}", "NO_PROXY": "model.invalid:80"}, False),
        ({"ALL_PROXY": "{proxy}", "NO_PROXY": "odel.invalid"}, True),
        ({"ALL_PROXY": "{proxy}", "NO_PROXY": "*"}, False),
        ({"ALL_PROXY": "{proxy}", "NO_PROXY": ""}, True),
    ],
    ids=str,
)
async def test_the_environment_names_the_proxy(environ: Mapping[str, str], is_used: bool) -> None:
    async with serving(in_order(Play(body=b"by proxy"))) as server:
        async with transport({name: value.format(proxy=server.url) for name, value in environ.items()}) as http:
            with suppress(TransportError):
                await http.post("http://api.model.invalid/v1/chat", {}, b"{}", 5.0)
        assert [seen.headers["Host"] for seen in server.seen] == (["api.model.invalid"] if is_used else [])


async def test_no_proxy_is_used_on_this_machine() -> None:
    async with (
        serving(in_order(Play(body=b"itself"))) as server,
        transport({"ALL_PROXY": "http://127.0.0.1:9"}) as http,
    ):
        assert (await http.post(server.url, {}, b"{}", 5.0)).body == b"itself"


@asynccontextmanager
async def transport(environ: Mapping[str, str] | None = None, **options: int) -> AsyncIterator[HttpTransport]:
    opened = HttpTransport(environ or {}, **options)
    try:
        yield opened
    finally:
        await opened.close()


async def test_a_body_comes_back_as_bytes_whatever_it_is() -> None:
    play = Play(status=418, body=b"\xff\x00", headers={"X-Thing": "a", "Retry-After": "3"})
    async with serving(in_order(play)) as server, transport() as http:
        response = await http.post(f"{server.url}/x?y=1", {"x-k": "v"}, b"{}", 5.0)
        assert (response.status, response.body) == (418, b"\xff\x00")
        assert response.headers.get("retry-after") == "3"
        assert (server.seen[0].path, server.seen[0].headers["x-k"]) == ("/x?y=1", "v")


async def test_headers_of_two_models_at_one_address_are_kept_apart() -> None:
    async with serving(in_order(Play())) as server, transport() as http:
        for key in ("first", "second"):
            await http.post(server.url, {"x-key": key}, b"{}", 5.0)
        assert [seen.headers["x-key"] for seen in server.seen] == ["first", "second"]


async def test_cookies_are_not_kept() -> None:
    async with serving(in_order(Play(headers={"Set-Cookie": "a=b"}))) as server, transport() as http:
        for _ in range(2):
            await http.post(server.url, {}, b"{}", 5.0)
        assert "Cookie" not in server.seen[1].headers


@pytest.mark.parametrize(
    ("play", "scheme", "fault"),
    [
        (Play(body=b"x" * 1_000_001), "http:", TransportFault.TOO_LARGE),
        (
            Play(body=gzip.compress(b"x" * 5_000_000), headers={"Content-Encoding": "gzip"}),
            "http:",
            TransportFault.TOO_LARGE,
        ),
        (Play(cut=True), "http:", TransportFault.CONNECTION),
        (Play(hang=True), "http:", TransportFault.TIMEOUT),
        (Play(), "https:", TransportFault.TLS),
    ],
    ids=["too large", "too large once unpacked", "cut", "silence", "no TLS"],
)
async def test_what_went_wrong_is_told_by_its_kind(play: Play, scheme: str, fault: TransportFault) -> None:
    async with serving(in_order(play)) as server, transport(largest=1_000_000) as http:
        with pytest.raises(TransportError) as caught:
            await http.post(server.url.replace("http:", scheme), {}, b"{}", 0.5)
        assert caught.value.fault is fault


async def test_what_is_no_http_is_no_connection() -> None:
    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(shout, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, transport() as http:
        with pytest.raises(TransportError) as caught:
            await http.post(f"http://127.0.0.1:{port}", {}, b"{}", 5.0)
    assert caught.value.fault is TransportFault.CONNECTION
