"""A model behind the door: looks into the cache, asks, prices, books, keeps."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from howsure.llm.adapters import ADAPTERS
from howsure.llm.base import Budget, Cache, Completion, Recorder, Request
from howsure.llm.cache import Flights, Keys, NoCache, packed, unpacked
from howsure.llm.calling import Caller
from howsure.llm.costs import BYTES_PER_TOKEN, Costs, estimated
from howsure.llm.parts import CallSettings
from howsure.llm.specs import ModelSpec
from howsure.llm.wire import Answer
from howsure.model.transcript import Usage
from howsure.prices.table import PriceTable


class Shared(Struct, frozen=True, kw_only=True):
    """What all models of one door share."""

    cache: Cache
    flights: Flights
    prices: PriceTable
    budget: Budget | None = None
    recorder: Recorder | None = None


class Asked:
    """A `LanguageModel`."""

    def __init__(self, spec: ModelSpec, settings: CallSettings, caller: Caller, shared: Shared) -> None:
        self.name = str(spec)
        self.spec = spec
        self.settings = settings
        self._caller = caller
        self._cache = shared.cache
        self._caches = not isinstance(shared.cache, NoCache)
        self._flights = shared.flights
        self._budget = shared.budget
        self._recorder = shared.recorder
        self._costs = Costs(spec, shared.prices)
        self._keys = Keys(spec)
        self._body = ADAPTERS[spec.provider].body

    @property
    def is_priced(self) -> bool:
        """Whether what it costs is known before it is asked."""
        return self._costs.known

    async def complete(self, request: Request) -> Completion:
        settings = request.settings or self.settings
        if not self._caches:
            return await self._recorded(request, await self._fresh(request, settings))
        key = self._keys.of(request, settings)
        completion, shared = await self._flights.once(key, lambda: self._found_or_fresh(key, request, settings))
        if shared and not completion.cached:
            completion = _again(completion)
        self._caller.counters.cached += completion.cached
        return await self._recorded(request, completion)

    async def _recorded(self, request: Request, completion: Completion) -> Completion:
        if self._recorder is not None:
            await self._recorder.record(self.name, request, completion)
        return completion

    async def _found_or_fresh(self, key: bytes, request: Request, settings: CallSettings) -> Completion:
        held = await self._cache.get(key)
        found = None if held is None else unpacked(held)
        if found is not None:
            return _again(found)
        completion = await self._fresh(request, settings)
        await self._cache.put(key, packed(completion))
        return completion

    async def _fresh(self, request: Request, settings: CallSettings) -> Completion:
        body = self._body(self.spec, request, settings)
        expected = len(body) / BYTES_PER_TOKEN + (settings.max_tokens or 0) if self._caller.counts_tokens else 0.0
        answer, seconds = await self._caller.call(body, request.purpose, expected)
        usage, cost = self._booked(answer, body, expected)
        completion = Completion(
            text=answer.text,
            model=answer.model or self.spec.model,
            usage=usage,
            finish=answer.finish,
            tool_calls=answer.tool_calls,
            echo=answer.echo,
            logprobs=answer.logprobs,
            cost_usd=cost,
            latency_ms=seconds * 1000,
        )
        self._caller.counters.add(completion)
        return completion

    def _booked(self, answer: Answer, body: bytes, expected: float) -> tuple[Usage, float | None]:
        """The usage with its cost in it. What was not counted is estimated for the budget and the rates, and for
        nothing else: they must hold even where a provider does not count."""
        usage = answer.usage
        cost = self._costs.of(usage, answer.model)
        if self._budget is not None or expected:
            whole = estimated(usage, body, answer.text)
            if self._budget is not None:
                self._budget.settle(whole, self._costs.of(whole, answer.model))
            if expected:
                self._caller.correct(expected, (whole.prompt_tokens or 0) + (whole.completion_tokens or 0))
        return (usage if cost is None else replace(usage, cost_usd=cost)), cost


def _again(completion: Completion) -> Completion:
    """The same answer, for nothing."""
    return replace(completion, cached=True, cost_usd=0.0)
