"""Running a plan: every attempt once, in bounded numbers, cancellable, and our own faults are not swallowed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from howsure.engine.candidates import CandidateRepeat, Rules
from howsure.engine.run import WAITING_RESULTS, Outbox, attempts_left, run_attempts
from howsure.model.case import Case, Scenario
from howsure.model.result import Result
from howsure.model.score import Grade
from howsure.model.simulation import Fault, Party
from howsure.model.verdict import Decision, Profile, Verdict
from howsure.targets.base import FinishedSession
from howsure.testing import a_case, a_transcript

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def passing(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
    return Decision(verdict=Verdict.PASSED, reasons=(), grades=tuple(grades))


RULES = Rules(policies={}, fallback=passing, profiles={})


class Slow:
    """A target that counts how many conversations are open at once."""

    name = "slow"

    def __init__(self) -> None:
        self.open_now = 0
        self.most = 0

    async def open(self, case: Case) -> FinishedSession:
        self.open_now += 1
        self.most = max(self.most, self.open_now)
        await asyncio.sleep(0.001)
        self.open_now -= 1
        return FinishedSession(a_transcript("ok"))


class Instant:
    name = "instant"

    async def open(self, case: Case) -> FinishedSession:
        return FinishedSession(a_transcript("ok"))


def cases(count: int) -> list[Case]:
    return [a_case(id=f"case-{number}") for number in range(count)]


async def collected(lanes: Sequence[CandidateRepeat], count: int, done: set[int], concurrency: int = 4) -> list[Result]:
    found: list[Result] = []
    async for handful in run_attempts(
        attempts_left(cases(count), lanes, done), RULES, concurrency=concurrency, clock=lambda: NOW
    ):
        found += handful
    return found


async def test_every_case_goes_through_every_lane_once() -> None:
    lanes = [CandidateRepeat(target=Instant(), graders=(), candidate=name) for name in ("juno", "orchid")]
    found = await collected(lanes, 3, set())
    assert sorted((result.position, result.case.id, result.candidate) for result in found) == [
        (0, "case-0", "juno"),
        (1, "case-0", "orchid"),
        (2, "case-1", "juno"),
        (3, "case-1", "orchid"),
        (4, "case-2", "juno"),
        (5, "case-2", "orchid"),
    ]
    assert {result.created_at for result in found} == {NOW}


def failing(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
    return Decision(verdict=Verdict.FAILED, reasons=("no",), grades=tuple(grades))


async def test_a_scenario_that_did_not_pass_names_the_one_answerable_and_nothing_else_does() -> None:
    scenario = a_case(id="s", input=Scenario(persona="P", initial_message="Hi"))
    lanes = [CandidateRepeat(target=Instant(), graders=())]
    faults = []
    for rules in (RULES, replace(RULES, fallback=failing)):
        async for handful in run_attempts(
            attempts_left([scenario, a_case()], lanes, set()), rules, concurrency=1, clock=lambda: NOW
        ):
            faults += [(result.case.id, result.fault.party if result.fault else None) for result in handful]
    assert faults == [("s", None), ("case-1", None), ("s", Party.AGENT), ("case-1", None)]


async def test_a_scenario_whose_target_breaks_is_attributed_too() -> None:
    class Unreachable:
        name = "shop"

        async def open(self, case: Case) -> FinishedSession:
            raise ConnectionError("connection refused")

    scenario = a_case(id="s", input=Scenario(persona="P", initial_message="Hi"))
    todo = attempts_left([scenario], [CandidateRepeat(target=Unreachable(), graders=())], set())
    (result,) = [
        result async for handful in run_attempts(todo, RULES, concurrency=1, clock=lambda: NOW) for result in handful
    ]
    assert result.verdict is Verdict.ERRORED
    assert result.fault == Fault(
        party=Party.ENVIRONMENT,
        reason="the agent could not be reached",
        evidence="target 'shop': ConnectionError: connection refused",
    )


async def test_what_is_done_is_not_done_again() -> None:
    found = await collected([CandidateRepeat(target=Instant(), graders=())], 5, {0, 1, 3})
    assert sorted(result.case.id for result in found) == ["case-2", "case-4"]


async def test_nothing_left_to_do_gives_nothing() -> None:
    assert await collected([CandidateRepeat(target=Instant(), graders=())], 2, {0, 1}) == []


async def test_no_more_conversations_than_allowed_are_open_at_once() -> None:
    target = Slow()
    await collected([CandidateRepeat(target=target, graders=())], 30, set(), concurrency=5)
    assert target.most == 5


async def test_more_results_than_may_wait_all_arrive() -> None:
    count = WAITING_RESULTS * 2 + 7
    found = await collected([CandidateRepeat(target=Instant(), graders=())], count, set())
    assert len({result.position for result in found}) == count


async def test_results_that_lie_there_when_the_box_closes_are_taken_before_the_end() -> None:
    box = Outbox()
    result = (await collected([CandidateRepeat(target=Instant(), graders=())], 1, set()))[0]
    await box.put(result)
    box.close()
    async with asyncio.timeout(30):
        assert await box.take() == [result]
        assert await box.take() == []


async def test_a_caller_that_is_slow_to_come_back_is_not_left_waiting() -> None:
    stream = run_attempts(
        attempts_left(cases(3), [CandidateRepeat(target=Instant(), graders=())]),
        RULES,
        concurrency=1,
        clock=lambda: NOW,
    )
    seen = 0
    async for handful in stream:
        seen += len(handful)
        await asyncio.sleep(0.01)
    assert seen == 3


async def test_a_caller_that_stops_early_stops_the_workers() -> None:
    target = Slow()
    stream = run_attempts(
        attempts_left(cases(10_000), [CandidateRepeat(target=target, graders=())]),
        RULES,
        concurrency=3,
        clock=lambda: NOW,
    )
    async for _ in stream:
        break
    await stream.aclose()
    before = target.open_now
    await asyncio.sleep(0.01)
    assert target.open_now == before


async def test_a_policy_with_a_bug_errors_its_cases_and_does_not_end_the_run() -> None:
    def broken(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
        raise RuntimeError("a policy with a bug")

    rules = Rules(policies={}, fallback=broken, profiles={})
    attempts = attempts_left(cases(3), [CandidateRepeat(target=Instant(), graders=())])
    batches = [batch async for batch in run_attempts(attempts, rules, concurrency=2, clock=lambda: NOW)]
    results = [result for batch in batches for result in batch]
    assert [result.verdict for result in results] == [Verdict.ERRORED] * 3
    assert {failure.kind for result in results for failure in result.failures} == {"PolicyFailed"}


async def test_a_fault_of_our_own_is_raised_and_not_swallowed() -> None:
    def broken() -> datetime:
        raise RuntimeError("a clock with a bug")

    attempts = attempts_left(cases(3), [CandidateRepeat(target=Instant(), graders=())])
    with pytest.raises(RuntimeError, match="a clock with a bug"):
        async for _ in run_attempts(attempts, RULES, concurrency=2, clock=broken):
            raise AssertionError("no result should arrive")
