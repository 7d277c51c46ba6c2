"""Requests to an HTTP bot and its responses, as the target and its client exchange them. No aiohttp here: it takes a
quarter of a second to import, and is loaded when a run really starts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
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
        """The address for messages, without what may be secret in it."""
        return address(self.url)


class BotResponse(Struct, frozen=True, kw_only=True):
    """A response of any status. `seconds`: from the request to the last byte, without the wait for a free
    connection."""

    request: HttpRequest
    status: int
    content_type: str = ""
    location: str = ""
    body: bytes = b""
    seconds: float = 0.0

    @property
    def summary(self) -> str:
        """`POST http://host/chat answered 500 Internal Server Error (text/html)`."""
        phrase = PHRASES.get(self.status, "")
        kind = f" ({self.content_type})" if self.content_type else ""
        return f"{self.request.method} {self.request.place} answered {f'{self.status} {phrase}'.strip()}{kind}"


class HttpClientOptions(Struct, frozen=True, kw_only=True):
    """The options of a client. `clean` removes secrets from messages; `guard` says where connections may go."""

    max_connections: int | None = None
    connect_tries: int = 1
    clean: Callable[[str], str] = str
    guard: AddressGuard | None = None


def address(url: str) -> str:
    """The address without its user, its query and its fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}"
