"""Requests that may be sent twice: one that names an `Idempotency-Key` is done once, and answered the same both times.
What it creates has an id that follows from the key, so that a crash between doing and answering makes no double."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from hashlib import sha256
from typing import Any
from uuid import NAMESPACE_URL, uuid4, uuid5

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from howsure.api.errors import Refused
from howsure.services.hosting.callers import Caller
from howsure.services.hosting.host import Host
from howsure.store.service.logs import Answer

HEADER = "Idempotency-Key"
REPEATED = "Idempotency-Replayed"
LONGEST = 200

Do = Callable[[Request], Coroutine[Any, Any, Response]]


def key_of(request: Request) -> str:
    """The key that a POST names; "" where it names none."""
    key = request.headers.get(HEADER, "") if request.method == "POST" else ""
    if len(key) > LONGEST or not key.isprintable() or not key.isascii():
        raise Refused(422, "invalid", f"{HEADER}: expected at most {LONGEST} printable ASCII characters")
    return key


def new_id(request: Request) -> str:
    """The id of what this request creates."""
    key = key_of(request)
    return str(uuid5(NAMESPACE_URL, f"howsure:{_whose(request)}:{request.url.path}:{key}")) if key else str(uuid4())


def _whose(request: Request) -> str:
    """Keys are the caller's own: another caller, who may do less, is never given what this one was answered."""
    asking: Caller = request.state.caller
    return f"{asking.within.home}/{asking.id}"


def keep_instead(request: Request, body: Any) -> None:
    """What a repeated request is answered, where the first answer holds something that is shown once."""
    request.state.kept = msgspec.json.encode(body)


async def done_once(request: Request, do: Do) -> Response:
    """Answer a request, or give the answer that it got before. The caller is known by now."""
    key = key_of(request)
    if not key:
        return await do(request)
    host: Host = request.app.state.host
    asked = sha256(b"\n".join((request.method.encode(), str(request.url).encode(), await request.body()))).hexdigest()
    before = await host.store.answers.begin(_whose(request), key, asked)
    if before is not None:
        headers = {**msgspec.json.decode(before.headers, type=dict[str, str]), REPEATED: "true"}
        return Response(before.body, before.status, headers)
    kept: Answer | None = None
    try:
        response = await do(request)
        if response.status_code < 400:
            headers = {name: value for name, value in response.headers.items() if name != "content-length"}
            kept = Answer(
                response.status_code, msgspec.json.encode(headers), getattr(request.state, "kept", bytes(response.body))
            )
    finally:
        await host.store.answers.end(_whose(request), key, kept)
    return response
