"""The same run by both engines: grading that takes time with one and two workers, what Ray costs a small run, the
driver's memory, and a million cases. Needs Ray: `.venv-frameworks/ray/bin/python -m bench clustering`. Each run is a
process of its own; runs are kept in TEST_DATABASE_URL (an empty PostgreSQL), or in a SQLite file.

`python -m bench.clustering million [CASES]` grades a million recorded cases by both engines and compares the exports.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread
from typing import Any

import msgspec
from msgspec import Struct

from bench.end_to_end import case, quietly
from howsure.main import GC_THRESHOLD
from howsure.model.run_request import RunRequest
from howsure.reports.jsonl import canonical_line
from howsure.services.run.start import start
from howsure.services.workspace import Workspace

JUDGED = 8_000
SMALL = 1_000
MEMORY = (10_000, 200_000)
MILLION = 1_000_000
OBJECT_STORE = 200 * 2**20
AGENTS = ("ray::DashboardAgent", "ray::RuntimeEnvAgent")
"""Ray's own programs that are called as its workers are."""
PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


class Measured(Struct, frozen=True, kw_only=True):
    """One run: seconds on the wall, those of work, the CPU seconds of everybody in these, and the most memory in MB: of
    the driver, of all workers together, and of Ray's own programs."""

    wall: float
    work: float
    cpu: float
    driver: float
    workers: float
    ray: float
    export: str


def judged(path: Path, count: int) -> None:
    """The demo's Explain cases over and over: the offline judge takes milliseconds for each."""
    source = Path(str(files("howsure") / "demo" / "explain" / "support-onboarding.explain.jsonl"))
    known = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            each = known[number % len(known)]
            file.write(json.dumps({**each, "case_id": f"{each['agent_name']}-{number:07}"}) + "\n")


def recorded(path: Path, count: int) -> None:
    """Tool calls to compare: microseconds each."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            call = {"tool": "book_session", "arguments": {"learner": f"L{number}", "minutes": 45, "topic": "AZ-900"}}
            made = call if number % 5 else {"tool": "book_session", "arguments": {"learner": f"L{number}"}}
            file.write(json.dumps({**case(number, call, made), "case_id": f"study-plan-generator-{number:07}"}) + "\n")


def measured(engine: str, workers: int, file: Path, graders: str = "", export: bool = False) -> Measured:
    words = [engine, str(workers), str(file), graders, "export" if export else ""]
    command = [sys.executable, "-m", "bench.clustering", "one", *words]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.decode()[-3000:])
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Measured)


def one(engine: str, workers: str, file: str, graders: str, export: str) -> None:
    """In a process of its own; says what it measured on stdout."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        gc.set_threshold(*GC_THRESHOLD)
        began = time.perf_counter()
        ray = _ray(int(workers), folder) if engine == "ray" else None
        watch = Watch()
        os.chdir(folder)
        database = os.environ.get("TEST_DATABASE_URL") or str(folder / "runs.db")
        work = Workspace.here(database=database)
        options = RunRequest(
            datasets=(file,), judge="offline", engine=engine, graders=tuple(graders.split(",")) if graders else None
        )
        run = asyncio.run(start(work, options, quietly)).run
        wall = time.perf_counter() - began
        watch.stop()
        assert run.started_at and run.completed_at and run.counts.pending == 0
        found = Measured(
            wall=wall,
            work=(run.completed_at - run.started_at).total_seconds(),
            cpu=watch.cpu(run.started_at.timestamp(), run.completed_at.timestamp()),
            driver=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            workers=watch.workers,
            ray=watch.ray,
            export=asyncio.run(_exported(work, run.id)) if export else "",
        )
        asyncio.run(_forgotten(work, run.id))
        if ray is not None:
            ray.shutdown()
    print(msgspec.json.encode(found).decode())


def _ray(workers: int, folder: Path) -> Any:
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_TMPDIR=str(folder))
    ray = import_module("ray")
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    ray.init(num_cpus=workers, object_store_memory=OBJECT_STORE, namespace="howsure", **quiet)
    return ray


async def _exported(work: Workspace, run_id: str) -> str:
    hashed = hashlib.sha256()
    async with await work.store() as store:
        async for result in store.iterate(run_id):
            hashed.update(canonical_line(result))
    return hashed.hexdigest()


async def _forgotten(work: Workspace, run_id: str) -> None:
    async with await work.store() as store:
        await store.delete_run(run_id)


