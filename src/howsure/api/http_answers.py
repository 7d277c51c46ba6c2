"""What HTTP expects of every answer of the API: HEAD, paths with a trailing slash, ETags and 304 answers, and gzip."""

from __future__ import annotations

from hashlib import sha256

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SMALLEST_GZIP = 1_000
GZIP_LEVEL = 4


class HttpAnswers:
    """Around the API. Pages are not compressed: they hold tokens beside what others wrote."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = GZipMiddleware(ConditionalAnswers(app), minimum_size=SMALLEST_GZIP, compresslevel=GZIP_LEVEL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith("/"):
            scope["path"] = scope["path"].rstrip("/")
            scope.pop("raw_path", None)
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        scope["method"] = "GET"
        try:
            await self._app(scope, receive, HeadAnswer(send).send)
        finally:
            scope["method"] = "HEAD"


class HeadAnswer:
    """The answer to HEAD: the headers of GET. What is streamed is not waited for."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._ended = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            await self._send(message)
        elif not self._ended:
            self._ended = True
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


class ConditionalAnswers:
    """A GET whose answer is whole, or JSON in pieces of not too many bytes, has an ETag; who sends it again in
    `If-None-Match` is answered 304 without a body. The ETag of a document is its version; an old version shows which
    one is the newest, so that says too little. Routes that stream give their own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        known = Headers(scope=scope).get("if-none-match", "")
        start: Message | None = None
        pieces = bytearray()

        async def held(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and message["status"] == 200:
                start = message
                return
            if start is None:
                await send(message)
                return
            pieces.extend(message.get("body", b""))
            goes_on = message.get("more_body", False)
            if goes_on and len(pieces) < LARGEST_HELD and Headers(raw=start["headers"]).get("content-type") == JSON:
                return
            begun, start = start, None
            message = {**message, "body": bytes(pieces)}
            if not goes_on:
                headers = MutableHeaders(scope=begun)
                is_version = "etag" in headers
                if not is_version:
                    headers["ETag"] = f'W/"{sha256(message.get("body", b"")).hexdigest()[:24]}"'
                if _names(known, headers["ETag"]) and not (is_version and "/versions/" in scope["path"]):
                    kept = [(name, value) for name, value in begun["headers"] if name not in UNSENT]
                    begun, message = {**begun, "status": 304, "headers": kept}, {**message, "body": b""}
            await send(begun)
            await send(message)

        await self._app(scope, receive, held)


JSON = "application/json"
LARGEST_HELD = 1_000_000
"""How many bytes of an answer in pieces wait for its end."""
UNSENT = (b"content-length", b"content-type")


def known_already(request: Request, etag: str) -> Response | None:
    """The 304 of an answer that is not made at all: the sender has it under this ETag. "": it has none."""
    is_known = bool(etag) and _names(request.headers.get("if-none-match", ""), etag)
    return Response(status_code=304, headers={"ETag": etag}) if is_known else None


def _names(known: str, etag: str) -> bool:
    """Whether an `If-None-Match` names an ETag. A weak one is as good as a strong one here."""
    return any(each.strip().removeprefix("W/") in (etag.removeprefix("W/"), "*") for each in known.split(",") if known)
