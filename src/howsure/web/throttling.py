"""How often somebody may try to sign in: after some tries that failed, they wait. Counted in this process, by name and
over all, so that nobody guesses a password by trying many, nor keeps the machine busy with hashing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import monotonic

WINDOW_SECONDS = 300.0
BY_NAME = 5
OVERALL = 100
NAMES = 1_000


class Throttle:
    """`waits(name)` says how long; `failed(name)` counts a try."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._tries: dict[str, deque[float]] = {}
        self._all: deque[float] = deque(maxlen=OVERALL)

    def waits(self, name: str) -> int:
        """Seconds until the next try; 0: now."""
        now = self._clock()
        own, every = self._tries.get(name, deque()), self._all
        left = [0.0]
        if len(own) >= BY_NAME:
            left.append(own[0] + WINDOW_SECONDS - now)
        if len(every) >= OVERALL:
            left.append(every[0] + WINDOW_SECONDS - now)
        longest = max(left)
        return int(longest) + 1 if longest > 0 else 0

    def failed(self, name: str) -> None:
        now = self._clock()
        if name not in self._tries and len(self._tries) >= NAMES:
            # Whoever was tried longest ago first: a flood of names must not fill the memory.
            self._tries.pop(next(iter(self._tries)))
        tries = self._tries.pop(name, deque(maxlen=BY_NAME))
        tries.append(now)
        self._tries[name] = tries
        self._all.append(now)

    def came_in(self, name: str) -> None:
        """What was counted of them did not fail."""
        self._tries.pop(name, None)
        if self._all:
            self._all.pop()
