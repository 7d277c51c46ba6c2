from __future__ import annotations

import asyncio
import time

import pytest

from howsure.errors import BudgetReached
from howsure.llm.budget import Allowance
from howsure.llm.cache import MemoryCache
from howsure.llm.specs import parse
from howsure.model.calls import Rates
from howsure.model.transcript import Usage
from howsure.services.cluster.desk import Desk
from howsure.services.cluster.leases import LeasedGate, LeasedSpending, Leases, SharedCache
from howsure.services.cluster.stock import Stock

MODEL = parse("openai:gpt-x", {"OPENAI_API_KEY": "k"})


class Counted(Desk):
    """Counts how often it is asked."""

    def __init__(self, allowance: Allowance | None = None) -> None:
        super().__init__(allowance, cache=MemoryCache())
        self.asked = 0
        self.given = 0.0

    async def pace(self, model: str, kind: str, per_minute: float, amount: float) -> float:
        self.asked += 1
        self.given += amount
        return await super().pace(model, kind, per_minute, amount)


async def calls(gate: LeasedGate, until: float) -> int:
    """How many one caller makes in that time."""
    made = 0
    while time.monotonic() < until:
        await gate.enter()
        if time.monotonic() < until:
            made += 1
        gate.leave(False)
    return made


def gates(desk: Desk, per_second: float, workers: int, most: int = 8) -> list[LeasedGate]:
    made = [Leases(desk, None).gate(MODEL, most, Rates(requests_per_minute=per_second * 60)) for _ in range(workers)]
    assert all(isinstance(gate, LeasedGate) for gate in made)
    return [gate for gate in made if isinstance(gate, LeasedGate)]


async def test_several_workers_hold_one_rate_together() -> None:
    desk = Counted()
    until = time.monotonic() + 2.0
    made = sum(await asyncio.gather(*(calls(gate, until) for gate in gates(desk, 200, 3) for _ in range(8))))
    assert 300 <= made <= 520, "400 calls in two seconds, and half a second's burst"


async def test_a_call_costs_no_round_trip() -> None:
    desk = Counted()
    until = time.monotonic() + 1.5
    made = sum(await asyncio.gather(*(calls(gate, until) for gate in gates(desk, 400, 2) for _ in range(8))))
    assert made > 300
    assert desk.asked < made / 4


async def test_a_slow_worker_leaves_the_rate_to_a_quick_one() -> None:
    desk = Counted()
    quick, slow = gates(desk, 200, 2)
    await slow.enter()
    until = time.monotonic() + 1.5
    assert sum(await asyncio.gather(*(calls(quick, until) for _ in range(8)))) > 230


async def test_who_is_cancelled_in_line_takes_no_turn() -> None:
    desk = Counted()
    (gate,) = gates(desk, 1, 1, most=2)
    waiting = [asyncio.create_task(gate.enter()) for _ in range(2)]
    await asyncio.sleep(0.05)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert gate.busy == 0
    await asyncio.wait_for(gate.enter(), 5)


async def test_what_was_not_used_is_given_back() -> None:
    desk = Counted()
    leases = Leases(desk, None)
    gate = leases.gate(MODEL, 8, Rates(requests_per_minute=600_000))
    for _ in range(10):
        await gate.enter()
        gate.leave(False)
    await asyncio.sleep(0.05)
    await leases.give_back()
    assert desk.given == 10


async def test_tokens_are_leased_by_their_number_and_corrected() -> None:
    desk = Counted()
    gate = Leases(desk, None).gate(MODEL, 4, Rates(tokens_per_minute=60_000))
    assert gate.counts_tokens
    began = time.monotonic()
    await gate.enter(300)
    assert time.monotonic() - began == pytest.approx(0.3, abs=0.15)
    gate.correct(300, 100)
    gate.leave(False)
    began = time.monotonic()
    await gate.enter(150)
    assert time.monotonic() - began < 0.15, "200 of the first call's tokens were not used"


async def test_a_stock_serves_those_in_line_in_order() -> None:
    served: list[int] = []

    async def ask(amount: float) -> float:
        return 0.01

    stock = Stock(ask, 6_000)

    async def one(number: int) -> None:
        await stock.take()
        served.append(number)

    await asyncio.gather(*(one(number) for number in range(20)))
    assert served == list(range(20))


def paid(tokens: int) -> Usage:
    return Usage(prompt_tokens=tokens, completion_tokens=0)


async def spend(desk: Desk, name: str, in_flight: int, each: int) -> int:
    """A worker that calls until the budget ends; what it spent."""
    budget = LeasedSpending(desk, name)
    gate = LeasedGate(in_flight, None, None, budget)
    spent = 0

    async def caller() -> None:
        nonlocal spent
        while True:
            await gate.enter()
            try:
                budget.reserve()
            except BudgetReached:
                return
            finally:
                gate.leave(False)
            await asyncio.sleep(0)
            budget.settle(paid(each), None)
            spent += each

    await asyncio.gather(*(caller() for _ in range(in_flight)))
    await budget.give_back()
    return spent


@pytest.mark.parametrize(("tokens", "each"), [(10_000, 10), (1_000, 100), (100, 100)])
async def test_a_budget_is_exceeded_by_the_calls_in_flight_at_most(tokens: int, each: int) -> None:
    desk = Desk(Allowance(tokens=tokens))
    spent = sum(await asyncio.gather(*(spend(desk, f"w{number}", 4, each) for number in range(3))))
    assert tokens * 0.9 <= spent <= tokens + 12 * each


async def test_every_worker_hears_why_the_budget_ended() -> None:
    desk = Desk(Allowance(tokens=100))
    budget = LeasedSpending(desk, "w")
    await budget.ready()
    budget.reserve()
    budget.settle(paid(150), None)
    await budget.ready()
    with pytest.raises(BudgetReached, match=r"the budget of 100 tokens is spent \(150 tokens\)"):
        budget.reserve()


async def test_what_one_worker_asked_another_need_not_ask() -> None:
    desk = Desk(None, cache=MemoryCache())
    first, second = SharedCache(desk), SharedCache(desk)
    await first.put(b"k", b"v")
    assert await first.get(b"k") == b"v"
    await first.flush()
    assert (await second.get(b"k"), await second.get(b"x")) == (b"v", None)


async def test_a_worker_that_gave_its_lease_back_asks_for_another() -> None:
    desk = Desk(Allowance(tokens=100))
    budget = LeasedSpending(desk, "w")
    await budget.ready()
    budget.settle(paid(1), None)
    await budget.give_back()
    others = [await desk.lease(f"o{number}", 0.0, 0.0) for number in range(50)]
    assert sum(lease.tokens or 0.0 for lease in others) == 99
    await desk.settle("o0", 0.0, 0.0)
    await budget.ready()
    budget.reserve()
