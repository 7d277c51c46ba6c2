"""The worker's side of the coordinator: a limiter that takes its calls and tokens from leases of the cluster's rates, a
budget that spends leases of the run's, and a cache that all workers share. A call costs no round trip."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from time import monotonic
from typing import Protocol

from howsure.errors import BudgetReached
from howsure.llm.base import ModelSpec
from howsure.llm.limits import CallLimiter
from howsure.model.llm_settings import RateLimits
from howsure.model.transcript import Usage
from howsure.services.cluster.coordinator import BudgetLease

LONGEST = 0.1
"""Seconds' worth of the whole rate that one lease holds at most: it bounds what a worker can hoard."""
QUICK = 0.1
"""A lease that is used up within this many seconds was too small."""

TokenRequest = Callable[[float], Awaitable[float]]
"""Gives the seconds to wait before this many tokens may be used; a negative number gives tokens back."""


class LeasedTokens:
    """Tokens that were leased and are not used yet: more at a time where the last lease was too small, fewer where it
    was too large. A call that finds none waits in line; the next lease is requested before the last is used up."""

    def __init__(self, ask: TokenRequest, per_minute: float, clock: Callable[[], float] = monotonic) -> None:
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
            if turn.done() and not turn.cancelled():
                self._held += amount
            else:
                self._line = deque(each for each in self._line if each[1] is not turn)
                self._wanted -= amount
            self._serve()
            raise

    def correct(self, more: float) -> None:
        """Book what a call took beyond its estimate; negative if it took less."""
        self._held -= more

    async def give_back(self) -> None:
        """Return what was not used."""
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.wait([self._fetching])
        if self._held > 0:
            await self._ask(-self._held)
            self._held = 0.0

    def _fetch(self) -> None:
        if self._short() > 0 and (self._fetching is None or self._fetching.done()):
            self._fetching = asyncio.get_running_loop().create_task(self._fetched())

    def _short(self) -> float:
        """What is missing until those in line are served and half a lease is ready."""
        return self._wanted + self._lot / 2 - self._held - self._coming

    async def _fetched(self) -> None:
        while self._short() > 0:
            now = self._clock()
            used_up_in, self._asked_at = now - self._asked_at, now
            self._lot = min(self._largest, self._lot * 2) if used_up_in < QUICK else max(1.0, self._lot / 2)
            first = self._line[0][0] if self._line else 1.0
            amount = max(first, min(self._largest, max(self._lot, self._wanted - self._held - self._coming)))
            self._coming += amount
            wait = await self._ask(amount)
            asyncio.get_running_loop().call_later(wait, self._landed, amount)
            if wait > LONGEST:
                # Enough is on its way; asking for more now would only create a debt.
                await asyncio.sleep(wait - LONGEST)

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


BATCH = 20
"""Replies that are collected before they are sent to the shared cache."""


class LeaseSource(Protocol):
    """The coordinator, wherever it is."""

    async def pace(self, model: str, kind: str, per_minute: float, amount: float) -> float: ...

    async def lease(self, worker: str, usd: float, tokens: float) -> BudgetLease: ...

    async def settle(self, worker: str, usd: float, tokens: float) -> None: ...

    async def get(self, key: bytes) -> bytes | None: ...

    async def put(self, pairs: list[tuple[bytes, bytes]]) -> None: ...


