"""Errors on the wire: one shape for all of them, the status that fits, and no internals."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from howsure.errors import (
    ConfigInvalid,
    Conflict,
    DatasetInvalid,
    HowsureError,
    InputError,
    NotFound,
    Problem,
    RequestRefused,
    Unreachable,
)
from howsure.reports.headlines import field_words
from howsure.services.host.document_files import hide_folders, service_folders

log = logging.getLogger("howsure.api")

UNAVAILABLE = "the service cannot do this just now: its log says why; try again later"
OPERATOR = "the service cannot do this until its operator acts: its log says why"
BROKEN = "the service broke; its log says how, under the request id of this answer"


class JsonAnswer(Response):
    """JSON, written by msgspec."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return msgspec.json.encode(content)


GONE = 499
"""The status in the log of a request whose sender went away before all of it was sent."""
ERRORS = {
    400: ("bad_request", "The request makes no sense"),
    401: ("unauthorized", "No key, or one that opens nothing"),
    403: ("forbidden", "The key does not open this"),
    404: ("not_found", "There is no such thing, or none that the key may see"),
    405: ("method_not_allowed", "The path has no such method"),
    408: ("timeout", "The body did not come in time"),
    409: ("conflict", "It is not in a state for this, or somebody else changed it"),
    412: ("precondition_failed", "It is not at the version in If-Match"),
    413: ("too_large", "The body is too large"),
    415: ("unsupported_media_type", "The body is not of a type that is read here"),
    422: ("invalid", "What was sent cannot be used: `problems` says where and why"),
    429: ("too_many_requests", "Too many requests"),
    500: ("internal", "The service broke"),
    503: ("unavailable", "The database, or the bot service, cannot be reached"),
}
"""The kind of error that each status stands for, and what OpenAPI says of it."""


_ABOUT = re.compile(r"`(\w+)`|([a-z]+(?:_[a-z]+)*(?:\[\d+\])?): ")
"""How a message begins that is about one field."""


def _field_of(message: str) -> str:
    about = _ABOUT.match(message)
    return about[about.lastindex or 0] if about else ""


def error_answer(
    status: int, detail: str, *, problems: list[dict[str, Any]] | None = None, headers: Any = None
) -> JsonAnswer:
    kind, _ = ERRORS.get(status, ("error", ""))
    body: dict[str, Any] = {"error": kind, "detail": detail}
    if problems is None and status == 422:
        problems = [{"code": "refused", "field": _field_of(detail), "message": detail}]
    if problems is not None:
        body["problems"] = problems
    return JsonAnswer(body, status_code=status, headers=headers)


def answer_error(error: HowsureError, folders: Sequence[Path] = (), *, reads: bool = False) -> JsonAnswer:
    """What the user can act on, with the status that fits. Files in our `folders` are called by their names alone."""
    match error:
        case NotFound():
            return error_answer(404, _told(error, folders))
        case Conflict():
            return error_answer(409, _told(error, folders))
        case DatasetInvalid():
            listed = [_problem(problem, folders) for problem in error.problems]
            return _refusal(listed, error.more, reads)
        case RequestRefused():
            return _refusal([_problem(problem, folders) for problem in error.problems], 0, reads)
        case Unreachable():
            log.error("%s", error)
            return error_answer(503, UNAVAILABLE, headers={"Retry-After": "5"})
        case ConfigInvalid():
            # Settings and the database are the operator's: their problems go to the log. Trying again does not help.
            log.error("%s", error)
            return error_answer(500, OPERATOR)
        case InputError():
            return error_answer(422, _told(error, folders))
        case _:
            log.error("%s", error)
            return error_answer(500, BROKEN)


def _told(error: Exception, folders: Sequence[Path]) -> str:
    return field_words(hide_folders(str(error), folders))


def _refusal(problems: list[dict[str, Any]], more: int, reads: bool) -> JsonAnswer:
    """422 for everything that is wrong with a request; `more` are not listed. One that `reads` would store nothing
    anyway."""
    if len(problems) == 1 and not more:
        field, message = problems[0]["field"], problems[0]["message"]
        return error_answer(422, message if field in message or not field else f"{field}: {message}", problems=problems)
    count = f"{len(problems):,} problems" + (f" and at least {more:,} more" if more else "")
    stored = "" if reads else "; nothing was stored"
    return error_answer(422, f"{count}: see `problems`{stored}", problems=problems)


def _problem(problem: Problem, folders: Sequence[Path]) -> dict[str, Any]:
    """A problem without the name of our own temporary file, which means nothing to the caller."""
    shown = {name: value for name, value in msgspec.to_builtins(problem).items() if name not in ("file", "level")}
    told = {
        name: field_words(hide_folders(value, folders)) if isinstance(value, str) else value
        for name, value in shown.items()
    }
    return {**told, "field": told.get("field") or _field_of(told["message"])}


def install(app: FastAPI) -> None:
    """Answer our own errors, the framework's and unexpected ones in the one shape."""
    app.add_exception_handler(HowsureError, _on_ours)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(ClientDisconnect, _on_gone)
    app.add_exception_handler(Exception, _on_broken)


async def _on_ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, HowsureError)
    folders = service_folders(request.app.state.host.work)
    return answer_error(error, folders, reads=request.method in ("GET", "HEAD"))


async def _on_gone(_: Request, error: Exception) -> Response:
    return Response(status_code=GONE)


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return await _on_ours(request, DatasetInvalid("request", shape_problems(error)))


def shape_problems(error: RequestValidationError) -> list[Problem]:
    """What the framework found wrong."""
    return [
        Problem(code=problem_code(each["type"]), field=field_place(each["loc"]), message=each["msg"])
        for each in error.errors()
    ]


CODES = {
    "missing": "missing-field",
    "extra_forbidden": "unknown-field",
    "literal_error": "unknown-value",
    "enum": "unknown-value",
    "string_pattern_mismatch": "bad-pattern",
    "string_too_short": "too-short",
    "string_too_long": "too-many",
    "too_short": "too-few",
    "too_long": "too-many",
    "int_from_float": "wrong-type",
}
"""What the framework calls a problem, and its code: the one that a file with the same problem gets."""


def problem_code(kind: str) -> str:
    if kind.startswith(("greater_than", "less_than", "finite_number")):
        return "out-of-range"
    return CODES.get(kind) or ("wrong-type" if kind.endswith(("_type", "_parsing", "_parsing_size")) else "invalid")


def field_place(parts: tuple[Any, ...]) -> str:
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
    fitting = sorted((name for name in paths if _pattern(name).fullmatch(path)), key=lambda name: name.count("{"))
    return sorted({method.upper() for name in fitting[:1] for method in paths[name]})


@cache
def _pattern(template: str) -> re.Pattern[str]:
    return re.compile("".join("[^/]+" if part.startswith("{") else re.escape(part) for part in _PARTS.split(template)))


_PARTS = re.compile(r"(\{[^{}]+\})")


async def _on_broken(request: Request, error: Exception) -> Response:
    log.error("broke: %s %s", request.method, request.url.path, exc_info=error)
    return error_answer(500, BROKEN)
