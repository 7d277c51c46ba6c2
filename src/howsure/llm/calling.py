"""One call to one model: attempts, each through gate and budget, until there is an answer or no point in another."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from random import random

import msgspec
from msgspec import Struct

from howsure.errors import ModelFailed, ModelRefused, ModelTimedOut
from howsure.llm.base import Budget
from howsure.llm.counters import Counters
from howsure.llm.failures import Failed, Kind, of_no_response, of_response, of_unreadable
from howsure.llm.limits import Gate
from howsure.llm.redact import Redactor
from howsure.llm.retry import Retry
from howsure.llm.tracing import Tracer
from howsure.llm.wire import Answer, NoResponse, Transport, Unreadable

RECENTLY = 10.0
"""Seconds after an answer in which the model counts as well."""
UNREADABLE = (msgspec.DecodeError, Unreadable, UnicodeDecodeError, RecursionError)


def utc_now() -> datetime:
    return datetime.now(UTC)


class Surroundings(Struct, frozen=True, kw_only=True):
    """Clock, sleep and chance, passed in so that tests have their own."""

    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = utc_now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random


class Line(Struct, frozen=True, kw_only=True):
    """How one model is reached. Holds its key, in the headers: never shown, compared or stored."""

    name: str
    url: str
    headers: Mapping[str, str]
    read: Callable[[bytes], Answer]
    transport: Transport
    gate: Gate
    retry: Retry
    seconds: float

    def __repr__(self) -> str:
        return f"<line to {self.name}>"


class Caller:
    """Calls one model until it answers."""

    def __init__(
        self, line: Line, budget: Budget | None, around: Surroundings, redactor: Redactor, tracer: Tracer
    ) -> None:
        self._line = line
        self._budget = budget
        self._around = around
        self._redactor = redactor
        self._tracer = tracer
        self._replied = False
        self._last_answer = float("-inf")
        self._is_down = False
        self.counters = Counters()

    @property
    def counts_tokens(self) -> bool:
        """Whether a rate is set on tokens, so that a call must say how many it expects."""
        return self._line.gate.counts_tokens

    def correct(self, expected: float, used: float) -> None:
        self._line.gate.correct(expected, used)

    async def call(self, body: bytes, purpose: str = "", tokens: float = 0.0) -> tuple[Answer, float]:
        """The answer, and the seconds that its attempt took."""
        began = self._around.clock()
        outcome, seconds = await self._attempt(body, purpose, tokens, 1)
        if isinstance(outcome, Answer):
            return outcome, seconds
        failed: Counter[Kind] = Counter()
        used = 0.0
        while isinstance(outcome, Failed):
            failed[outcome.kind] += 1
            used += seconds
            alone = self._last_answer >= self._around.clock() - max(seconds, RECENTLY)
            pause = self._line.retry.pause(failed.total(), outcome.asked, alone, self._around.chance)
            if self._is_over(outcome, failed, used + pause):
                raise self._failure(outcome, failed.total(), used, began)
            used += pause
            self.counters.retries += 1
            await self._around.sleep(pause)
            outcome, seconds = await self._attempt(body, purpose, tokens, failed.total() + 1)
        return outcome, seconds

    async def _attempt(self, body: bytes, purpose: str, tokens: float, number: int) -> tuple[Answer | Failed, float]:
        line, clock = self._line, self._around.clock
        await line.gate.enter(tokens, again=number > 1)
        outcome: Answer | Failed | None = None
        began = clock()
        try:
            if self._budget is not None:
                self._budget.reserve()
            self.counters.attempts += 1
            outcome = await self._sent(body)
        finally:
            ended = clock()
            if isinstance(outcome, Failed):
                line.gate.leave(outcome.kind is Kind.OVERLOADED, outcome.asked, outcome.replied)
            else:
                line.gate.leave(False, None, outcome is not None)
        if isinstance(outcome, Answer):
            self._last_answer = ended
            self._is_down = False
        if self._tracer.on:
            self._tracer.attempt(line.name, purpose, number, body, outcome, ended - began)
        return outcome, ended - began

    async def _sent(self, body: bytes) -> Answer | Failed:
        line = self._line
        try:
            response = await line.transport.post(line.url, line.headers, body, line.seconds)
        except NoResponse as error:
            return of_no_response(error)
        self._replied = True
        if response.status != 200:
            failure = of_response(response, self._around.now)
            self.counters.refused += failure.kind is Kind.OVERLOADED
            return failure
        try:
            return line.read(response.body)
        except UNREADABLE as error:
            return of_unreadable(response, error)

    def _is_over(self, outcome: Failed, failed: Counter[Kind], used: float) -> bool:
        retry = self._line.retry
        # A server that took the request and is slow with it is there; one to which there is no way may never have been.
        is_there = self._replied or outcome.kind is Kind.TIMED_OUT
        return (
            outcome.kind is Kind.FINAL
            or self._is_down
            or failed.total() - failed[Kind.OVERLOADED] >= retry.attempts
            or failed[Kind.UNREADABLE] >= retry.unreadable
            or failed[Kind.OVERLOADED] >= retry.refusals
            or used > (retry.seconds if is_there else retry.first_contact)
        )

    def _failure(self, outcome: Failed, failed: int, used: float, began: float) -> ModelFailed:
        """Where a call used up its patience and nobody else had an answer meanwhile, the model counts as down: later
        calls are tried once each, until one is answered. Otherwise a dead server would cost every case the whole
        patience."""
        self.counters.failed += 1
        if outcome.kind is Kind.FINAL:
            return ModelRefused(self._redactor.clean(f"{self._line.name}: {outcome.message}"))
        self._is_down = self._last_answer < began and outcome.kind is not Kind.UNREADABLE
        waiting = f"; it asks to wait {outcome.asked:g} s" if outcome.asked else ""
        message = f"{self._line.name}: no answer in {failed} attempt{'s' if failed > 1 else ''} ({used:.1f} s){waiting}"
        error = ModelTimedOut if outcome.kind is Kind.TIMED_OUT else ModelFailed
        return error(self._redactor.clean(f"{message}; the last: {outcome.message}"))
