"""50,000 recorded tool-call cases from file to SQLite: read, planned, graded, decided, stored. CPU time, best of five.

The baseline is what the same work costs with nothing of Howsure in it: `json.loads` of every line, a comparison of the
calls, and one `executemany` of a few columns.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from howsure.main import GC_THRESHOLD
from howsure.model.result import Result
from howsure.model.run_request import RunRequest
from howsure.services.run.execute import Progress, RunHandle
from howsure.services.run.start import start
from howsure.services.workspace import Workspace

CASES = 50_000
TARGET = 8_000
ROUNDS = 7
ANSWER = "Here is your plan: two evenings of fundamentals, one of practice questions, one of rest."


def dataset(path: Path) -> None:
    """Explain cases that bring their answer and calls; one in five makes a wrong one."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(CASES):
            call = {"tool": "book_session", "arguments": {"learner": f"L{number}", "minutes": 45, "topic": "AZ-900"}}
            made = call if number % 5 else {"tool": "book_session", "arguments": {"learner": f"L{number}"}}
            file.write(json.dumps(case(number, call, made)) + "\n")


def case(number: int, call: dict[str, Any], made: dict[str, Any]) -> dict[str, Any]:
    question = f"Please plan my study week number {number}; I have six hours and prefer evenings."
    return {
        "case_id": f"study-plan-generator-{number:06}",
        "scenario_id": f"SCN-{number % 30:03}",
        "agent_name": "study-plan-generator",
        "phase": "preparation",
        "difficulty": "easy",
        "quality_band": "good",
        "topic_family": "AZ-900",
        "learner_level": "beginner",
        "question": question,
        "context": "The learner works full time and has passed no exam yet.",
        "model_answer": ANSWER,
        "reference_answer": "A plan with two evenings of fundamentals and one of practice.",
        "task_goal": "Book a study session and return a plan.",
        "relevant_context": "Evenings only.",
        "available_tools": ["book_session", "find_module"],
        "expected_tool_calls": [{**call, "reason": "the plan must be booked"}],
        "invoked_tool_calls": [{**made, "outcome": "relevant"}],
        "explain_inputs": {"CoherenceExplain": {"input": ANSWER, "question": question}},
        "required_evals": ["CoherenceExplain"],
        "threshold_profile": "prep_default",
    }


def quietly(_: RunHandle) -> Progress:
    def ignore(results: Sequence[Result]) -> None:
        return None

    return ignore


def ours(folder: Path, file: Path, number: int) -> None:
    work = Workspace.here(database=str(folder / f"run-{number}.db"))
    asyncio.run(start(work, RunRequest(datasets=(str(file),), graders=("tool_calls",)), quietly))


def bare(folder: Path, file: Path, number: int) -> None:
    database = sqlite3.connect(folder / f"bare-{number}.db")
    database.execute("create table results (id text primary key, passed int, body text)")
    rows = []
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            read = json.loads(line)
            wanted = [(call["tool"], call["arguments"]) for call in read["expected_tool_calls"]]
            made = [(call["tool"], call["arguments"]) for call in read["invoked_tool_calls"]]
            rows.append((read["case_id"], wanted == made, line))
    with database:
        database.executemany("insert into results values (?, ?, ?)", rows)
    database.close()


def best(folder: Path, file: Path, *works: Callable[[Path, Path, int], None]) -> list[float]:
    """Of each, the best of several rounds, in turn: a slow moment of a shared machine meets all of them."""
    rounds = [[cpu(work, folder, file, number) for work in works] for number in range(ROUNDS)]
    return [min(times) for times in zip(*rounds, strict=True)]


def cpu(work: Callable[[Path, Path, int], None], folder: Path, file: Path, number: int) -> float:
    """CPU seconds of this process, its threads included."""
    before = time.process_time()
    work(folder, file, number)
    return time.process_time() - before


def main() -> None:
    gc.set_threshold(*GC_THRESHOLD)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "cases.explain.jsonl"
        dataset(file)
        without, with_us = best(folder, file, bare, ours)
    rate = CASES / with_us
    print(f"{CASES:,} tool-call cases, file to SQLite: {rate:,.0f} cases/s (target {TARGET:,}),", end=" ")
    print(f"{with_us / without:.1f} x the bare loop of json, == and executemany ({CASES / without:,.0f} cases/s)")
