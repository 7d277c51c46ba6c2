"""The HTTP client of the `http` target: one pool of connections for a whole run, cookies apart for each conversation.
Imports aiohttp: load this module when a run starts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import nullcontext
from time import perf_counter
from typing import Any

from aiohttp import (
    ClientConnectorDNSError,
    ClientConnectorError,
    ClientError,
    ConnectionTimeoutError,
    CookieJar,
    InvalidURL,
    ServerDisconnectedError,
)
from msgspec.structs import replace

from howsure.errors import TargetFailed, TargetTimedOut
from howsure.llm.http import CONNECT_SECONDS, UNTRUSTED, BodyTooLarge, HttpPool, parse_url
from howsure.llm.retry import retry
from howsure.llm.transport import AddressGuard, AddressRefused, HttpRequest, HttpResponse
from howsure.targets.http.plan import HttpPlan
from howsure.targets.http.replies import BotResponse, TargetUnreachable

KEEP_ALIVE_SECONDS = 4.0
"""Shorter than the five seconds after which common servers close idle connections: a request is never sent into one
that is closing, which would break a turn that cannot be sent again."""
PAUSE_SECONDS = 0.2
Cookies = list[CookieJar]
"""The jar of one conversation, once it has a cookie."""


class HttpClient:
    """Sends requests to a bot. Raises `TargetFailed` (`TargetUnreachable`, `TargetTimedOut`) where there is no
    response.

    Waiting for one of the `max_connections` is not part of a turn's time: that wait is ours, not the bot's.
    """

    def __init__(self, environ: Mapping[str, str], plan: HttpPlan, guard: AddressGuard | None = None) -> None:
        self._pool = HttpPool(environ, KEEP_ALIVE_SECONDS, guard)
        self._places = asyncio.Semaphore(limit) if (limit := plan.settings.max_connections) else None
        self._pauses = [PAUSE_SECONDS * number for number in range(1, plan.settings.connect_tries)]
        self._clean = plan.secrets.clean

    def cookies(self) -> Cookies:
        return []

    async def close(self) -> None:
        await self._pool.close()

    async def send(self, request: HttpRequest, seconds: float, cookies: Cookies | None = None) -> BotResponse:
        async with self._places or nullcontext():
            return await retry(lambda: self._send_once(request, seconds, cookies), self._pauses, _NothingSent)

    async def _send_once(self, request: HttpRequest, seconds: float, cookies: Cookies | None) -> BotResponse:
        started = perf_counter()
        try:
            response = await self._pool.send(_add_cookies(request, cookies), seconds)
            _store_cookies(response, request.url, cookies)
            return BotResponse(
                request=request,
                status=response.status,
                content_type=response.headers.get("Content-Type", "").partition(";")[0].strip().lower(),
                location=response.headers.get("Location", ""),
                body=response.body,
                seconds=perf_counter() - started,
            )
        except BodyTooLarge as error:
            failure: TargetFailed = TargetFailed(f"{request.place} sent {error}")
        except ConnectionTimeoutError:
            connect_seconds = min(seconds, CONNECT_SECONDS)
            failure = TargetUnreachable(f"cannot reach {request.place}: no connection in {connect_seconds:g} s")
        except TimeoutError:
            failure = TargetTimedOut(f"no answer from {request.place} in {seconds:g} s")
        except (ClientError, OSError, ValueError) as error:
            failure = _failure(error, request.place)
        # Raised out here, so that aiohttp's errors, which hold the request's headers, are not in its context.
        raise type(failure)(self._clean(str(failure)))


def _add_cookies(request: HttpRequest, cookies: Cookies | None) -> HttpRequest:
    if not cookies or not (jar := cookies[0].filter_cookies(parse_url(request.url))):
        return request
    own = [request.headers["Cookie"]] if "Cookie" in request.headers else []
    written = [f"{cookie.key}={cookie.coded_value}" for cookie in jar.values()]
    return replace(request, headers={**request.headers, "Cookie": "; ".join([*own, *written])})


def _store_cookies(response: HttpResponse, url: str, cookies: Cookies | None) -> None:
    headers: Any = response.headers
    if cookies is None or "Set-Cookie" not in headers:
        return
    if not cookies:
        # Bots on a bare address set cookies too.
        cookies.append(CookieJar(unsafe=True))
    cookies[0].update_cookies_from_headers(headers.getall("Set-Cookie"), parse_url(url))


class _NothingSent(TargetUnreachable):
    """There was no connection: the bot knows nothing of the request, so that it may be sent again."""


def _failure(error: Exception, place: str) -> TargetFailed:
    match error:
        case ClientConnectorError(os_error=AddressRefused()):
            return TargetFailed(f"{place}: {error.os_error.strerror}")
        case InvalidURL():
            return TargetFailed(f"{place} is no address that can be asked")
        case ClientConnectorDNSError():
            return TargetUnreachable(f"cannot reach {place}: there is no such host")
        case _ if isinstance(error, UNTRUSTED):
            return TargetUnreachable(f"cannot reach {place}: its certificate is not trusted ({type(error).__name__})")
        case ClientConnectorError():
            refused = isinstance(error.os_error, ConnectionRefusedError)
            reason = "connection refused" if refused else f"{error.os_error}"
            return _NothingSent(f"cannot reach {place}: {reason}; is the bot running there?")
        case ServerDisconnectedError() | ConnectionError():
            return TargetUnreachable(f"cannot reach {place}: the connection was closed before there was an answer")
        case ClientError() | OSError():
            return TargetUnreachable(
                f"cannot reach {place}: the connection broke in the answer ({type(error).__name__})"
            )
        case _:
            return TargetFailed(f"the request to {place} could not be made: {error}")
