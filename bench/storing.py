"""The store: saving batches of results, against the same bytes through plain sqlite3 in the same run; the summary of
100,000 results; the first page and the thousandth. CPU time, best of several."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from howsure.model.case import Case, SingleTurn
from howsure.model.expectation import Choice, CorrectChoice
from howsure.model.result import Result
from howsure.model.run import Counts, DatasetPin, Pins, Run, RunState
from howsure.model.run_request import RunRequest
from howsure.model.score import Score
from howsure.model.transcript import Message, Role, Transcript
from howsure.model.verdict import Verdict
from howsure.store.result_batches import ResultBatch
from howsure.store.schema import cases, metadata, results, runs, scores
from howsure.store.sqlite import PAGE_BYTES, PRAGMAS
from howsure.store.store import Store

RUN = str(UUID(int=1))
NOW = datetime(2026, 1, 1, tzinfo=UTC)
BATCH = 500
SAVED = 20_000
LARGE = 100_000
ROUNDS = 5


def a_run(total: int) -> Run:
    pins = Pins(request=RunRequest(target="recorded"), datasets=(DatasetPin(path="bench.jsonl", sha256="0" * 64),))
    counts = Counts(total=total)
    return Run(id=RUN, name="bench", state=RunState.RUNNING, pins=pins, counts=counts, created_at=NOW)


def some_results(number: int) -> list[Result]:
    """Multiple-choice cases of about 700 bytes, one score each, every third failed."""
    choices = tuple(Choice(id=letter, text=f"Option {letter} of the question") for letter in "ABCD")
    return [_result(position, choices) for position in range(number)]


def _result(position: int, choices: tuple[Choice, ...]) -> Result:
    question = f"Question {position}: which of these is right? " + "Some words of context. " * 10
    right = position % 3 > 0
    answer = "Answer: A" if right else "Answer: B"
    return Result(
        case=Case(
            id=f"case-{position:06}",
            input=SingleTurn(message=question),
            expectations=(CorrectChoice(choices=choices, correct=("A",)),),
        ),
        verdict=Verdict.PASSED if right else Verdict.FAILED,
        reasons=("choice: A expected",),
        grades=(Score(name="choice", value=float(right), pass_mark=1.0, reason="A expected"),),
        transcript=Transcript(answer=answer, messages=(Message(role=Role.ASSISTANT, content=answer),)),
        position=position,
        created_at=NOW,
        duration_ms=1.5,
    )


def batches(given: list[Result]) -> Iterator[list[Result]]:
    return (given[start : start + BATCH] for start in range(0, len(given), BATCH))


async def save_all(path: Path, given: list[Result]) -> float:
    async with await Store.open(path) as store:
        await store.create_run(a_run(len(given)))
        began = time.process_time()
        for batch in batches(given):
            await store.save(RUN, batch)
        return time.process_time() - began


def save_raw(path: Path, given: list[Result]) -> float:
    """The same values into the same tables with the same settings, and nothing else: the floor."""
    made = [ResultBatch(RUN, batch) for batch in batches(given)]
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in (f"page_size = {PAGE_BYTES}", "journal_mode = WAL", *PRAGMAS):
            connection.execute(f"PRAGMA {pragma}")
        _make_tables(connection)
        began = time.process_time()
        for batch in made:
            connection.execute("BEGIN IMMEDIATE")
            for table, values in ((cases, batch.cases.values()), (results, batch.results), (scores, batch.scores)):
                marks = ", ".join("?" * len(table.columns))
                connection.executemany(f"INSERT INTO {table.name} VALUES ({marks})", values)
            connection.execute("COMMIT")
        return time.process_time() - began


def _make_tables(connection: sqlite3.Connection) -> None:
    dialect = sqlite.dialect()
    for table in metadata.sorted_tables:
        connection.execute(str(CreateTable(table).compile(dialect=dialect)))
        for index in table.indexes:
            connection.execute(str(CreateIndex(index).compile(dialect=dialect)))
    connection.execute(
        f"INSERT INTO {runs.name} (id, name, agent_id, state, created_at, total, error, format, body)"
        " VALUES (?, '', '', 'running', '', 0, '', 1, x'')",
        (RUN,),
    )


def best(measure: Callable[[Path], float]) -> float:
    """The least of several, each on a database of its own."""
    times: list[float] = []
    for _ in range(ROUNDS):
        with TemporaryDirectory() as folder:
            times.append(measure(Path(folder) / "bench.db"))
    return min(times)


def saving() -> None:
    given = some_results(SAVED)
    gc.collect()
    gc.freeze()  # In a run results come and go; here they stay, and the collector would look at all of them again.
    ours = best(lambda path: asyncio.run(save_all(path, given)))
    raw = best(lambda path: save_raw(path, given))
    print(f"save           {SAVED / ours:>10,.0f} results/s   {ours / SAVED * 1e6:.1f} µs a result")
    print(f"  plain sqlite3 {SAVED / raw:>9,.0f} results/s   ratio {ours / raw:.2f} (encoding is not in the floor)")


async def reading(path: Path) -> None:
    await save_all(path, some_results(LARGE))
    async with await Store.open(path, read_only=True) as store:
        summary = await _least(lambda: store.summary(RUN))
        first = await _least(lambda: store.results(RUN, limit=100))
        last = await _least(lambda: store.results(RUN, after=LARGE - 101, limit=100))
        rare = await _least(lambda: store.results(RUN, after=LARGE - 1001, limit=100, verdict=Verdict.FAILED))
        finished = await _least(lambda: store.finished_positions(RUN))
    print(f"summary        {summary * 1e3:>10.1f} ms for {LARGE:,} results")
    print(f"finished       {finished * 1e3:>10.1f} ms for {LARGE:,} results")
    print(
        f"page of 100    {first * 1e3:>10.2f} ms the first, {last * 1e3:.2f} the thousandth (ratio {last / first:.2f})"
    )
    print(f"  failed only  {rare * 1e3:>10.2f} ms near the end")


async def _least(call: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(ROUNDS * 2):
        began = time.process_time()
        await call()  # type: ignore[misc]
        times.append(time.process_time() - began)
    return min(times)


def main() -> None:
    saving()
    with TemporaryDirectory() as folder:
        asyncio.run(reading(Path(folder) / "bench.db"))


if __name__ == "__main__":
    main()
