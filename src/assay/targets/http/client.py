"""The HTTP client of the `http` target: one pool of connections for a whole run, cookies apart for each conversation.
Imports aiohttp: load this module when a run starts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from aiohttp import (
    ClientConnectorCertificateError,
    ClientConnectorDNSError,
    ClientConnectorError,
    ClientError,
    ClientResponse,
    ClientSession,
    ClientSSLError,
    ClientTimeout,
    ConnectionTimeoutError,
    CookieJar,
    DummyCookieJar,
    InvalidURL,
    ServerDisconnectedError,
    ServerFingerprintMismatch,
    TCPConnector,
)
from yarl import URL

from assay.errors import TargetFailed, TargetTimedOut
from assay.llm.specs import is_loopback
from assay.targets.http.wire import LARGEST, Fittings, Received, Request, Unreached

CONNECT_SECONDS = 15.0
KEEP_ALIVE_SECONDS = 4.0
"""Shorter than the five seconds after which common servers close idle connections: a request is never sent into one
that is closing, which would break a turn that cannot be sent again."""
PAUSE_SECONDS = 0.2
UNTRUSTED = (ClientConnectorCertificateError, ClientSSLError, ServerFingerprintMismatch)
Cookies = list[CookieJar]
"""The jar of one conversation, once it has a cookie."""


class HttpClient:
    """A `Client`. Redirects are not followed: they would carry headers to another host.

    Waiting for one of the `limit` connections is not part of a turn's time: that is ours, not the bot's.
    """

    def __init__(self, environ: Mapping[str, str], fittings: Fittings | None = None) -> None:
        fit = fittings or Fittings()
        connector = TCPConnector(limit=0, ttl_dns_cache=300, keepalive_timeout=KEEP_ALIVE_SECONDS)
        self._session = ClientSession(
            connector=connector, cookie_jar=DummyCookieJar(), skip_auto_headers=["User-Agent"]
        )
        self._gate = asyncio.Semaphore(fit.max_connections) if fit.max_connections else None
        self._proxies = {name.lower(): value for name, value in environ.items() if name.lower().endswith("_proxy")}
        self._tries = fit.connect_tries
        self._clean = fit.clean

    def cookies(self) -> Cookies:
        return []

    async def close(self) -> None:
        await self._session.close()

    async def send(self, request: Request, seconds: float, cookies: Any = None) -> Received:
        if self._gate is None:
            return await self._patiently(request, seconds, cookies)
        async with self._gate:
            return await self._patiently(request, seconds, cookies)

    async def _patiently(self, request: Request, seconds: float, cookies: Cookies | None) -> Received:
        for attempt in range(1, self._tries):
            try:
                return await self._once(request, seconds, cookies)
            except _NothingSent:
                await asyncio.sleep(PAUSE_SECONDS * attempt)
        return await self._once(request, seconds, cookies)

    async def _once(self, request: Request, seconds: float, cookies: Cookies | None) -> Received:
        timeout = _timeout(seconds)
        try:
            url = _url(request.url)
            async with self._session.request(
                request.method,
                url,
                data=request.body,
                headers=request.headers,
                cookies=cookies[0].filter_cookies(url) if cookies else None,
                timeout=timeout,
                proxy=proxy_for(request.url, self._proxies),
                allow_redirects=False,
            ) as response:
                body = await _content(response, request)
                _keep(response, url, cookies)
                return Received(
                    request=request,
                    status=response.status,
                    content_type=response.content_type,
                    location=response.headers.get("Location", ""),
                    body=body,
                )
        except ConnectionTimeoutError:
            failed: TargetFailed = Unreached(
                f"cannot reach {request.place}: no connection in {timeout.sock_connect:g} s"
            )
        except TimeoutError:
            failed = TargetTimedOut(f"no answer from {request.place} in {seconds:g} s")
        except (ClientError, OSError, ValueError) as error:
            failed = _failure(error, request.place)
        # Raised out here, so that aiohttp's errors, which hold the request's headers, are not in its context.
        raise type(failed)(self._clean(str(failed)))


@lru_cache(16)
def _timeout(seconds: float) -> ClientTimeout:
    # Exact to the tick: aiohttp otherwise rounds limits of more than five seconds up to whole ones.
    return ClientTimeout(total=seconds, sock_connect=min(seconds, CONNECT_SECONDS), ceil_threshold=seconds + 1)


@lru_cache(1024)
def _url(url: str) -> URL:
    return URL(url, encoded=True)


class _NothingSent(Unreached):
    """There was no connection: the bot knows nothing of the request, so that it may be sent again."""


def _failure(error: Exception, place: str) -> TargetFailed:
    match error:
        case InvalidURL():
            return TargetFailed(f"{place} is no address that can be asked")
        case ClientConnectorDNSError():
            return Unreached(f"cannot reach {place}: there is no such host")
        case ClientConnectorCertificateError() | ClientSSLError() | ServerFingerprintMismatch():
            return Unreached(f"cannot reach {place}: its certificate is not trusted ({type(error).__name__})")
        case ClientConnectorError():
            return _NothingSent(f"cannot reach {place}: {_reason(error)}; is the bot running there?")
        case ServerDisconnectedError() | ConnectionError():
            return Unreached(f"cannot reach {place}: the connection was closed before there was an answer")
        case ClientError() | OSError():
            return Unreached(f"cannot reach {place}: the connection broke in the answer ({type(error).__name__})")
        case _:
            return TargetFailed(f"the request to {place} could not be made: {error}")


def _reason(error: ClientConnectorError) -> str:
    return "connection refused" if isinstance(error.os_error, ConnectionRefusedError) else f"{error.os_error}"


async def _content(response: ClientResponse, request: Request) -> bytes:
    """The body, up to its end or to the bytes that end it."""
    body = bytearray()
    stream = response.content
    while not stream.at_eof():
        start = len(body)
        body += await stream.readany()
        if len(body) > LARGEST:
            response.close()
            raise TargetFailed(f"{request.place} sent more than {LARGEST:,} bytes")
        if request.stop and request.stop in body[max(0, start - len(request.stop)) :]:
            response.close()
            break
    return bytes(body)


def _keep(response: ClientResponse, url: URL, cookies: Cookies | None) -> None:
    if cookies is None or not response.cookies:
        return
    if not cookies:
        # Bots on a bare address set cookies too.
        cookies.append(CookieJar(unsafe=True))
    cookies[0].update_cookies(response.cookies, url)


def proxy_for(url: str, named: Mapping[str, str]) -> str | None:
    """The proxy that the environment names (`https_proxy`, `no_proxy` …, in lower case); none on this machine."""
    if not named or is_loopback(url):
        return None
    parts = urlsplit(url)
    excepted = [name.strip().lower().removeprefix("*").lstrip(".") for name in named.get("no_proxy", "").split(",")]
    host = f".{parts.hostname or ''}"
    if "*" in named.get("no_proxy", "").split(",") or any(name and host.endswith(f".{name}") for name in excepted):
        return None
    return named.get(f"{parts.scheme}_proxy") or named.get("all_proxy")
