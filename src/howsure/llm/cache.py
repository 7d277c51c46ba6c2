"""Replies that need not be asked for again: by content, shared by all runs, and made once where many ask at once."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable

import msgspec

from howsure.errors import CaseFailure
from howsure.llm.base import Completion, Request
from howsure.llm.parts import CallSettings
from howsure.llm.specs import ModelSpec

FORMAT = 1
"""Raised when the same request would be answered differently, or a stored reply read differently."""
_SORTED = msgspec.json.Encoder(order="deterministic")
_PLAIN = msgspec.json.Encoder()


class Keys:
    """The keys of one model: SHA-256 over everything that shapes the answer.

    A schema keeps its order, because models answer in it; settings do not have one.
    """

    def __init__(self, spec: ModelSpec) -> None:
        named = [FORMAT, spec.provider.value, spec.base_url, spec.api_version, spec.model]
        self._start = hashlib.sha256(_PLAIN.encode(named))
        self._settings: CallSettings | None = None
        self._settled = self._start

    def of(self, request: Request, settings: CallSettings) -> bytes:
        if self._settings is not settings:
            # Nearly every request comes with the same ones as the last: they need not be put in again.
            self._settings, self._settled = settings, self._start.copy()
            self._settled.update(_SORTED.encode(settings))
        digest = self._settled.copy()
        digest.update(_PLAIN.encode((request.schema, request.tools, request.namespace, request.messages)))
        return digest.digest()


class MemoryCache:
    """A `Cache` that ends with the process."""

    def __init__(self) -> None:
        self._held: dict[bytes, bytes] = {}

    def __len__(self) -> int:
        return len(self._held)

    async def get(self, key: bytes) -> bytes | None:
        return self._held.get(key)

    async def put(self, key: bytes, value: bytes) -> None:
        self._held[key] = value


class NoCache:
    """A `Cache` that holds nothing. Calls through it are not shared, either: every one is asked (`--no-cache`)."""

    async def get(self, key: bytes) -> bytes | None:
        return None

    async def put(self, key: bytes, value: bytes) -> None:
        return None


_DECODER = msgspec.json.Decoder(Completion)


def packed(completion: Completion) -> bytes:
    return _PLAIN.encode(completion)


def unpacked(value: bytes) -> Completion | None:
    """None: somebody else wrote this, or another version of us; it is asked for again."""
    try:
        return _DECODER.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


Landing = asyncio.Future[Completion | CaseFailure | None]
"""What came of a call; None: whoever made it was cancelled."""


class Flights:
    """Calls under way, so that equal ones are made once."""

    def __init__(self) -> None:
        # None: under way, and nobody else waits for it yet.
        self._flying: dict[bytes, Landing | None] = {}

    async def once(self, key: bytes, ask: Callable[[], Awaitable[Completion]]) -> tuple[Completion, bool]:
        """The completion, and whether somebody else had it made. A failure is shared, too; a caller that was cancelled
        leaves the others to ask for themselves."""
        while key in self._flying:
            landed = await asyncio.shield(self._joined(key))
            if isinstance(landed, CaseFailure):
                raise type(landed)(*landed.args)
            if landed is not None:
                return landed, True
        self._flying[key] = None
        landed = None
        try:
            landed = completion = await ask()
            return completion, False
        except CaseFailure as failure:
            landed = failure
            raise
        finally:
            if (joined := self._flying.pop(key)) is not None:
                joined.set_result(landed)

    def _joined(self, key: bytes) -> Landing:
        """What those wait for who ask the same."""
        flight = self._flying[key] or asyncio.get_running_loop().create_future()
        self._flying[key] = flight
        return flight
