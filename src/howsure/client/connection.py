"""Asking the service: one pool of connections, the key, errors in their classes, and trying again. What is tried again
does no harm when it is done twice: reading, and POST requests, which carry an `Idempotency-Key` of their own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

import msgspec
from aiohttp import (
    ClientConnectionError,
    ClientError,
    ClientHandlerType,
    ClientRequest,
    ClientResponse,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    TCPConnector,
)
from msgspec import Struct

from howsure.client.errors import ServiceError, Unavailable, error_of, unreadable
from howsure.errors import ConfigInvalid
from howsure.llm.specs import is_loopback
from howsure.version import __version__

PREFIX = "/api/v1"
IDEMPOTENCY = "Idempotency-Key"
NEXT = "X-Next-Cursor"
CONNECT_SECONDS = 15.0
KEEP_ALIVE_SECONDS = 4.0
"""Shorter than the service keeps an idle connection: a change is never sent into one that is closing."""
BEING_ANSWERED = 409
"""What a request gets that is sent again while its first sending is still at work."""


FAILURES = (ClientError, OSError, ValueError)
"""What a connection that fails raises, timeouts among it."""
T = TypeVar("T")


class Retries(Struct, frozen=True, kw_only=True):
    """How often something is tried, and how many seconds lie between: each pause is twice the one before."""

    tries: int = 5
    pause: float = 0.25
    longest: float = 10.0

    def before(self, attempt: int, wished: float = 0.0) -> float:
        """The pause before this attempt (the first is 1), or the longer one that the service asks for."""
        return float(min(self.longest, max(self.pause * 2 ** (attempt - 2), wished)))


class ServiceRequest(Struct, frozen=True, kw_only=True):
    """One thing to ask. `once`: it is never sent again, whatever becomes of it."""

    method: str
    path: str
    query: Mapping[str, Any] = msgspec.field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    once: bool = False

    @property
    def may_repeat(self) -> bool:
        return self.method in ("GET", "POST") and not self.once


class ServiceAnswer(Struct, frozen=True):
    """What was answered to a request that was not refused."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    place: str

    @property
    def json(self) -> Any:
        try:
            return msgspec.json.decode(self.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise unreadable(self.place, error) from None


class Connection:
    """The way to one service. Opened by the first request, in whichever loop that runs."""

    def __init__(self, url: str, key: str, seconds: float, retries: Retries) -> None:
        self.base = base_of(url)
        self._key = key
        self._seconds = seconds
        self._retries = retries
        self._session: ClientSession | None = None

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def ask(self, request: ServiceRequest) -> ServiceAnswer:
        """The answer, or the error that it says."""
        headers = self._headers(request)
        return await self._trying(request, lambda: self._once(request, headers))

    async def lines(self, request: ServiceRequest) -> AsyncIterator[bytes]:
        """The lines of an answer, as they come; blank ones are passed by. Once one has come, nothing is tried again."""
        async with AsyncExitStack() as opened:
            response = await self._trying(request, lambda: self._begun(request, opened))
            try:
                async for line in _whole_lines(response):
                    yield line
                return
            except FAILURES as error:
                detail = f"{self._place(request)} broke off ({type(error).__name__}): what came of it is not all"
            raise Unavailable(detail, kind="unreachable")

    async def _trying(self, request: ServiceRequest, do: Callable[[], Awaitable[T]]) -> T:
        """What it comes to; done again where that does no harm and may help."""
        tries = self._retries.tries if request.may_repeat else 1
        attempt, lost = 1, False
        while True:
            try:
                return await do()
            except ServiceError as error:
                away = isinstance(error, Unavailable)
                lost = lost or away
                if attempt >= tries or not (away or (lost and error.status == BEING_ANSWERED)):
                    raise
                wished = error.retry_after
            attempt += 1
            await asyncio.sleep(self._retries.before(attempt, wished))

    def _headers(self, request: ServiceRequest) -> dict[str, str]:
        headers = {"Accept": "application/json, */*", **request.headers}
        if isinstance(request.body, bytes):
            headers.setdefault("Content-Type", "application/octet-stream")
        elif request.body is not None:
            headers["Content-Type"] = "application/json"
        if request.method == "POST" and request.may_repeat:
            headers[IDEMPOTENCY] = uuid4().hex
        return headers

    async def _once(self, request: ServiceRequest, headers: Mapping[str, str]) -> ServiceAnswer:
        try:
            async with self._sent(request, headers) as response:
                return await _read(response, self._place(request))
        except FAILURES as error:
            failed = self._failure(request, error)
        # Raised out here, so that aiohttp's errors, which hold the request's headers, are not in its context.
        raise failed

    async def _begun(self, request: ServiceRequest, opened: AsyncExitStack) -> ClientResponse:
        """An answer of which nothing was read yet. It may take as long as it likes, but must not fall silent."""
        silent = ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=self._seconds)
        try:
            sending = self._sent(request, self._headers(request), timeout=silent)
            response = await opened.enter_async_context(sending)
            if response.status >= 300:
                await _read(response, self._place(request))
            return response
        except FAILURES as error:
            failed = self._failure(request, error)
        raise failed

    def _sent(
        self, request: ServiceRequest, headers: Mapping[str, str], **settings: Any
    ) -> AbstractAsyncContextManager[ClientResponse]:
        body = request.body if request.body is None or isinstance(request.body, bytes) else encoded(request.body)
        return self._opened().request(
            request.method,
            self.base + request.path,
            params=query_of(request.query),
            data=body,
            headers=headers,
            allow_redirects=False,
            **settings,
        )

    def _place(self, request: ServiceRequest) -> str:
        return f"{request.method} {self.base}{request.path}"

    def _failure(self, request: ServiceRequest, error: Exception) -> Unavailable:
        place = self._place(request)
        if isinstance(error, TimeoutError):
            return Unavailable(f"{place}: no answer in {self._seconds:g} s", kind="timeout")
        why = str(error) if isinstance(error, _ConnectionLost) else type(error).__name__
        return Unavailable(f"{place} cannot be reached ({why}): is `howsure serve` running there?", kind="unreachable")

    def _opened(self) -> ClientSession:
        if self._session is None:
            sent = {"User-Agent": f"howsure/{__version__}"}
            self._session = ClientSession(
                connector=TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_SECONDS),
                middlewares=(_never_again,),
                cookie_jar=DummyCookieJar(),
                headers=sent | ({"Authorization": f"Bearer {self._key}"} if self._key else {}),
                timeout=ClientTimeout(total=self._seconds, sock_connect=min(CONNECT_SECONDS, self._seconds)),
                trust_env=not is_loopback(self.base),
            )
        return self._session


