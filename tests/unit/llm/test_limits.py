"""The gate: who may go, how fast, and what refusals teach it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from howsure.llm.limits import CallLimiter, RateLimits, TokenBucket
from unit.llm.virtual import VirtualLoop, virtually


@pytest.mark.parametrize("rates", [{"requests_per_minute": 0.0}, {"tokens_per_minute": -1.0}])
def test_a_rate_is_more_than_zero(rates: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="a rate is more than zero"):
        RateLimits(**rates)


def test_a_bucket_lets_a_burst_pass_and_then_keeps_the_rate() -> None:
    bucket = TokenBucket(per_minute=60, now=0.0)
    assert [bucket.take(1, 0.0) for _ in range(10)] == [0.0] * 10
    assert [bucket.take(1, 0.0) for _ in range(3)] == [1.0, 2.0, 3.0]
    assert bucket.take(1, 4.0) == 0.0
    assert bucket.take(-5, 4.0) == 0.0
    assert bucket.take(6, 4.0) == 1.0


def work(
    gate: CallLimiter, seconds: float, refused: Callable[[float], bool], tokens: float = 0.0
) -> Callable[[], asyncio.Task[None]]:
    async def one() -> None:
        loop = asyncio.get_running_loop()
        while True:
            await gate.acquire(tokens)
            await asyncio.sleep(seconds)
            no = refused(loop.time())
            gate.release(no)
            if not no:
                return
            await asyncio.sleep(0.5)

    return lambda: asyncio.create_task(one())


def test_no_more_than_the_most_are_in_flight_and_all_get_their_turn() -> None:
    async def run(loop: VirtualLoop) -> tuple[int, float]:
        gate = CallLimiter(5, RateLimits(), loop.time)
        most = 0

        async def one() -> None:
            nonlocal most
            await gate.acquire()
            most = max(most, gate.busy)
            await asyncio.sleep(1.0)
            gate.release(False)

        await asyncio.gather(*(one() for _ in range(20)))
        assert gate.busy == 0
        return most, loop.time()

    most, took = virtually(run)
    assert most == 5
    assert took == pytest.approx(4.0, abs=0.01)


def test_who_comes_again_goes_first() -> None:
    async def run(loop: VirtualLoop) -> list[str]:
        gate = CallLimiter(1, RateLimits(), loop.time)
        order: list[str] = []

        async def one(name: str, again: bool) -> None:
            await gate.acquire(again=again)
            order.append(name)
            await asyncio.sleep(1.0)
            gate.release(False)

        tasks = [asyncio.create_task(one(name, name == "again")) for name in ("first", "second", "third", "again")]
        await asyncio.gather(*tasks)
        return order

    assert virtually(run) == ["first", "again", "second", "third"]


def test_a_turn_is_passed_on_when_its_owner_is_cancelled() -> None:
    async def run(loop: VirtualLoop) -> int:
        gate = CallLimiter(1, RateLimits(requests_per_minute=6), loop.time)
        await gate.acquire()
        waiting = [asyncio.create_task(gate.acquire()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        gate.release(False)
        await asyncio.sleep(0)
        # Its turn came, and it waits for the rate: cancelled there, too, it hands the turn on.
        waiting[1].cancel()
        await asyncio.wait(waiting)
        assert waiting[2].done() and not waiting[2].cancelled()
        return gate.busy

    assert virtually(run) == 1


def test_a_turn_is_passed_on_when_it_was_given_in_the_moment_of_the_cancelling() -> None:
    async def run(loop: VirtualLoop) -> int:
        gate = CallLimiter(1, RateLimits(), loop.time)
        await gate.acquire()
        first, second = (asyncio.create_task(gate.acquire()) for _ in range(2))
        await asyncio.sleep(0)
        gate.release(False)
        first.cancel()
        await asyncio.wait([first, second])
        assert first.cancelled() and not second.cancelled()
        return gate.busy

    assert virtually(run) == 1


def test_rates_hold_on_requests() -> None:
    async def run(loop: VirtualLoop) -> float:
        gate = CallLimiter(100, RateLimits(requests_per_minute=60), loop.time)
        await asyncio.gather(*(work(gate, 0.1, lambda _: False)() for _ in range(70)))
        return loop.time()

    # Ten pass at once, sixty more at one a second.
    assert virtually(run) == pytest.approx(60.1, abs=0.1)


def test_rates_hold_on_tokens_and_what_was_not_used_is_given_back() -> None:
    async def run(loop: VirtualLoop) -> float:
        gate = CallLimiter(100, RateLimits(tokens_per_minute=6000), loop.time)
        assert gate.counts_tokens

        async def one() -> None:
            await gate.acquire(100.0)
            gate.correct(100.0, 50.0)
            gate.release(False)

        for _ in range(120):
            await one()
        return loop.time()

    # 6,000 tokens were used, 1,000 of them as a burst: fifty seconds at a hundred a second.
    assert virtually(run) == pytest.approx(50.0, abs=1.5)


def test_a_steady_tenth_of_refusals_does_not_narrow_the_gate() -> None:
    async def run(loop: VirtualLoop) -> tuple[float, float]:
        gate = CallLimiter(50, RateLimits(), loop.time)
        count = iter(range(10**9))
        narrowest = 50.0

        def refused(_: float) -> bool:
            nonlocal narrowest
            narrowest = min(narrowest, gate.width)
            return next(count) % 10 == 0

        await asyncio.gather(*(work(gate, 0.2, refused)() for _ in range(2000)))
        return narrowest, loop.time()

    narrowest, took = virtually(run)
    assert narrowest == 50.0
    assert took < 1.3 * 8.0


def test_one_burst_of_refusals_narrows_once_and_is_forgotten_soon() -> None:
    async def run(loop: VirtualLoop) -> tuple[float, float, float]:
        gate = CallLimiter(50, RateLimits(), loop.time)
        narrowest = 50.0

        def refused(now: float) -> bool:
            nonlocal narrowest
            narrowest = min(narrowest, gate.width)
            return 1.0 < now < 1.5

        await asyncio.gather(*(work(gate, 0.2, refused)() for _ in range(8000)))
        width, began = gate.width, loop.time()
        await asyncio.gather(*(work(gate, 0.2, lambda _: False)() for _ in range(500)))
        return narrowest, width, loop.time() - began

    narrowest, width, took = virtually(run)
    assert 30 < narrowest < 50
    assert width == 50.0
    assert took == pytest.approx(2.0)


def test_a_provider_that_allows_ten_a_second_is_asked_about_that_often() -> None:
    async def run(loop: VirtualLoop) -> tuple[float, float]:
        gate = CallLimiter(50, RateLimits(), loop.time)
        allowed = 0.0
        at = 0.0
        asked = 0

        def refused(now: float) -> bool:
            nonlocal allowed, at, asked
            asked += 1
            allowed = min(10.0, allowed + (now - at) * 10)
            at = now
            if allowed < 1:
                return True
            allowed -= 1
            return False

        await asyncio.gather(*(work(gate, 0.2, refused)() for _ in range(1000)))
        return loop.time(), asked / 1000

    took, asked = virtually(run)
    assert took < 1.3 * 100
    assert asked < 1.6


def test_while_most_are_refused_all_wait_as_long_as_the_provider_asks() -> None:
    async def run(loop: VirtualLoop) -> float:
        gate = CallLimiter(20, RateLimits(), loop.time)

        async def refused() -> None:
            await gate.acquire()
            await asyncio.sleep(1.0)
            gate.release(True, wait_seconds=30.0)

        await asyncio.gather(*(refused() for _ in range(20)))
        began = loop.time()
        await gate.acquire()
        return loop.time() - began

    assert virtually(run) == pytest.approx(30.0, abs=0.1)


def test_silence_is_no_refusal() -> None:
    async def run(loop: VirtualLoop) -> float:
        gate = CallLimiter(20, RateLimits(), loop.time)
        for _ in range(30):
            await gate.acquire()
            await asyncio.sleep(1.0)
            gate.release(False, None, has_reply=False)
        return gate.width

    assert virtually(run) == 20.0
