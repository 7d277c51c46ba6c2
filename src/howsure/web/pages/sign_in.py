"""Signing in, with a name and a password, with a key or at a provider (OpenID Connect), and signing out. After some
failed attempts a person has to wait: attempts are counted in this process, by address and by name and address, so that
nobody can guess passwords, and nobody can keep others out."""

from __future__ import annotations

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from howsure.errors import NotFound
from howsure.services.host.keys import Caller, begin_session, caller_by_key_id, caller_by_secret, key_for_password
from howsure.services.host.oidc import (
    ATTEMPT_SECONDS,
    OidcProvider,
    ProviderUnavailable,
    SignInAttempt,
    SignInRefused,
    is_oidc_caller,
)
from howsure.services.host.roles import Permission
from howsure.services.host.throttles import SignInThrottle
from howsure.web.responses import respond
from howsure.web.routes import PageRoute, host_of, read_form
from howsure.web.sessions import SessionCookies

WRONG_KEY = "This key is not known, or was revoked, or has expired."
WRONG_PASSWORD = "Nobody of this name has this password, or it was revoked, or has expired."
MAX_NAME = 200
PROVIDER = "/sign-in/provider"
CALLBACK = f"{PROVIDER}/callback"
ATTEMPT_COOKIE = "howsure_sign_in"


class SignInPage(Struct, frozen=True, kw_only=True):
    """The form; `refused` says why the last attempt failed. `choices` are the places where somebody who signed in at
    the provider has a role, if there are several."""

    answer: str
    refused: str
    after: str
    name: str
    provider: str
    choices: tuple[str, ...] = ()


class LeadingPage(Struct, frozen=True):
    """A page that leads on by itself. A redirect would not do: after one, the browser still counts the request as sent
    from the provider's site and keeps the new cookie back."""

    answer: str
    address: str


def sign_in_form(
    request: Request, after: str, refused: str = "", name: str = "", *, status: int = 200, choices: tuple[str, ...] = ()
) -> Response:
    oidc = host_of(request).rules.oidc
    ways = f"With {oidc.name}, with" if oidc else "With"
    page = SignInPage(
        answer="Choose where you want to work now."
        if choices
        else f"{ways} your name and password, or with an API key.",
        refused=refused,
        after=after if is_own(after) else "/",
        name=name,
        provider=oidc.name if oidc else "",
        choices=choices,
    )
    return respond(request, "sign-in.html", page, status)


def is_own(path: str) -> bool:
    """Whether an address is one of our pages, and not a redirect to another site."""
    return path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()


async def show(request: Request) -> Response:
    return sign_in_form(request, request.query_params.get("next", "/"))


async def enter(request: Request) -> Response:
    form = await read_form(request)
    after, name = form.get("next", "/"), form.get("name", "").strip()[:MAX_NAME]
    if "key" in form:
        caller, refused = await caller_by_secret(host_of(request).store, form["key"].strip()), WRONG_KEY
    else:
        throttle: SignInThrottle = request.app.state.throttle
        if seconds := throttle.seconds_to_wait(name, address_of(request)):
            too_often = f"Too many tries that failed: wait {seconds} seconds."
            return sign_in_form(request, after, too_often, name, status=429)
        caller, refused = await _by_password(request, throttle, name, form.get("password", "")), WRONG_PASSWORD
    if caller is None:
        return sign_in_form(request, after, refused, name, status=401)
    response = RedirectResponse(after if is_own(after) else "/", 303)
    await start_session(request, response, caller)
    return response


async def _by_password(request: Request, throttle: SignInThrottle, name: str, password: str) -> Caller | None:
    store, address = host_of(request).store, address_of(request)
    # Counted before the check, so that many attempts at once do not get through together.
    throttle.count_attempt(name, address)
    async with throttle.checking:
        key = await key_for_password(store, name, password) if name and password else None
    if key is None:
        return None
    throttle.forget_attempt(name, address)
    return await caller_by_key_id(store, key.id)


def address_of(request: Request) -> str:
    return request.client.host if request.client else ""


async def start_session(request: Request, response: Response, caller: Caller, issuer: str = "") -> None:
    """A new session, so that a token planted in the browser before signing in is worth nothing."""
    browser = request.headers.get("user-agent", "")
    session, token = await begin_session(host_of(request), caller, address_of(request), browser, issuer)
    cookies: SessionCookies = request.app.state.sessions
    cookies.set_cookie(response, token)
    await record(request, "sign-in", caller, session.id)


