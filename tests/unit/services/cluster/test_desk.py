from __future__ import annotations

import pytest

from howsure.llm.budget import Allowance
from howsure.llm.cache import MemoryCache
from howsure.model.run import Spent
from howsure.services.cluster.desk import Desk, Report


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


async def test_one_rate_holds_for_all_who_ask() -> None:
    clock = Clock()
    desk = Desk(None, clock=clock)
    assert await desk.pace("openai:m", "requests", 600, 1) == pytest.approx(0.1)
    assert await desk.pace("openai:m", "requests", 600, 4) == pytest.approx(0.5)
    clock.now += 0.5
    assert await desk.pace("openai:m", "requests", 600, 1) == pytest.approx(0.1)


async def test_models_and_kinds_have_rates_of_their_own() -> None:
    desk = Desk(None, clock=Clock())
    assert await desk.pace("openai:m", "requests", 60, 1) == pytest.approx(1.0)
    assert await desk.pace("openai:n", "requests", 60, 1) == pytest.approx(1.0)
    assert await desk.pace("openai:m", "tokens", 6_000, 100) == pytest.approx(1.0)


async def test_what_is_given_back_is_there_for_others() -> None:
    desk = Desk(None, clock=Clock())
    await desk.pace("openai:m", "requests", 600, 10)
    await desk.pace("openai:m", "requests", 600, -10)
    assert await desk.pace("openai:m", "requests", 600, 1) == pytest.approx(0.1)


async def test_leases_never_add_up_to_more_than_the_budget() -> None:
    clock = Clock()
    desk = Desk(Allowance(tokens=1_000), clock=clock)
    given = [await desk.lease(f"w{number}", 0.0, 0.0) for number in range(60)]
    assert sum(lease.tokens or 0.0 for lease in given) == 1_000
    assert given[0].tokens == 20
    assert given[-1].wait > 0


async def test_what_a_worker_did_not_use_is_leased_again() -> None:
    desk = Desk(Allowance(usd=1.0), clock=Clock())
    for number in range(50):
        await desk.lease(f"w{number}", 0.0, 0.0)
    assert (await desk.lease("late", 0.0, 0.0)).wait > 0
    await desk.settle("w7", 0.005, 0.0)
    assert (await desk.lease("late", 0.0, 0.0)).usd == pytest.approx(0.015)


async def test_a_budget_is_over_when_it_is_spent() -> None:
    desk = Desk(Allowance(tokens=100), clock=Clock())
    assert (await desk.lease("a", 0.0, 0.0)).tokens == 2
    ended = await desk.lease("a", 0.0, 120.0)
    assert ended.reached == "the budget of 100 tokens is spent (120 tokens)"


async def test_nobody_waits_for_ever_for_the_lease_of_one_who_died() -> None:
    clock = Clock()
    desk = Desk(Allowance(tokens=50), clock=clock)
    for number in range(50):
        await desk.lease(f"dead{number}", 0.0, 0.0)
    assert (await desk.lease("alive", 0.0, 0.0)).wait > 0
    clock.now += 6
    assert (await desk.lease("alive", 0.0, 0.0)).reached == "the budget is spent (0.0000 USD, 0 tokens) or leased out"


async def test_a_budget_in_time_ends_for_all_at_once() -> None:
    clock = Clock()
    desk = Desk(Allowance(seconds=60), Spent(seconds=20.0), clock=clock)
    assert (await desk.lease("a", 0.0, 0.0)).seconds == 40
    clock.now += 41
    assert (await desk.lease("b", 0.0, 0.0)).reached == "the budget of 60 s is over"


async def test_replies_are_shared() -> None:
    desk = Desk(None, cache=MemoryCache())
    await desk.put([(b"key", b"value")])
    assert (await desk.get(b"key"), await desk.get(b"other")) == (b"value", None)


async def test_progress_is_told_once_and_spending_adds_up() -> None:
    desk = Desk(None, Spent(usd=1.0, tokens=10, calls=1))
    await desk.report(Report(worker="a", verdicts={"passed": 2}, spent=Spent(usd=0.5, tokens=5, calls=2)))
    await desk.report(Report(worker="b", verdicts={"passed": 1, "failed": 1}, spent=Spent(usd=0.25, calls=1)))
    # What a worker has spent it says in full each time: a report that comes twice, or is lost, does no harm.
    await desk.report(Report(worker="a", verdicts={"failed": 1}, spent=Spent(usd=0.75, tokens=9, calls=3, cached=4)))
    told = await desk.progress()
    assert told.verdicts == {"passed": 3, "failed": 2}
    assert told.spent == Spent(usd=2.0, tokens=19, calls=5, cached=4)
    assert (await desk.progress()).verdicts == {}


async def test_lines_that_workers_write_down_are_handed_on_once() -> None:
    desk = Desk(None)
    await desk.report(Report(worker="a", verdicts={}, traced=b"1\n2\n"))
    await desk.report(Report(worker="b", verdicts={}, traced=b"3\n", recorded=b"r\n"))
    await desk.report(Report(worker="b", verdicts={"passed": 1}))
    told = await desk.progress()
    assert (told.traced, told.recorded) == ((b"1\n2\n", b"3\n"), (b"r\n",))
    told = await desk.progress()
    assert (told.traced, told.recorded) == ((), ())
