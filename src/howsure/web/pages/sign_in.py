"""Signing in, with a name and a password or with a key, and signing out. After some failed attempts a person has to
wait: attempts are counted in this process, by name and in total, so that nobody can guess passwords or keep the machine
busy with hashing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import monotonic

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from howsure.services.host.keys import caller_by_secret, key_for_password
from howsure.web.responses import respond
from howsure.web.routes import PageRoute, host_of, read_form
from howsure.web.sessions import SessionCookies

WRONG_KEY = "This key is not known, or was revoked, or has expired."
WRONG_PASSWORD = "Nobody of this name has this password, or it was revoked, or has expired."
MAX_NAME = 200
WINDOW_SECONDS = 300.0
ATTEMPTS_BY_NAME = 5
ATTEMPTS_IN_TOTAL = 100
NAMES_TRACKED = 1_000


class SignInThrottle:
    """Counts failed attempts to sign in, and says how long to wait after them."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._by_name: dict[str, deque[float]] = {}
        self._all: deque[float] = deque(maxlen=ATTEMPTS_IN_TOTAL)

    def seconds_to_wait(self, name: str) -> int:
        """The seconds until the next attempt; 0: now."""
        now = self._clock()
        own, every = self._by_name.get(name, deque()), self._all
        full = [tries for tries, most in ((own, ATTEMPTS_BY_NAME), (every, ATTEMPTS_IN_TOTAL)) if len(tries) >= most]
        longest = max((tries[0] + WINDOW_SECONDS - now for tries in full), default=0.0)
        return int(longest) + 1 if longest > 0 else 0

    def count_attempt(self, name: str) -> None:
        now = self._clock()
        if name not in self._by_name and len(self._by_name) >= NAMES_TRACKED:
            # The name with the oldest attempt goes first: a flood of names must not fill the memory.
            self._by_name.pop(next(iter(self._by_name)))
        tries = self._by_name.pop(name, deque(maxlen=ATTEMPTS_BY_NAME))
        tries.append(now)
        self._by_name[name] = tries
        self._all.append(now)

    def forget_attempt(self, name: str) -> None:
        """The attempt that was just counted has succeeded."""
        self._by_name.pop(name, None)
        if self._all:
            self._all.pop()


class SignInPage(Struct, frozen=True):
    """The form; `refused` says why the last attempt failed."""

    answer: str
    refused: str
    after: str
    name: str


def sign_in_page(after: str, refused: str = "", name: str = "") -> SignInPage:
    answer = "With your name and password, or with an API key."
    return SignInPage(answer, refused, after if is_own(after) else "/", name)


def is_own(path: str) -> bool:
    """Whether an address is one of our pages, and not a redirect to another site."""
    return path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()


async def show(request: Request) -> Response:
    return respond(request, "sign-in.html", sign_in_page(request.query_params.get("next", "/")))


async def enter(request: Request) -> Response:
    form = await read_form(request)
    store, after, name = host_of(request).store, form.get("next", "/"), form.get("name", "").strip()[:MAX_NAME]
    key_id, refused = "", WRONG_KEY
    if "key" in form:
        secret = form["key"].strip()
        caller = await caller_by_secret(store, secret) if secret else None
        key_id = caller.id if caller else ""
    else:
        throttle: SignInThrottle = request.app.state.throttle
        if seconds := throttle.seconds_to_wait(name):
            too_often = f"Too many tries that failed: wait {seconds} seconds."
            return respond(request, "sign-in.html", sign_in_page(after, too_often, name), 429)
        # Counted before the check, so that many attempts at once do not get through together.
        throttle.count_attempt(name)
        password, refused = form.get("password", ""), WRONG_PASSWORD
        key = await key_for_password(store, name, password) if name and password else None
        if key is not None:
            throttle.forget_attempt(name)
            key_id = key.id
    if not key_id:
        return respond(request, "sign-in.html", sign_in_page(after, refused, name), 401)
    response = RedirectResponse(after if is_own(after) else "/", 303)
    sessions: SessionCookies = request.app.state.sessions
    # A new session, so that a session id planted before signing in is worth nothing.
    sessions.set_cookie(response, sessions.new(key_id))
    return response


async def leave(request: Request) -> Response:
    response = RedirectResponse("/sign-in", 303)
    sessions: SessionCookies = request.app.state.sessions
    sessions.delete_cookie(response)
    return response


ROUTES = [
    PageRoute("/sign-in", show, None),
    PageRoute("/sign-in", enter, None, "POST"),
    PageRoute("/sign-out", leave, None, "POST"),
]
