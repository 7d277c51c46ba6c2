"""Asking the service: one pool of connections, the key, errors in their classes, and trying again. What is tried again
does no harm when it is done twice: reading, and POST requests, which carry an `Idempotency-Key` of their own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any
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

from assay.client.errors import ServiceError, Unavailable, error_of, unreadable
from assay.errors import ConfigInvalid
from assay.llm.specs import is_loopback
from assay.version import __version__

PREFIX = "/api/v1"
IDEMPOTENCY = "Idempotency-Key"
NEXT = "X-Next-Cursor"
CONNECT_SECONDS = 15.0
KEEP_ALIVE_SECONDS = 4.0
"""Shorter than the service keeps an idle connection: a change is never sent into one that is closing."""
BEING_ANSWERED = 409
"""What a request gets that is sent again while its first sending is still at work."""


class Retries(Struct, frozen=True, kw_only=True):
    """How often something is tried, and how many seconds lie between: each pause is twice the one before."""

    tries: int = 5
    pause: float = 0.25
    longest: float = 10.0

    def before(self, attempt: int, wished: float = 0.0) -> float:
        """The pause before this attempt (the first is 1), or as long as the service wishes."""
        return float(min(self.longest, max(self.pause * 2 ** (attempt - 2), wished)))


class Request(Struct, frozen=True, kw_only=True):
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


class Answered(Struct, frozen=True):
    """What was answered to a request that was not refused."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    place: str

    @property
    def json(self) -> Any:
        try:
            return msgspec.json.decode(self.body)
        except msgspec.DecodeError as error:
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

    async def ask(self, request: Request) -> Answered:
        """The answer, or the error that it says."""
        headers = self._headers(request)
        tries = self._retries.tries if request.may_repeat else 1
        attempt, lost = 1, False
        while True:
            try:
                return await self._once(request, headers)
            except ServiceError as error:
                away = isinstance(error, Unavailable)
                lost = lost or away
                if attempt >= tries or not (away or (lost and error.status == BEING_ANSWERED)):
                    raise
                wished = error.retry_after
            attempt += 1
            await asyncio.sleep(self._retries.before(attempt, wished))

    def _headers(self, request: Request) -> dict[str, str]:
        headers = {"Accept": "application/json, */*", **request.headers}
        if isinstance(request.body, bytes):
            headers.setdefault("Content-Type", "application/octet-stream")
        elif request.body is not None:
            headers["Content-Type"] = "application/json"
        if request.method == "POST" and request.may_repeat:
            headers[IDEMPOTENCY] = uuid4().hex
        return headers

    async def _once(self, request: Request, headers: Mapping[str, str]) -> Answered:
        place = f"{request.method} {self.base}{request.path}"
        body = request.body if request.body is None or isinstance(request.body, bytes) else encoded(request.body)
        try:
            async with self._opened().request(
                request.method,
                self.base + request.path,
                params=query_of(request.query),
                data=body,
                headers=headers,
                allow_redirects=False,
            ) as response:
                return await _read(response, place)
        except TimeoutError:
            failed = Unavailable(f"{place}: no answer in {self._seconds:g} s", kind="timeout")
        except (ClientError, OSError, ValueError) as error:
            why = str(error) if isinstance(error, _Lost) else type(error).__name__
            said = f"{place} cannot be reached ({why}): is `assay serve` running there?"
            failed = Unavailable(said, kind="unreachable")
        # Raised out here, so that aiohttp's errors, which hold the request's headers, are not in its context.
        raise failed

    def _opened(self) -> ClientSession:
        if self._session is None:
            sent = {"User-Agent": f"assay/{__version__}"}
            self._session = ClientSession(
                connector=TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_SECONDS),
                middlewares=(_never_again,),
                cookie_jar=DummyCookieJar(),
                headers=sent | ({"Authorization": f"Bearer {self._key}"} if self._key else {}),
                timeout=ClientTimeout(total=self._seconds, sock_connect=min(CONNECT_SECONDS, self._seconds)),
                trust_env=not is_loopback(self.base),
            )
        return self._session


class _Lost(ClientConnectionError):
    """There was no connection, or it broke."""


async def _never_again(request: ClientRequest, send: ClientHandlerType) -> ClientResponse:
    """aiohttp repeats a PUT or DELETE by itself when the connection breaks; ours would be done twice."""
    try:
        return await send(request)
    except ClientConnectionError as error:
        raise _Lost(type(error).__name__) from None


async def _read(response: ClientResponse, place: str) -> Answered:
    body = await response.read()
    if response.status < 300:
        return Answered(response.status, response.headers, body, place)
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
        raise ConfigInvalid("url: may hold no user and password; the key is given as `key`, or as ASSAY_API_KEY")
    return url.rstrip("/").removesuffix(PREFIX) + PREFIX


def encoded(body: Any) -> bytes:
    """JSON. What is no number is refused: JSON has no NaN."""
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise ConfigInvalid(f"the body cannot be sent as JSON: {error}") from None


def query_of(given: Mapping[str, Any]) -> dict[str, str]:
    said = {name: value for name, value in given.items() if value is not None}
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in said.items()}