class Watch:
    """Looks at the processes below this one, and remembers the most memory they had and the CPU time they took."""

    def __init__(self) -> None:
        self.workers = 0.0
        self.ray = 0.0
        self._times: list[tuple[float, float]] = []
        self._cpu: dict[int, float] = {}
        self._ended = Event()
        self._looking = Thread(target=self._look, daemon=True)
        self._looking.start()

    def stop(self) -> None:
        self._ended.set()
        self._looking.join()

    def cpu(self, began: float, ended: float) -> float:
        """CPU seconds between two moments, of this process and all below it."""
        before = max((spent for at, spent in self._times if at <= began), default=0.0)
        return max((spent for at, spent in self._times if at <= ended + 0.5), default=0.0) - before

    def _look(self) -> None:
        while not self._ended.wait(0.25):
            found = list(_below(os.getpid()))
            self._cpu.update({each.pid: each.cpu for each in found})
            self._times.append((time.time(), time.process_time() + sum(self._cpu.values())))
            workers = sum(each.memory for each in found if each.name.startswith("ray::") and each.name not in AGENTS)
            self.workers = max(self.workers, workers)
            self.ray = max(self.ray, sum(each.memory for each in found) - workers)


class Process(Struct, frozen=True):
    """Resident MB without shared pages, and CPU seconds."""

    pid: int
    name: str
    memory: float
    cpu: float


def _below(pid: int) -> Iterator[Process]:
    for child in _children(pid):
        try:
            name = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")
            resident, shared = map(int, Path(f"/proc/{child}/statm").read_text().split()[1:3])
            ticks = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[11:13]
        except OSError:
            continue
        yield Process(child, name, (resident - shared) * PAGE / 2**20, sum(map(int, ticks)) / TICKS)
        yield from _below(child)


def _children(pid: int) -> Sequence[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(word) for task in tasks for word in (task / "children").read_text().split()]
    except OSError:
        return []


def scaling(folder: Path) -> None:
    file = folder / "judged.explain.jsonl"
    judged(file, JUDGED)
    local = measured("local", 1, file)
    print(f"{JUDGED:,} cases judged offline: local engine {JUDGED / local.work:,.0f} cases/s")
    one, two = (measured("ray", workers, file) for workers in (1, 2))
    for workers, there in ((1, one), (2, two)):
        print(f"  Ray, {workers} at a time: {JUDGED / there.work:,.0f} cases/s, CPU {there.cpu:.1f} s", end="")
        print(f" (local engine {local.cpu:.1f} s)")
    # On a machine that others use, the wall tells little: what two free cores would make of the same CPU time.
    print(f"  two workers against one: {one.work / two.work:.2f} x by the clock (target 1.7),", end=" ")
    print(f"{2 * one.cpu / two.cpu:.2f} x by CPU time on two free cores;", end=" ")
    print(f"against the local engine {local.work / two.work:.2f} x and {2 * local.cpu / two.cpu:.2f} x")


def overhead(folder: Path) -> None:
    file = folder / "small.explain.jsonl"
    recorded(file, SMALL)
    local, there = (measured(engine, 2, file, "tool_calls") for engine in ("local", "ray"))
    print(f"{SMALL:,} recorded cases: local {local.wall:.1f} s, Ray {there.wall:.1f} s with a cluster to start", end="")
    print(f", {there.work:.1f} s of it work")


def memory(folder: Path) -> None:
    for count in MEMORY:
        file = folder / f"{count}.explain.jsonl"
        recorded(file, count)
        there = measured("ray", 2, file, "tool_calls")
        print(
            f"{count:,} recorded cases on Ray: driver {there.driver:,.0f} MB, workers {there.workers:,.0f} MB", end=""
        )
        print(f" together, Ray's own programs {there.ray:,.0f} MB, {count / there.work:,.0f} cases/s")


def million(count: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "million.explain.jsonl"
        recorded(file, count)
        print(f"{count:,} recorded cases, {file.stat().st_size / 2**20:,.0f} MB")
        both = {engine: measured(engine, 2, file, "tool_calls", export=True) for engine in ("local", "ray")}
    for engine, found in both.items():
        print(
            f"  {engine}: {found.wall:,.0f} s, of which {found.work:,.0f} s work at {count / found.work:,.0f}", end=" "
        )
        print(f"cases/s, CPU {found.cpu:,.0f} s; most memory: driver {found.driver:,.0f} MB, workers", end=" ")
        print(f"{found.workers:,.0f} MB together (all {found.driver + found.workers:,.0f} MB, target", end=" ")
        print(f"1,000 MB), Ray's own programs {found.ray:,.0f} MB")
    print("  equal canonical exports" if both["local"].export == both["ray"].export else "  THE EXPORTS DIFFER")


def main() -> None:
    if find_spec("ray") is None:
        print("Ray is not installed here: make test-ray; .venv-frameworks/ray/bin/python -m bench clustering")
        return
    with tempfile.TemporaryDirectory() as name:
        for each in (scaling, overhead, memory):
            each(Path(name))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["one", *words]:
            one(*words)
        case ["million", *count]:
            million(int(count[0]) if count else MILLION)
        case _:
            main()
