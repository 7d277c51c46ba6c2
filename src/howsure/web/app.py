"""The application of the pages: which page modules there are, who may see a page, form tokens, the audit log, and the
page that shows an error. A new page is a module in `pages/` with `ROUTES` and one line in `PAGES`."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from uuid import uuid4

from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from howsure.errors import ConfigInvalid, Conflict, HowsureError, InputError, NotFound
from howsure.services.host.context import Host
from howsure.services.host.keys import OWNER, Caller, caller_by_key_id
from howsure.services.host.run_views import RunViews
from howsure.store.keys import KeyScope
from howsure.store.logs import AuditEntry
from howsure.web.pages import (
    agents,
    agreement,
    case,
    charts,
    compare,
    editor,
    events,
    judges,
    label,
    library,
    library_document,
    library_versions,
    run,
    run_actions,
    runs,
    settings,
    sign_in,
    start,
    triage,
)
from howsure.web.pages.sign_in import SignInThrottle
from howsure.web.responses import HERE, Visit, respond, style
from howsure.web.routes import WRITES_NOTHING, Endpoint, NotAllowed, PageRoute, ResultCache, TimedCache, read_form
from howsure.web.sessions import TOKEN_FIELD, TOKEN_HEADER, BrowserSession, SessionCookies

log = logging.getLogger("howsure.web")
SIGN_IN = "/sign-in"
SAFE_METHODS = ("GET", "HEAD")
CACHED_FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}

# The order matters: the first route that matches an address takes it.
PAGES: list[PageRoute] = [
    *runs.ROUTES,
    *run.ROUTES,
    *charts.ROUTES,
    *triage.ROUTES,
    *events.ROUTES,
    *run_actions.ROUTES,
    *case.ROUTES,
    *compare.ROUTES,
    *agents.ROUTES,
    *start.ROUTES,
    *sign_in.ROUTES,
    *editor.ROUTES,
    *library_versions.ROUTES,
    *library_document.ROUTES,
    *library.ROUTES,
    *settings.ROUTES,
    *agreement.ROUTES,
    *label.ROUTES,
    *judges.ROUTES,
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
    guarded = [(page, require_scope(page.endpoint, page.scope)) for page in PAGES]
    routes = [Route(page.path, endpoint, methods=[page.method]) for page, endpoint in guarded]
    app = Starlette(routes=[*routes, *_static_routes()])
    app.state.host = host
    app.state.run_views = RunViews(host.store)
    app.state.sessions = SessionCookies(secure=host.rules.https)
    app.state.throttle = SignInThrottle()
    app.state.keys_needed = keys_needed
    app.state.results = ResultCache()
    app.state.run_previews = TimedCache(host.store.browse.run_previews)
    app.add_exception_handler(HowsureError, _on_error)
    app.add_exception_handler(404, _on_missing)
    app.add_exception_handler(405, _on_missing)
    # A bug of ours: the page shows no internals; they are in the log of the server.
    app.add_exception_handler(Exception, _on_error)
    return app


def _static_routes() -> list[Route]:
    async def stylesheet(_: Request) -> Response:
        return Response(style(), media_type="text/css", headers=CACHED_FOREVER)

    async def script(request: Request) -> Response:
        name = request.path_params["name"]
        known = {path.name: path for path in (HERE / "static").glob("*.js")}
        if name not in known:
            raise NotFound(f"there is no file {name}")
        return Response(known[name].read_bytes(), media_type="text/javascript", headers=CACHED_FOREVER)

    async def icon(_: Request) -> Response:
        """Browsers ask for an icon when they show a file by itself, such as an attachment."""
        return Response(status_code=204, headers=CACHED_FOREVER)

    return [Route("/static/style.css", stylesheet), Route("/static/{name}", script), Route("/favicon.ico", icon)]


def require_scope(endpoint: Endpoint, scope: KeyScope | None) -> Endpoint:
    """The endpoint for callers who have this scope; callers without a session are sent to the sign-in page. None: the
    endpoint for anybody."""

    async def answer(request: Request) -> Response:
        session: BrowserSession | None = request.app.state.sessions.read(request)
        caller: Caller | None = None
        if not request.app.state.keys_needed:
            caller = OWNER
        elif session and session.key_id:
            caller = await caller_by_key_id(request.app.state.host.store, session.key_id)
        if scope is not None and caller is None:
            return RedirectResponse(f"{SIGN_IN}?next={request.url.path}", 303)
        if scope is not None and caller is not None and not caller.may(scope):
            raise NotAllowed(f"you may not do that: it needs the scope {scope.value!r}")
        return await _answer(request, endpoint, session, caller)

    return answer


async def _answer(
    request: Request, endpoint: Endpoint, session: BrowserSession | None, caller: Caller | None
) -> Response:
    """Call the endpoint: the form token is checked before, and a write is in the audit log after."""
    sessions: SessionCookies = request.app.state.sessions
    current = session or sessions.new()
    request.state.caller = caller
    request.state.session = current
    request.state.visit = Visit(
        session=current,
        sessions=sessions,
        caller=caller.name if caller else "",
        path=request.url.path,
        is_admin=bool(caller and caller.may(KeyScope.ADMIN)),
        keys_needed=request.app.state.keys_needed,
        bar=NAVIGATION,
        may_write=bool(caller and caller.may(KeyScope.WRITE)),
    )
    writes = request.method not in SAFE_METHODS
    if writes:
        await _check_form(request, session)
    response = await endpoint(request)
    if writes:
        # Whoever changes something sees the change at once.
        request.app.state.run_previews.clear()
    if writes and caller is not None and not getattr(request.state, WRITES_NOTHING, False):
        host: Host = request.app.state.host
        # The route with the names of its parameters, such as `/runs/{run_id}/{deed}`.
        pattern: str = request.url.path
        for name, value in request.path_params.items():
            pattern = pattern.replace(f"/{value}", f"/{{{name}}}", 1)
        await host.store.audit.add(
            AuditEntry(
                id=str(uuid4()),
                organization_id=caller.within.home,
                at=datetime.now(UTC),
                actor=caller.name,
                action=f"{request.method} {pattern}",
                subject=request.url.path,
                status=response.status_code,
                request_id=getattr(request.state, "request_id", ""),
            )
        )
    if session is None and "set-cookie" not in response.headers:
        sessions.set_cookie(response, current)
    return response


async def _check_form(request: Request, session: BrowserSession | None) -> None:
    """Refuse a form that does not come from a page of this session."""
    token = request.headers.get(TOKEN_HEADER) or (await read_form(request)).get(TOKEN_FIELD, "")
    sessions: SessionCookies = request.app.state.sessions
    if session is None or not sessions.is_valid_token(session, token):
        raise NotAllowed("this form is not one of ours, or is too old: reload the page and send it again")
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise NotAllowed("this form was sent from elsewhere")


async def _on_error(request: Request, error: Exception) -> Response:
    status, answer = next(((code, text) for kind, code, text in STATUS if isinstance(error, kind)), (500, "We broke."))
    if status >= 500 and isinstance(error, HowsureError):
        log.error("%s", error)
    return _error_page(request, ErrorPage(status, answer, "" if status >= 500 else str(error)))


async def _on_missing(request: Request, _: Exception) -> Response:
    return _error_page(
        request, ErrorPage(404, "There is nothing here.", f"No page has the address {request.url.path}.")
    )


def _error_page(request: Request, page: ErrorPage) -> Response:
    if not hasattr(request.state, "visit"):
        sessions: SessionCookies = request.app.state.sessions
        needed = request.app.state.keys_needed
        request.state.visit = Visit(sessions.new(), sessions, "", request.url.path, False, needed)
    return respond(request, "trouble.html", page, page.status)
