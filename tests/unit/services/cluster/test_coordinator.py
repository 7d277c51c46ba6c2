from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from howsure.errors import BudgetReached
from howsure.llm.budget import Allowance
from howsure.llm.cache import MemoryCache
from howsure.llm.specs import parse_model
from howsure.model.llm_settings import RateLimits
from howsure.model.run import ModelSpending
from howsure.model.transcript import Usage
from howsure.services.cluster.coordinator import (
    LeasedBudget,
    LeasedLimiter,
    LeasedTokens,
    RateCoordinator,
    RateCoordinatorActor,
    SharedCache,
    WorkerLeases,
    WorkerReport,
)
from unit.llm.virtual import VirtualLoop, virtually


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


async def test_one_rate_holds_for_all_who_ask() -> None:
    clock = Clock()
    coordinator = RateCoordinator(None, clock=clock)
    assert await coordinator.pace("openai:m", "requests", 600, 1) == pytest.approx(0.1)
    assert await coordinator.pace("openai:m", "requests", 600, 4) == pytest.approx(0.5)
    clock.now += 0.5
    assert await coordinator.pace("openai:m", "requests", 600, 1) == pytest.approx(0.1)


async def test_models_and_kinds_have_rates_of_their_own() -> None:
    coordinator = RateCoordinator(None, clock=Clock())
    assert await coordinator.pace("openai:m", "requests", 60, 1) == pytest.approx(1.0)
    assert await coordinator.pace("openai:n", "requests", 60, 1) == pytest.approx(1.0)
    assert await coordinator.pace("openai:m", "tokens", 6_000, 100) == pytest.approx(1.0)


async def test_what_is_given_back_is_there_for_others() -> None:
    coordinator = RateCoordinator(None, clock=Clock())
    await coordinator.pace("openai:m", "requests", 600, 10)
    await coordinator.pace("openai:m", "requests", 600, -10)
    assert await coordinator.pace("openai:m", "requests", 600, 1) == pytest.approx(0.1)


async def test_leases_never_add_up_to_more_than_the_budget() -> None:
    clock = Clock()
    coordinator = RateCoordinator(Allowance(tokens=1_000), clock=clock)
    given = [await coordinator.lease(f"w{number}", 0.0, 0.0) for number in range(60)]
    assert sum(lease.tokens or 0.0 for lease in given) == 1_000
    assert given[0].tokens == 20
    assert given[-1].wait > 0


async def test_what_a_worker_did_not_use_is_leased_again() -> None:
    coordinator = RateCoordinator(Allowance(usd=1.0), clock=Clock())
    for number in range(50):
        await coordinator.lease(f"w{number}", 0.0, 0.0)
    assert (await coordinator.lease("late", 0.0, 0.0)).wait > 0
    await coordinator.settle("w7", 0.005, 0.0)
    assert (await coordinator.lease("late", 0.0, 0.0)).usd == pytest.approx(0.015)


async def test_a_budget_is_over_when_it_is_spent() -> None:
    coordinator = RateCoordinator(Allowance(tokens=100), clock=Clock())
    assert (await coordinator.lease("a", 0.0, 0.0)).tokens == 2
    ended = await coordinator.lease("a", 0.0, 120.0)
    assert ended.reached == "the budget of 100 tokens is spent (120 tokens)"


async def test_nobody_waits_for_ever_for_the_lease_of_one_who_died() -> None:
    clock = Clock()
    coordinator = RateCoordinator(Allowance(tokens=50), clock=clock)
    for number in range(50):
        await coordinator.lease(f"dead{number}", 0.0, 0.0)
    assert (await coordinator.lease("alive", 0.0, 0.0)).wait > 0
    clock.now += 6
    assert (
        await coordinator.lease("alive", 0.0, 0.0)
    ).reached == "the budget is spent (0.0000 USD, 0 tokens) or leased out"


async def test_a_budget_in_time_ends_for_all_at_once() -> None:
    clock = Clock()
    coordinator = RateCoordinator(Allowance(seconds=60), ModelSpending(seconds=20.0), clock=clock)
    assert (await coordinator.lease("a", 0.0, 0.0)).seconds == 40
    clock.now += 41
    assert (await coordinator.lease("b", 0.0, 0.0)).reached == "the budget of 60 s is over"


async def test_replies_are_shared() -> None:
    coordinator = RateCoordinator(None, cache=MemoryCache())
    await coordinator.put([(b"key", b"value")])
    assert (await coordinator.get(b"key"), await coordinator.get(b"other")) == (b"value", None)


