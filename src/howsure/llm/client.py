"""The one door to language models: from a request to a completion through cache, limits, budget, retries, provider and
HTTP, in that order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import TracebackType

from msgspec import Struct, field
from msgspec.structs import replace

from howsure.llm.base import Budget, Cache, Completion, HttpProvider, LanguageModel, ModelReply, ModelRequest, ModelSpec
from howsure.llm.cache import CacheKeys, MemoryCache, NoCache, PendingCalls, decode_completion, encode_completion
from howsure.llm.call_trace import CallTracer, TraceSink
from howsure.llm.calls import Endpoint, HttpEndpoint, ModelCaller, ProviderEndpoint, Timing
from howsure.llm.costs import BYTES_PER_TOKEN, CallCounters, ModelPrice, estimate_usage, sum_counters
from howsure.llm.limits import CallLimiter, RateLimits
from howsure.llm.messages import CallSettings
from howsure.llm.providers import BUILTINS_BY_NAME
from howsure.llm.redact import Redactor
from howsure.llm.retry import RetryPolicy
from howsure.llm.specs import Providers, key_of, parse_model
from howsure.llm.transport import Transport
from howsure.model.transcript import Usage
from howsure.prices.table import PriceTable

ATTEMPT_SECONDS = 120.0

LimiterFactory = Callable[[ModelSpec, int, RateLimits], CallLimiter]
"""Makes the limiter of a model, for this many calls in flight and these rates."""


class ClientOptions(Struct, frozen=True, kw_only=True):
    """How a client behaves: calls in flight for each model, seconds for an attempt, retries, and the rates of models by
    `provider:model`, `provider:*` (each of that provider's) or `*` (each); and what it uses. `limiters` makes limiters
    that hold over more than this process."""

    concurrency: int = 8
    attempt_seconds: float = ATTEMPT_SECONDS
    retry: RetryPolicy = RetryPolicy()
    rates: Mapping[str, RateLimits] = field(default_factory=dict)
    providers: Providers = field(default_factory=lambda: BUILTINS_BY_NAME)
    cache: Cache | None = None
    budget: Budget | None = None
    prices: PriceTable | None = None
    trace: TraceSink | None = None
    limiters: LimiterFactory | None = None


class MeteredModel:
    """A `LanguageModel`: looks into the cache, asks, and books what the answer cost."""

    def __init__(
        self, spec: ModelSpec, settings: CallSettings, caller: ModelCaller, client: ModelClient, budget: Budget | None
    ) -> None:
        self.name = str(spec)
        self.spec = spec
        self.settings = settings
        self._caller = caller
        self._cache = client.cache
        self._pending = client.pending
        self._budget = budget
        self._price = ModelPrice(spec, client.prices)
        self._keys = None if isinstance(client.cache, NoCache) else CacheKeys(spec)

    async def complete(self, request: ModelRequest) -> Completion:
        settings = request.settings or self.settings
        if self._keys is None:
            return await self._ask(request, settings)
        key = self._keys.key(request, settings)
        completion, shared = await self._pending.once(key, lambda: self._cached_or_new(key, request, settings))
        if shared and not completion.cached:
            completion = _as_cached(completion)
        self._caller.counters.cached += completion.cached
        return completion

    async def _cached_or_new(self, key: bytes, request: ModelRequest, settings: CallSettings) -> Completion:
        stored = await self._cache.get(key)
        known = None if stored is None else decode_completion(stored)
        if known is not None:
            return _as_cached(known)
        completion = await self._ask(request, settings)
        await self._cache.put(key, encode_completion(completion))
        return completion

    async def _ask(self, request: ModelRequest, settings: CallSettings) -> Completion:
        caller = self._caller
        if request.settings is not settings:
            request = replace(request, settings=settings)
        body = caller.endpoint.encode(request, settings)
        expected = len(body) / BYTES_PER_TOKEN + (settings.max_tokens or 0) if caller.limiter.counts_tokens else 0.0
        reply, seconds = await caller.call(body, request, expected)
        usage, cost = self._book(reply, body, expected)
        completion = Completion(
            text=reply.text,
            model=reply.model or self.spec.model,
            usage=usage,
            finish=reply.finish,
            tool_calls=reply.tool_calls,
            echo=reply.echo,
            logprobs=reply.logprobs,
            cost_usd=cost,
            latency_ms=seconds * 1000,
        )
        caller.counters.add(completion)
        return completion

    def _book(self, reply: ModelReply, body: bytes, expected: float) -> tuple[Usage, float | None]:
        """The usage with its cost in it. Tokens that were not counted are estimated for the budget and the rates alone:
        those must hold even where a provider does not count."""
        usage = reply.usage
        cost = self._price.cost(usage, reply.model)
        if self._budget is not None or expected:
            whole = estimate_usage(usage, body, reply.text)
            if self._budget is not None:
                self._budget.settle(whole, self._price.cost(whole, reply.model))
            if expected:
                self._caller.limiter.correct(expected, (whole.prompt_tokens or 0) + (whole.completion_tokens or 0))
        return (usage if cost is None else replace(usage, cost_usd=cost)), cost


def _as_cached(completion: Completion) -> Completion:
    """The same answer, at no cost."""
    return replace(completion, cached=True, cost_usd=0.0)


class ModelClient:
    """Opens models, and holds what they share. `async with ModelClient(environ) as client:`, in a running event loop;
    the HTTP client is loaded when the first model needs it."""

    def __init__(
        self,
        environ: Mapping[str, str],
        options: ClientOptions | None = None,
        transport: Transport | None = None,
        timing: Timing | None = None,
    ) -> None:
        self._environ = environ
        self._options = options or ClientOptions()
        self._transport = transport
        self._timing = timing or Timing()
        self._callers: dict[ModelSpec, ModelCaller] = {}
        self._redactor = Redactor()
        self.cache: Cache = MemoryCache() if self._options.cache is None else self._options.cache
        self.pending = PendingCalls()
        self.prices = PriceTable.load() if self._options.prices is None else self._options.prices

    async def __aenter__(self) -> ModelClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._transport is not None:
            await self._transport.close()

    @property
    def counters(self) -> dict[str, CallCounters]:
        """The counts by model."""
        return {str(spec): caller.counters for spec, caller in self._callers.items()}

    @property
    def total(self) -> CallCounters:
        return sum_counters(self.counters.values())

    def model(self, spec: str | ModelSpec, settings: CallSettings | None = None) -> LanguageModel:
        """A model by `provider:model`. Raises `ConfigInvalid` where a key or an address is missing."""
        parsed = parse_model(spec, self._environ, self._options.providers) if isinstance(spec, str) else spec
        if parsed not in self._callers:
            # One for each model: its limiter and its counters are shared by all who ask it.
            self._callers[parsed] = self._open_caller(parsed)
        return MeteredModel(parsed, settings or CallSettings(), self._callers[parsed], self, self._options.budget)

    def _open_caller(self, spec: ModelSpec) -> ModelCaller:
        options = self._options
        names = (str(spec), f"{spec.provider}:*", "*")
        rates = next((options.rates[name] for name in names if name in options.rates), RateLimits())
        if options.limiters is not None:
            limiter = options.limiters(spec, options.concurrency, rates)
        else:
            limiter = CallLimiter(options.concurrency, rates, self._timing.clock, self._timing.sleep)
        return ModelCaller(
            str(spec),
            self._endpoint(spec),
            limiter,
            retry=options.retry,
            attempt_seconds=options.attempt_seconds,
            budget=options.budget,
            timing=self._timing,
            tracer=CallTracer(options.trace, self._redactor),
        )

    def _endpoint(self, spec: ModelSpec) -> Endpoint:
        provider = self._options.providers[spec.provider]
        if not isinstance(provider, HttpProvider):
            return ProviderEndpoint(provider, spec)
        key = key_of(spec, self._environ)
        self._redactor.learn(key)
        if self._transport is None:
            # aiohttp takes a quarter of a second to import: only runs that send a request pay for it.
            opened: Transport = import_module("howsure.llm.http").HttpTransport(self._environ)
            self._transport = opened
        return HttpEndpoint(provider, spec, key, self._transport, self._timing)
