"""What the HTTP target and its client hand to each other. No aiohttp here: that takes a quarter of a second to import,
and is loaded when a run really starts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Protocol
from urllib.parse import urlsplit

from msgspec import Struct

from howsure.errors import TargetFailed
from howsure.llm.address_guard import AddressGuard

LARGEST = 16 * 1024 * 1024
"""The largest body that is read, in bytes."""

PHRASES = {status.value: status.phrase for status in HTTPStatus}


class TargetUnreachable(TargetFailed):
    """There was no connection, or it broke."""


class HttpRequest(Struct, frozen=True, kw_only=True):
    """One request, ready to be sent. `stop`: bytes that end the answer although the connection stays open."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None
    stop: bytes | None = None

    @property
    def place(self) -> str:
        """Where it goes, for messages: without what may be secret in it."""
        return address(self.url)


class BotResponse(Struct, frozen=True, kw_only=True):
    """A response, whatever it says. `seconds`: from the request to its last byte, without any wait for a place."""

    request: HttpRequest
    status: int
    content_type: str = ""
    location: str = ""
    body: bytes = b""
    seconds: float = 0.0

    @property
    def said(self) -> str:
        """`POST http://host/chat answered 500 Internal Server Error (text/html)`."""
        phrase = PHRASES.get(self.status, "")
        kind = f" ({self.content_type})" if self.content_type else ""
        return f"{self.request.method} {self.request.place} answered {f'{self.status} {phrase}'.strip()}{kind}"


class HttpClientOptions(Struct, frozen=True, kw_only=True):
    """How a client behaves. `clean` takes secrets out of messages; `guard` says where connections may go."""

    max_connections: int | None = None
    connect_tries: int = 1
    clean: Callable[[str], str] = str
    guard: AddressGuard | None = None


class Cookies(Protocol):
    """The cookies of one conversation."""


class Client(Protocol):
    """Sends requests; raises `TargetFailed` (`TargetUnreachable`, `TargetTimedOut`) where there is no response."""

    def cookies(self) -> Cookies: ...

    async def send(self, request: HttpRequest, seconds: float, cookies: Cookies | None = None) -> BotResponse: ...

    async def close(self) -> None: ...


def address(url: str) -> str:
    """The address without its user, its query and its fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}"
