"""The cookies of a browser: a random token that no script can read, and the token of the forms that it is sent, which
is made from it. The store has the user of a session's cookie, by the hash of its token (`store/sessions.py`); a browser
without a session has a cookie for its forms only."""

from __future__ import annotations

import hmac
import re
from hashlib import sha256
from secrets import token_urlsafe

from starlette.requests import Request
from starlette.responses import Response

COOKIE = "howsure_session"
VISITOR_COOKIE = "howsure_visitor"
"""For forms before signing in. Its name differs from the session's: a link on another site arrives without cookies, and
what it is sent must not replace the session that this browser has."""
TOKEN_FIELD = "csrf"
TOKEN_HEADER = "x-csrf-token"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


def new_browser_token() -> str:
    return token_urlsafe(32)


def form_token(browser_token: str) -> str:
    """The token that forms of this browser carry."""
    return hmac.new(browser_token.encode(), b"forms", sha256).hexdigest()


def is_form_token(browser_token: str, token: str) -> bool:
    return hmac.compare_digest(token.encode("utf-8", "replace"), form_token(browser_token).encode())


class SessionCookies:
    """Writes and reads the cookies."""

    def __init__(self, *, secure: bool = False, hours: float = 12.0) -> None:
        self._secure = secure
        self._seconds = int(hours * 3600)

    def read(self, request: Request, name: str = COOKIE) -> str | None:
        """The token of the browser; None where it has none yet."""
        token = request.cookies.get(name, "")
        return token if _TOKEN.fullmatch(token) else None

    def set_cookie(self, response: Response, token: str, name: str = COOKIE) -> None:
        response.set_cookie(
            name, token, max_age=self._seconds, httponly=True, samesite="strict", secure=self._secure, path="/"
        )

    def delete_cookie(self, response: Response) -> None:
        response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict", secure=self._secure)
