"""The application of the pages: which page modules there are, who may see a page, form tokens, the audit log, and the
page that shows an error. A new page is a module in `pages/` with `ROUTES` and its name in `PAGES`."""

from __future__ import annotations

import logging
import os

from msgspec import Struct
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from howsure.errors import ConfigInvalid, Conflict, HowsureError, InputError, NotFound
from howsure.reports.headlines import page_words
from howsure.services.host.keys import OWNER, Caller, caller_by_session
from howsure.services.host.oidc import OidcProvider
from howsure.services.host.roles import Permission
from howsure.services.host.run_views import RunViews
from howsure.services.host.throttles import SignInThrottle
from howsure.services.workspace import Host
from howsure.web.pages import (
    agents,
    agreement,
    api_docs,
    case,
    charts,
    compare,
    editor,
    events,
    judges,
    label,
    library,
    library_versions,
    run,
    run_actions,
    runs,
    settings,
    sign_in,
    triage,
)
from howsure.web.responses import HERE, Visit, respond, style
from howsure.web.routes import Endpoint, NotAllowed, PageRoute, ResultCache, TimedCache, read_form
from howsure.web.sessions import (
    TOKEN_FIELD,
    TOKEN_HEADER,
    VISITOR_COOKIE,
    SessionCookies,
    is_form_token,
    new_browser_token,
)

log = logging.getLogger("howsure.web")
SIGN_IN = "/sign-in"
SAFE_METHODS = ("GET", "HEAD")
STATIC_TYPES = {".js": "text/javascript", ".svg": "image/svg+xml"}
CACHED_FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}

# The order matters: the first route that matches an address takes it.
RUN_PAGES = (runs, run, charts, triage, events, run_actions, case, compare, agents)
LIBRARY_PAGES = (editor, library_versions, library)
LABEL_PAGES = (agreement, label, judges, api_docs)
PAGES: list[PageRoute] = [
    page for module in (*RUN_PAGES, sign_in, *LIBRARY_PAGES, settings, *LABEL_PAGES) for page in module.ROUTES
]

NAVIGATION: tuple[tuple[str, str, str], ...] = (
    ("Runs", "/", "r"),
    ("Agents", "/agents", "a"),
    ("Test sets", "/library/test-sets", "t"),
    ("Rubrics", "/library/rubrics", "b"),
    ("Label", "/label", "l"),
    ("Judges", "/judges", "j"),
)
"""Word, address, and the letter that goes there after `g`."""

STATUS: tuple[tuple[type[HowsureError], int, str], ...] = (
    (NotAllowed, 403, "You may not do that."),
    (NotFound, 404, "There is nothing here."),
    (Conflict, 409, "That cannot be done now."),
    (ConfigInvalid, 503, "The database cannot be reached just now."),
    (InputError, 422, "That cannot be done as asked."),
)


class ErrorPage(Struct, frozen=True):
    status: int
    answer: str
    detail: str


def create_pages(host: Host, *, keys_needed: bool) -> ASGIApp:
    guarded = [(page, require_permission(page.endpoint, page.permission)) for page in PAGES]
    routes = [Route(page.path, endpoint, methods=[page.method]) for page, endpoint in guarded]
    app = Starlette(routes=[*routes, *_static_routes()])
    app.state.host = host
    app.state.run_views = RunViews(host.store)
    app.state.sessions = SessionCookies(secure=host.rules.https, hours=host.rules.session_hours)
    app.state.throttle = SignInThrottle()
    app.state.provider = OidcProvider(host.rules.oidc, os.environ) if host.rules.oidc else None
    app.state.keys_needed = keys_needed
    app.state.results = ResultCache()
    app.state.run_previews = TimedCache(host.store.browse.run_previews)
    app.add_exception_handler(HowsureError, _on_error)
    app.add_exception_handler(404, _on_missing)
    app.add_exception_handler(405, _on_missing)
    app.add_exception_handler(HTTPException, _on_refusal)
    app.add_exception_handler(ClientDisconnect, _on_gone)
    # A bug of ours: the page shows no internals; they are in the log of the server.
    app.add_exception_handler(Exception, _on_error)
    return app


