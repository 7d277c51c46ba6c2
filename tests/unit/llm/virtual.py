"""Time that passes as soon as everybody waits for it, and a transport that answers from a script."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from random import Random
from typing import Any, TypeVar

from howsure.llm.client import Timing
from howsure.llm.transport import HttpResponse, TransportError, TransportFault

R = TypeVar("R")
GOOD = b'{"model":"m","choices":[{"message":{"content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2}}'  # noqa: E501
Play = HttpResponse | TransportError | None
"""What one request meets; None: nothing, for as long as the client waits."""


class _Jump(selectors.SelectSelector):
    """Where nothing is ready, the time until something is has passed already."""

    passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.passed += timeout or 0.0
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jump = _Jump()
        super().__init__(self._jump)

    def time(self) -> float:
        return self._jump.passed


def virtually(work: Callable[[VirtualLoop], Coroutine[Any, Any, R]]) -> R:
    """Run it in virtual time."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(work(loop))
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left))
        loop.close()


def around(loop: VirtualLoop, seed: int = 1) -> Timing:
    return Timing(clock=loop.time, sleep=asyncio.sleep, chance=Random(seed).random)


class ScriptedTransport:
    """Meets each request with what `play` says, after `latency` seconds; knows what was sent, and how much at once."""

    def __init__(self, play: Callable[[int], Play], latency: float = 0.2) -> None:
        self._play = play
        self._latency = latency
        self.sent: list[bytes] = []
        self.at: list[float] = []
        self.headers: list[Mapping[str, str]] = []
        self.flying = 0
        self.most = 0
        self.closed = False

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, seconds: float) -> HttpResponse:
        number = len(self.sent)
        self.sent.append(body)
        self.headers.append(headers)
        self.at.append(asyncio.get_running_loop().time())
        self.flying += 1
        self.most = max(self.most, self.flying)
        try:
            return await self._met(self._play(number), seconds)
        finally:
            self.flying -= 1

    async def _met(self, play: Play, seconds: float) -> HttpResponse:
        await asyncio.sleep(seconds if play is None else self._latency)
        if play is None:
            raise TransportError(TransportFault.TIMEOUT, f"no answer in {seconds:g} s")
        if isinstance(play, TransportError):
            raise play
        return play

    async def close(self) -> None:
        self.closed = True


def good(number: int = 0) -> HttpResponse:
    return HttpResponse(200, {}, GOOD)


def status(
    code: int, headers: Mapping[str, str] | None = None, body: bytes = b'{"error":{"message":"no"}}'
) -> HttpResponse:
    return HttpResponse(code, headers or {}, body)


def faulty(seed: int = 7, **shares: float) -> Callable[[int], Play]:
    """10 % 429 and so on, at random: `faulty(s429=0.1, s500=0.1, hang=0.01)`."""
    chance = Random(seed).random

    def play(number: int) -> Play:
        drawn = chance()
        for name, share in shares.items():
            if drawn < share:
                return None if name == "hang" else status(int(name[1:]))
            drawn -= share
        return good()

    return play
