"""Reading bodies strictly: JSON as the standard has it (no NaN, no half characters, no endless nesting), or an error
that says where it is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from assay.api.errors import Refused

DEEPEST = 100


class StrictRequest(Request):
    """A request whose JSON is read by msgspec."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = read_json(await self.body())
        return self._json


class StrictRoute(APIRoute):
    """A route that reads its bodies so."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            _check_type(request)
            return await answer(StrictRequest(request.scope, request.receive))

        return strictly


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
    if request.method in ("GET", "HEAD", "OPTIONS", "DELETE"):
        return
    given = request.headers.get("content-type", "")
    has_body = request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers
    allowed = ("application/json", "application/x-ndjson", "application/octet-stream", "text/csv", "application/jsonl")
    if has_body and not given.lower().startswith(allowed):
        raise Refused(
            415, "unsupported_media_type", f"send JSON (content-type application/json), not {given or 'nothing'}"
        )
