"""The HTTP client of the `http` target: one pool of connections for a whole run, cookies apart for each conversation.
Imports aiohttp: load this module when a run starts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import lru_cache
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

from aiohttp import (
    ClientConnectorCertificateError,
    ClientConnectorDNSError,
    ClientConnectorError,
    ClientError,
    ClientSSLError,
    ConnectionTimeoutError,
    CookieJar,
    InvalidURL,
    ServerDisconnectedError,
    ServerFingerprintMismatch,
)
from yarl import URL

from howsure.errors import TargetFailed, TargetTimedOut
from howsure.llm.exchange import CONNECT_SECONDS, Exchanged, Pool, Reading, TooLarge
from howsure.llm.guard import Unlisted
from howsure.llm.specs import is_loopback
from howsure.targets.http.wire import LARGEST, Fittings, Received, Request, Unreached

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
        self._pool = Pool(KEEP_ALIVE_SECONDS, fit.guard)
        self._gate = asyncio.Semaphore(fit.max_connections) if fit.max_connections else None
        # A proxy would connect where the guard cannot see it.
        asked = {} if fit.guard else environ
        self._proxies = {name.lower(): value for name, value in asked.items() if name.lower().endswith("_proxy")}
        self._tries = fit.connect_tries
        self._clean = fit.clean

    def cookies(self) -> Cookies:
        return []

    async def close(self) -> None:
        await self._pool.close()

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
        begun = perf_counter()
        try:
            url = _url(request.url)
            jar = cookies[0].filter_cookies(url) if cookies else None
            proxy = proxy_for(request.url, self._proxies) if self._proxies else None
            road = self._pool.road(request.method, url, request.headers, proxy, jar)
            told = await self._pool.exchange(road, request.body, seconds, _reading(request.stop))
            _keep(told, url, cookies)
            return Received(
                request=request,
                status=told.status,
                content_type=told.headers.get("Content-Type", "").partition(";")[0].strip().lower(),
                location=told.headers.get("Location", ""),
                body=told.body,
                seconds=perf_counter() - begun,
            )
        except TooLarge as error:
            failed: TargetFailed = TargetFailed(f"{request.place} sent {error}")
        except ConnectionTimeoutError:
            failed = Unreached(f"cannot reach {request.place}: no connection in {min(seconds, CONNECT_SECONDS):g} s")
        except TimeoutError:
            failed = TargetTimedOut(f"no answer from {request.place} in {seconds:g} s")
        except (ClientError, OSError, ValueError) as error:
            failed = _failure(error, request.place)
        # Raised out here, so that aiohttp's errors, which hold the request's headers, are not in its context.
        raise type(failed)(self._clean(str(failed)))


@lru_cache(4)
def _reading(stop: bytes | None) -> Reading:
    return Reading(LARGEST, stop)


@lru_cache(1024)
def _url(url: str) -> URL:
    return URL(url, encoded=True)


class _NothingSent(Unreached):
    """There was no connection: the bot knows nothing of the request, so that it may be sent again."""


def _failure(error: Exception, place: str) -> TargetFailed:
    match error:
        case ClientConnectorError(os_error=Unlisted()):
            return TargetFailed(f"{place}: {error.os_error.strerror}")
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


def _keep(told: Exchanged, url: URL, cookies: Cookies | None) -> None:
    if cookies is None or "Set-Cookie" not in told.headers:
        return
    if not cookies:
        # Bots on a bare address set cookies too.
        cookies.append(CookieJar(unsafe=True))
    cookies[0].update_cookies_from_headers(told.headers.getall("Set-Cookie"), url)


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
