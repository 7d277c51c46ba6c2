"""Running attempts: bounded concurrency over cases and candidates, Results handed out as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from time import perf_counter

from msgspec import Struct
from msgspec.structs import replace

from howsure.engine.attempt import attempt
from howsure.engine.candidates import CandidateRepeat, Rules
from howsure.errors import CaseStopped, ComputeTimeout, in_attempt
from howsure.model.case import Case, Scenario
from howsure.model.result import Failure, Result
from howsure.model.verdict import Decision, Verdict
from howsure.users.attribution import find_fault

Clock = Callable[[], datetime]
Mark = Callable[[int, int | None], object]
"""Called with a worker's number and the attempt that it begins; None: it has ended the attempt."""
Hear = Callable[[Result], object]
"""Called with each Result at once, before the next attempt begins."""

WAITING_RESULTS = 2_000
"""Results that may wait to be saved before the workers pause: memory stays bounded when the store is slow."""


class Attempt(Struct, frozen=True):
    """One attempt to make. `position` orders a run's results: case by case, candidate by candidate."""

    position: int
    case: Case
    candidate: CandidateRepeat


def attempts_left(
    cases: Iterable[Case],
    candidates: Sequence[CandidateRepeat],
    done: Collection[int] = (),
    only: Collection[int] | None = None,
) -> Iterator[Attempt]:
    """The attempts of the run that are not done yet, in order; with `only`, those at these positions."""
    position = 0
    for case in cases:
        for candidate in candidates:
            if position not in done and (only is None or position in only):
                yield Attempt(position, case, candidate)
            position += 1


def hear_nothing(result: Result) -> None:
    """Ignore a Result."""


class Outbox:
    """The queue of Results between workers and the caller; workers wait if it is full. `hear` gets each Result at
    once."""

    def __init__(self, limit: int = WAITING_RESULTS, hear: Hear = hear_nothing) -> None:
        self._limit = limit
        self._hear = hear
        self._results: list[Result] = []
        self._arrived = asyncio.Event()
        self._room = asyncio.Event()
        self._closed = False

    async def put(self, result: Result) -> None:
        self._hear(result)
        self._results.append(result)
        self._arrived.set()
        if len(self._results) >= self._limit:
            self._room.clear()
            await self._room.wait()

    def close(self) -> None:
        self._closed = True
        self._arrived.set()

    async def take(self) -> list[Result]:
        """All that lie there; none only when the box was closed."""
        if not self._closed:
            await self._arrived.wait()
            self._arrived.clear()
        taken, self._results = self._results, []
        self._room.set()
        return taken


def mark_nothing(slot: int, position: int | None) -> None:
    """Ignore the beginning and the end of an attempt."""


async def run_attempts(
    attempts: Iterator[Attempt],
    rules: Rules,
    *,
    concurrency: int,
    clock: Clock,
    mark: Mark = mark_nothing,
    hear: Hear = hear_nothing,
) -> AsyncGenerator[list[Result]]:
    """Results in the order they finish, in batches: as many as are ready whenever the caller is. `clock` says when an
    attempt began; how long it took is measured by a clock that is never set. `hear` is told of each Result at once,
    before its worker takes the next attempt."""
    outbox = Outbox(hear=hear)
    working = asyncio.create_task(_work(attempts, rules, outbox, concurrency, clock, mark))

    def end(_: object) -> None:
        outbox.close()
        # Retrieved here, so that asyncio does not report it as never retrieved.
        working.cancelled() or working.exception()

    working.add_done_callback(end)
    try:
        while batch := await outbox.take():
            yield batch
    finally:
        working.cancel()
        await asyncio.wait([working])
    if (error := working.exception()) is not None:
        raise _first(error)


async def _work(
    attempts: Iterator[Attempt], rules: Rules, outbox: Outbox, concurrency: int, clock: Clock, mark: Mark
) -> None:
    async def worker(slot: int) -> None:
        for next_ in attempts:
            mark(slot, next_.position)
            started, began = clock(), perf_counter()
            result = await _attempt(next_, rules)
            took = (perf_counter() - began) * 1000
            said = result.transcript
            if said is not None and (said.spans or said.duration_ms):
                # A replay is over at once; the agent took its time when it was recorded.
                took = max(took, said.agent_ms or 0.0)
            mark(slot, None)
            result = replace(result, position=next_.position, created_at=started, duration_ms=took)
            if isinstance(next_.case.input, Scenario):
                # Who is answerable, where a simulated conversation did not pass.
                fault = find_fault(result.verdict, result.transcript, result.grades, result.failures)
                result = replace(result, fault=fault)
            await outbox.put(result)

    async with asyncio.TaskGroup() as group:
        for slot in range(max(1, concurrency)):
            group.create_task(worker(slot))


async def _attempt(next_: Attempt, rules: Rules) -> Result:
    within = in_attempt.set(True)
    try:
        return await attempt(next_.case, next_.candidate, rules)
    except ComputeTimeout as timeout:
        return stopped_result(next_, str(timeout))
    finally:
        in_attempt.reset(within)


def stopped_result(attempt: Attempt, reason: str) -> Result:
    """The result of an attempt that was stopped from outside."""
    reason = f"the case was stopped: {reason}"
    decision = Decision(verdict=Verdict.ERRORED, reasons=(reason,), grades=())
    result = attempt.candidate.result(attempt.case, decision, failures=(Failure.of(CaseStopped(reason)),))
    return replace(result, position=attempt.position)


def _first(error: BaseException) -> BaseException:
    """A task group wraps what went wrong; the reader wants the thing itself."""
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
