"""Every target for its share of the time, each in a process of its own, as many at once as there are cores."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Sequence
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

from msgspec import Struct

from fuzz import engines
from fuzz.target import Find, Target, attempt, folder
from fuzz.targets import TARGETS

GRACE_SECONDS = 90.0
"""How long after its time a process is killed: its last input hangs where no signal reaches it."""


class Job(Struct, kw_only=True):
    """A target that is being fuzzed."""

    target: Target
    process: BaseProcess
    board: engines.Board
    end: float


class Fuzzing:
    """One pass over the targets with one engine."""

    def __init__(self, engine: str, seconds: float, seed: int, folder: Path) -> None:
        self._engine = engine
        self._seconds = seconds
        """Of a target whose share is 1."""
        self._seed = seed
        self._folder = folder
        self.finds = 0

    def run(self, targets: Sequence[Target], jobs: int) -> None:
        waiting, running = list(reversed(targets)), list[Job]()
        engines.warm_up()
        folder()  # whoever asks first removes it at the end: not one of those that are killed
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(self._start(waiting.pop()))
            time.sleep(0.05)
            for job in [each for each in running if not each.process.is_alive() or time.monotonic() > each.end]:
                running.remove(job)
                self._finish(job)

    def _start(self, target: Target) -> Job:
        board = engines.Board()
        process = get_context("fork").Process(target=self._work, args=(target, board))
        process.start()
        return Job(
            target=target,
            process=process,
            board=board,
            end=time.monotonic() + self._seconds * target.share + GRACE_SECONDS,
        )

    def _work(self, target: Target, board: engines.Board) -> None:
        engines.limit_memory()
        run = engines.run_atheris if self._engine == "atheris" else engines.run_hypothesis
        run(target, engines.Finds(self._folder, board), self._seconds * target.share, self._seed)

    def _finish(self, job: Job) -> None:
        if job.process.is_alive():
            job.process.kill()
        job.process.join()
        tried, found, data = job.board.read()
        if job.process.exitcode:
            found += 1
            trace = f"the process ended with {job.process.exitcode} over this input"
            key = f"{job.target.name}: process ended with {job.process.exitcode}"
            engines.write_find(self._folder, Find(target=job.target.name, data=data, key=key, trace=trace))
        self.finds += found
        print(f"{self._engine:<11}{job.target.name:<34}{tried:>9,} inputs  {found} finds", flush=True)


def repeat(path: Path) -> int:
    name = path.name.rsplit(".", 2)[0]
    target = next(each for each in TARGETS if each.name.replace(" ", "-").replace("/", "-") == name)
    find = attempt(target, path.read_bytes())
    print(find.trace if find else f"{target.name}: no find any more")
    return 1 if find else 0


def fuzz(given: Namespace) -> int:
    """The exit code: 1 where something was found."""
    if given.repeat:
        return repeat(given.repeat)
    targets = [target for target in TARGETS if given.only in target.name]
    seed = given.seed or time.time_ns() % 1_000_000
    print(f"{len(targets)} targets with {given.engine}, {given.minutes:g} minutes together, seed {seed}", flush=True)
    fuzzing = Fuzzing(
        given.engine, given.minutes * 60 / (sum(target.share for target in targets) or 1), seed, given.finds
    )
    fuzzing.run(targets, given.jobs)
    if fuzzing.finds:
        for path in sorted(given.finds.glob("*.txt")):
            print(f"-- {path}\n{path.read_text()[-2_000:]}")
        print(f"{fuzzing.finds} finds in {given.finds}/: each again with `python -m fuzz --repeat FILE`")
    return 1 if fuzzing.finds else 0
