"""Who looks at the pages. On the service's own machine nobody signs in; elsewhere a key opens a session, which is a
signed cookie that no script can read. Every form carries a token that only our own pages know."""

from __future__ import annotations

import hmac
from hashlib import sha256
from secrets import token_bytes, token_urlsafe
from time import time

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

COOKIE = "howsure_session"
FIELD = "csrf"
HEADER = "x-csrf-token"
LASTING = 12 * 3600


class Session(Struct, frozen=True):
    """One browser. `key_id` is that of the key it signed in with; "" where nobody needs to."""

    id: str
    key_id: str
    until: int


class Sessions:
    """Makes and reads signed cookies. The secret lives as long as the process: a restart signs everybody out."""

    def __init__(self, secret: bytes | None = None, *, secure: bool = False) -> None:
        self._secret = secret or token_bytes(32)
        self._secure = secure

    def begin(self, key_id: str = "") -> Session:
        return Session(token_urlsafe(18), key_id, int(time()) + LASTING)

    def read(self, request: Request) -> Session | None:
        """The session of a request; None where there is none, or it was tampered with, or has ended."""
        text, _, signature = request.cookies.get(COOKIE, "").rpartition(".")
        if not text or not hmac.compare_digest(signature, self._sign(text)):
            return None
        parts = text.split("|")
        if len(parts) != 3 or not parts[2].isdecimal() or int(parts[2]) < time():
            return None
        return Session(parts[0], parts[1], int(parts[2]))

    def keep(self, response: Response, session: Session) -> None:
        text = f"{session.id}|{session.key_id}|{session.until}"
        response.set_cookie(
            COOKIE,
            f"{text}.{self._sign(text)}",
            max_age=LASTING,
            httponly=True,
            samesite="strict",
            secure=self._secure,
            path="/",
        )

    def forget(self, response: Response) -> None:
        response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict", secure=self._secure)

    def token(self, session: Session) -> str:
        """What forms of this session carry."""
        return self._sign(f"csrf|{session.id}")

    def is_ours(self, session: Session, given: str) -> bool:
        return hmac.compare_digest(given, self.token(session))

    def _sign(self, text: str) -> str:
        return hmac.new(self._secret, text.encode(), sha256).hexdigest()
