"""The one door to language models: from a request to a completion through cache, limits, budget, retries, provider and
HTTP, in that order. A call is made of attempts, each through limiter and budget, until there is an answer or no point
in another; an endpoint makes one attempt, over HTTP or by a provider that a plug-in brings."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from importlib import import_module
from random import random
from types import TracebackType
from typing import Protocol

import msgspec
from msgspec import Struct, field
from msgspec.structs import asdict, replace

from howsure.errors import ModelFailed, ModelRefused, ModelTimedOut, boundary
from howsure.llm.base import (
    Budget,
    Cache,
    Completion,
    HttpProvider,
    LanguageModel,
    ModelReply,
    ModelRequest,
    ModelSpec,
    Provider,
    UnreadableReply,
)
from howsure.llm.cache import CacheKeys, MemoryCache, NoCache, PendingCalls, decode_completion, encode_completion
from howsure.llm.call_trace import CallTracer, TraceSink
from howsure.llm.costs import BYTES_PER_TOKEN, CallCounters, ModelPrice, estimate_usage, sum_counters
from howsure.llm.limits import CallLimiter, RateLimits
from howsure.llm.messages import CallSettings
from howsure.llm.providers import BUILTINS_BY_NAME
from howsure.llm.redact import Redactor
from howsure.llm.retry import (
    FailedAttempt,
    FailureKind,
    RetryPolicy,
    response_failure,
    transport_failure,
    unreadable_failure,
)
from howsure.llm.specs import Providers, key_of, parse_model
from howsure.llm.transport import Transport, TransportError
from howsure.model.transcript import Usage
from howsure.prices.table import PriceTable
from howsure.version import __version__

ATTEMPT_SECONDS = 120.0
RECENT_SECONDS = 10.0
"""How long after an answer a model counts as healthy."""
HEADERS = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": f"howsure/{__version__}"}
UNREADABLE = (msgspec.DecodeError, UnreadableReply, UnicodeDecodeError, RecursionError)
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


def utc_now() -> datetime:
    return datetime.now(UTC)


class Timing(Struct, frozen=True, kw_only=True):
    """Clock, sleep and chance, passed in so that tests have their own."""

    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = utc_now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random


class Endpoint(Protocol):
    """How one model is reached, for one attempt. `encode` gives the body, from whose size tokens are estimated."""

    def encode(self, request: ModelRequest, settings: CallSettings) -> bytes: ...

    async def send(self, body: bytes, request: ModelRequest, seconds: float) -> ModelReply | FailedAttempt: ...


class HttpEndpoint:
    """A model behind HTTP. Holds its key, in the headers: never shown, compared or stored."""

    def __init__(self, provider: HttpProvider, spec: ModelSpec, key: str, transport: Transport, timing: Timing) -> None:
        self._provider = provider
        self._spec = spec
        self._url = provider.url(spec)
        self._headers = {**HEADERS, **provider.headers(spec, key)}
        self._transport = transport
        self._now = timing.now

    def encode(self, request: ModelRequest, settings: CallSettings) -> bytes:
        return self._provider.body(self._spec, request, settings)

    async def send(self, body: bytes, request: ModelRequest, seconds: float) -> ModelReply | FailedAttempt:
        try:
            response = await self._transport.post(self._url, self._headers, body, seconds)
        except TransportError as error:
            return transport_failure(error)
        if response.status != 200:
            return response_failure(response, self._now)
        try:
            return self._provider.read_reply(response.body)
        except UNREADABLE as error:
            return unreadable_failure(response, error)


class ProviderEndpoint:
    """A model that a plug-in's provider serves. Its errors are its own: what may pass is tried again."""

    def __init__(self, provider: Provider, spec: ModelSpec) -> None:
        self._provider = provider
        self._spec = spec

    def encode(self, request: ModelRequest, settings: CallSettings) -> bytes:
        shown = {"model": self._spec.model, "messages": request.messages, "settings": settings}
        return msgspec.json.encode(shown | {"schema": request.schema} if request.schema else shown)

    async def send(self, body: bytes, request: ModelRequest, seconds: float) -> ModelReply | FailedAttempt:
        limit = asyncio.timeout(seconds)
        try:
            with boundary(ModelFailed, f"provider {self._provider.name!r}"):
                async with limit:
                    reply = await self._provider.complete(self._spec.model, request)
                if not isinstance(reply, ModelReply):
                    raise TypeError(f"expected a ModelReply, found {type(reply).__name__}")
                return reply
        except ModelRefused as refusal:
            return FailedAttempt(kind=FailureKind.FINAL, message=str(refusal))
        except ModelFailed as failure:
            if limit.expired():
                return FailedAttempt(kind=FailureKind.TIMED_OUT, message=f"no answer in {seconds:g} s")
            # Without a cause the provider raised it itself: it had no answer this time.
            passing = failure.__cause__ is None or isinstance(failure.__cause__, OSError)
            kind = FailureKind.PASSING if passing else FailureKind.FINAL
            return FailedAttempt(kind=kind, message=str(failure))


