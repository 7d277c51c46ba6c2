"""What is done around every request: who asks is found out first; bodies are read strictly, as the standard has JSON
(no NaN, no half characters, no endless nesting); what may be sent twice is done once; what was written is noted."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import msgspec
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from howsure.api.access import identify
from howsure.api.counters import route_of
from howsure.api.errors import Refused
from howsure.api.idempotency import REPEATED, done_once
from howsure.services.hosting.callers import Caller
from howsure.services.hosting.host import Host
from howsure.store.service.logs import Deed

DEEPEST = 100
READING = ("GET", "HEAD", "OPTIONS")


class StrictRequest(Request):
    """A request whose JSON is read by msgspec."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = read_json(await self.body())
        return self._json


class StrictRoute(APIRoute):
    """A route of somebody who is known."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def strictly(given: Request) -> Response:
            request = StrictRequest(given.scope, given.receive)
            request.state.caller = await identify(request)
            _check_type(request)
            # Here, because the framework takes whatever goes wrong while a body comes for one that cannot be parsed.
            await request.body()
            response = await done_once(request, answer)
            if request.method not in READING and REPEATED not in response.headers:
                await _note(request, response.status_code)
            return response

        return strictly


async def _note(request: Request, status: int) -> None:
    host: Host = request.app.state.host
    asking: Caller = request.state.caller
    deed = Deed(
        id=str(uuid4()),
        organization_id=asking.within.home,
        at=datetime.now(UTC),
        actor=asking.name,
        action=f"{request.method} {route_of(request.scope)}",
        subject=request.url.path,
        status=status,
        request_id=getattr(request.state, "request_id", ""),
    )
    await host.store.audit.add(deed)


def read_json(body: bytes) -> Any:
    try:
        value = msgspec.json.decode(body)
    except RecursionError:
        raise Refused(422, "invalid", f"the body is nested too deeply: at most {DEEPEST} levels") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise json.JSONDecodeError(str(error), "", 0) from None
    if too_deep(value):
        raise Refused(422, "invalid", f"the body is nested too deeply: at most {DEEPEST} levels")
    return value


def too_deep(value: Any, most: int = DEEPEST) -> bool:
    """Whether there are more levels than anyone needs. Level by level: recursion is what we guard against."""
    level = [value]
    for _ in range(most):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True


def _check_type(request: Request) -> None:
    """A browser sends forms and plain text to any address without asking; JSON it does not."""
    if request.method in READING:
        return
    given = request.headers.get("content-type", "")
    has_body = request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers
    allowed = ("application/json", "application/x-ndjson", "application/octet-stream", "text/csv", "application/jsonl")
    if has_body and not given.lower().startswith(allowed):
        raise Refused(
            415, "unsupported_media_type", f"send JSON (content-type application/json), not {given or 'nothing'}"
        )
