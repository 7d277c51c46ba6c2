"""What is done around every request: limits on the size and the time of a body, allowed host names, security headers, a
request id, a line in the log, and the counters."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from time import perf_counter
from uuid import uuid4

from msgspec import Struct
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from howsure.api.counters import Counters
from howsure.api.errors import RequestRefusal, error_answer

log = logging.getLogger("howsure.requests")

REQUEST_ID = "X-Request-ID"
CHUNK_SECONDS = 15.0
"""How long a body may pause."""
BODY_SECONDS = 300.0
"""How long a body may take altogether."""
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


class RequestLimits(Struct, frozen=True, kw_only=True):
    """What a request may be. `hosts` are the names we answer to; none: any."""

    largest_body: int
    hosts: Sequence[str] = ()
    chunk_seconds: float = CHUNK_SECONDS
    body_seconds: float = BODY_SECONDS


class RequestMiddleware:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, limits: RequestLimits, counters: Counters) -> None:
        self._app = app
        self._limits = limits
        self._counters = counters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        exchange = HttpExchange(scope, send, _request_id(headers))
        scope.setdefault("state", {})["request_id"] = exchange.id
        begun = perf_counter()
        try:
            await self._answer(scope, receive, headers, exchange)
        finally:
            seconds = perf_counter() - begun
            self._counters.note(scope, exchange.status, seconds)
            _log(scope, exchange, seconds)

    async def _answer(self, scope: Scope, receive: Receive, headers: Headers, exchange: HttpExchange) -> None:
        refusal = self._refusal(headers)
        if refusal is not None:
            await refusal(scope, receive, exchange.send)
            return
        body = LimitedBody(receive, self._limits)
        try:
            await self._app(scope, body.receive, exchange.send)
        except RequestRefusal as error:
            # The API answers these itself; whatever else is served here may not.
            if exchange.status:
                raise
            await error_answer(error.status, str(error), kind=error.kind)(scope, receive, exchange.send)

    def _refusal(self, headers: Headers) -> ASGIApp | None:
        """What can be refused by its headers alone."""
        name = _without_port(headers.get("host", "")).lower()
        if self._limits.hosts and name not in self._limits.hosts:
            # A page elsewhere can have its own name lead to this machine: then the name is wrong.
            return error_answer(400, f"this service is not {name or 'nameless'}: see `service.host_names`")
        length = headers.get("content-length", "0")
        if not length.isdecimal():
            return error_answer(400, "Content-Length is no number")
        if int(length[:20]) > self._limits.largest_body:
            return error_answer(413, f"the body is larger than {self._limits.largest_body} bytes")
        return None


class LimitedBody:
    """The body of a request, counted and timed as it comes."""

    def __init__(self, receive: Receive, limits: RequestLimits) -> None:
        self._receive = receive
        self._limits = limits
        self._bytes = 0
        self._begun = perf_counter()
        self._ended = False

    async def receive(self) -> Message:
        if self._ended:
            return await self._receive()
        left = self._limits.body_seconds - (perf_counter() - self._begun)
        try:
            message = await asyncio.wait_for(self._receive(), max(0.0, min(left, self._limits.chunk_seconds)))
        except TimeoutError:
            raise RequestRefusal(408, "timeout", "the body did not come in time") from None
        self._bytes += len(message.get("body", b""))
        self._ended = not message.get("more_body", False)
        if self._bytes > self._limits.largest_body:
            raise RequestRefusal(413, "too_large", f"the body is larger than {self._limits.largest_body} bytes")
        return message


class HttpExchange:
    """One request and what was answered, with our headers added."""

    def __init__(self, scope: Scope, send: Send, id: str) -> None:
        self._send = send
        self.id = id
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers[REQUEST_ID] = self.id
        await self._send(message)


def _without_port(host: str) -> str:
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


def _request_id(headers: Headers) -> str:
    """The caller's own, where it is harmless; else a new one."""
    sent = headers.get(REQUEST_ID, "")
    plain = sent.replace("-", "").replace("_", "")
    return sent if 0 < len(sent) <= 64 and plain.isascii() and plain.isalnum() else uuid4().hex


def _log(scope: Scope, exchange: HttpExchange, seconds: float) -> None:
    fields = {
        "request_id": exchange.id,
        "method": scope["method"],
        "path": scope["path"],
        "status": exchange.status,
        "ms": round(seconds * 1000, 1),
    }
    log.info("%s %s %s", scope["method"], scope["path"], exchange.status, extra=fields)