class ModelCaller:
    """Calls one model until it answers, or there is no point in another attempt."""

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        limiter: CallLimiter,
        options: ClientOptions,
        timing: Timing,
        redactor: Redactor,
    ) -> None:
        self.name = name
        self.endpoint = endpoint
        self.limiter = limiter
        self.counters = CallCounters()
        self._options = options
        self._timing = timing
        self._tracer = CallTracer(options.trace, redactor)
        self._has_replied = False
        self._last_answer = float("-inf")
        self._is_down = False

    async def call(self, body: bytes, request: ModelRequest, tokens: float = 0.0) -> tuple[ModelReply, float]:
        """The reply, and the seconds that its attempt took. `tokens`: how many the call is expected to use."""
        started = self._timing.clock()
        outcome, seconds = await self._attempt(body, request, tokens, 1)
        if isinstance(outcome, ModelReply):
            return outcome, seconds
        failures: Counter[FailureKind] = Counter()
        used = 0.0
        while isinstance(outcome, FailedAttempt):
            failures[outcome.kind] += 1
            used += seconds
            alone = self._last_answer >= self._timing.clock() - max(seconds, RECENT_SECONDS)
            pause = self._options.retry.pause(failures.total(), outcome.wait_seconds, alone, self._timing.chance)
            if self._gives_up(outcome, failures, used + pause):
                raise self._failure(outcome, failures.total(), used, started)
            used += pause
            self.counters.retries += 1
            await self._timing.sleep(pause)
            outcome, seconds = await self._attempt(body, request, tokens, failures.total() + 1)
        return outcome, seconds

    async def _attempt(
        self, body: bytes, request: ModelRequest, tokens: float, number: int
    ) -> tuple[ModelReply | FailedAttempt, float]:
        clock = self._timing.clock
        await self.limiter.acquire(tokens, again=number > 1)
        outcome: ModelReply | FailedAttempt | None = None
        started = clock()
        try:
            if self._options.budget is not None:
                self._options.budget.reserve()
            self.counters.attempts += 1
            outcome = await self.endpoint.send(body, request, self._options.attempt_seconds)
        finally:
            ended = clock()
            if isinstance(outcome, FailedAttempt):
                overloaded = outcome.kind is FailureKind.OVERLOADED
                self.counters.refused += overloaded
                self.limiter.release(overloaded, outcome.wait_seconds, outcome.has_reply)
            else:
                self.limiter.release(False, None, outcome is not None)
        if isinstance(outcome, ModelReply):
            self._last_answer = ended
            self._is_down = False
            self._has_replied = True
        elif outcome.has_reply:
            self._has_replied = True
        self._tracer.record_attempt(self.name, request.purpose, number, body, outcome, ended - started)
        return outcome, ended - started

    def _gives_up(self, outcome: FailedAttempt, failures: Counter[FailureKind], used: float) -> bool:
        retry = self._options.retry
        # A server that took the request and is slow exists; an address that never answered may be misspelled.
        exists = self._has_replied or outcome.kind is FailureKind.TIMED_OUT
        return (
            outcome.kind is FailureKind.FINAL
            or self._is_down
            or failures.total() - failures[FailureKind.OVERLOADED] >= retry.attempts
            or failures[FailureKind.UNREADABLE] >= retry.unreadable
            or failures[FailureKind.OVERLOADED] >= retry.refusals
            or used > (retry.seconds if exists else retry.first_contact)
        )

    def _failure(self, outcome: FailedAttempt, failed: int, used: float, started: float) -> ModelFailed:
        """Where a call used up its retries and no other call was answered meanwhile, the model counts as down: later
        calls are tried once each, until one is answered. Otherwise a dead server would cost every case all retries."""
        self.counters.failed += 1
        if outcome.kind is FailureKind.FINAL:
            return ModelRefused(self._tracer.redactor.clean(f"{self.name}: {outcome.message}"))
        self._is_down = self._last_answer < started and outcome.kind is not FailureKind.UNREADABLE
        waiting = f"; it asks to wait {outcome.wait_seconds:g} s" if outcome.wait_seconds else ""
        message = f"{self.name}: no answer in {failed} attempt{'s' if failed > 1 else ''} ({used:.1f} s){waiting}"
        error = ModelTimedOut if outcome.kind is FailureKind.TIMED_OUT else ModelFailed
        return error(self._tracer.redactor.clean(f"{message}; the last: {outcome.message}"))


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
        known = {
            "model": reply.model or self.spec.model,
            "usage": usage,
            "cost_usd": cost,
            "latency_ms": seconds * 1000,
        }
        completion = Completion(**asdict(reply) | known)
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

    def check_budget(self) -> None:
        """BudgetReached where no further call may be made."""
        if self._options.budget is not None:
            self._options.budget.reserve()

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
        return ModelCaller(str(spec), self._endpoint(spec), limiter, options, self._timing, self._redactor)

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
