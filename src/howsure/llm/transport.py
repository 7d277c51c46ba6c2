"""The contract of an HTTP client that sends a model's requests: a response, or why there is none. The real one is in
`http`, which imports aiohttp; nothing here does."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Protocol

from msgspec import Struct


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

    @property
    def is_transient(self) -> bool:
        """Whether it may be gone at the next attempt."""
        return self in (TransportFault.TIMEOUT, TransportFault.CONNECTION)


class TransportError(Exception):
    """There is no response. The message names no header."""

    def __init__(self, fault: TransportFault, message: str) -> None:
        super().__init__(message)
        self.fault = fault


class Transport(Protocol):
    """Sends a request once. Raises `TransportError` alone."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, seconds: float) -> HttpResponse: ...

    async def close(self) -> None: ...
