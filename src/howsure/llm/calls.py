"""One call to one model: attempts, each through limiter and budget, until there is an answer or no point in another.
An endpoint makes one attempt: over HTTP, or by a provider that a plug-in brings."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from random import random
from typing import Protocol

import msgspec
from msgspec import Struct

from howsure.errors import ModelFailed, ModelRefused, ModelTimedOut, boundary
from howsure.llm.base import Budget, HttpProvider, ModelReply, ModelRequest, ModelSpec, Provider, UnreadableReply
from howsure.llm.call_trace import CallTracer
from howsure.llm.costs import CallCounters
from howsure.llm.limits import CallLimiter
from howsure.llm.messages import CallSettings
from howsure.llm.retry import (
    FailedAttempt,
    FailureKind,
    RetryPolicy,
    response_failure,
    transport_failure,
    unreadable_failure,
)
from howsure.llm.transport import Transport, TransportError
from howsure.version import __version__

RECENT_SECONDS = 10.0
"""How long after an answer a model counts as healthy."""
HEADERS = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": f"howsure/{__version__}"}
UNREADABLE = (msgspec.DecodeError, UnreadableReply, UnicodeDecodeError, RecursionError)


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
        *,
        retry: RetryPolicy,
        attempt_seconds: float,
        budget: Budget | None,
        timing: Timing,
        tracer: CallTracer,
    ) -> None:
        self.name = name
        self.endpoint = endpoint
        self.limiter = limiter
        self.counters = CallCounters()
        self._retry = retry
        self._attempt_seconds = attempt_seconds
        self._budget = budget
        self._timing = timing
        self._tracer = tracer
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
            pause = self._retry.pause(failures.total(), outcome.wait_seconds, alone, self._timing.chance)
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
            if self._budget is not None:
                self._budget.reserve()
            self.counters.attempts += 1
            outcome = await self.endpoint.send(body, request, self._attempt_seconds)
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
        if self._tracer.on:
            self._tracer.record_attempt(self.name, request.purpose, number, body, outcome, ended - started)
        return outcome, ended - started

    def _gives_up(self, outcome: FailedAttempt, failures: Counter[FailureKind], used: float) -> bool:
        retry = self._retry
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
