"""What the routes of all pages use: the route itself, the caller and the context of a request, cursors and forms; and
two small caches, of results that are valid until their runs change and of reads that may be two seconds old."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Awaitable, Callable, Hashable, Sequence
from time import monotonic
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from howsure.errors import InputError
from howsure.model.run import Run, RunState
from howsure.services.host.context import Host
from howsure.services.host.keys import Caller, caller_by_key_id
from howsure.services.host.run_views import RunViews
from howsure.store.keys import KeyScope

MAX_ENTRIES = 64
MAX_AGE_SECONDS = 2.0
T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


class ResultCache:
    """`await cache(key, compute)` computes once for each key; the least recently used entry goes first. Errors are not
    cached."""

    def __init__(self, max_entries: int = MAX_ENTRIES) -> None:
        self._max_entries = max_entries
        self._entries: dict[Hashable, Any] = {}

    async def __call__(self, key: Hashable, compute: Callable[[], Awaitable[T]]) -> T:
        if key in self._entries:
            value: T = self._entries.pop(key)
        else:
            value = await compute()
        # Inserted at the end: the first entry is the least recently used one.
        self._entries[key] = value
        while len(self._entries) > self._max_entries:
            self._entries.pop(next(iter(self._entries)))
        return value


class TimedCache(Generic[K, T]):
    """Reads at most every two seconds for each key, whatever the number of viewers; again after `clear`."""

    def __init__(self, read: Callable[[K], Awaitable[T]], clock: Callable[[], float] = monotonic) -> None:
        self._read = read
        self._clock = clock
        self._entries: dict[K, tuple[float, T]] = {}

    async def __call__(self, key: K) -> T:
        now = self._clock()
        self._entries = {each: entry for each, entry in self._entries.items() if now - entry[0] < MAX_AGE_SECONDS}
        if key not in self._entries:
            self._entries[key] = (now, await self._read(key))
        return self._entries[key][1]

    def clear(self) -> None:
        self._entries = {}


def run_states_key(runs: Sequence[Run]) -> tuple[tuple[str, RunState, int, int], ...]:
    """A cache key that changes when one of the runs changes."""
    return tuple((run.id, run.state, run.counts.completed, run.counts.passed) for run in runs)


Endpoint = Callable[[Request], Awaitable[Response]]
LARGEST_FORM = 1_000_000
WRITES_NOTHING = "writes_nothing"
"""The name in a request's state that a POST sets when it changes nothing: such a request is not in the audit log."""


class PageRoute(Struct, frozen=True):
    """The route of a page, with the scope that it needs; None: anybody may see it."""

    path: str
    endpoint: Endpoint
    scope: KeyScope | None = KeyScope.READ
    method: str = "GET"


class NotAllowed(InputError):
    """The caller may not do that."""


def caller_of(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller


def host_of(request: Request) -> Host:
    host: Host = request.app.state.host
    return host


async def is_key_still_valid(request: Request) -> bool:
    """Whether the key of an open request is still valid: it may have been revoked since the request began."""
    if not request.app.state.keys_needed:
        return True
    return await caller_by_key_id(host_of(request).store, request.state.session.key_id) is not None


def run_views_of(request: Request) -> RunViews:
    run_views: RunViews = request.app.state.run_views
    return run_views


def cache_of(request: Request) -> ResultCache:
    cache: ResultCache = request.app.state.results
    return cache


def encode_cursor(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode()


def decode_cursor(text: str) -> str | None:
    if not text:
        return None
    try:
        return urlsafe_b64decode(text.encode()).decode()
    except (Error, ValueError):
        raise InputError("this address does not lead into the list any more: begin at its start") from None


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form; where a field occurs twice, the last one."""
    body = await request.body()
    if len(body) > LARGEST_FORM:
        raise InputError("this form is too large")
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
