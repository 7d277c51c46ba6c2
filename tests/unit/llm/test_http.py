"""The HTTP client against real servers: bodies of every kind, and trouble by its kind."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Mapping

import pytest
from yarl import URL

from howsure.llm.http import Http
from howsure.llm.wire import NoResponse, Trouble
from unit.llm.loopback import Play, in_order, serving


async def test_a_body_comes_back_as_bytes_whatever_it_is() -> None:
    play = Play(status=418, body=b"\xff\x00", headers={"X-Thing": "a", "Retry-After": "3"})
    async with serving(in_order(play)) as server, Http({}) as http:
        response = await http.post(f"{server.url}/x?y=1", {"x-k": "v"}, b"{}", 5.0)
        assert (response.status, response.body) == (418, b"\xff\x00")
        assert response.headers.get("retry-after") == "3"
        assert (server.seen[0].path, server.seen[0].headers["x-k"]) == ("/x?y=1", "v")


async def test_a_compressed_body_is_unpacked() -> None:
    play = Play(body=gzip.compress(b'{"a": 1}'), headers={"Content-Encoding": "gzip"})
    async with serving(in_order(play)) as server, Http({}) as http:
        assert (await http.post(server.url, {}, b"{}", 5.0)).body == b'{"a": 1}'


async def test_a_large_body_is_read_whole_and_a_too_large_one_refused() -> None:
    async with serving(in_order(Play(body=b"x" * 3_000_000))) as server, Http({}) as http, Http({}, 1_000_000) as small:
        assert len((await http.post(server.url, {}, b"{}", 5.0)).body) == 3_000_000
        with pytest.raises(NoResponse, match=r"more than 1,000,000 bytes") as caught:
            await small.post(server.url, {}, b"{}", 5.0)
        assert caught.value.trouble is Trouble.TOO_LARGE


async def test_a_small_body_that_unpacks_to_a_huge_one_is_refused() -> None:
    play = Play(body=gzip.compress(b"x" * 50_000_000), headers={"Content-Encoding": "gzip"})
    async with serving(in_order(play)) as server, Http({}, 1_000_000) as http:
        with pytest.raises(NoResponse) as caught:
            await http.post(server.url, {}, b"{}", 5.0)
        assert caught.value.trouble is Trouble.TOO_LARGE


async def test_cookies_are_not_kept() -> None:
    async with serving(in_order(Play(headers={"Set-Cookie": "a=b"}))) as server, Http({}) as http:
        for _ in range(2):
            await http.post(server.url, {}, b"{}", 5.0)
        assert "Cookie" not in server.seen[1].headers


async def test_a_connection_that_ends_in_the_middle_is_no_connection() -> None:
    async with serving(in_order(Play(cut=True))) as server, Http({}) as http:
        with pytest.raises(NoResponse) as caught:
            await http.post(server.url, {}, b"{}", 5.0)
        assert caught.value.trouble is Trouble.CONNECTION


async def test_silence_is_a_time_out() -> None:
    async with serving(in_order(Play(hang=True))) as server, Http({}) as http:
        with pytest.raises(NoResponse, match=r"no answer in 0\.05 s") as caught:
            await http.post(server.url, {}, b"{}", 0.05)
        assert caught.value.trouble is Trouble.TIMEOUT


async def test_a_server_without_tls_is_not_trusted_with_https() -> None:
    async with serving(in_order(Play())) as server, Http({}) as http:
        with pytest.raises(NoResponse) as caught:
            await http.post(server.url.replace("http:", "https:"), {}, b"{}", 5.0)
        assert caught.value.trouble is Trouble.TLS


async def test_what_is_no_http_is_no_connection() -> None:
    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(shout, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, Http({}) as http:
        with pytest.raises(NoResponse) as caught:
            await http.post(f"http://127.0.0.1:{port}", {}, b"{}", 5.0)
    assert caught.value.trouble is Trouble.CONNECTION


async def test_cancelling_is_not_swallowed() -> None:
    async with serving(in_order(Play(hang=True))) as server, Http({}) as http:
        task = asyncio.create_task(http.post(server.url, {}, b"{}", 5.0))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.parametrize(
    ("environ", "url", "proxy"),
    [
        ({}, "https://api.openai.com/v1", None),
        ({"HTTPS_PROXY": "http://p:1"}, "https://api.openai.com/v1", "http://p:1"),
        ({"https_proxy": "http://p:1"}, "https://api.openai.com/v1", "http://p:1"),
        ({"ALL_PROXY": "http://p:1"}, "http://gpu:8000/v1", "http://p:1"),
        ({"HTTPS_PROXY": "http://p:1"}, "http://gpu:8000/v1", None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "other, .openai.com"}, "https://api.openai.com/v1", None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "openai.com:443"}, "https://api.openai.com/v1", None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "penai.com"}, "https://api.openai.com/v1", "http://p:1"),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "*"}, "https://api.openai.com/v1", None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": ""}, "https://api.openai.com/v1", "http://p:1"),
        ({"ALL_PROXY": "http://p:1"}, "http://127.0.0.1:8000/v1", None),
    ],
    ids=str,
)
async def test_the_way_through_a_proxy(environ: Mapping[str, str], url: str, proxy: str | None) -> None:
    async with Http(environ) as http:
        assert http._proxy(URL(url)) == proxy


async def test_a_proxy_is_really_asked() -> None:
    async with serving(in_order(Play(body=b"by proxy"))) as server, Http({"HTTP_PROXY": server.url}) as http:
        response = await http.post("http://model.invalid/v1/chat", {}, b"{}", 5.0)
        assert response.body == b"by proxy"
        assert server.seen[0].headers["Host"] == "model.invalid"
