"""What the routes of all pages share: who asks, the host, places in lists, and forms."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qsl

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from howsure.errors import InputError
from howsure.services.hosting.callers import Caller, holder_of
from howsure.services.hosting.host import Host
from howsure.services.hosting.viewing import Gallery
from howsure.store.service.keys import Scope
from howsure.web.remembering import Remembered

Endpoint = Callable[[Request], Awaitable[Response]]
LARGEST_FORM = 1_000_000


class Page(Struct, frozen=True):
    """A route: who may take it is said here, and held to in one place. `scope` None: anybody."""

    path: str
    endpoint: Endpoint
    scope: Scope | None = Scope.READ
    method: str = "GET"


class NotAllowed(InputError):
    """The caller may not do that."""


def caller_of(request: Request) -> Caller:
    found: Caller = request.state.caller
    return found


def host_of(request: Request) -> Host:
    found: Host = request.app.state.host
    return found


async def is_still_known(request: Request) -> bool:
    """Whether whoever asked, some time ago, may still ask: their key may have been revoked since."""
    if not request.app.state.keys_needed:
        return True
    return await holder_of(host_of(request).store, request.state.session.key_id) is not None


def gallery_of(request: Request) -> Gallery:
    found: Gallery = request.app.state.gallery
    return found


def remembered_of(request: Request) -> Remembered:
    found: Remembered = request.app.state.remembered
    return found


def place_of(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode()


def place_in(text: str) -> str | None:
    if not text:
        return None
    try:
        return urlsafe_b64decode(text.encode()).decode()
    except (Error, ValueError):
        raise InputError("this address does not lead into the list any more: begin at its start") from None


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form; of a field that is there twice, the last."""
    body = await request.body()
    if len(body) > LARGEST_FORM:
        raise InputError("this form is too large")
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
