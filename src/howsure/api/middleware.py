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
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from howsure.api.counters import PREFIX, Counters
from howsure.api.errors import error_answer
from howsure.errors import NUL, InputError
from howsure.services.host.allowed_hosts import allows_host
from howsure.services.host.json_limits import JsonMeter

log = logging.getLogger("howsure.requests")

REQUEST_ID = "X-Request-ID"
CHUNK_SECONDS = 15.0
"""How long a body may pause."""
BODY_SECONDS = 300.0
"""How long a body may take altogether."""
MAX_ADDRESS = 64
LARGEST_JSON = 8 * 1024 * 1024
LARGEST_FORM = 64 * 1024
LARGEST_TEXT = 1_000_000
"""The forms of the library hold the text of a document."""
UPLOADS = (f"{PREFIX}/datasets/upload", f"{PREFIX}/import", "/library/datasets/import")
"""Where a file is sent: it may be as large as any body, and what it holds is counted when it is checked."""
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
    largest_json: int = LARGEST_JSON
    hosts: Sequence[str] = ()
    proxies: Sequence[str] = ()
    chunk_seconds: float = CHUNK_SECONDS
    body_seconds: float = BODY_SECONDS

    def largest(self, path: str) -> int:
        """The bytes of the largest body that may be sent to a path."""
        if path in UPLOADS:
            return self.largest_body
        if has_json(path):
            return min(self.largest_json, self.largest_body)
        return LARGEST_TEXT if path.startswith("/library/") else LARGEST_FORM


def has_json(path: str) -> bool:
    """Whether what is sent to a path is parsed as it is; elsewhere it is a form or a file."""
    return path not in UPLOADS and (path.startswith(f"{PREFIX}/") or path.endswith("/import"))


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
        peer, port = scope.get("client") or ("", 0)
        scope["client"] = (client_address(peer, headers.get("x-forwarded-for", ""), self._limits.proxies), port)
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
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, exchange.send)
            return
        body = LimitedBody(receive, self._limits, scope["path"])
        try:
            await self._app(scope, body.receive, exchange.send)
        except HTTPException as error:
            # The API answers these itself; whatever else is served here may not.
            if exchange.status:
                raise
            await error_answer(error.status_code, str(error.detail))(scope, receive, exchange.send)

    def _refusal(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        """What can be refused by its headers alone."""
        name = _without_port(headers.get("host", "")).lower()
        if self._limits.hosts and name not in self._limits.hosts:
            # A page elsewhere can have its own name lead to this machine: then the name is wrong.
            return error_answer(400, f"this service is not {name or 'nameless'}: see `service.host_names`")
        if "\0" in scope["path"]:
            return error_answer(404, f"not found: {NUL} stands in the address")
        if b"%00" in scope.get("query_string", b""):
            return error_answer(422, f"{NUL} stands in the address: take it out")
        if not scope.get("query_string", b"").isascii():
            return error_answer(400, "the address has bytes that are not ASCII: write them as %XX")
        length = headers.get("content-length", "0")
        if not length.isdecimal():
            return error_answer(400, "Content-Length is no number")
        if int(length[:20]) > (largest := self._limits.largest(scope["path"])):
            return error_answer(413, too_large(largest))
        return None


def too_large(largest: int) -> str:
    return f"the body is larger than the {largest:,} bytes that may be sent here"


class LimitedBody:
    """The body of a request, counted and timed as it comes."""

    def __init__(self, receive: Receive, limits: RequestLimits, path: str = "") -> None:
        self._receive = receive
        self._limits = limits
        self._largest = limits.largest(path)
        self._meter = JsonMeter() if has_json(path) else None
        self._bytes = 0
        self._begun = perf_counter()
        self._ended = False

    async def receive(self) -> Message:
        if self._ended:
            return await self._receive()
        left = self._limits.body_seconds - (perf_counter() - self._begun)
        try:
            async with asyncio.timeout(max(0.0, min(left, self._limits.chunk_seconds))):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, "the body did not come in time") from None
        piece = message.get("body", b"")
        self._bytes += len(piece)
        self._ended = not message.get("more_body", False)
        if self._bytes > self._largest:
            raise HTTPException(413, too_large(self._largest))
        if self._meter is not None:
            try:
                self._meter.add(piece)
            except InputError as error:
                raise HTTPException(422, str(error)) from None
        return message


class HttpExchange:
    """One request and what was answered, with our headers added."""

    def __init__(self, scope: Scope, send: Send, id: str) -> None:
        self._send = send
        self._scope = scope
        self.id = id
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers[REQUEST_ID] = self.id
            headers.update(self._scope["state"].get("answer_headers", {}))
        await self._send(message)


def client_address(peer: str, forwarded: str, proxies: Sequence[str]) -> str:
    """The address of the client: the last one on the way here that is not a listed proxy's. What anybody else writes
    into `X-Forwarded-For` is ignored."""
    address = peer
    for step in reversed(forwarded.split(",")):
        if not step.strip() or not allows_host(proxies, address):
            break
        address = step.strip()[:MAX_ADDRESS]
    return address


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
