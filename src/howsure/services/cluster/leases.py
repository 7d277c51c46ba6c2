"""The worker's side of the desk: a gate that takes its turns from leases of the cluster's rates, a budget that spends
leases of the run's, and a cache whose replies all workers share. A call costs no round trip."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Protocol

from howsure.errors import BudgetReached
from howsure.llm.limits import Gate
from howsure.llm.specs import ModelSpec
from howsure.model.calls import Rates
from howsure.model.transcript import Usage
from howsure.services.cluster.desk import Lease
from howsure.services.cluster.stock import Stock

BATCH = 20
"""Replies that wait to be put into the shared cache."""


class FarDesk(Protocol):
    """The desk, wherever it is."""

    async def pace(self, model: str, kind: str, per_minute: float, amount: float) -> float: ...

    async def lease(self, worker: str, usd: float, tokens: float) -> Lease: ...

    async def settle(self, worker: str, usd: float, tokens: float) -> None: ...

    async def get(self, key: bytes) -> bytes | None: ...

    async def put(self, pairs: list[tuple[bytes, bytes]]) -> None: ...


class LeasedSpending:
    """A `Budget` (llm/base.py) over all workers. A lease is renewed at the gate, where there is time to wait."""

    def __init__(self, desk: FarDesk, worker: str, clock: Callable[[], float] = monotonic) -> None:
        self._desk = desk
        self._worker = worker
        self._clock = clock
        self._lease: Lease | None = None
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
        """What is left of the lease; who goes on needs another."""
        usd, tokens, self._usd, self._tokens = self._usd, self._tokens, 0.0, 0.0
        self._lease = None
        await self._desk.settle(self._worker, usd, tokens)

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
        # The old one must not look unused meanwhile.
        self._lease = None
        given = await self._desk.lease(self._worker, usd, tokens)
        if given.wait:
            await asyncio.sleep(given.wait)
            return
        self._until = float("inf") if given.seconds is None else self._clock() + given.seconds
        self._lease = given


class LeasedGate(Gate):
    """A gate whose rates hold over the whole cluster. How many calls are in flight, and what refusals teach, is each
    worker's own."""

    def __init__(
        self, most: int, requests: Stock | None, tokens: Stock | None, budget: LeasedSpending | None = None
    ) -> None:
        super().__init__(most, Rates(), monotonic)
        self._request_stock = requests
        self._token_stock = tokens
        self._budget = budget

    @property
    def counts_tokens(self) -> bool:
        return self._token_stock is not None

    async def enter(self, tokens: float = 0.0, again: bool = False) -> None:
        await super().enter(tokens, again)
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


class Leases:
    """Makes the gates of a worker, and gives back what it has not used."""

    def __init__(self, desk: FarDesk, budget: LeasedSpending | None) -> None:
        self._desk = desk
        self._budget = budget
        self._stocks: list[Stock] = []

    def gate(self, spec: ModelSpec, most: int, rates: Rates) -> Gate:
        requests = self._stock(spec, "requests", rates.requests_per_minute)
        return LeasedGate(most, requests, self._stock(spec, "tokens", rates.tokens_per_minute), self._budget)

    def _stock(self, spec: ModelSpec, kind: str, per_minute: float | None) -> Stock | None:
        if not per_minute:
            return None
        self._stocks.append(Stock(partial(self._desk.pace, str(spec), kind, per_minute), per_minute))
        return self._stocks[-1]

    async def give_back(self) -> None:
        for stock in self._stocks:
            await stock.give_back()
        if self._budget is not None:
            await self._budget.give_back()


class SharedCache:
    """A `Cache` (llm/base.py) that all workers share. What this one asked for lately it knows itself."""

    def __init__(self, desk: FarDesk) -> None:
        self._desk = desk
        self._waiting: dict[bytes, bytes] = {}

    async def get(self, key: bytes) -> bytes | None:
        return self._waiting.get(key) or await self._desk.get(key)

    async def put(self, key: bytes, value: bytes) -> None:
        self._waiting[key] = value
        if len(self._waiting) >= BATCH:
            await self.flush()

    async def flush(self) -> None:
        if batch := list(self._waiting.items()):
            await self._desk.put(batch)
            for key, value in batch:
                if self._waiting.get(key) is value:
                    del self._waiting[key]
