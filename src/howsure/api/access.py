"""Who the caller is and what it may do. Without keys the service serves only its own machine, and every caller may do
everything; with them, a key opens what its scopes say, within its organisation and agents."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from howsure.api.errors import RequestRefusal
from howsure.services.host.context import Host
from howsure.services.host.keys import OWNER, Caller, caller_by_secret
from howsure.store.keys import KeyScope

bearer = HTTPBearer(auto_error=False, scheme_name="bearer", description="An API key: `Authorization: Bearer howsure_…`")
header = APIKeyHeader(name="X-API-Key", auto_error=False, scheme_name="key", description="An API key")


async def identify_caller(request: Request) -> Caller:
    """The caller of a request; 401 where a key is needed and none, or a wrong one, was sent."""
    secret = _secret(request)
    if secret is None:
        if request.app.state.keys_needed:
            raise _unknown("a key is needed: send it as `Authorization: Bearer KEY`")
        _check_origin(request)
        return OWNER
    host: Host = request.app.state.host
    caller = await caller_by_secret(host.store, secret)
    if caller is None:
        raise _unknown("this key is not known, or was revoked, or has expired")
    return caller


def _check_origin(request: Request) -> None:
    """Without keys every request is obeyed, so one from a foreign page in a local browser must be refused. Browsers
    name the origin of a request that changes something."""
    origin = request.headers.get("origin")
    if origin is None or request.method in ("GET", "HEAD"):
        return
    host: Host = request.app.state.host
    if urlsplit(origin).netloc != request.headers.get("host", "") and origin not in host.rules.origins:
        raise RequestRefusal(403, "forbidden", f"requests from {origin[:200]} are not answered: see `service.origins`")


def _secret(request: Request) -> str | None:
    """The key that was sent; None where none was."""
    authorization = request.headers.get("authorization")
    if authorization is None:
        return request.headers.get("x-api-key")
    kind, _, secret = authorization.partition(" ")
    if kind.lower() != "bearer" or not secret.strip():
        raise _unknown("send the key as `Authorization: Bearer KEY`")
    return secret.strip()


async def identified_caller(
    request: Request,
    bearing: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
    given: Annotated[str | None, Depends(header)],
) -> Caller:
    """The caller that the route has identified. The two schemes are parameters so that OpenAPI names them."""
    caller: Caller = request.state.caller
    return caller


def _unknown(detail: str) -> RequestRefusal:
    return RequestRefusal(401, "unauthorized", detail, {"WWW-Authenticate": "Bearer"})


def require_scope(scope: KeyScope) -> Callable[..., Coroutine[Any, Any, Caller]]:
    """A dependency: the caller, who must have this scope (`admin` has all of them)."""

    async def allowed(caller: Annotated[Caller, Depends(identified_caller)]) -> Caller:
        if not caller.may(scope):
            raise RequestRefusal(403, "forbidden", f"this key may not do that: it needs the scope {scope.value!r}")
        return caller

    return allowed


Reader = Annotated[Caller, Depends(require_scope(KeyScope.READ))]
Writer = Annotated[Caller, Depends(require_scope(KeyScope.WRITE))]
Runner = Annotated[Caller, Depends(require_scope(KeyScope.RUN))]
Admin = Annotated[Caller, Depends(require_scope(KeyScope.ADMIN))]


async def whole_organization(caller: Admin) -> Caller:
    """Keys and the audit log do not belong to agents: a key for some agents opens neither."""
    if caller.within.agent_ids is not None:
        raise RequestRefusal(
            403, "forbidden", "this key is for some agents only: that needs one for the whole organisation"
        )
    return caller


Overseer = Annotated[Caller, Depends(whole_organization)]


async def whole_service(caller: Overseer) -> Caller:
    if caller.within.organization_id is not None:
        raise RequestRefusal(403, "forbidden", "this key is for one organisation: that needs one for the whole service")
    return caller


Operator = Annotated[Caller, Depends(whole_service)]


# These two wait for nothing; but whatever does not say `async` is sent to a thread and back, in every request.
async def host_of(request: Request) -> Host:
    host: Host = request.app.state.host
    return host


Hosted = Annotated[Host, Depends(host_of)]
