"""Signing in with a key, and out again."""

from __future__ import annotations

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from assay.services.hosting.callers import opened_by
from assay.web.rendering import respond
from assay.web.sessions import Sessions
from assay.web.sharing import Page, form_of, host_of


class SignInPage(Struct, frozen=True):
    """The form; `refused` says why the last try opened nothing."""

    answer: str
    refused: str
    after: str


def sign_in_page(after: str, refused: str = "") -> SignInPage:
    return SignInPage("Sign in with an API key.", refused, after if is_own(after) else "/")


def is_own(path: str) -> bool:
    """Whether an address leads to a page of ours: anything else would take the visitor elsewhere."""
    return path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()


async def show(request: Request) -> Response:
    return respond(request, "sign-in.html", sign_in_page(request.query_params.get("next", "/")))


async def enter(request: Request) -> Response:
    form = await form_of(request)
    store = host_of(request).store
    secret = form.get("key", "").strip()
    if not secret or await opened_by(store, secret) is None:
        page = sign_in_page(form.get("next", "/"), "This key is not known, or was revoked, or has expired.")
        return respond(request, "sign-in.html", page, 401)
    key = await store.keys.by_secret(secret)
    after = form.get("next", "/")
    response = RedirectResponse(after if is_own(after) else "/", 303)
    sessions: Sessions = request.app.state.sessions
    # A new session, so that nobody goes on with one that they planted before.
    sessions.keep(response, sessions.begin(key.id if key else ""))
    return response


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