def _static_routes() -> list[Route]:
    async def stylesheet(_: Request) -> Response:
        return Response(style(), media_type="text/css", headers=CACHED_FOREVER)

    async def script(request: Request) -> Response:
        name = request.path_params["name"]
        known = {path.name: path for path in (HERE / "static").iterdir() if path.suffix in STATIC_TYPES}
        if name not in known:
            raise NotFound(f"there is no file {name}")
        media = STATIC_TYPES[known[name].suffix]
        return Response(known[name].read_bytes(), media_type=media, headers=CACHED_FOREVER)

    async def icon(_: Request) -> Response:
        """Browsers ask for an icon when they show a file by itself, such as an attachment."""
        return Response((HERE / "static" / "icon.svg").read_bytes(), media_type=STATIC_TYPES[".svg"])

    return [Route("/static/style.css", stylesheet), Route("/static/{name}", script), Route("/favicon.ico", icon)]


def require_permission(endpoint: Endpoint, permission: Permission) -> Endpoint:
    """The endpoint for callers who have this permission; callers without a session are sent to the sign-in page."""

    async def answer(request: Request) -> Response:
        cookies: SessionCookies = request.app.state.sessions
        session, visitor = cookies.read(request), cookies.read(request, VISITOR_COOKIE)
        caller: Caller | None = None
        if not request.app.state.keys_needed:
            caller = OWNER
        elif session:
            caller = await caller_by_session(request.app.state.host, session)
        request.state.caller = caller
        if permission is not Permission.PUBLIC:
            if caller is None:
                return RedirectResponse(f"{SIGN_IN}?next={request.url.path}", 303)
            if not caller.may(permission):
                raise NotAllowed(f"you may not do that: {caller.lacks(permission)}")
        browser_token = session if caller and caller.session_id else visitor
        request.state.visit = _visit(request, caller, browser_token or new_browser_token())
        if request.method not in SAFE_METHODS:
            # The form for signing in may be older than the session: it was opened from another site, or in another tab.
            await _check_form(request, (session, visitor) if permission is Permission.PUBLIC else (browser_token,))
        response = await endpoint(request)
        if request.method not in SAFE_METHODS:
            # Whoever changes something sees the change at once.
            request.app.state.run_previews.clear()
        if browser_token is None and "set-cookie" not in response.headers:
            cookies.set_cookie(response, request.state.visit.browser_token, VISITOR_COOKIE)
        return response

    return answer


def _visit(request: Request, caller: Caller | None, browser_token: str) -> Visit:
    return Visit(
        browser_token=browser_token,
        caller=caller.name if caller else "",
        path=request.url.path,
        is_admin=bool(caller and caller.may(Permission.MAKE_KEYS)),
        keys_needed=request.app.state.keys_needed,
        bar=NAVIGATION,
        may_write=bool(caller and caller.may(Permission.EDIT)),
        may_label=bool(caller and caller.may(Permission.LABEL)),
    )


async def _check_form(request: Request, browser_tokens: tuple[str | None, ...]) -> None:
    """Refuse a form that does not come from a page that this browser was sent."""
    token = request.headers.get(TOKEN_HEADER) or (await read_form(request)).get(TOKEN_FIELD, "")
    if not any(each and is_form_token(each, token) for each in browser_tokens):
        raise NotAllowed("this form is not one of ours, or is too old: reload the page and send it again")
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise NotAllowed("this form was sent from elsewhere")


async def _on_error(request: Request, error: Exception) -> Response:
    status, answer = next(((code, text) for kind, code, text in STATUS if isinstance(error, kind)), (500, "We broke."))
    if status >= 500 and isinstance(error, HowsureError):
        log.error("%s", error)
    return _error_page(request, ErrorPage(status, answer, "" if status >= 500 else page_words(str(error))))


async def _on_missing(request: Request, _: Exception) -> Response:
    return _error_page(
        request, ErrorPage(404, "There is nothing here.", f"No page has the address {request.url.path}.")
    )


async def _on_refusal(request: Request, error: Exception) -> Response:
    """The answer to a body that was too large, too slow or not allowed."""
    assert isinstance(error, HTTPException)
    return _error_page(request, ErrorPage(error.status_code, "That cannot be taken as it was sent.", error.detail))


async def _on_gone(_: Request, error: Exception) -> Response:
    """The client has disconnected; only the log has this status."""
    return Response(status_code=499)


def _error_page(request: Request, page: ErrorPage) -> Response:
    if not hasattr(request.state, "visit"):
        request.state.visit = Visit(new_browser_token(), "", request.url.path, request.app.state.keys_needed)
    return respond(request, "trouble.html", page, page.status)