async def record(request: Request, action: str, caller: Caller, session_id: str) -> None:
    """Log the sign-in in the audit log, which then leaves out the request itself."""
    request.state.audited = True
    await host_of(request).store.audit.record(
        action,
        actor=caller.id,
        organization_id=caller.within.home,
        subject=session_id,
        address=address_of(request),
        request_id=getattr(request.state, "request_id", ""),
    )


def provider_of(request: Request) -> OidcProvider:
    provider: OidcProvider | None = request.app.state.provider
    if provider is None:
        raise NotFound("signing in at a provider is not set up: service.oidc is missing")
    return provider


def own_address(request: Request, path: str) -> str:
    """The address of one of our pages as the provider knows it: it is registered there."""
    scheme = "https" if host_of(request).rules.https else "http"
    return f"{scheme}://{request.headers.get('host', '')}{path}"


async def go_to_provider(request: Request) -> Response:
    query = request.query_params
    after = query.get("next", "/")
    attempt = SignInAttempt.begin(after if is_own(after) else "/", query.get("choice", "")[:MAX_NAME])
    try:
        url = await provider_of(request).authorization_url(attempt, own_address(request, CALLBACK))
    except SignInRefused as error:
        return sign_in_form(request, after, str(error), status=503)
    response = RedirectResponse(url, 303)
    response.set_cookie(
        ATTEMPT_COOKIE,
        attempt.cookie,
        max_age=ATTEMPT_SECONDS,
        path=PROVIDER,
        httponly=True,
        # Not strict: the browser must bring it along when the provider sends it back here.
        samesite="lax",
        secure=host_of(request).rules.https,
    )
    return response


async def come_from_provider(request: Request) -> Response:
    """The provider sent the browser back, with a code that says who it is."""
    attempt = SignInAttempt.read(request.cookies.get(ATTEMPT_COOKIE, ""))
    try:
        if attempt is None:
            raise SignInRefused("this answer does not belong to a sign-in of this browser, or came late: begin again")
        response = await _by_provider(request, attempt)
    except SignInRefused as error:
        status = 503 if isinstance(error, ProviderUnavailable) else 401
        response = sign_in_form(request, attempt.after if attempt else "/", str(error), status=status)
    response.delete_cookie(ATTEMPT_COOKIE, path=PROVIDER)
    return response


async def _by_provider(request: Request, attempt: SignInAttempt) -> Response:
    provider, throttle = provider_of(request), request.app.state.throttle
    if seconds := throttle.seconds_to_wait(PROVIDER, address_of(request)):
        return sign_in_form(request, attempt.after, f"Too many tries that failed: wait {seconds} seconds.", status=429)
    throttle.count_attempt(PROVIDER, address_of(request))
    identity = await provider.identity(attempt, request.query_params, own_address(request, CALLBACK))
    throttle.forget_attempt(PROVIDER, address_of(request))
    grants = {grant.words: grant for grant in provider.grants(identity)}
    if not grants:
        raise SignInRefused(
            "None of your groups may use this service: ask its administrators, or those of your groups."
        )
    grant = grants.get(attempt.choice) or (next(iter(grants.values())) if len(grants) == 1 else None)
    if grant is None:
        return sign_in_form(request, attempt.after, choices=tuple(sorted(grants)))
    response = respond(request, "leading.html", LeadingPage("You are signed in.", attempt.after))
    await start_session(request, response, provider.caller(identity, grant), provider.settings.issuer)
    return response


async def leave(request: Request) -> Response:
    """End the session at once, here and wherever its cookie was copied to; then at the provider, if it was there that
    somebody signed in."""
    response: Response = RedirectResponse("/sign-in", 303)
    caller: Caller | None = request.state.caller
    if caller is not None and caller.session_id:
        await host_of(request).store.sessions.end(session_id=caller.session_id)
        await record(request, "sign-out", caller, caller.session_id)
        if is_oidc_caller(caller) and (url := await _logout_url(request)):
            response = respond(request, "leading.html", LeadingPage("You are signed out here.", url))
    cookies: SessionCookies = request.app.state.sessions
    cookies.delete_cookie(response)
    return response


async def _logout_url(request: Request) -> str:
    try:
        return await provider_of(request).logout_url(own_address(request, "/sign-in"))
    except SignInRefused:
        return ""  # The session here has ended, whether or not the provider can be reached.


ROUTES = [
    PageRoute("/sign-in", show, Permission.PUBLIC),
    PageRoute("/sign-in", enter, Permission.PUBLIC, "POST"),
    PageRoute(PROVIDER, go_to_provider, Permission.PUBLIC),
    PageRoute(CALLBACK, come_from_provider, Permission.PUBLIC),
    PageRoute("/sign-out", leave, Permission.PUBLIC, "POST"),
]