async def test_a_retry_is_given_no_reply_of_before_and_the_new_one_is_shared(tmp_path: Path) -> None:
    replies = tmp_path / "replies.db"
    first = RateCoordinatorActor("", None, str(replies))
    await first.put([(b"key", b"unreadable")])
    await first.close()
    retrying = RateCoordinatorActor("", None, str(replies), asks_anew=True)
    assert await retrying.get(b"key") is None
    await retrying.put([(b"key", b"better")])
    assert await retrying.get(b"key") == b"better"
    await retrying.close()
    later = RateCoordinatorActor("", None, str(replies))
    assert await later.get(b"key") == b"better"
    await later.close()


async def test_progress_is_told_once_and_spending_adds_up() -> None:
    coordinator = RateCoordinator(None, ModelSpending(usd=1.0, tokens=10, calls=1))
    await coordinator.report(
        WorkerReport(worker="a", verdicts={"passed": 2}, spent=ModelSpending(usd=0.5, tokens=5, calls=2))
    )
    await coordinator.report(
        WorkerReport(worker="b", verdicts={"passed": 1, "failed": 1}, spent=ModelSpending(usd=0.25, calls=1))
    )
    # What a worker has spent it says in full each time: a report that comes twice, or is lost, does no harm.
    await coordinator.report(
        WorkerReport(worker="a", verdicts={"failed": 1}, spent=ModelSpending(usd=0.75, tokens=9, calls=3, cached=4))
    )
    told = await coordinator.progress()
    assert told.verdicts == {"passed": 3, "failed": 2}
    assert told.spent == ModelSpending(usd=2.0, tokens=19, calls=5, cached=4)
    assert (await coordinator.progress()).verdicts == {}


async def test_lines_that_workers_write_down_are_handed_on_once() -> None:
    coordinator = RateCoordinator(None)
    await coordinator.report(WorkerReport(worker="a", verdicts={}, traced=b"1\n2\n"))
    await coordinator.report(WorkerReport(worker="b", verdicts={}, traced=b"3\n", recorded=b"r\n"))
    await coordinator.report(WorkerReport(worker="b", verdicts={"passed": 1}))
    told = await coordinator.progress()
    assert (told.traced, told.recorded) == ((b"1\n2\n", b"3\n"), (b"r\n",))
    told = await coordinator.progress()
    assert (told.traced, told.recorded) == ((), ())


MODEL = parse_model("openai:gpt-x", {"OPENAI_API_KEY": "k"})


