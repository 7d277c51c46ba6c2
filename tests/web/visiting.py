"""Somebody who looks at the pages without a browser: cookies are kept, forms carry the token of the session, and where
an answer leads is looked at before it is followed."""

from __future__ import annotations

import json
import re
from email.message import Message
from http.cookiejar import CookieJar
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, HTTPRedirectHandler, Request, build_opener

from msgspec import Struct

TOKEN = re.compile(r'name="csrf" value="([0-9a-f]+)"')


class Reply(Struct, frozen=True):
    """What was answered."""

    status: int
    text: str
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def leads_to(self) -> str:
        return self.headers.get("location", "")


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


class Visitor:
    """One browser's worth of cookies."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.cookies = CookieJar()
        self._opener = build_opener(HTTPCookieProcessor(self.cookies), _Stay())

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = Request(self.base + path, data=body, headers=named, method=method)
        try:
            with self._opener.open(request, timeout=30) as response:
                return _reply(response.status, response.read(), response.headers)
        except HTTPError as error:
            with error:
                return _reply(error.code, error.read(), error.headers)

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, None, **headers)

    def data(self, path: str) -> Any:
        """The page as JSON."""
        return self.get(path, Accept="application/json").json

    def token(self) -> str:
        found = TOKEN.search(self.get("/sign-in").text)
        assert found is not None
        return found[1]

    def post(self, path: str, fields: Any = (), **headers: str) -> Reply:
        """A form of ours."""
        pairs = [*(fields.items() if isinstance(fields, dict) else fields), ("csrf", self.token())]
        return self.ask("POST", path, urlencode(pairs).encode(), **headers)

    def bring(self, path: str, content: bytes) -> Reply:
        """A file, as the page's script sends it."""
        return self.ask("POST", path, content, X_CSRF_Token=self.token(), Content_Type="application/octet-stream")

    @property
    def session_cookie(self) -> str:
        """The token of the session; "" before signing in."""
        return next((str(cookie.value) for cookie in self.cookies if cookie.name == "howsure_session"), "")

    def sign_in(self, secret: str) -> Visitor:
        assert self.post("/sign-in", {"key": secret}).status == 303
        return self


def _reply(status: int, body: bytes, headers: Message) -> Reply:
    return Reply(status, body.decode("utf-8", "replace"), {name.lower(): value for name, value in headers.items()})
