"""What the routes of all pages use: the route itself, the caller and the context of a request, cursors and forms."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qsl

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from howsure.errors import InputError
from howsure.services.host.context import Host
from howsure.services.host.keys import Caller, caller_by_key_id
from howsure.services.host.run_views import RunViews
from howsure.store.keys import KeyScope
from howsure.web.caches import ResultCache

Endpoint = Callable[[Request], Awaitable[Response]]
LARGEST_FORM = 1_000_000
WRITES_NOTHING = "writes_nothing"
"""The name in a request's state that a POST sets when it changes nothing: such a request is not in the audit log."""


class PageRoute(Struct, frozen=True):
    """The route of a page, with the scope that it needs; None: anybody may see it."""

    path: str
    endpoint: Endpoint
    scope: KeyScope | None = KeyScope.READ
    method: str = "GET"


class NotAllowed(InputError):
    """The caller may not do that."""


def caller_of(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller


def host_of(request: Request) -> Host:
    host: Host = request.app.state.host
    return host


async def is_key_still_valid(request: Request) -> bool:
    """Whether the key of an open request is still valid: it may have been revoked since the request began."""
    if not request.app.state.keys_needed:
        return True
    return await caller_by_key_id(host_of(request).store, request.state.session.key_id) is not None


def run_views_of(request: Request) -> RunViews:
    run_views: RunViews = request.app.state.run_views
    return run_views


def cache_of(request: Request) -> ResultCache:
    cache: ResultCache = request.app.state.results
    return cache


def encode_cursor(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode()


def decode_cursor(text: str) -> str | None:
    if not text:
        return None
    try:
        return urlsafe_b64decode(text.encode()).decode()
    except (Error, ValueError):
        raise InputError("this address does not lead into the list any more: begin at its start") from None


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form; where a field occurs twice, the last one."""
    body = await request.body()
    if len(body) > LARGEST_FORM:
        raise InputError("this form is too large")
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
