"""The door in real time, against a real socket: a bad day, a steady limit, and the end of patience."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from howsure.errors import ModelFailed
from howsure.llm.base import LanguageModel, ModelRequest
from howsure.llm.client import ClientOptions, ModelClient
from howsure.llm.costs import CallCounters
from howsure.llm.messages import ChatMessage
from howsure.llm.retry import RetryPolicy
from howsure.model.transcript import Role
from llm.bad_server import BadServer, Faults, bad_server

CALLS = 2000


@asynccontextmanager
async def connected(
    faults: Faults, habits: ClientOptions
) -> AsyncIterator[tuple[BadServer, ModelClient, LanguageModel]]:
    async with bad_server(faults) as server, ModelClient({}, habits) as door:
        yield server, door, door.model(f"vllm:m@{server.url}")


async def ask_all(model: LanguageModel, calls: int, at_once: int) -> float:
    numbers = iter(range(calls))

    async def worker() -> None:
        for number in numbers:
            await model.complete(ModelRequest(messages=(ChatMessage(Role.USER, str(number)),)))

    began = time.monotonic()
    await asyncio.gather(*(worker() for _ in range(at_once)))
    return time.monotonic() - began


async def a_day(faults: Faults) -> tuple[float, BadServer, CallCounters]:
    async with connected(faults, ClientOptions(concurrency=50, attempt_seconds=2.0)) as (server, door, model):
        return await ask_all(model, CALLS, 50), server, door.total


@pytest.mark.thorough
async def test_a_bad_day_loses_nothing_asks_nothing_twice_and_takes_less_than_three_times_as_long() -> None:
    undisturbed, quiet, _ = await a_day(Faults())
    took, server, counters = await a_day(Faults(s429=0.1, s500=0.1, hang=0.01))
    print(f"\nundisturbed {undisturbed:.1f} s, on a bad day {took:.1f} s: {took / undisturbed:.2f} x; {server.fates}")
    assert quiet.answered == server.answered == {str(number): 1 for number in range(CALLS)}
    assert (counters.answered, counters.failed, counters.cached) == (CALLS, 0, 0)
    assert counters.attempts == server.fates.total() == CALLS + counters.retries
    assert server.fates["429"] > 150 and server.fates["500"] > 150 and server.fates["hang"] > 10
    assert server.most <= 50
    assert took < 6 * undisturbed  # 2.2 times here; others may share the machine


@pytest.mark.slow
async def test_a_server_that_answers_garbage_fails_every_call_with_the_reply_and_the_run_ends() -> None:
    habits = ClientOptions(concurrency=50, retry=RetryPolicy(base=0.01))
    async with connected(Faults(latency=0.001, garbage=True), habits) as (server, door, model):
        asked = [model.complete(ModelRequest(messages=(ChatMessage(Role.USER, str(number)),))) for number in range(500)]
        failures = await asyncio.gather(*asked, return_exceptions=True)
        assert all(isinstance(one, ModelFailed) and "<p>It works!</p>" in str(one) for one in failures)
        assert door.total.failed == 500
        assert server.fates == {"garbage": 1500}


@pytest.mark.slow
@pytest.mark.thorough
async def test_two_hundred_in_flight_take_hardly_longer_than_the_model_does() -> None:
    async with connected(Faults(), ClientOptions(concurrency=200)) as (server, _, model):
        took = await ask_all(model, 4000, 200)
        print(f"\n4,000 calls at 200 ms, 200 in flight: {took:.2f} s, ideal 4.00")
        assert server.most == 200
        assert server.connections == 200
        assert took < 4 * 4.0
