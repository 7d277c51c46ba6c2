"""The cache of replies: keys by content, shared by all runs; and calls under way, so that equal ones are made once."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable

import msgspec

from howsure.errors import CaseFailure
from howsure.llm.base import Cache, Completion, ModelRequest, ModelSpec
from howsure.llm.messages import CallSettings

FORMAT = 1
"""Raised when the same request would be answered differently, or a stored reply read differently."""
_SORTED = msgspec.json.Encoder(order="deterministic")
_PLAIN = msgspec.json.Encoder()


class CacheKeys:
    """The keys of one model: SHA-256 over everything that shapes the answer.

    A schema keeps its order, because models answer in it; settings do not have one.
    """

    def __init__(self, spec: ModelSpec) -> None:
        model = [FORMAT, spec.provider, spec.base_url, spec.api_version, spec.model]
        self._model_digest = hashlib.sha256(_PLAIN.encode(model))
        self._settings: CallSettings | None = None
        self._settings_digest = self._model_digest

    def key(self, request: ModelRequest, settings: CallSettings) -> bytes:
        if self._settings is not settings:
            # Nearly every request has the same settings as the last one.
            self._settings, self._settings_digest = settings, self._model_digest.copy()
            self._settings_digest.update(_SORTED.encode(settings))
        digest = self._settings_digest.copy()
        digest.update(_PLAIN.encode((request.schema, request.tools, request.namespace, request.messages)))
        return digest.digest()


class MemoryCache:
    """A `Cache` that ends with the process."""

    def __init__(self) -> None:
        self._replies: dict[bytes, bytes] = {}

    def __len__(self) -> int:
        return len(self._replies)

    async def get(self, key: bytes) -> bytes | None:
        return self._replies.get(key)

    async def put(self, key: bytes, value: bytes) -> None:
        self._replies[key] = value


class NoCache:
    """A `Cache` that holds nothing. Calls through it are not shared, either: every one is asked (`--no-cache`)."""

    async def get(self, key: bytes) -> bytes | None:
        return None

    async def put(self, key: bytes, value: bytes) -> None:
        return None


class RenewedCache:
    """A `Cache` whose replies are asked anew, once, and replaced: for attempts that errored, because what a judge
    replied may be why."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._renewed: set[bytes] = set()

    async def get(self, key: bytes) -> bytes | None:
        return await self._cache.get(key) if key in self._renewed else None

    async def put(self, key: bytes, value: bytes) -> None:
        self._renewed.add(key)
        await self._cache.put(key, value)


_DECODER = msgspec.json.Decoder(Completion)


def encode_completion(completion: Completion) -> bytes:
    return _PLAIN.encode(completion)


def decode_completion(value: bytes) -> Completion | None:
    """None: another program or version wrote this value, so the model is asked again."""
    try:
        return _DECODER.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


CallResult = asyncio.Future[Completion | CaseFailure | None]
"""The outcome of a call under way; None: its caller was cancelled."""


class PendingCalls:
    """Calls under way, so that equal ones are made once."""

    def __init__(self) -> None:
        # None: under way, and nobody else waits for it yet.
        self._pending: dict[bytes, CallResult | None] = {}

    async def once(self, key: bytes, ask: Callable[[], Awaitable[Completion]]) -> tuple[Completion, bool]:
        """The completion, and whether another caller's call made it. A failure is shared, too; when a caller is
        cancelled, the others ask for themselves."""
        while key in self._pending:
            future = self._pending[key] or asyncio.get_running_loop().create_future()
            self._pending[key] = future
            result = await asyncio.shield(future)
            if isinstance(result, CaseFailure):
                raise type(result)(*result.args)
            if result is not None:
                return result, True
        self._pending[key] = None
        result = None
        try:
            result = completion = await ask()
            return completion, False
        except CaseFailure as failure:
            result = failure
            raise
        finally:
            if (waiting := self._pending.pop(key)) is not None:
                waiting.set_result(result)
