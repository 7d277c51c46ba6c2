"""Limits on calls: a limiter for each model bounds the calls in flight and the rates, and learns from refusals.

One refusal says little: a share of calls that is refused at random costs less than slowing down for it. So the limiter
looks at a window of replies, narrows at most once a window, when more than a fifth were refused, and widens again step
by step while the windows are good.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from howsure.model.llm_settings import RateLimits as RateLimits

WINDOW_SECONDS = 1.0
FEWEST_REPLIES = 10
LONGEST_WINDOW = 10.0
TOLERATED = 0.2
"""The share of refusals up to which the limiter does not narrow."""
STEPS = 10
"""Good windows from the narrowest limit to the widest."""
BURST_SECONDS = 10.0
LEARNED_BURST_SECONDS = 0.2
LARGEST_STEP_DOWN = 0.75
SLOWEST = 6.0
"""Requests a minute that are always allowed: a lower rate is not learned from refusals."""


class TokenBucket:
    """A token bucket that may go into debt: a caller that takes more than is there waits until it is paid back. It
    allows bursts worth `burst_seconds`; where `full`, from the start."""

    def __init__(self, per_minute: float, now: float, burst_seconds: float = BURST_SECONDS, full: bool = True) -> None:
        self._burst_seconds = burst_seconds
        self._level = 0.0
        self._at = now
        self.change(per_minute)
        if full:
            self._level = self._most

    def change(self, per_minute: float) -> None:
        """Set another rate; the level stays."""
        self.rate = per_minute / 60
        self._most = max(1.0, self.rate * self._burst_seconds)

    def take(self, amount: float, now: float) -> float:
        """The seconds to wait before using it. A negative amount gives back."""
        self._level = min(self._most, self._level + (now - self._at) * self.rate) - amount
        self._at = now
        return 0.0 if self._level >= 0 else -self._level / self.rate


class CallLimiter:
    """The limits of one model: `acquire` waits for a turn, `release` says how the call went."""

    def __init__(
        self,
        most: int,
        rates: RateLimits,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._most = max(1, most)
        self._clock = clock
        self._sleep = sleep
        self._waiting: deque[asyncio.Future[None]] = deque()
        now = clock()
        self._requests = TokenBucket(rates.requests_per_minute, now) if rates.requests_per_minute else None
        self._tokens = TokenBucket(rates.tokens_per_minute, now) if rates.tokens_per_minute else None
        self._learned: TokenBucket | None = None
        self._held_until = 0.0
        self._wait_seconds = 0.0
        self.width = float(self._most)
        self.busy = 0
        self._open_window(now)

    @property
    def counts_tokens(self) -> bool:
        """Whether a rate is set on tokens, so that a call must say how many it expects."""
        return self._tokens is not None

    async def acquire(self, tokens: float = 0.0, again: bool = False) -> None:
        """Wait for a turn. A retry (`again`) goes first: a call that has begun should end."""
        if self.busy < int(self.width) and (again or not self._waiting):
            self.busy += 1
        else:
            await self._queue(again)
        if self._tokens or self._requests or self._learned or self._held_until:
            await self._pace(tokens)

    def release(self, refused: bool, wait_seconds: float | None = None, has_reply: bool = True) -> None:
        """The call is over. `wait_seconds`: how long the refusal asks us to wait; `has_reply`: the server replied."""
        self.busy -= 1
        if has_reply:
            self._replies += 1
            if refused:
                self._refused += 1
                self._wait_seconds = max(self._wait_seconds, wait_seconds or 0.0)
        now = self._clock()
        lasted = now - self._began
        if lasted >= WINDOW_SECONDS and (self._replies >= FEWEST_REPLIES or lasted >= LONGEST_WINDOW):
            share = self._refused / self._replies if self._replies else 0.0
            if share > TOLERATED:
                self._narrow(share, (self._replies - self._refused) / lasted * 60)
                if share > 0.5 and self._wait_seconds:
                    self._held_until = now + self._wait_seconds
            else:
                self._widen(self._replies / lasted * 60)
            self._open_window(now)
        if self._waiting:
            self._admit()

    def correct(self, estimated: float, used: float) -> None:
        """Book the tokens that a call really used."""
        if self._tokens:
            self._tokens.take(used - estimated, self._clock())

    async def _queue(self, again: bool) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if again:
            self._waiting.appendleft(turn)
        else:
            self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give_up()
            raise

    async def _pace(self, tokens: float) -> None:
        now = self._clock()
        wait = max(0.0, self._held_until - now)
        for bucket, amount in ((self._requests, 1.0), (self._learned, 1.0), (self._tokens, tokens)):
            if bucket:
                wait = max(wait, bucket.take(amount, now))
        if now >= self._held_until:
            self._held_until = 0.0
        if wait > 0:
            try:
                await self._sleep(wait)
            except asyncio.CancelledError:
                self._give_up()
                raise

    def _give_up(self) -> None:
        self.busy -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self.busy < int(self.width):
            turn = self._waiting.popleft()
            if not turn.done():
                self.busy += 1
                turn.set_result(None)

    def _open_window(self, now: float) -> None:
        self._began = now
        self._replies = 0
        self._refused = 0
        self._wait_seconds = 0.0

    def _narrow(self, share: float, answered_per_minute: float) -> None:
        self.width = max(1.0, self.width * (1 - share / 2))
        if self._learned:
            # Some of what was not answered was still waiting for an earlier rate: no more than a step down at once.
            lowest = self._learned.rate * 60 * LARGEST_STEP_DOWN
            self._learned.change(max(lowest, SLOWEST, answered_per_minute))
        else:
            self._learned = TokenBucket(
                max(SLOWEST, answered_per_minute), self._clock(), LEARNED_BURST_SECONDS, full=False
            )

    def _widen(self, seen_per_minute: float) -> None:
        self.width = min(float(self._most), self.width + max(1.0, self._most / STEPS))
        if self._learned is None:
            return
        rate = self._learned.rate * 60 * (1 + 1 / STEPS)
        if rate > 2 * seen_per_minute and self.width >= self._most:
            # It limits nothing any more.
            self._learned = None
        else:
            self._learned.change(rate)
