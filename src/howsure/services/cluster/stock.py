"""Turns under a rate that holds over many workers: leased from the desk before they are needed, more at a time where
the last lease was too small, fewer where it was too large."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from time import monotonic

LONGEST = 0.1
"""Seconds' worth of the whole rate that one lease holds at most: what a worker hoards is bounded by this."""
QUICK = 0.1
"""A lease used up within so many seconds was too small."""

Ask = Callable[[float], Awaitable[float]]
"""Gives the seconds after which so many turns may be used; a negative number is given back."""


class Stock:
    """Turns that were leased and not used yet. Who finds none waits in line; the next lease is on its way before the
    last is used up."""

    def __init__(self, ask: Ask, per_minute: float, clock: Callable[[], float] = monotonic) -> None:
        self._ask = ask
        self._clock = clock
        self._largest = max(1.0, per_minute / 60 * LONGEST)
        self._lot = 1.0
        self._held = 0.0
        self._coming = 0.0
        self._wanted = 0.0
        self._asked_at = float("-inf")
        self._line: deque[tuple[float, asyncio.Future[None]]] = deque()
        self._fetching: asyncio.Task[None] | None = None

    async def take(self, amount: float = 1.0) -> None:
        if not self._line and self._held >= amount:
            self._held -= amount
            self._fetch()
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append((amount, turn))
        self._wanted += amount
        self._fetch()
        try:
            await turn
        except asyncio.CancelledError:
            self._left(amount, turn)
            raise

    def correct(self, more: float) -> None:
        """Book what a call took beyond its estimate; less, where negative."""
        self._held -= more

    async def give_back(self) -> None:
        """What was not used goes back."""
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.wait([self._fetching])
        if self._held > 0:
            await self._ask(-self._held)
            self._held = 0.0

    def _left(self, amount: float, turn: asyncio.Future[None]) -> None:
        if turn.done() and not turn.cancelled():
            self._held += amount
        else:
            self._line = deque(each for each in self._line if each[1] is not turn)
            self._wanted -= amount
        self._serve()

    def _fetch(self) -> None:
        if self._short() > 0 and (self._fetching is None or self._fetching.done()):
            self._fetching = asyncio.get_running_loop().create_task(self._fetched())

    def _short(self) -> float:
        """What is missing until those in line are served and half a lease lies ready."""
        return self._wanted + self._lot / 2 - self._held - self._coming

    async def _fetched(self) -> None:
        while self._short() > 0:
            amount = self._sized()
            self._coming += amount
            wait = await self._ask(amount)
            asyncio.get_running_loop().call_later(wait, self._landed, amount)
            if wait > LONGEST:
                # Enough is on its way; asking for more now would only make a debt.
                await asyncio.sleep(wait - LONGEST)

    def _sized(self) -> float:
        now = self._clock()
        used_up_in, self._asked_at = now - self._asked_at, now
        self._lot = min(self._largest, self._lot * 2) if used_up_in < QUICK else max(1.0, self._lot / 2)
        first = self._line[0][0] if self._line else 1.0
        return max(first, min(self._largest, max(self._lot, self._wanted - self._held - self._coming)))

    def _landed(self, amount: float) -> None:
        self._coming -= amount
        self._held += amount
        self._serve()

    def _serve(self) -> None:
        while self._line and self._held >= self._line[0][0]:
            amount, turn = self._line.popleft()
            self._wanted -= amount
            if not turn.done():
                self._held -= amount
                turn.set_result(None)
        self._fetch()