class LeasedBudget:
    """A `Budget` (llm/base.py) over all workers. A lease is renewed in the limiter, where there is time to wait."""

    def __init__(self, coordinator: LeaseSource, worker: str, clock: Callable[[], float] = monotonic) -> None:
        self._coordinator = coordinator
        self._worker = worker
        self._clock = clock
        self._lease: BudgetLease | None = None
        self._until = float("inf")
        self._usd = 0.0
        self._tokens = 0.0
        self._renewing = asyncio.Lock()

    def reserve(self) -> None:
        if self._lease is not None and self._lease.reached:
            raise BudgetReached(self._lease.reached)

    def settle(self, usage: Usage, cost_usd: float | None) -> None:
        counts = (usage.prompt_tokens, usage.completion_tokens, usage.thinking_tokens)
        self._tokens += sum(count for count in counts if count is not None)
        self._usd += cost_usd or 0.0

    async def ready(self) -> None:
        """Wait for a lease that is not used up, or for the end of the budget."""
        while self._is_used_up():
            async with self._renewing:
                if self._is_used_up():
                    await self._renew()

    async def give_back(self) -> None:
        """Return the rest of the lease; whoever goes on needs another."""
        usd, tokens, self._usd, self._tokens = self._usd, self._tokens, 0.0, 0.0
        self._lease = None
        await self._coordinator.settle(self._worker, usd, tokens)

    def _is_used_up(self) -> bool:
        lease = self._lease
        if lease is None:
            return True
        if lease.reached:
            return False
        spent = (lease.usd is not None and self._usd >= lease.usd) or (
            lease.tokens is not None and self._tokens >= lease.tokens
        )
        return spent or self._clock() >= self._until

    async def _renew(self) -> None:
        usd, tokens, self._usd, self._tokens = self._usd, self._tokens, 0.0, 0.0
        # The old lease must not look unused while the new one is requested.
        self._lease = None
        lease = await self._coordinator.lease(self._worker, usd, tokens)
        if lease.wait:
            await asyncio.sleep(lease.wait)
            return
        self._until = float("inf") if lease.seconds is None else self._clock() + lease.seconds
        self._lease = lease


class LeasedLimiter(CallLimiter):
    """A limiter whose rates hold over the whole cluster. How many calls are in flight, and what refusals teach, is each
    worker's own."""

    def __init__(
        self,
        most: int,
        requests: LeasedTokens | None,
        tokens: LeasedTokens | None,
        budget: LeasedBudget | None = None,
    ) -> None:
        super().__init__(most, RateLimits(), monotonic)
        self._request_stock = requests
        self._token_stock = tokens
        self._budget = budget

    @property
    def counts_tokens(self) -> bool:
        return self._token_stock is not None

    async def acquire(self, tokens: float = 0.0, again: bool = False) -> None:
        await super().acquire(tokens, again)
        try:
            if self._request_stock is not None:
                await self._request_stock.take()
            if self._token_stock is not None:
                await self._token_stock.take(tokens)
            if self._budget is not None:
                await self._budget.ready()
        except asyncio.CancelledError:
            self._give_up()
            raise

    def correct(self, estimated: float, used: float) -> None:
        if self._token_stock is not None:
            self._token_stock.correct(used - estimated)


class WorkerLeases:
    """Makes the limiters of a worker, and returns what it has not used."""

    def __init__(self, coordinator: LeaseSource, budget: LeasedBudget | None) -> None:
        self._coordinator = coordinator
        self._budget = budget
        self._stocks: list[LeasedTokens] = []

    def limiter(self, spec: ModelSpec, most: int, rates: RateLimits) -> CallLimiter:
        requests = self._stock(spec, "requests", rates.requests_per_minute)
        return LeasedLimiter(most, requests, self._stock(spec, "tokens", rates.tokens_per_minute), self._budget)

    def _stock(self, spec: ModelSpec, kind: str, per_minute: float | None) -> LeasedTokens | None:
        if not per_minute:
            return None
        self._stocks.append(LeasedTokens(partial(self._coordinator.pace, str(spec), kind, per_minute), per_minute))
        return self._stocks[-1]

    async def give_back(self) -> None:
        for stock in self._stocks:
            await stock.give_back()
        if self._budget is not None:
            await self._budget.give_back()


class SharedCache:
    """A `Cache` (llm/base.py) that all workers share; it knows the worker's own latest replies itself."""

    def __init__(self, coordinator: LeaseSource) -> None:
        self._coordinator = coordinator
        self._waiting: dict[bytes, bytes] = {}

    async def get(self, key: bytes) -> bytes | None:
        return self._waiting.get(key) or await self._coordinator.get(key)

    async def put(self, key: bytes, value: bytes) -> None:
        self._waiting[key] = value
        if len(self._waiting) >= BATCH:
            await self.flush()

    async def flush(self) -> None:
        if batch := list(self._waiting.items()):
            await self._coordinator.put(batch)
            for key, value in batch:
                if self._waiting.get(key) is value:
                    del self._waiting[key]
