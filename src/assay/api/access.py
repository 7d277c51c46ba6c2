"""Who is asking, and what they may do. Without keys the service serves its own machine alone, and whoever sits at it
may do everything; with them, a key opens what its scopes say, within its organisation and agents."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer
from msgspec import Struct

from assay.api.errors import Refused
from assay.model.within import EVERYWHERE, Within
from assay.services.hosting.host import Host
from assay.store.service.keys import ApiKey, Scope

USED_EVERY = 60.0
"""Seconds between two notes that a key was used."""

bearer = HTTPBearer(auto_error=False, scheme_name="bearer", description="An API key: `Authorization: Bearer assay_…`")
header = APIKeyHeader(name="X-API-Key", auto_error=False, scheme_name="key", description="An API key")


class Caller(Struct, frozen=True):
    """Who asks: their name for the log, what they may do, and where."""

    name: str
    scopes: frozenset[Scope]
    within: Within


OWNER = Caller("local", frozenset(Scope), EVERYWHERE)
"""Whoever sits at the machine that the service runs on, where no key is needed."""


async def identify(request: Request) -> Caller:
    """The caller of a request; 401 where a key is needed and none, or a wrong one, was sent."""
    secret = _secret(request)
    if secret is None:
        if request.app.state.keys_needed:
            raise _unknown("a key is needed: send it as `Authorization: Bearer KEY`")
        return OWNER
    host: Host = request.app.state.host
    key = await host.store.keys.by_secret(secret)
    if key is None or not key.is_open(datetime.now(UTC)):
        raise _unknown("this key is not known, or was revoked, or has expired")
    await _note_use(host, key)
    return Caller(key.name or key.id, frozenset(key.scopes), key.within)


def _secret(request: Request) -> str | None:
    """The key that was sent; None where none was."""
    given = request.headers.get("authorization")
    if given is None:
        return request.headers.get("x-api-key")
    kind, _, secret = given.partition(" ")
    if kind.lower() != "bearer" or not secret.strip():
        raise _unknown("send the key as `Authorization: Bearer KEY`")
    return secret.strip()


def caller(
    request: Request,
    bearing: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
    given: Annotated[str | None, Depends(header)],
) -> Caller:
    """Whom the route has identified. The two schemes are asked for so that OpenAPI names them."""
    found: Caller = request.state.caller
    return found


async def _note_use(host: Host, key: ApiKey) -> None:
    now = datetime.now(UTC)
    if key.used_at is None or (now - key.used_at).total_seconds() > USED_EVERY:
        await host.store.keys.used(key.id)


def _unknown(detail: str) -> Refused:
    return Refused(401, "unauthorized", detail, {"WWW-Authenticate": "Bearer"})


def needs(scope: Scope) -> Callable[..., Coroutine[Any, Any, Caller]]:
    """A dependency: the caller, who must have this scope (`admin` has all of them)."""

    async def allowed(asking: Annotated[Caller, Depends(caller)]) -> Caller:
        if scope not in asking.scopes and Scope.ADMIN not in asking.scopes:
            raise Refused(403, "forbidden", f"this key may not do that: it needs the scope {scope.value!r}")
        return asking

    return allowed


Reader = Annotated[Caller, Depends(needs(Scope.READ))]
Writer = Annotated[Caller, Depends(needs(Scope.WRITE))]
Runner = Annotated[Caller, Depends(needs(Scope.RUN))]
Admin = Annotated[Caller, Depends(needs(Scope.ADMIN))]


def host_of(request: Request) -> Host:
    host: Host = request.app.state.host
    return host


Hosted = Annotated[Host, Depends(host_of)]
