"""Shared parts of the routes of all pages: the route itself, the content and the caller of a request, cursors and
forms; and two small caches, of results that are valid until their runs change and of reads that may be two seconds
old."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Awaitable, Callable, Hashable, Sequence
from time import monotonic
from typing import Any, Generic, TypeVar, cast
from urllib.parse import parse_qsl

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from howsure.errors import NUL, InputError
from howsure.model.run import Run, RunState
from howsure.services.host.keys import Caller
from howsure.services.host.roles import Permission
from howsure.services.host.run_views import RunViews
from howsure.services.workspace import Host
from howsure.store.pages import is_number

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
MAX_FIELDS = 1_000
WRITES_NOTHING = "audited"
"""The name in a request's state that a POST sets when it changes nothing: such a request is not in the audit log."""


class PageRoute(Struct, frozen=True):
    """The route of a page, with the permission that it needs."""

    path: str
    endpoint: Endpoint
    permission: Permission = Permission.READ
    method: str = "GET"


class NotAllowed(InputError):
    """The caller may not do that."""


def caller_of(request: Request) -> Caller:
    return cast(Caller, request.state.caller)


def host_of(request: Request) -> Host:
    return cast(Host, request.app.state.host)


def run_views_of(request: Request) -> RunViews:
    return cast(RunViews, request.app.state.run_views)


def cache_of(request: Request) -> ResultCache:
    return cast(ResultCache, request.app.state.results)


async def requested_run(request: Request) -> Run:
    """The run that the address names; NotFound where the caller may not see it."""
    return await host_of(request).store.run(request.path_params["run_id"], caller_of(request).within)


def number_in_query(request: Request, name: str) -> int:
    """The number of this name in the query; 0 if there is none."""
    text = request.query_params.get(name, "")
    return int(text) if is_number(text) else 0


def encode_cursor(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode()


def decode_cursor(text: str) -> str | None:
    if not text:
        return None
    try:
        return urlsafe_b64decode(text.encode()).decode().replace("\0", "")
    except (Error, ValueError):
        raise InputError("this address does not lead into the list any more: begin at its start") from None


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form; where a field occurs twice, the last one. Its size was limited while it came."""
    try:
        fields = parse_qsl(
            (await request.body()).decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MAX_FIELDS
        )
    except ValueError:
        raise InputError(f"a form has at most {MAX_FIELDS} fields") from None
    if any("\0" in text for field in fields for text in field):
        raise InputError(f"{NUL} stands in the form: take it out")
    return dict(fields)
