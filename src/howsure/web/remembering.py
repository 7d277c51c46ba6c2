"""What takes long to work out and stays as it is while its runs do: kept for the next who looks, the newest few."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from time import monotonic
from typing import Any, Generic, TypeVar

from howsure.model.run import Run, RunState

MOST = 64
LASTING_SECONDS = 2.0
T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


class Remembered:
    """`await remembered(key, work_out)`: worked out once for each key. Errors are not kept."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._known: dict[Hashable, Any] = {}

    async def __call__(self, key: Hashable, work_out: Callable[[], Awaitable[T]]) -> T:
        if key in self._known:
            found: T = self._known.pop(key)
        else:
            found = await work_out()
        # At the end: what was not asked for longest is forgotten first.
        self._known[key] = found
        while len(self._known) > self._most:
            self._known.pop(next(iter(self._known)))
        return found


class Lately(Generic[K, T]):
    """Read at most every two seconds, however many are looking; anew after `forget`."""

    def __init__(self, read: Callable[[K], Awaitable[T]], clock: Callable[[], float] = monotonic) -> None:
        self._read = read
        self._clock = clock
        self._known: dict[K, tuple[float, T]] = {}

    async def __call__(self, key: K) -> T:
        now = self._clock()
        self._known = {each: kept for each, kept in self._known.items() if now - kept[0] < LASTING_SECONDS}
        if key not in self._known:
            self._known[key] = (now, await self._read(key))
        return self._known[key][1]

    def forget(self) -> None:
        self._known = {}


def as_they_are(runs: Sequence[Run]) -> tuple[tuple[str, RunState, int, int], ...]:
    """A key that changes when one of the runs does."""
    return tuple((run.id, run.state, run.counts.completed, run.counts.passed) for run in runs)
