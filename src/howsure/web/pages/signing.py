"""Signing in, with a name and a password or with a key, and out again."""

from __future__ import annotations

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from howsure.services.hosting.callers import opened_by
from howsure.services.hosting.passwords import known_by
from howsure.store.store import Store
from howsure.web.rendering import respond
from howsure.web.sessions import Sessions
from howsure.web.sharing import Page, form_of, host_of
from howsure.web.throttling import Throttle

WRONG_KEY = "This key is not known, or was revoked, or has expired."
WRONG_PASSWORD = "Nobody of this name has this password, or it was revoked, or has expired."
LONGEST = 200


class SignInPage(Struct, frozen=True):
    """The form; `refused` says why the last try opened nothing."""

    answer: str
    refused: str
    after: str
    name: str


def sign_in_page(after: str, refused: str = "", name: str = "") -> SignInPage:
    told = "With your name and password, or with an API key."
    return SignInPage(told, refused, after if is_own(after) else "/", name)


def is_own(path: str) -> bool:
    """Whether an address leads to a page of ours: anything else would take the visitor elsewhere."""
    return path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()


async def show(request: Request) -> Response:
    return respond(request, "sign-in.html", sign_in_page(request.query_params.get("next", "/")))


async def enter(request: Request) -> Response:
    form = await form_of(request)
    store, after, name = host_of(request).store, form.get("next", "/"), form.get("name", "").strip()[:LONGEST]
    if "key" in form:
        key_id, refused = await _by_key(store, form["key"].strip()), WRONG_KEY
    else:
        throttle: Throttle = request.app.state.throttle
        if wait := throttle.waits(name):
            return respond(request, "sign-in.html", sign_in_page(after, _too_often(wait), name), 429)
        key_id, refused = await _by_password(store, throttle, name, form.get("password", "")), WRONG_PASSWORD
    if not key_id:
        return respond(request, "sign-in.html", sign_in_page(after, refused, name), 401)
    response = RedirectResponse(after if is_own(after) else "/", 303)
    sessions: Sessions = request.app.state.sessions
    # A new session, so that nobody goes on with one that they planted before.
    sessions.keep(response, sessions.begin(key_id))
    return response


async def _by_key(store: Store, secret: str) -> str:
    """The id of the key; "" where it opens nothing."""
    found = await opened_by(store, secret) if secret else None
    return found.id if found else ""


async def _by_password(store: Store, throttle: Throttle, name: str, password: str) -> str:
    # Counted before it is looked at: many at once are not let through together.
    throttle.failed(name)
    key = await known_by(store, name, password) if name and password else None
    if key is None:
        return ""
    throttle.came_in(name)
    return key.id


def _too_often(seconds: int) -> str:
    return f"Too many tries that failed: wait {seconds} seconds."


async def leave(request: Request) -> Response:
    response = RedirectResponse("/sign-in", 303)
    sessions: Sessions = request.app.state.sessions
    sessions.forget(response)
    return response


def routes() -> list[Page]:
    return [
        Page("/sign-in", show, None),
        Page("/sign-in", enter, None, "POST"),
        Page("/sign-out", leave, None, "POST"),
    ]
