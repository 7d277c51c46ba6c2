"""Comparing two runs of 100,000 cases, made directly in the store, each case with three grades: how long it takes from
the columns to the conclusion, and how much memory at most. Each measurement is a process of its own."""

from __future__ import annotations

import asyncio
import gc
import resource
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from uuid import UUID

from msgspec.structs import replace

from bench.storing import BATCH, NOW, a_run
from howsure.main import GC_THRESHOLD
from howsure.model.case import Case, SingleTurn
from howsure.model.expectation import Choice, CorrectChoice
from howsure.model.result import Result
from howsure.model.run import RunState
from howsure.model.score import LIKERT, OPEN, Direction, Score
from howsure.model.transcript import Message, Role, Transcript
from howsure.model.verdict import Verdict
from howsure.services.compare.compare import CompareRequest, compare_stored
from howsure.store.store import Store

PAIRS = 100_000
IDS = (str(UUID(int=1)), str(UUID(int=2)))
CHOICES = tuple(Choice(id=letter, text=f"Option {letter} of the question") for letter in "ABCD")
ASK = ("python", "-m", "bench.comparing")


def a_result(position: int, chance: Random, better: float) -> Result:
    """A case that passes in seven of ten tries, or a little more often."""
    passed = chance.random() < 0.7 + better
    answer = "Answer: A" if passed else "Answer: B"
    return Result(
        case=Case(
            id=f"case-{position:06}",
            input=SingleTurn(
                message=f"Question {position}: which of these is right? " + "Some words of context. " * 10
            ),
            expectations=(CorrectChoice(choices=CHOICES, correct=("A",)),),
            tags=("short",) if position % 3 else (),
            labels={"difficulty": ("easy", "medium", "hard")[position % 3], "area": f"area {position % 10}"},
        ),
        verdict=Verdict.PASSED if passed else Verdict.FAILED,
        grades=(
            Score(name="choice", value=float(passed), pass_mark=1.0),
            Score(name="RelevanceExplain", value=chance.randint(1, 5), scale=LIKERT),
            Score(name="latency", value=chance.expovariate(1.0), scale=OPEN, direction=Direction.LOWER),
        ),
        transcript=Transcript(answer=answer, messages=(Message(role=Role.ASSISTANT, content=answer),)),
        position=position,
        created_at=NOW,
        duration_ms=1.5,
    )


async def make(path: Path, pairs: int) -> None:
    async with await Store.open(path) as store:
        for place, id in enumerate(IDS):
            chance = Random(place)
            await store.create_run(replace(a_run(pairs), id=id, name=f"run {place}"))
            for start in range(0, pairs, BATCH):
                last = min(start + BATCH, pairs)
                await store.save(id, [a_result(each, chance, 0.01 * place) for each in range(start, last)])
            await store.set_state(id, RunState.COMPLETED)


async def measure(path: Path, *by: str) -> None:
    gc.set_threshold(*GC_THRESHOLD)
    began, spent = time.perf_counter(), time.process_time()
    async with await Store.open(path, read_only=True) as store:
        done = await compare_stored(store, CompareRequest(runs=IDS, by=by))
    took, cpu = time.perf_counter() - began, time.process_time() - spent
    (pair,) = done.pairs
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    questions = len(pair.differences) + 1
    print(
        f"compare        {pair.verdict.n:>10,} pairs, {questions} questions, {len(pair.flips):,} flips: "
        f"{took:.2f} s ({cpu:.2f} of CPU), {peak:,.0f} MB at most; {pair.verdict.conclusion.value}"
    )


def main() -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "bench.db"
        asyncio.run(make(path, PAIRS))
        for by in ((), ("area",)):
            subprocess.run([sys.executable, *ASK[1:], str(path), *by], check=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(measure(Path(sys.argv[1]), *sys.argv[2:]))
    else:
        main()
