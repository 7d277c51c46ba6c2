"""The application of the pages. Around every request: who looks is found out, forms must be our own, and what goes
wrong is said on a page like the others."""

from __future__ import annotations

import logging

from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from howsure.errors import ConfigInvalid, Conflict, HowsureError, InputError, NotFound
from howsure.services.hosting.callers import OWNER, Caller, holder_of
from howsure.services.hosting.host import Host
from howsure.services.hosting.viewing import Gallery
from howsure.store.service.keys import Scope
from howsure.web.contents import BAR, pages
from howsure.web.noting import note
from howsure.web.remembering import Lately, Remembered
from howsure.web.rendering import HERE, Visit, respond, style
from howsure.web.sessions import FIELD, HEADER, Session, Sessions
from howsure.web.sharing import Endpoint, NotAllowed, Page, form_of
from howsure.web.throttling import Throttle

log = logging.getLogger("howsure.web")
SIGN_IN = "/sign-in"
SAFE = ("GET", "HEAD")


class Trouble(Struct, frozen=True):
    """A page that says what went wrong, and what to do."""

    status: int
    answer: str
    detail: str


def create_pages(host: Host, *, keys_needed: bool) -> ASGIApp:
    app = Starlette(routes=[*map(_route, pages()), *_files()])
    app.state.host = host
    app.state.gallery = Gallery(host.store)
    app.state.sessions = Sessions(secure=host.rules.https)
    app.state.throttle = Throttle()
    app.state.keys_needed = keys_needed
    app.state.remembered = Remembered()
    app.state.run_faces = Lately(host.store.browsing.runs)
    app.add_exception_handler(HowsureError, _on_error)
    app.add_exception_handler(404, _on_missing)
    app.add_exception_handler(405, _on_missing)
    # Our own fault: said on a page without its insides; the server's log has them.
    app.add_exception_handler(Exception, _on_error)
    return app


def _route(page: Page) -> Route:
    endpoint = opened(page.endpoint) if page.scope is None else guarded(page.endpoint, page.scope)
    return Route(page.path, endpoint, methods=[page.method])


def _files() -> list[Route]:
    async def stylesheet(_: Request) -> Response:
        return Response(style(), media_type="text/css", headers=LASTING)

    async def script(request: Request) -> Response:
        name = request.path_params["name"]
        known = {path.name: path for path in (HERE / "static").glob("*.js")}
        if name not in known:
            raise NotFound(f"there is no file {name}")
        return Response(known[name].read_bytes(), media_type="text/javascript", headers=LASTING)

    async def icon(_: Request) -> Response:
        """Browsers ask for one where a file, which cannot say that there is none, is shown by itself."""
        return Response(status_code=204, headers=LASTING)

    return [
        Route("/static/style.css", stylesheet),
        Route("/static/{name}", script),
        Route("/favicon.ico", icon),
    ]


LASTING = {"Cache-Control": "public, max-age=31536000, immutable"}


def guarded(endpoint: Endpoint, scope: Scope) -> Endpoint:
    """For those who are known and may do this; others are asked to sign in."""

    async def answer(request: Request) -> Response:
        session = request.app.state.sessions.read(request)
        asking = await _caller(request, session)
        if asking is None:
            return RedirectResponse(f"{SIGN_IN}?next={request.url.path}", 303)
        if not asking.may(scope):
            raise NotAllowed(f"you may not do that: it needs the scope {scope.value!r}")
        return await _visited(request, endpoint, session, asking)

    return answer


def opened(endpoint: Endpoint) -> Endpoint:
    """For anybody."""

    async def answer(request: Request) -> Response:
        session = request.app.state.sessions.read(request)
        return await _visited(request, endpoint, session, await _caller(request, session))

    return answer


async def _caller(request: Request, session: Session | None) -> Caller | None:
    if not request.app.state.keys_needed:
        return OWNER
    host: Host = request.app.state.host
    return await holder_of(host.store, session.key_id) if session and session.key_id else None


async def _visited(request: Request, endpoint: Endpoint, session: Session | None, asking: Caller | None) -> Response:
    sessions: Sessions = request.app.state.sessions
    known = session or sessions.begin()
    request.state.caller = asking
    request.state.session = known
    request.state.visit = Visit(
        session=known,
        sessions=sessions,
        caller=asking.name if asking else "",
        path=request.url.path,
        is_admin=bool(asking and asking.may(Scope.ADMIN)),
        keys_needed=request.app.state.keys_needed,
        bar=BAR,
        may_write=bool(asking and asking.may(Scope.WRITE)),
    )
    if request.method not in SAFE:
        await _check_form(request, session)
    response = await endpoint(request)
    if request.method not in SAFE:
        # Whoever changed something sees it at once.
        request.app.state.run_faces.forget()
    if request.method not in SAFE and asking is not None:
        await note(request, asking, response.status_code)
    if session is None and "set-cookie" not in response.headers:
        sessions.keep(response, known)
    return response


async def _check_form(request: Request, session: Session | None) -> None:
    """A form of ours: sent by a page of this session, not by one elsewhere."""
    given = request.headers.get(HEADER) or (await form_of(request)).get(FIELD, "")
    sessions: Sessions = request.app.state.sessions
    if session is None or not sessions.is_ours(session, given):
        raise NotAllowed("this form is not one of ours, or is too old: reload the page and send it again")
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise NotAllowed("this form was sent from elsewhere")


STATUS: tuple[tuple[type[HowsureError], int, str], ...] = (
    (NotAllowed, 403, "You may not do that."),
    (NotFound, 404, "There is nothing here."),
    (Conflict, 409, "That cannot be done now."),
    (ConfigInvalid, 503, "The database cannot be reached just now."),
    (InputError, 422, "That cannot be done as asked."),
)


async def _on_error(request: Request, error: Exception) -> Response:
    status, answer = next(((code, text) for kind, code, text in STATUS if isinstance(error, kind)), (500, "We broke."))
    if status >= 500 and isinstance(error, HowsureError):
        log.error("%s", error)
    return _trouble(request, Trouble(status, answer, "" if status >= 500 else str(error)))


async def _on_missing(request: Request, _: Exception) -> Response:
    return _trouble(request, Trouble(404, "There is nothing here.", f"No page has the address {request.url.path}."))


def _trouble(request: Request, trouble: Trouble) -> Response:
    if not hasattr(request.state, "visit"):
        sessions: Sessions = request.app.state.sessions
        needed = request.app.state.keys_needed
        request.state.visit = Visit(sessions.begin(), sessions, "", request.url.path, False, needed)
    return respond(request, "trouble.html", trouble, trouble.status)