class Counted(RateCoordinator):
    """Counts how often it is asked."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__(None, clock=loop.time, cache=MemoryCache())
        self.asked = 0
        self.given = 0.0

    async def pace(self, model: str, kind: str, per_minute: float, amount: float) -> float:
        self.asked += 1
        self.given += amount
        return await super().pace(model, kind, per_minute, amount)


async def calls(loop: VirtualLoop, gate: LeasedLimiter, until: float) -> int:
    """How many one caller makes in that time."""
    made = 0
    while loop.time() < until:
        await gate.acquire()
        if loop.time() < until:
            made += 1
        gate.release(False)
    return made


def gates(
    loop: VirtualLoop, coordinator: RateCoordinator, per_second: float, workers: int, most: int = 8
) -> list[LeasedLimiter]:
    rates = RateLimits(requests_per_minute=per_second * 60)
    made = [WorkerLeases(coordinator, None, loop.time).limiter(MODEL, most, rates) for _ in range(workers)]
    assert all(isinstance(gate, LeasedLimiter) for gate in made)
    return [gate for gate in made if isinstance(gate, LeasedLimiter)]


def test_several_workers_hold_one_rate_together() -> None:
    async def run(loop: VirtualLoop) -> int:
        several = gates(loop, Counted(loop), 200, 3)
        return sum(await asyncio.gather(*(calls(loop, gate, 2.0) for gate in several for _ in range(8))))

    assert 300 <= virtually(run) <= 520, "400 calls in two seconds, and half a second's burst"


def test_a_call_costs_no_round_trip() -> None:
    async def run(loop: VirtualLoop) -> tuple[int, int]:
        coordinator = Counted(loop)
        both = gates(loop, coordinator, 400, 2)
        made = sum(await asyncio.gather(*(calls(loop, gate, 1.5) for gate in both for _ in range(8))))
        return made, coordinator.asked

    made, asked = virtually(run)
    assert made > 300
    assert asked < made / 4


def test_a_slow_worker_leaves_the_rate_to_a_quick_one() -> None:
    async def run(loop: VirtualLoop) -> int:
        quick, slow = gates(loop, Counted(loop), 200, 2)
        await slow.acquire()
        return sum(await asyncio.gather(*(calls(loop, quick, 1.5) for _ in range(8))))

    assert virtually(run) > 230


def test_who_is_cancelled_in_line_takes_no_turn() -> None:
    async def run(loop: VirtualLoop) -> None:
        (gate,) = gates(loop, Counted(loop), 1, 1, most=2)
        waiting = [asyncio.create_task(gate.acquire()) for _ in range(2)]
        await asyncio.sleep(0.05)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert gate.busy == 0
        async with asyncio.timeout(5):
            await gate.acquire()

    virtually(run)


def test_what_was_not_used_is_given_back() -> None:
    async def run(loop: VirtualLoop) -> float:
        coordinator = Counted(loop)
        leases = WorkerLeases(coordinator, None, loop.time)
        gate = leases.limiter(MODEL, 8, RateLimits(requests_per_minute=600_000))
        for _ in range(10):
            await gate.acquire()
            gate.release(False)
        await asyncio.sleep(0.05)
        await leases.give_back()
        return coordinator.given

    assert virtually(run) == 10


def test_tokens_are_leased_by_their_number_and_corrected() -> None:
    async def run(loop: VirtualLoop) -> tuple[float, float]:
        gate = WorkerLeases(Counted(loop), None, loop.time).limiter(MODEL, 4, RateLimits(tokens_per_minute=60_000))
        assert gate.counts_tokens
        await gate.acquire(300)
        first = loop.time()
        gate.correct(300, 100)
        gate.release(False)
        await gate.acquire(150)
        return first, loop.time() - first

    first, second = virtually(run)
    assert first == pytest.approx(0.3, abs=0.01)
    assert second < 0.01, "200 of the first call's tokens were not used"


async def test_a_stock_serves_those_in_line_in_order() -> None:
    served: list[int] = []

    async def ask(amount: float) -> float:
        return 0.01

    stock = LeasedTokens(ask, 6_000)

    async def one(number: int) -> None:
        await stock.take()
        served.append(number)

    await asyncio.gather(*(one(number) for number in range(20)))
    assert served == list(range(20))


def paid(tokens: int) -> Usage:
    return Usage(prompt_tokens=tokens, completion_tokens=0)


async def spend(coordinator: RateCoordinator, name: str, in_flight: int, each: int) -> int:
    """A worker that calls until the budget ends; what it spent."""
    budget = LeasedBudget(coordinator, name)
    gate = LeasedLimiter(in_flight, None, None, budget)
    spent = 0

    async def caller() -> None:
        nonlocal spent
        while True:
            await gate.acquire()
            try:
                budget.reserve()
            except BudgetReached:
                return
            finally:
                gate.release(False)
            await asyncio.sleep(0)
            budget.settle(paid(each), None)
            spent += each

    await asyncio.gather(*(caller() for _ in range(in_flight)))
    await budget.give_back()
    return spent


@pytest.mark.parametrize(("tokens", "each"), [(10_000, 10), (1_000, 100), (100, 100)])
async def test_a_budget_is_exceeded_by_the_calls_in_flight_at_most(tokens: int, each: int) -> None:
    coordinator = RateCoordinator(Allowance(tokens=tokens))
    spent = sum(await asyncio.gather(*(spend(coordinator, f"w{number}", 4, each) for number in range(3))))
    assert tokens * 0.9 <= spent <= tokens + 12 * each


async def test_every_worker_hears_why_the_budget_ended() -> None:
    coordinator = RateCoordinator(Allowance(tokens=100))
    budget = LeasedBudget(coordinator, "w")
    await budget.ready()
    budget.reserve()
    budget.settle(paid(150), None)
    await budget.ready()
    with pytest.raises(BudgetReached, match=r"the budget of 100 tokens is spent \(150 tokens\)"):
        budget.reserve()


async def test_what_one_worker_asked_another_need_not_ask() -> None:
    coordinator = RateCoordinator(None, cache=MemoryCache())
    first, second = SharedCache(coordinator), SharedCache(coordinator)
    await first.put(b"k", b"v")
    assert await first.get(b"k") == b"v"
    await first.flush()
    assert (await second.get(b"k"), await second.get(b"x")) == (b"v", None)


async def test_a_worker_that_gave_its_lease_back_asks_for_another() -> None:
    coordinator = RateCoordinator(Allowance(tokens=100))
    budget = LeasedBudget(coordinator, "w")
    await budget.ready()
    budget.settle(paid(1), None)
    await budget.give_back()
    others = [await coordinator.lease(f"o{number}", 0.0, 0.0) for number in range(50)]
    assert sum(lease.tokens or 0.0 for lease in others) == 99
    await coordinator.settle("o0", 0.0, 0.0)
    await budget.ready()
    budget.reserve()
