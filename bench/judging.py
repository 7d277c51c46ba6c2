"""What a judged case costs, from the dataset to its row in the store, beside a bare aiohttp loop that asks the same
number of questions and stores nothing. CPU time, best of several, against a server that costs next to nothing.

Also: whether memory grows with the number of cases.
"""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from assay.main import GC_THRESHOLD
from assay.model.result import Result
from assay.services.options import RunOptions
from assay.services.running import Progress
from assay.services.runs import Started, start
from assay.services.workplace import Workplace
from bench.calling import bare, serving

CASES = 12_000
ROUNDS = 3
MOST = 3.0
AT_ONCE = 64
GROWTH_MB = 20
JUDGE = "judge-promptfoo"


def dataset(folder: Path, cases: int) -> tuple[Path, Path]:
    """Reference questions, and answers to them."""
    questions, answers = folder / f"cases-{cases}.jsonl", folder / f"answers-{cases}.jsonl"
    with questions.open("w", encoding="utf-8") as asked, answers.open("w", encoding="utf-8") as said:
        for number in range(cases):
            row = {
                "schema_version": "legal_eval_v1",
                "id": f"q:{number}",
                "dataset": "bench",
                "task_type": "reference_qa",
                "prompt": f"Within how many days may the buyer in case {number} withdraw from the contract?",
                "reference_answers": ["Within fourteen days of receiving the goods."],
            }
            asked.write(json.dumps(row) + "\n")
            said.write(json.dumps({"case_id": f"q:{number}", "response_text": f"In {number} days."}) + "\n")
    return questions, answers


def quietly(_: Started) -> Progress:
    def ignore(results: Sequence[Result]) -> None:
        return None

    return ignore


def judged(folder: Path, url: str, cases: int, number: int) -> float:
    """CPU seconds a case."""
    questions, answers = dataset(folder, cases)
    work = Workplace.here(database=str(folder / f"run-{cases}-{number}.db"))
    options = RunOptions(
        datasets=(str(questions),),
        responses=(str(answers),),
        judge=f"vllm:{JUDGE}@{url}",
        concurrency=AT_ONCE,
        cache=False,
    )
    before = time.process_time()
    summary = asyncio.run(start(work, options, quietly))
    took = (time.process_time() - before) / cases
    scored = sum(grader.scored for grader in summary.graders)
    assert scored == cases, f"{scored} of {cases} were scored"
    return took


def peak(url: str, cases: int) -> float:
    """Megabytes that a process of its own needs at most for so many cases."""
    command = [sys.executable, "-m", "bench.judging", url, str(cases)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    gc.set_threshold(*GC_THRESHOLD)
    with serving() as (url, kind), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        loop = min(asyncio.run(bare(url)) for _ in range(ROUNDS))
        whole = min(judged(folder, url, CASES, number) for number in range(ROUNDS))
        print(f"a case with one judge call, against {kind} (CPU, best of {ROUNDS}):")
        print(f"  bare aiohttp loop, nothing stored  {1000 * loop:.3f} ms")
        print(f"  Assay, its row in the store too    {1000 * whole:.3f} ms = {whole / loop:.2f} x (wanted <= {MOST:g})")
        small, large = peak(url, 2_000), peak(url, 20_000)
        print(f"  peak memory: {small:.0f} MB for 2,000 cases, {large:.0f} MB for 20,000", end=" ")
        print(f"(wanted: at most {GROWTH_MB} MB more)")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as alone:
        judged(Path(alone), sys.argv[1], int(sys.argv[2]), 0)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
