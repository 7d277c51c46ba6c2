"""The door: from a request to a completion through cache, limits, budget, retries, adapter and HTTP, in that order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType

from msgspec import Struct, field

from howsure.llm.adapters import ADAPTERS
from howsure.llm.asked import Asked, Shared
from howsure.llm.base import Budget, Cache, LanguageModel, Recorder
from howsure.llm.cache import Flights, MemoryCache
from howsure.llm.calling import Caller, Line, Surroundings
from howsure.llm.counters import Counters, total
from howsure.llm.limits import Gate, Rates
from howsure.llm.parts import CallSettings
from howsure.llm.redact import Redactor
from howsure.llm.retry import Retry
from howsure.llm.specs import Access, ModelSpec, key_of, parse
from howsure.llm.tracing import Trace, Tracer
from howsure.llm.wire import Transport
from howsure.prices.table import PriceTable

ATTEMPT_SECONDS = 120.0

Gates = Callable[[ModelSpec, int, Rates], Gate]
"""Makes the gate of a model, with so many calls in flight and these rates."""


class Habits(Struct, frozen=True, kw_only=True):
    """How the door behaves: calls in flight for each model, seconds for an attempt, retries, and the rates of models by
    `provider:model`, `provider:*` (each of that provider's) or `*` (each)."""

    concurrency: int = 8
    attempt_seconds: float = ATTEMPT_SECONDS
    retry: Retry = Retry()
    rates: Mapping[str, Rates] = field(default_factory=dict)


class Fittings(Struct, frozen=True, kw_only=True):
    """What others put into the door. `gates` makes those that hold over more than this process."""

    cache: Cache | None = None
    budget: Budget | None = None
    prices: PriceTable | None = None
    recorder: Recorder | None = None
    trace: Trace | None = None
    gates: Gates | None = None


class Door:
    """Makes models, and holds what they share. Closes its transport."""

    def __init__(
        self,
        transport: Transport,
        environ: Mapping[str, str],
        habits: Habits | None = None,
        fittings: Fittings | None = None,
        around: Surroundings | None = None,
    ) -> None:
        self._transport = transport
        self._environ = environ
        self._habits = habits or Habits()
        self._around = around or Surroundings()
        self._fittings = fittings or Fittings()
        self._shared = Shared(
            cache=MemoryCache() if self._fittings.cache is None else self._fittings.cache,
            flights=Flights(),
            prices=PriceTable.load() if self._fittings.prices is None else self._fittings.prices,
            budget=self._fittings.budget,
            recorder=self._fittings.recorder,
        )
        self._callers: dict[ModelSpec, Caller] = {}
        self.redactor = Redactor()

    async def __aenter__(self) -> Door:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._transport.close()

    @property
    def counters(self) -> dict[str, Counters]:
        """What was counted, by model."""
        return {str(spec): caller.counters for spec, caller in self._callers.items()}

    @property
    def total(self) -> Counters:
        return total(self.counters.values())

    def model(
        self, spec: str | ModelSpec, settings: CallSettings | None = None, access: Access | None = None
    ) -> LanguageModel:
        """A model by `provider:model`. Raises `ConfigInvalid` where a key or an address is missing."""
        found = parse(spec, self._environ, access) if isinstance(spec, str) else spec
        if found not in self._callers:
            # One for each model: its gate and its counters are shared by all who ask it.
            self._callers[found] = self._caller(found)
        return Asked(found, settings or CallSettings(), self._callers[found], self._shared)

    def _caller(self, spec: ModelSpec) -> Caller:
        adapter, habits, around = ADAPTERS[spec.provider], self._habits, self._around
        key = key_of(spec, self._environ)
        self.redactor.learn(key)
        rates = _rates(spec, habits.rates)
        line = Line(
            name=str(spec),
            url=adapter.url(spec),
            headers=adapter.headers(spec, key),
            read=adapter.answer,
            transport=self._transport,
            gate=self._gate(spec, rates),
            retry=habits.retry,
            seconds=habits.attempt_seconds,
        )
        tracer = Tracer(self._fittings.trace, self.redactor)
        return Caller(line, self._fittings.budget, around, self.redactor, tracer)

    def _gate(self, spec: ModelSpec, rates: Rates) -> Gate:
        most, make = self._habits.concurrency, self._fittings.gates
        return make(spec, most, rates) if make else Gate(most, rates, self._around.clock, self._around.sleep)


def _rates(spec: ModelSpec, known: Mapping[str, Rates]) -> Rates:
    """The closest that is set for it."""
    names = (str(spec), f"{spec.provider.value}:*", "*")
    return next((known[name] for name in names if name in known), Rates())
