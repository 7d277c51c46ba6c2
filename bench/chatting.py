"""What a live chat case costs: a model is asked, its choice is read, decided and stored, with the cache of replies on;
beside a bare aiohttp loop that sends the same bodies and keeps nothing. Then the same with a judge asked about the
answer. CPU time, best of several rounds in turn, against a server that costs next to nothing.

Also: how near a run comes to the ideal time when models are slow, and whether memory grows with the number of cases.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench.calling import control, serving
from bench.live import AT_ONCE, choice, compared, kept, peak, peaks, reference, run, written
from howsure.model.run_request import RunRequest

CASES = 8_000
ROUNDS = 5
MOST = 3.0
SLOW_CASES = 20_000
SLOW = ((0.2, 200, 1.15), (2.0, 2_000, 1.5))
"""Seconds of latency, cases in flight, and how many times the ideal is allowed."""
MODEL = "answer-a"
JUDGE = "judge-promptfoo"


def chosen(url: str, folder: Path, numbers: Sequence[int], at_once: int = AT_ONCE) -> RunRequest:
    """Questions with options, put to a model; a program grades."""
    questions = written(folder / "cases.jsonl", map(choice, numbers))
    return RunRequest(datasets=questions, target=f"chat:vllm:{MODEL}@{url}", concurrency=at_once)


def answered(url: str, folder: Path, numbers: Sequence[int]) -> RunRequest:
    """Questions put to a model, and a judge asked about its answers."""
    return RunRequest(
        datasets=written(folder / "cases.jsonl", map(reference, numbers)),
        target=f"chat:vllm:{MODEL}@{url}",
        judge=f"vllm:{JUDGE}@{url}",
        concurrency=AT_ONCE,
    )


def main() -> None:
    with serving() as (url, kind):
        print(f"live chat cases, cache on, rows stored, against {kind} (CPU a case, best of {ROUNDS} rounds in turn):")
        graded = compared(url, partial(chosen, url), CASES, ROUNDS)
        print(f"  graded by program: {graded.shown(MOST)}")
        judged = compared(url, partial(answered, url), CASES, ROUNDS)
        print(f"  graded by a judge, two calls each: {judged.shown(MOST)}")
        print(f"  {peaks('bench.chatting', url)}")
        for latency, at_once, most in SLOW:
            print(f"  {slow(url, latency, at_once, most)}", flush=True)


def slow(url: str, latency: float, at_once: int, most: float) -> str:
    asyncio.run(control(url, latency))
    took = run(partial(chosen, url, at_once=at_once), SLOW_CASES)
    ideal = SLOW_CASES / at_once * latency
    share = took.wall / ideal
    asked = f"{SLOW_CASES:,} cases at {1000 * latency:,.0f} ms, {at_once:,} in flight"
    return f"{asked}: {took.wall:.1f} s of wall time = {share:.2f} x the ideal {ideal:g} s, {kept(share <= most, most)}"


if __name__ == "__main__":
    peak(partial(chosen, sys.argv[1]), int(sys.argv[2]))
