"""Two small caches: results that are slow to compute and valid until their runs change, and reads that may be two
seconds old."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from time import monotonic
from typing import Any, Generic, TypeVar

from howsure.model.run import Run, RunState

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
