"""The coordinator of a run on a cluster: the one place that all workers share. It leases out what rate limits and
budget allow, so that they hold over all workers together and a single call needs no round trip; it keeps the cache of
replies; and it adds up what was done and spent. It is plain Python: Ray makes an actor of it, and tests use it
directly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic

from msgspec import Struct

from howsure.llm.base import Cache
from howsure.llm.budget import Allowance, BudgetMeter, parse_budget
from howsure.llm.budget import BudgetUse as Booked
from howsure.llm.cache import NoCache
from howsure.llm.limits import TokenBucket
from howsure.model.run import ModelSpending
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


class LeasedAmount(Struct):
    """What one worker holds of the budget."""

    usd: float = 0.0
    tokens: float = 0.0


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
        booked = Booked(usd=self._before.usd, tokens=self._before.tokens, seconds=self._before.seconds)
        self._spending = BudgetMeter(allowance or Allowance(), clock, booked)
        self._cache: Cache = NoCache() if cache is None else cache
        self._buckets: dict[tuple[str, str], TokenBucket] = {}
        self._accounts: dict[str, LeasedAmount] = {}
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
        spending, held = self._spending, self._accounts.pop(worker, LeasedAmount())
        spending.spent.usd += usd
        spending.spent.tokens += int(tokens)
        reached, allowed = spending.reached(), spending.allowance
        if reached:
            return BudgetLease(reached=reached)
        lease = BudgetLease(
            usd=_part(allowed.usd, spending.spent.usd + sum(each.usd for each in self._accounts.values())),
            tokens=_part(allowed.tokens, spending.spent.tokens + sum(each.tokens for each in self._accounts.values())),
            seconds=None if allowed.seconds is None else allowed.seconds - spending.spent.seconds,
        )
        if 0.0 in (lease.usd, lease.tokens):
            # The others may give something back; a worker that died never does.
            since = self._waiting.setdefault(worker, self._clock())
            if self._clock() - since < PATIENCE_SECONDS:
                return BudgetLease(wait=ASK_AGAIN_SECONDS)
            spent = f"{spending.spent.usd:.4f} USD, {spending.spent.tokens:,} tokens"
            return BudgetLease(reached=f"the budget is spent ({spent}) or leased out")
        self._waiting.pop(worker, None)
        held.usd, held.tokens = lease.usd or 0.0, lease.tokens or 0.0
        self._accounts[worker] = held
        return lease

    async def settle(self, worker: str, usd: float, tokens: float) -> None:
        """The worker is done: what it leased and did not use is free for others."""
        self._accounts.pop(worker, None)
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
        return ClusterProgress(verdicts=verdicts, spent=self._total(), traced=traced, recorded=recorded)

    def _total(self) -> ModelSpending:
        every = (self._before, *self._spent.values())
        timed = self._spending.allowance.seconds is not None
        return ModelSpending(
            usd=sum(each.usd for each in every),
            tokens=sum(each.tokens for each in every),
            seconds=self._before.seconds + (self._clock() - self._began if timed else 0.0),
            calls=sum(each.calls for each in every),
            cached=sum(each.cached for each in every),
            unpriced=sum(each.unpriced for each in every),
        )


def _part(allowed: float | None, taken: float) -> float | None:
    """The size of the next lease: a small share of the whole, or what is left."""
    return None if allowed is None else max(0.0, min(allowed * SHARE, allowed - taken))


class RateCoordinatorActor(RateCoordinator):
    """The coordinator as a Ray actor on the driver's node, beside the file of cached replies; `replies` None: no
    cache."""

    def __init__(self, budget: str, before: ModelSpending | None, replies: str | None) -> None:
        self._replies = ReplyCache.open(Path(replies)) if replies else None
        super().__init__(parse_budget(budget) if budget else None, before, self._replies)

    async def close(self) -> None:
        """Write what is still waiting to be written."""
        if self._replies is not None:
            await self._replies.__aexit__()
            self._replies = None
