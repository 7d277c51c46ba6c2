"""What a case with one judge call costs: answers that exist already, from their file through the judge to their rows in
the store, with the cache of replies on; beside a bare aiohttp loop that sends the same bodies and keeps nothing. CPU
time, best of several rounds in turn, against a server that costs next to nothing.

Also: whether memory grows with the number of cases.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench.calling import serving
from bench.live import AT_ONCE, answer, compared, peak, peaks, reference, written
from howsure.model.run_request import RunRequest

CASES = 8_000
ROUNDS = 5
MOST = 3.0
JUDGE = "judge-promptfoo"


def judged(url: str, folder: Path, numbers: Sequence[int]) -> RunRequest:
    """Reference questions, answers to them, and whom to ask."""
    return RunRequest(
        datasets=written(folder / "cases.jsonl", map(reference, numbers)),
        responses=written(folder / "answers.jsonl", map(answer, numbers)),
        judge=f"vllm:{JUDGE}@{url}",
        concurrency=AT_ONCE,
    )


def main() -> None:
    with serving() as (url, kind):
        print(f"recorded answers, cache on, rows stored, against {kind} (CPU a case, best of {ROUNDS} rounds in turn):")
        print(f"  one judge call each: {compared(url, partial(judged, url), CASES, ROUNDS).shown(MOST)}")
        print(f"  {peaks('bench.judging', url)}")


if __name__ == "__main__":
    peak(partial(judged, sys.argv[1]), int(sys.argv[2]))
