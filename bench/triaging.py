"""Triage of a run whose 10,000 results all failed, each for two or three reasons that no other result has: the worst
that grouping by similar reasons can meet. The baseline is reading those results, which every report must do."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from bench.storing import BATCH, NOW, a_run
from howsure.model.case import Case, SingleTurn
from howsure.model.result import Result
from howsure.model.rubric import Severity
from howsure.model.score import Part, Score
from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Transcript
from howsure.model.verdict import Verdict
from howsure.services.triage.triage import triage_stored
from howsure.store.store import Store

FAILURES = 10_000
WORDS = 3_000
CALLS = tuple(ToolCall(name="look", result=ToolResult(content={"found": "y" * 300})) for _ in range(5))


class Reasons:
    """Sentences of six to twenty words, some words far more frequent than others."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._words = ["".join(chance.choices("abcdefghijklmnop", k=6)) for _ in range(WORDS)]
        self._weights = [1 / (place + 1) for place in range(WORDS)]

    def one(self) -> str:
        return " ".join(self._chance.choices(self._words, self._weights, k=self._chance.randint(6, 20)))


def check(name: str, part: Part, passed: bool, reason: str) -> Score:
    return Score(name=name, value=float(passed), pass_mark=1.0, part=part, reason=reason, judge="j")


def a_failure(position: int, reasons: Reasons) -> Result:
    unmet = [Part(id=f"c{position % number}", text=f"Criterion {position % number}") for number in (500, 77)]
    rule = Part(id="R1", text="A rule", severity=Severity.HIGH, scope="prompt")
    return Result(
        case=Case(id=f"case-{position:06}", input=SingleTurn(message="Hello?"), tags=(f"tag {position % 20}",)),
        verdict=Verdict.FAILED,
        reasons=("criterion not met",),
        grades=(
            *(check("criteria", part, False, reasons.one()) for part in unmet),
            check("rubric", rule, position % 3 > 0, reasons.one()),
        ),
        transcript=Transcript(answer="z" * 800, messages=(Message(role=Role.ASSISTANT, tool_calls=CALLS),)),
        position=position,
        created_at=NOW,
    )


async def measure(path: Path) -> None:
    reasons = Reasons(Random(3))
    run = a_run(FAILURES)
    async with await Store.open(path) as store:
        await store.create_run(run)
        for start in range(0, FAILURES, BATCH):
            last = min(start + BATCH, FAILURES)
            await store.save(run.id, [a_failure(position, reasons) for position in range(start, last)])
        began = time.process_time()
        read = sum([1 async for _ in store.iterate(run.id, verdict=Verdict.FAILED)])
        reading = time.process_time() - began
        began = time.process_time()
        found = await triage_stored(store, await store.run(run.id))
        print(f"{read:,} failed results read       {reading:6.1f} s of CPU time")
        print(f"{len(found.findings):,} failed results triaged    {time.process_time() - began:6.1f} s of CPU time")


def main() -> None:
    with TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder) / "howsure.db"))


if __name__ == "__main__":
    main()
