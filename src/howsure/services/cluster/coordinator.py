"""Limits, budget and cache of a run on a cluster. The coordinator is the one place that all workers share: it leases
out what rate limits and budget allow, so that they hold over all workers together and a single call needs no round
trip; it keeps the cache of replies; and it adds up what was done and spent. It is plain Python: Ray makes an actor of
it, and tests use it directly. The worker's side: a limiter and a budget that use leases, and the shared cache."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from time import monotonic

from msgspec import Struct

from howsure.errors import BudgetReached, ConfigInvalid
from howsure.llm.base import Cache, ModelSpec
from howsure.llm.budget import Allowance, BudgetMeter, BudgetUse, parse_budget
from howsure.llm.cache import NoCache, RenewedCache
from howsure.llm.limits import CallLimiter, TokenBucket
from howsure.model.llm_settings import RateLimits
from howsure.model.run import ModelSpending
from howsure.model.transcript import Usage
from howsure.services.run.model_access import sum_spending
from howsure.store.reply_cache import ReplyCache

BURST_SECONDS = 0.5
"""What may pass at once after a pause: the rate holds from the first second on."""
ASK_AGAIN_SECONDS = 0.2
SHARE = 0.02
"""The share of the budget in one lease. A worker that dies takes the rest of its lease with it."""
PATIENCE_SECONDS = 5.0
"""How long a worker waits for the last of a budget that other workers have leased."""


class BudgetLease(Struct, frozen=True, kw_only=True):
    """What a worker may spend until it asks again; None: no limit. `reached`: nothing more, and why. `wait`: other
    workers hold the rest; ask again after this many seconds."""

    usd: float | None = None
    tokens: float | None = None
    seconds: float | None = None
    reached: str = ""
    wait: float = 0.0


class WorkerReport(Struct, frozen=True, kw_only=True):
    """What one worker did since its last report, what it spent since it began, and lines for the files of `--trace` and
    `--record-judge`."""

    worker: str
    verdicts: Mapping[str, int]
    spent: ModelSpending | None = None
    traced: bytes = b""
    recorded: bytes = b""


class ClusterProgress(Struct, frozen=True, kw_only=True):
    """What was done since the last request, and what was spent since the run began."""

    verdicts: dict[str, int]
    spent: ModelSpending
    traced: tuple[bytes, ...] = ()
    recorded: tuple[bytes, ...] = ()

    def write_logs(self, trace: str, record: str) -> None:
        """Append the new lines to the files of `--trace` and `--record-judge`; "": that one was not asked for."""
        for name, path, lines in (("--trace", trace, self.traced), ("--record-judge", record, self.recorded)):
            if path and lines:
                try:
                    with Path(path).open("ab") as file:
                        file.writelines(lines)
                except OSError as error:
                    raise ConfigInvalid(f"{name} {Path(path)}: cannot be written: {error.strerror}") from error


class RateCoordinator:
    """Shared limits, budget, cache and counts of one run. Every method is short, because workers wait for it."""

    def __init__(
        self,
        allowance: Allowance | None,
        before: ModelSpending | None = None,
        cache: Cache | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._clock = clock
        self._before = before or ModelSpending()
        self._began = clock()
        booked = BudgetUse(usd=self._before.usd, tokens=self._before.tokens, seconds=self._before.seconds)
        self._spending = BudgetMeter(allowance or Allowance(), clock, booked)
        self._cache: Cache = NoCache() if cache is None else cache
        self._buckets: dict[tuple[str, str], TokenBucket] = {}
        self._held: dict[str, BudgetLease] = {}
        self._waiting: dict[str, float] = {}
        self._verdicts: Counter[str] = Counter()
        self._spent: dict[str, ModelSpending] = {}
        self._traced: list[bytes] = []
        self._recorded: list[bytes] = []

    async def pace(self, model: str, kind: str, per_minute: float, amount: float) -> float:
        """The seconds to wait before this many calls or tokens may be used. Negative amounts are given back."""
        now = self._clock()
        bucket = self._buckets.get((model, kind))
        if bucket is None:
            bucket = self._buckets[model, kind] = TokenBucket(per_minute, now, BURST_SECONDS, full=False)
        return bucket.take(amount, now)

    async def lease(self, worker: str, usd: float, tokens: float) -> BudgetLease:
        """Book what the worker spent of its last lease, and give it another."""
        await self.settle(worker, usd, tokens)
        if reached := self._spending.reached():
            return BudgetLease(reached=reached)
        allowed, spent, held = self._spending.allowance, self._spending.spent, self._held.values()
        lease = BudgetLease(
            usd=_part(allowed.usd, spent.usd + sum(each.usd or 0.0 for each in held)),
            tokens=_part(allowed.tokens, spent.tokens + sum(each.tokens or 0.0 for each in held)),
            seconds=None if allowed.seconds is None else allowed.seconds - spent.seconds,
        )
        if 0.0 in (lease.usd, lease.tokens):
            # The others may give something back; a worker that died never does.
            since = self._waiting.setdefault(worker, self._clock())
            if self._clock() - since < PATIENCE_SECONDS:
                return BudgetLease(wait=ASK_AGAIN_SECONDS)
            amounts = f"{spent.usd:.4f} USD, {spent.tokens:,} tokens"
            return BudgetLease(reached=f"the budget is spent ({amounts}) or leased out")
        self._waiting.pop(worker, None)
        self._held[worker] = lease
        return lease

    async def settle(self, worker: str, usd: float, tokens: float) -> None:
        """Book what the worker spent, and free what it leased and did not use."""
        self._held.pop(worker, None)
        self._spending.spent.usd += usd
        self._spending.spent.tokens += int(tokens)

    async def get(self, key: bytes) -> bytes | None:
        return await self._cache.get(key)

    async def put(self, pairs: list[tuple[bytes, bytes]]) -> None:
        for key, value in pairs:
            await self._cache.put(key, value)

    async def report(self, latest: WorkerReport) -> None:
        self._verdicts.update(latest.verdicts)
        if latest.spent is not None:
            self._spent[latest.worker] = latest.spent
        self._traced += filter(None, [latest.traced])
        self._recorded += filter(None, [latest.recorded])

    async def progress(self) -> ClusterProgress:
        """What is new since the last request."""
        verdicts, self._verdicts = dict(self._verdicts), Counter()
        traced, self._traced = tuple(self._traced), []
        recorded, self._recorded = tuple(self._recorded), []
        timed = self._spending.allowance.seconds is not None
        seconds = self._before.seconds + (self._clock() - self._began if timed else 0.0)
        spent = sum_spending((self._before, *self._spent.values()), seconds)
        return ClusterProgress(verdicts=verdicts, spent=spent, traced=traced, recorded=recorded)


def _part(allowed: float | None, taken: float) -> float | None:
    """The size of the next lease: a small share of the whole, or what is left."""
    return None if allowed is None else max(0.0, min(allowed * SHARE, allowed - taken))


class RateCoordinatorActor(RateCoordinator):
    """The coordinator as a Ray actor on the driver's node, beside the file of cached replies; `replies` None: no
    cache. `asks_anew`: what the file held before is not given out, but replaced."""

    def __init__(self, budget: str, before: ModelSpending | None, replies: str | None, asks_anew: bool = False) -> None:
        self._replies = ReplyCache.open(Path(replies)) if replies else None
        cache = RenewedCache(self._replies) if self._replies and asks_anew else self._replies
        super().__init__(parse_budget(budget) if budget else None, before, cache)

    async def close(self) -> None:
        """Write what is still waiting to be written."""
        if self._replies is not None:
            await self._replies.__aexit__()
            self._replies = None


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


class LeasedBudget:
    """A `Budget` (llm/base.py) over all workers. A lease is renewed in the limiter, where there is time to wait."""

    def __init__(self, coordinator: RateCoordinator, worker: str, clock: Callable[[], float] = monotonic) -> None:
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
        self, most: int, requests: LeasedTokens | None, tokens: LeasedTokens | None, budget: LeasedBudget | None = None
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

    def __init__(
        self, coordinator: RateCoordinator, budget: LeasedBudget | None, clock: Callable[[], float] = monotonic
    ) -> None:
        self._coordinator = coordinator
        self._budget = budget
        self._clock = clock
        self._stocks: list[LeasedTokens] = []

    def limiter(self, spec: ModelSpec, most: int, rates: RateLimits) -> CallLimiter:
        requests = self._stock(spec, "requests", rates.requests_per_minute)
        return LeasedLimiter(most, requests, self._stock(spec, "tokens", rates.tokens_per_minute), self._budget)

    def _stock(self, spec: ModelSpec, kind: str, per_minute: float | None) -> LeasedTokens | None:
        if not per_minute:
            return None
        ask = partial(self._coordinator.pace, str(spec), kind, per_minute)
        self._stocks.append(LeasedTokens(ask, per_minute, self._clock))
        return self._stocks[-1]

    async def give_back(self) -> None:
        for stock in self._stocks:
            await stock.give_back()
        if self._budget is not None:
            await self._budget.give_back()


class SharedCache:
    """A `Cache` (llm/base.py) that all workers share; it knows the worker's own latest replies itself."""

    def __init__(self, coordinator: RateCoordinator) -> None:
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
