"""Limits of failed sign-in attempts, and of requests with a key. Both are counted in this process."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from ipaddress import IPv6Address, IPv6Network
from math import ceil
from time import monotonic

from msgspec import Struct

from howsure.services.host.allowed_hosts import as_address

WINDOW_SECONDS = 300.0
ATTEMPTS_BY_NAME = 5
ATTEMPTS_BY_ADDRESS = 50
TRACKED = 10_000
PASSWORD_CHECKS = 2
"""How many passwords are checked at a time: each check takes 32 MB and a tenth of a second."""
RATE_SECONDS = 60.0
RATE_HEADERS = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")


class SignInThrottle:
    """Counts failed sign-in attempts by address, and tells how long to wait after them."""

    def __init__(self, clock: Callable[[], float] = monotonic, by_address: int = ATTEMPTS_BY_ADDRESS) -> None:
        self._clock = clock
        self._by_address = by_address
        self._attempts: dict[tuple[str, ...], deque[float]] = {}
        self.checking = asyncio.Semaphore(PASSWORD_CHECKS)

    def seconds_to_wait(self, name: str | None, address: str) -> int:
        """The seconds until the next attempt; 0: now. Without a name the address alone counts."""
        now = self._clock()
        tries = [(self._attempts.get(key, deque()), most) for key, most in self._limits(name, address)]
        full = [each for each, most in tries if len(each) >= most]
        longest = max((each[0] + WINDOW_SECONDS - now for each in full), default=0.0)
        return int(longest) + 1 if longest > 0 else 0

    def count_attempt(self, name: str | None, address: str) -> None:
        for key, most in self._limits(name, address):
            tries = self._attempts.pop(key, deque(maxlen=most))
            tries.append(self._clock())
            self._attempts[key] = tries
        while len(self._attempts) > TRACKED:
            # Those with the oldest attempts go first: a flood of addresses must not fill the memory.
            self._attempts.pop(next(iter(self._attempts)))

    def forget_attempt(self, name: str, address: str) -> None:
        """The attempt that was just counted has succeeded."""
        own, all_of_address = (key for key, _ in self._limits(name, address))
        self._attempts.pop(own, None)
        if self._attempts.get(all_of_address):
            self._attempts[all_of_address].pop()

    def _limits(self, name: str | None, address: str) -> tuple[tuple[tuple[str, ...], int], ...]:
        """The keys that attempts are counted by, and how many may fail for each. A /64 network of IPv6 counts as one
        address: its owner has all of them."""
        parsed = as_address(address)
        place = str(IPv6Network((parsed, 64), strict=False)) if isinstance(parsed, IPv6Address) else address
        of_address = ((place,), self._by_address)
        return (of_address,) if name is None else (((place, name), ATTEMPTS_BY_NAME), of_address)


class RequestAllowance(Struct, frozen=True):
    """The requests that a key has left in this minute, in the terms of HTTP. `wait`: the seconds to wait; 0: none."""

    limit: int
    remaining: int
    reset: int
    wait: int

    @property
    def headers(self) -> dict[str, str]:
        return dict(zip(RATE_HEADERS, map(str, (self.limit, self.remaining, self.reset)), strict=True))


class RequestRates:
    """Counts the requests of each key, minute by minute; a key's minute begins with its first request."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._minutes: dict[str, tuple[float, int]] = {}

    def count(self, key_id: str) -> RequestAllowance:
        """Count a request of this key, unless it is refused."""
        now = self._clock()
        begun, number = self._minutes.get(key_id, (now, 0))
        if now - begun >= RATE_SECONDS:
            begun, number = now, 0
        reset, refused = ceil(RATE_SECONDS - (now - begun)), number >= self._per_minute
        self._minutes[key_id] = (begun, number if refused else number + 1)
        left = 0 if refused else self._per_minute - number - 1
        return RequestAllowance(self._per_minute, left, reset, reset if refused else 0)
