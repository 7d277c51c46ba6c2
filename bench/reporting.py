"""The HTML report of 10,000 conversations: how long it takes to write and how much memory at most (each a process of
its own), how large it is, and how long Chromium takes until it has painted, loaded, and listed the cases."""

from __future__ import annotations

import asyncio
import json
import resource
import shutil
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from uuid import UUID

from playwright.sync_api import sync_playwright

from howsure.model.case import Case, SingleTurn
from howsure.model.expectation import Criteria, Criterion
from howsure.model.result import Result
from howsure.model.rubric import Severity
from howsure.model.run import Counts, DatasetPin, Pins, Run, RunState
from howsure.model.run_request import RunRequest
from howsure.model.score import Part, Score
from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Transcript
from howsure.model.verdict import Verdict
from howsure.reports.html.page import write_html
from howsure.store.store import Store

RUN = str(UUID(int=1))
NOW = datetime(2026, 1, 1, tzinfo=UTC)
BATCH = 500
CASES = 10_000
LARGE = 30_000
ROUNDS = 5
ASK = ("python", "-m", "bench.reporting")
WORDS = (
    "order", "parcel", "refund", "return", "window", "policy", "carrier", "delivery", "kettle", "receipt", "account",
    "address", "month", "invoice", "customer", "kindly", "please", "between", "within", "without", "because", "however",
)  # fmt: skip
RULES = tuple(
    Part(
        id=f"R-{number}", text=f"Rule {number}: says what it may and no more", severity=Severity.MEDIUM, scope="prompt"
    )
    for number in range(6)
)


def a_run(cases: int) -> Run:
    pins = Pins(
        request=RunRequest(target="recorded"), datasets=(DatasetPin(path="bench.jsonl", sha256="0" * 64, cases=cases),)
    )
    name, counts = f"{cases:,} conversations", Counts(total=cases)
    return Run(id=RUN, name=name, state=RunState.RUNNING, pins=pins, counts=counts, created_at=NOW)


def prose(chance: Random, words: int) -> str:
    return " ".join(chance.choices(WORDS, k=words)).capitalize() + "."


def a_result(position: int, chance: Random) -> Result:
    """A conversation of six messages and two tool calls, one criterion and six rules: about 6 KB."""
    passed = chance.random() < 0.7
    asked, answer = prose(chance, 30), prose(chance, 120)
    call = ToolCall(
        name="lookup_order",
        arguments={"order_id": str(position)},
        result=ToolResult(content={"status": "delivered", "note": prose(chance, 40)}),
    )
    talk = (
        Message(role=Role.USER, content=asked),
        Message(role=Role.ASSISTANT, content=prose(chance, 20), tool_calls=(call,)),
        Message(role=Role.ASSISTANT, content=prose(chance, 80)),
        Message(role=Role.USER, content=prose(chance, 25)),
        Message(role=Role.ASSISTANT, tool_calls=(call,)),
        Message(role=Role.ASSISTANT, content=answer),
    )
    return Result(
        case=Case(
            id=f"case-{position:06}",
            input=SingleTurn(message=asked),
            expectations=(Criteria(criteria=(Criterion(id="c1", text=f"Answers question {position}"),)),),
            labels={"difficulty": ("easy", "medium", "hard")[position % 3]},
        ),
        verdict=Verdict.PASSED if passed else Verdict.FAILED,
        reasons=("every gating grade reached its mark",) if passed else (f"criterion not met: {prose(chance, 15)}",),
        grades=(
            Score(name="criteria", value=float(passed), pass_mark=1.0, reason="1 of 1"),
            *(
                Score(
                    name="rubric",
                    value=float(chance.random() < 0.9),
                    pass_mark=1.0,
                    part=rule,
                    reason=prose(chance, 12),
                )
                for rule in RULES
            ),
        ),
        transcript=Transcript(answer=answer, messages=talk),
        position=position,
        created_at=NOW,
        duration_ms=chance.expovariate(1 / 900),
    )


async def make(path: Path, cases: int) -> None:
    chance = Random(7)
    async with await Store.open(path) as store:
        await store.create_run(a_run(cases))
        for start in range(0, cases, BATCH):
            await store.save(RUN, [a_result(each, chance) for each in range(start, min(start + BATCH, cases))])
        await store.set_state(RUN, RunState.COMPLETED)


async def write(path: Path, page: Path) -> None:
    began, spent = time.perf_counter(), time.process_time()
    async with await Store.open(path, read_only=True) as store:
        summary = await store.summary(RUN)
        await write_html(summary, store.iterate(RUN), page)
    took, cpu = time.perf_counter() - began, time.process_time() - spent
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"write html     {summary.run.counts.total:>10,} cases: {took:.2f} s ({cpu:.2f} of CPU), "
        f"{peak:,.0f} MB at most; {page.stat().st_size / 1e6:.1f} MB"
    )


PAINTED = """() => {
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  const load = performance.getEntriesByType("navigation")[0];
  return { paint: paint ? paint.startTime : null, load: load.loadEventEnd };
}"""


def opened(page_file: Path) -> None:
    """A fresh browser context each time: nothing is cached."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("open in Chromium: not measured, no chromium on PATH")
        return
    times: list[dict[str, float]] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(ROUNDS):
            context = browser.new_context()
            page = context.new_page()
            began = time.perf_counter()
            page.goto(page_file.as_uri(), wait_until="load")
            page.wait_for_selector("html[data-ready]")
            ready = time.perf_counter() - began
            times.append(json.loads(json.dumps(page.evaluate(PAINTED))) | {"ready": 1000 * ready})
            context.close()
        browser.close()
    said = ", ".join(
        f"{name} {statistics.median(one[name] for one in times):,.0f} ms (worst {max(one[name] for one in times):,.0f})"
        for name in ("paint", "load", "ready")
    )
    print(f"open           {page_file.stat().st_size / 1e6:>10.1f} MB: {said}")


def main() -> None:
    with TemporaryDirectory() as folder:
        for cases in (CASES, LARGE):
            path, page = Path(folder) / f"{cases}.db", Path(folder) / f"{cases}.html"
            asyncio.run(make(path, cases))
            subprocess.run([sys.executable, *ASK[1:], str(path), str(page)], check=True)
            opened(page)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        asyncio.run(write(Path(sys.argv[1]), Path(sys.argv[2])))
    else:
        main()
