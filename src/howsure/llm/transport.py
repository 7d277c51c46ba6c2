"""Requests and responses of HTTP, and the contract of a client that sends a model's requests: a response, or why there
is none. The real one is in `http`, which imports aiohttp; nothing here does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from errno import EACCES
from typing import Protocol
from urllib.parse import urlsplit

from msgspec import Struct

LARGEST = 32 * 1024 * 1024


class HttpRequest(Struct, frozen=True, kw_only=True):
    """One request. At most `largest` bytes of the response are read, and not beyond `stop`, which ends an answer whose
    connection stays open."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None
    largest: int = LARGEST
    stop: bytes | None = None

    @property
    def place(self) -> str:
        """The address for messages, without its user, query and fragment, which may be secret."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


class HttpResponse(Struct, frozen=True):
    """An HTTP response of any status. Header names are found in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class TransportFault(Enum):
    """Why there is no response."""

    TIMEOUT = "timed out"
    CONNECTION = "no connection"
    TLS = "no trusted connection"
    TOO_LARGE = "too large"


class TransportError(Exception):
    """There is no response. The message names no header."""

    def __init__(self, fault: TransportFault, message: str) -> None:
        super().__init__(message)
        self.fault = fault


class Transport(Protocol):
    """Sends a request once. Raises `TransportError` alone."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, seconds: float) -> HttpResponse: ...

    async def close(self) -> None: ...


AddressGuard = Callable[[str, str, int], bool]
"""Whether a connection may be made: the host as it was written, its address, and the port (the SSRF guard). It is asked
after the name was resolved and right before the connection: a harmless name may lead elsewhere a moment later."""

WHY = (
    "this host leads to an address that the service may not call; its operator can list the address under "
    "`service.hosts`, or name the target under `targets`"
)


class AddressRefused(OSError):
    """A connection to this address is not allowed. The message does not name it: the user may not be meant to know."""

    def __init__(self) -> None:
        super().__init__(EACCES, WHY)
