"""Browser sessions: a signed cookie that no script can read, and the token that every form of a session carries. On the
service's own machine nobody signs in; elsewhere a session belongs to a key."""

from __future__ import annotations

import hmac
from hashlib import sha256
from secrets import token_bytes, token_urlsafe
from time import time

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

COOKIE = "howsure_session"
TOKEN_FIELD = "csrf"
TOKEN_HEADER = "x-csrf-token"
LIFETIME_SECONDS = 12 * 3600


class BrowserSession(Struct, frozen=True):
    """The session of one browser. `key_id` is the key it signed in with, "" where no key is needed."""

    id: str
    key_id: str
    until: int


class SessionCookies:
    """Writes and reads the signed cookies. The secret lives as long as the process: a restart signs everybody out."""

    def __init__(self, secret: bytes | None = None, *, secure: bool = False) -> None:
        self._secret = secret or token_bytes(32)
        self._secure = secure

    def new(self, key_id: str = "") -> BrowserSession:
        return BrowserSession(token_urlsafe(18), key_id, int(time()) + LIFETIME_SECONDS)

    def read(self, request: Request) -> BrowserSession | None:
        """The session of a request; None where it has none, or a forged or expired one."""
        text, _, signature = request.cookies.get(COOKIE, "").rpartition(".")
        if not text or not hmac.compare_digest(signature, self._sign(text)):
            return None
        parts = text.split("|")
        if len(parts) != 3 or not parts[2].isdecimal() or int(parts[2]) < time():
            return None
        return BrowserSession(parts[0], parts[1], int(parts[2]))

    def set_cookie(self, response: Response, session: BrowserSession) -> None:
        text = f"{session.id}|{session.key_id}|{session.until}"
        response.set_cookie(
            COOKIE,
            f"{text}.{self._sign(text)}",
            max_age=LIFETIME_SECONDS,
            httponly=True,
            samesite="strict",
            secure=self._secure,
            path="/",
        )

    def delete_cookie(self, response: Response) -> None:
        response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict", secure=self._secure)

    def token(self, session: BrowserSession) -> str:
        """The token that forms of this session carry."""
        return self._sign(f"csrf|{session.id}")

    def is_valid_token(self, session: BrowserSession, token: str) -> bool:
        return hmac.compare_digest(token, self.token(session))

    def _sign(self, text: str) -> str:
        return hmac.new(self._secret, text.encode(), sha256).hexdigest()
