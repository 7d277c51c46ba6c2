"""Who the caller is and what it may do. Without keys the service serves only its own machine, and every caller may do
everything; with them, a key opens what its scopes say, within its organisation and agents. Every route names a
permission of `services/host/roles.py`. Rate limits of keys, and of wrong keys from one address, are kept here."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer
from msgspec.structs import replace
from starlette.exceptions import HTTPException

from howsure.services.host.keys import OWNER, Caller, caller_by_secret
from howsure.services.host.roles import Permission
from howsure.services.host.throttles import RequestRates, SignInThrottle
from howsure.services.workspace import Host

ORGANIZATION_HEADER = "X-Organization"
bearer = HTTPBearer(auto_error=False, scheme_name="bearer", description="An API key: `Authorization: Bearer howsure_…`")
header = APIKeyHeader(name="X-API-Key", auto_error=False, scheme_name="key", description="An API key")


async def identify_caller(request: Request) -> Caller:
    """The caller of a request; 401 where a key is needed and none, or a wrong one, was sent; 429 where the key has
    asked too often, or the address has sent too many wrong ones."""
    secret = _secret(request)
    if secret is None:
        if request.app.state.keys_needed:
            raise _unknown("a key is needed: send it as `Authorization: Bearer KEY`")
        _check_origin(request)
        return _of_organization(OWNER, request)
    host: Host = request.app.state.host
    caller = await caller_by_secret(host.store, secret)
    if caller is None:
        _count_wrong_key(request)
        raise _unknown("this key is not known, or was revoked, or has expired")
    _count_request(request, caller)
    return _of_organization(caller, request)


def _count_wrong_key(request: Request) -> None:
    """Right keys are never looked at here: whoever has one is let in, whatever else comes from the address."""
    throttle: SignInThrottle = request.app.state.wrong_keys
    address = request.client.host if request.client else ""
    if seconds := throttle.seconds_to_wait(None, address):
        detail = f"too many invalid keys from this address: wait {seconds} seconds"
        raise HTTPException(429, detail, {"Retry-After": str(seconds)})
    throttle.count_attempt(None, address)


def _count_request(request: Request, caller: Caller) -> None:
    rates: RequestRates | None = request.app.state.rates
    if rates is None:
        return
    allowance = rates.count(caller.id)
    request.state.answer_headers = allowance.headers
    if allowance.wait:
        detail = f"this key has sent its {allowance.limit:,} requests of this minute: wait {allowance.wait} seconds"
        raise HTTPException(429, detail, {"Retry-After": str(allowance.wait)})


def _of_organization(caller: Caller, request: Request) -> Caller:
    """A caller of the whole service may speak for one organisation: ids are unique only within one."""
    wanted = request.headers.get(ORGANIZATION_HEADER)
    if wanted is None or wanted == caller.within.organization_id:
        return caller
    if caller.within.organization_id is not None:
        raise HTTPException(403, f"this key is for one organisation: leave {ORGANIZATION_HEADER} out")
    return replace(caller, within=replace(caller.within, organization_id=wanted))


def _check_origin(request: Request) -> None:
    """Without keys every request is obeyed, so one from a foreign page in a local browser must be refused. Browsers
    name the origin of a request that changes something."""
    origin = request.headers.get("origin")
    if origin is None or request.method in ("GET", "HEAD"):
        return
    host: Host = request.app.state.host
    if origin.partition("://")[2] != request.headers.get("host", "") and origin not in host.rules.origins:
        raise HTTPException(403, f"requests from {origin[:200]} are not answered: see `service.origins`")


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


def _unknown(detail: str) -> HTTPException:
    return HTTPException(401, detail, {"WWW-Authenticate": "Bearer"})


class RequirePermission:
    """A dependency: the caller, who must have this permission."""

    def __init__(self, permission: Permission) -> None:
        self.permission = permission

    async def __call__(self, caller: Annotated[Caller, Depends(identified_caller)]) -> Caller:
        if not caller.may(self.permission):
            raise HTTPException(403, f"this key may not do that: {caller.lacks(self.permission)}")
        return caller


Anyone = Annotated[Caller, Depends(RequirePermission(Permission.PUBLIC))]
Reader = Annotated[Caller, Depends(RequirePermission(Permission.READ))]
Exporter = Annotated[Caller, Depends(RequirePermission(Permission.EXPORT))]
Labeller = Annotated[Caller, Depends(RequirePermission(Permission.LABEL))]
Writer = Annotated[Caller, Depends(RequirePermission(Permission.EDIT))]
RunDeleter = Annotated[Caller, Depends(RequirePermission(Permission.DELETE_RUNS))]
Runner = Annotated[Caller, Depends(RequirePermission(Permission.RUN))]
KeyMaker = Annotated[Caller, Depends(RequirePermission(Permission.MAKE_KEYS))]
KeyAdmin = Annotated[Caller, Depends(RequirePermission(Permission.KEYS))]
Auditor = Annotated[Caller, Depends(RequirePermission(Permission.AUDIT))]
Eraser = Annotated[Caller, Depends(RequirePermission(Permission.ERASE))]
WebhookAdmin = Annotated[Caller, Depends(RequirePermission(Permission.WEBHOOKS))]
Operator = Annotated[Caller, Depends(RequirePermission(Permission.METRICS))]


# These two wait for nothing; but whatever does not say `async` is sent to a thread and back, in every request.
async def host_of(request: Request) -> Host:
    host: Host = request.app.state.host
    return host


Hosted = Annotated[Host, Depends(host_of)]