class _ConnectionLost(ClientConnectionError):
    """There was no connection, or it broke."""


async def _never_again(request: ClientRequest, send: ClientHandlerType) -> ClientResponse:
    """aiohttp repeats a PUT or DELETE by itself when the connection breaks; ours would be done twice."""
    try:
        return await send(request)
    except ClientConnectionError as error:
        raise _ConnectionLost(type(error).__name__) from None


async def _whole_lines(response: ClientResponse) -> AsyncIterator[bytes]:
    """Lines of any length, however they were cut on the way."""
    begun: list[bytes] = []
    async for piece in response.content.iter_any():
        first, *others = piece.split(b"\n")
        begun.append(first)
        for other in others:
            if line := b"".join(begun):
                yield line
            begun = [other]
    if line := b"".join(begun):
        yield line


async def _read(response: ClientResponse, place: str) -> ServiceAnswer:
    body = await response.read()
    if response.status < 300:
        return ServiceAnswer(response.status, response.headers, body, place)
    error = error_of(response.status, body, place, response.headers.get("X-Request-ID", ""))
    error.retry_after = _seconds(response.headers.get("Retry-After", ""))
    raise error


def _seconds(text: str) -> float:
    """What `Retry-After` says; a date is taken for nothing."""
    return float(text) if text.isascii() and text.isdecimal() else 0.0


def base_of(url: str) -> str:
    """The address of the API, whether or not what was given ends in `/api/v1`."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ConfigInvalid(
            f"url: expected the address of a service, such as http://127.0.0.1:8002, found {url[:80]!r}"
        )
    if parts.username or parts.password:
        raise ConfigInvalid("url: may hold no user and password; the key is given as `key`, or as HOWSURE_API_KEY")
    return url.rstrip("/").removesuffix(PREFIX) + PREFIX


def encoded(body: Any) -> bytes:
    """JSON. What is no number is refused: JSON has no NaN."""
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise ConfigInvalid(f"the body cannot be sent as JSON: {error}") from None


def query_of(values: Mapping[str, Any]) -> dict[str, str | list[str]]:
    """None is left out; a name with several values is repeated."""
    return {
        name: [*map(_word, value)] if isinstance(value, tuple) else _word(value)
        for name, value in values.items()
        if value is not None
    }


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
