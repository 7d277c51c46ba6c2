"""Errors on the wire: one shape for all of them, the status that fits, and no internals."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from howsure.errors import ConfigInvalid, Conflict, DatasetInvalid, HowsureError, InputError, NotFound, Problem
from howsure.services.host.document_files import hide_folders, service_folders

log = logging.getLogger("howsure.api")

UNAVAILABLE = "the service cannot do this just now: its log says why; try again later"
BROKEN = "the service broke; its log says how, under the request id of this answer"


class JsonAnswer(Response):
    """JSON, written by msgspec."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return msgspec.json.encode(content)


class RequestRefusal(Exception):
    """A request that cannot be answered: the status, what kind of error it is, and a sentence on what to do."""

    def __init__(self, status: int, kind: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.headers = dict(headers or {})


KINDS = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    409: "conflict",
    412: "precondition_failed",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid",
    429: "too_many_requests",
    500: "internal",
    503: "unavailable",
}


def error_answer(
    status: int, detail: str, *, kind: str = "", problems: list[dict[str, Any]] | None = None, headers: Any = None
) -> JsonAnswer:
    body: dict[str, Any] = {"error": kind or KINDS.get(status, "error"), "detail": detail}
    if problems is not None:
        body["problems"] = problems
    return JsonAnswer(body, status_code=status, headers=headers)


def answer_error(error: HowsureError, folders: Sequence[Path] = ()) -> JsonAnswer:
    """What the user can act on, with the status that fits. Files in our `folders` are called by their names alone."""
    match error:
        case NotFound():
            return error_answer(404, hide_folders(str(error), folders))
        case Conflict():
            return error_answer(409, hide_folders(str(error), folders))
        case DatasetInvalid():
            listed = [_problem(problem, folders) for problem in error.problems]
            return error_answer(422, _how_many(len(listed)), problems=listed)
        case ConfigInvalid():
            # Settings and the database are the operator's: their problems go to the log.
            log.error("%s", error)
            return error_answer(503, UNAVAILABLE, headers={"Retry-After": "5"})
        case InputError():
            return error_answer(422, hide_folders(str(error), folders))
        case _:
            log.error("%s", error)
            return error_answer(500, BROKEN)


def _how_many(number: int) -> str:
    return f"{number} problem{'' if number == 1 else 's'}: see `problems`; nothing was stored"


def _problem(problem: Problem, folders: Sequence[Path]) -> dict[str, Any]:
    """A problem without the name of our own temporary file, which means nothing to the caller."""
    shown = {name: value for name, value in msgspec.to_builtins(problem).items() if name not in ("file", "level")}
    return {
        "field": "",
        **{name: hide_folders(value, folders) if isinstance(value, str) else value for name, value in shown.items()},
    }


def install(app: FastAPI) -> None:
    """Answer our own errors, the framework's and unexpected ones in the one shape."""
    app.add_exception_handler(HowsureError, _on_ours)
    app.add_exception_handler(RequestRefusal, _on_refused)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(Exception, _on_broken)


async def _on_ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, HowsureError)
    return answer_error(error, service_folders(request.app.state.host.work))


async def _on_refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestRefusal)
    return error_answer(error.status, str(error), kind=error.kind, headers=error.headers)


async def _on_invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    problems = [
        {"code": each["type"].replace("_", "-"), "field": _place(each["loc"]), "message": each["msg"]}
        for each in error.errors()
    ]
    return error_answer(422, _how_many(len(problems)), problems=problems)


def _place(parts: tuple[Any, ...]) -> str:
    """`items[2].name`, whatever part of the request it is in."""
    place = ""
    for part in parts[1:] if len(parts) > 1 else parts:
        place += f"[{part}]" if isinstance(part, int) else f".{part}" if place else str(part)
    return place


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = ", ".join(allowed_methods(request))
        return error_answer(405, f"{request.method} is not for this path: {allowed} are", headers={"Allow": allowed})
    return error_answer(error.status_code, str(error.detail), headers=error.headers)


def allowed_methods(request: Request) -> list[str]:
    """Every method that the path has: each is a route of its own."""
    paths: dict[str, dict[str, Any]] = request.app.openapi()["paths"]
    path = request.url.path
    # `/datasets/upload` is a path of its own, though `/datasets/{id}` would fit it.
    fitting = [paths[path]] if path in paths else [own for name, own in paths.items() if _pattern(name).fullmatch(path)]
    return sorted({method.upper() for methods in fitting for method in methods})


@cache
def _pattern(template: str) -> re.Pattern[str]:
    return re.compile("".join("[^/]+" if part.startswith("{") else re.escape(part) for part in _PARTS.split(template)))


_PARTS = re.compile(r"(\{[^}]+\})")


async def _on_broken(request: Request, error: Exception) -> Response:
    log.error("broke: %s %s", request.method, request.url.path, exc_info=error)
    return error_answer(500, BROKEN)
