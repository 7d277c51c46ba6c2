"""One request and its response over a pool of aiohttp's connections. The pool finds hosts, speaks TLS, goes through
proxies and reads HTTP; aiohttp's sessions, with redirects, cookies and a task for each body, stay out: they would take
more time than all the rest of a call. Imports aiohttp: load this module when something is really asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from aiohttp import (
    ClientRequest,
    ClientResponseError,
    ClientTimeout,
    ConnectionTimeoutError,
    ServerDisconnectedError,
    StreamReader,
    TCPConnector,
)
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http_exceptions import HttpProcessingError
from msgspec import Struct
from yarl import URL

from howsure.llm.gate import gated
from howsure.llm.guard import Guard

CONNECT_SECONDS = 15.0
MOST_ROADS = 1024
OURS = ("content-length", "transfer-encoding")
"""What is known only when the body is."""
REPEATABLE = frozenset({"GET", "HEAD", "OPTIONS"})
FORBIDDEN = ("\r", "\n", "\0")


class TooLarge(ValueError):
    """The response has more bytes than are read."""


class Exchanged(Struct, frozen=True):
    """A response, read to its end or to the bytes that end it. Of a header given several times `headers` has all."""

    status: int
    headers: Any
    body: bytes


class Reading(Struct, frozen=True):
    """How much is read: at most so many bytes, and not beyond those that end an answer whose connection stays open."""

    largest: int
    stop: bytes | None = None


class Road:
    """Where requests go, and what stands above each body: worked out once for all that are alike."""

    __slots__ = ("head", "request")

    def __init__(self, request: ClientRequest) -> None:
        self.request = request
        # A proxy's password is added to the headers when there is a connection.
        self.head = None if request.proxy else headed(request)


class Pool:
    """Connections, as many as are needed at once. Raises what aiohttp's sessions raise."""

    def __init__(self, keep_alive: float, guard: Guard | None = None) -> None:
        self._connector = TCPConnector(limit=0, ttl_dns_cache=300, keepalive_timeout=keep_alive, **gated(guard))
        self._roads: dict[tuple[object, ...], Road] = {}

    async def close(self) -> None:
        await self._connector.close()

    def road(
        self, method: str, url: URL, headers: Mapping[str, str], proxy: str | None = None, cookies: Any = None
    ) -> Road:
        """With cookies it is made anew each time; they are those of one conversation."""
        if cookies:
            return Road(_request(method, url, headers, proxy, cookies))
        key = (method, url, proxy, *headers.items())
        known = self._roads.get(key)
        if known is None:
            if len(self._roads) >= MOST_ROADS:
                self._roads.clear()
            known = self._roads[key] = Road(_request(method, url, headers, proxy))
        return known

    async def exchange(self, road: Road, body: bytes | None, seconds: float, reading: Reading) -> Exchanged:
        """The response, within so many seconds. A request that may be repeated is sent again where a connection that
        had been used before turned out to be closed."""
        async with asyncio.timeout(seconds):
            try:
                return await self._exchanged(road, body, seconds, reading)
            except ServerDisconnectedError:
                if road.request.method not in REPEATABLE:
                    raise
            return await self._exchanged(road, body, seconds, reading)

    async def _exchanged(self, road: Road, body: bytes | None, seconds: float, reading: Reading) -> Exchanged:
        connection = await self._connected(road.request, seconds)
        whole = False
        try:
            protocol = connection.protocol
            if protocol is None or protocol.transport is None:
                raise ServerDisconnectedError
            protocol.set_response_params(skip_payload=road.request.method == "HEAD", read_until_eof=True)
            protocol.transport.write(_written(road.head or headed(road.request), body))
            message, stream = await _answer(protocol, road.request)
            content = await stream.readany()
            if not stream.at_eof() or len(content) > reading.largest:
                content = await _rest(stream, content, reading)
            whole = stream.at_eof()
            return Exchanged(message.code, message.headers, content)
        finally:
            _given_back(connection, whole)

    async def _connected(self, request: ClientRequest, seconds: float) -> Connection:
        try:
            return await self._connector.connect(request, traces=[], timeout=timeout_of(seconds))
        except TimeoutError as error:
            raise ConnectionTimeoutError(f"Connection timeout to host {request.url}") from error


@lru_cache(16)
def timeout_of(seconds: float) -> ClientTimeout:
    # Exact to the tick: aiohttp otherwise rounds limits of more than five seconds up to whole ones.
    return ClientTimeout(total=seconds, sock_connect=min(seconds, CONNECT_SECONDS), ceil_threshold=seconds + 1)


def _request(
    method: str, url: URL, headers: Mapping[str, str], proxy: str | None, cookies: Any = None
) -> ClientRequest:
    way = None if proxy is None else URL(proxy)
    loop = asyncio.get_running_loop()
    return ClientRequest(method, url, headers=headers, cookies=cookies, proxy=way, loop=loop)


def headed(request: ClientRequest) -> bytes:
    """The request line and the headers, but for the length of the body. `ValueError`: they would not be headers."""
    path = str(request.url) if request.proxy and not request.is_ssl() else request.url.raw_path_qs
    lines = [f"{request.method} {path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in request.headers.items() if name.lower() not in OURS]
    if any(mark in line for line in lines for mark in FORBIDDEN):
        raise ValueError("a header holds the end of a line")
    return "\r\n".join(lines).encode("utf-8")


def _written(head: bytes, body: bytes | None) -> bytes:
    return b"%b\r\n\r\n" % head if body is None else b"%b\r\nContent-Length: %d\r\n\r\n%b" % (head, len(body), body)


async def _answer(protocol: ResponseHandler, request: ClientRequest) -> tuple[Any, StreamReader]:
    """The first response that is more than a note that one will come."""
    try:
        while True:
            message, stream = await protocol.read()
            if not 100 <= message.code < 200 or message.code == 101:
                return message, stream
    except HttpProcessingError as error:
        raise ClientResponseError(request.request_info, (), status=error.code, message=error.message) from error


async def _rest(stream: StreamReader, begun: bytes, reading: Reading) -> bytes:
    body, stop = bytearray(begun), reading.stop
    start = 0
    while len(body) <= reading.largest:
        if stream.at_eof() or (stop and stop in body[max(0, start - len(stop)) :]):
            return bytes(body)
        start = len(body)
        body += await stream.readany()
    raise TooLarge(f"more than {reading.largest:,} bytes")


def _given_back(connection: Connection, whole: bool) -> None:
    """One that was not read to the end is of no use to the next."""
    if whole:
        connection.release()
    else:
        connection.close()
