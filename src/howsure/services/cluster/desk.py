"""The desk of a run on a cluster: one place that all its workers share. It leases out what the rates and the budget
allow, so that they hold over all workers together and a call asks nobody; keeps the cache of replies; and adds up what
was done and spent. Plain Python: Ray makes an actor of it, and tests use it as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from time import monotonic

from msgspec import Struct

from howsure.llm.base import Cache
from howsure.llm.budget import Allowance, Spending
from howsure.llm.budget import Spent as Booked
from howsure.llm.cache import NoCache
from howsure.llm.limits import Bucket
from howsure.model.run import Spent

BURST_SECONDS = 0.5
"""What may pass at once after a pause: a rate is held from the first second on."""
ASK_AGAIN_SECONDS = 0.2
SHARE = 0.02
"""Of a budget, in one lease. A worker that dies takes what is left of its lease with it."""
PATIENCE_SECONDS = 5.0
"""How long the last of a budget is waited for that others have leased."""


class Lease(Struct, frozen=True, kw_only=True):
    """What a worker may spend until it asks again; None: as much as it takes. `reached`: nothing more, and why.
    `wait`: others hold the rest; ask again in so many seconds."""

    usd: float | None = None
    tokens: float | None = None
    seconds: float | None = None
    reached: str = ""
    wait: float = 0.0


class Report(Struct, frozen=True, kw_only=True):
    """What one worker has done since its last report, and spent since it began; and lines for the files of `--trace`
    and `--record-judge`."""

    worker: str
    verdicts: Mapping[str, int]
    spent: Spent | None = None
    traced: bytes = b""
    recorded: bytes = b""


class Progress(Struct, frozen=True, kw_only=True):
    """What was done since somebody last asked, and spent since the run began."""

    verdicts: dict[str, int]
    spent: Spent
    traced: tuple[bytes, ...] = ()
    recorded: tuple[bytes, ...] = ()


class _Account(Struct):
    """What one worker holds of the budget."""

    usd: float = 0.0
    tokens: float = 0.0


class Desk:
    """Every method is short: workers wait for it."""

    def __init__(
        self,
        allowance: Allowance | None,
        before: Spent | None = None,
        cache: Cache | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._clock = clock
        self._before = before or Spent()
        self._began = clock()
        booked = Booked(usd=self._before.usd, tokens=self._before.tokens, seconds=self._before.seconds)
        self._spending = Spending(allowance or Allowance(), clock, booked)
        self._cache: Cache = NoCache() if cache is None else cache
        self._buckets: dict[tuple[str, str], Bucket] = {}
        self._accounts: dict[str, _Account] = {}
        self._waiting: dict[str, float] = {}
        self._verdicts: Counter[str] = Counter()
        self._spent: dict[str, Spent] = {}
        self._traced: list[bytes] = []
        self._recorded: list[bytes] = []

    async def pace(self, model: str, kind: str, per_minute: float, amount: float) -> float:
        """The seconds after which so many calls, or tokens, may be used. Negative amounts are given back."""
        now = self._clock()
        bucket = self._buckets.get((model, kind))
        if bucket is None:
            bucket = self._buckets[model, kind] = Bucket(per_minute, now, BURST_SECONDS, full=False)
        return bucket.take(amount, now)

    async def lease(self, worker: str, usd: float, tokens: float) -> Lease:
        """Book what the worker has spent of its last lease, and give it another."""
        spending, held = self._spending, self._accounts.pop(worker, _Account())
        spending.spent.usd += usd
        spending.spent.tokens += int(tokens)
        reached, allowed = spending.reached(), spending.allowance
        if reached:
            return Lease(reached=reached)
        lease = Lease(
            usd=_part(allowed.usd, spending.spent.usd + sum(each.usd for each in self._accounts.values())),
            tokens=_part(allowed.tokens, spending.spent.tokens + sum(each.tokens for each in self._accounts.values())),
            seconds=None if allowed.seconds is None else allowed.seconds - spending.spent.seconds,
        )
        if 0.0 in (lease.usd, lease.tokens):
            return self._held_by_others(worker)
        self._waiting.pop(worker, None)
        held.usd, held.tokens = lease.usd or 0.0, lease.tokens or 0.0
        self._accounts[worker] = held
        return lease

    def _held_by_others(self, worker: str) -> Lease:
        """The others may be done with less; one that died never says so."""
        since = self._waiting.setdefault(worker, self._clock())
        if self._clock() - since < PATIENCE_SECONDS:
            return Lease(wait=ASK_AGAIN_SECONDS)
        spent = self._spending.spent
        return Lease(reached=f"the budget is spent ({spent.usd:.4f} USD, {spent.tokens:,} tokens) or leased out")

    async def settle(self, worker: str, usd: float, tokens: float) -> None:
        """The worker is done: what it had leased and did not use is there for others."""
        self._accounts.pop(worker, None)
        self._spending.spent.usd += usd
        self._spending.spent.tokens += int(tokens)

    async def get(self, key: bytes) -> bytes | None:
        return await self._cache.get(key)

    async def put(self, pairs: list[tuple[bytes, bytes]]) -> None:
        for key, value in pairs:
            await self._cache.put(key, value)

    async def report(self, given: Report) -> None:
        self._verdicts.update(given.verdicts)
        if given.spent is not None:
            self._spent[given.worker] = given.spent
        self._traced += filter(None, [given.traced])
        self._recorded += filter(None, [given.recorded])

    async def progress(self) -> Progress:
        """What is new since the last time it was asked."""
        verdicts, self._verdicts = dict(self._verdicts), Counter()
        traced, self._traced = tuple(self._traced), []
        recorded, self._recorded = tuple(self._recorded), []
        return Progress(verdicts=verdicts, spent=self._total(), traced=traced, recorded=recorded)

    def _total(self) -> Spent:
        every = (self._before, *self._spent.values())
        timed = self._spending.allowance.seconds is not None
        return Spent(
            usd=sum(each.usd for each in every),
            tokens=sum(each.tokens for each in every),
            seconds=self._before.seconds + (self._clock() - self._began if timed else 0.0),
            calls=sum(each.calls for each in every),
            cached=sum(each.cached for each in every),
            unpriced=sum(each.unpriced for each in every),
        )


def _part(allowed: float | None, taken: float) -> float | None:
    """The next lease: a small share of the whole, or what is left."""
    return None if allowed is None else max(0.0, min(allowed * SHARE, allowed - taken))
