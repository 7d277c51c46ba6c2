"""Running attempts: bounded concurrency over cases and candidates, Results handed out as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from howsure.engine.attempt import attempt
from howsure.engine.candidates import CandidateRepeat, Rules
from howsure.model.case import Case, Scenario
from howsure.model.result import Result
from howsure.users.attribution import find_fault

Clock = Callable[[], datetime]

WAITING_RESULTS = 2_000
"""Results that may wait to be saved before the workers pause: memory stays bounded when the store is slow."""


class Attempt(Struct, frozen=True):
    """One attempt to make. `position` orders a run's results: case by case, candidate by candidate."""

    position: int
    case: Case
    candidate: CandidateRepeat


def attempts_left(
    cases: Iterable[Case], candidates: Sequence[CandidateRepeat], done: Collection[int] = ()
) -> Iterator[Attempt]:
    """Every attempt of the run that is not done yet, in order."""
    position = 0
    for case in cases:
        for candidate in candidates:
            if position not in done:
                yield Attempt(position, case, candidate)
            position += 1


class Outbox:
    """Where workers leave Results and the caller takes them; workers wait when too many lie there."""

    def __init__(self, limit: int = WAITING_RESULTS) -> None:
        self._limit = limit
        self._results: list[Result] = []
        self._arrived = asyncio.Event()
        self._room = asyncio.Event()
        self._closed = False

    async def put(self, result: Result) -> None:
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


async def run_attempts(
    attempts: Iterator[Attempt], rules: Rules, *, concurrency: int, clock: Clock
) -> AsyncGenerator[list[Result]]:
    """Results in the order they finish, in batches: as many as are ready whenever the caller is."""
    outbox = Outbox()
    working = asyncio.create_task(_work(attempts, rules, outbox, concurrency, clock))
    working.add_done_callback(lambda _: outbox.close())
    try:
        while batch := await outbox.take():
            yield batch
    finally:
        working.cancel()
        await asyncio.wait([working])
    if (error := working.exception()) is not None:
        raise _first(error)


async def _work(attempts: Iterator[Attempt], rules: Rules, outbox: Outbox, concurrency: int, clock: Clock) -> None:
    async def worker() -> None:
        for next_ in attempts:
            started = clock()
            result = await attempt(next_.case, next_.candidate, rules)
            took = (clock() - started).total_seconds() * 1000
            result = replace(result, position=next_.position, created_at=started, duration_ms=took)
            if isinstance(next_.case.input, Scenario):
                # Who is answerable, where a simulated conversation did not pass.
                fault = find_fault(result.verdict, result.transcript, result.grades, result.failures)
                result = replace(result, fault=fault)
            await outbox.put(result)

    async with asyncio.TaskGroup() as group:
        for _ in range(max(1, concurrency)):
            group.create_task(worker())


def _first(error: BaseException) -> BaseException:
    """A task group wraps what went wrong; the reader wants the thing itself."""
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
