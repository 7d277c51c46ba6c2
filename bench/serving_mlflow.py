"""MLflow's tracking server beside ours: 10,000 results, each a run of MLflow's with the same texts, score and verdict,
and ours in SQLite too; the same clients, lists and pages. It is installed into an environment of its own at
$MLFLOW_VENV (made where there is none); where that cannot be done only ours is measured, and it is said."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from aiohttp import ClientSession

from bench.serving_load import Ask, Process, Took, asked, fill, listing_and_paging, load, service

RESULTS = 10_000
SECONDS = float(os.environ.get("BENCH_SERVING_SECONDS", "15"))
VENV = Path(os.environ.get("MLFLOW_VENV", Path(gettempdir()) / "howsure-bench-mlflow"))

# Through MLflow's own tables, because through its API it would take many minutes.
FILL = """
import sys, uuid
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
from mlflow.store.tracking.dbmodels.models import SqlRun, SqlParam, SqlTag, SqlMetric, SqlLatestMetric
store = SqlAlchemyStore(sys.argv[1], sys.argv[2])
experiment = store.create_experiment("bench")
number = int(sys.argv[3])
with store.ManagedSessionMaker() as session:
    for start in range(0, number, 1000):
        runs, params, tags, metrics, latest = [], [], [], [], []
        for position in range(start, start + 1000):
            key, right = uuid.uuid4().hex, position % 3 > 0
            question = f"Question {position}: which of these is right? " + "Some words of context. " * 10
            runs.append(dict(run_uuid=key, name=f"case-{position}", source_type="LOCAL", source_name="",
                status="FINISHED", entry_point_name="", user_id="bench", source_version="",
                start_time=position, end_time=position + 1,
                lifecycle_stage="active", artifact_uri="file:///nowhere", experiment_id=int(experiment)))
            for name, value in (("case_id", f"case-{position:06}"), ("verdict", "passed" if right else "failed")):
                params.append(dict(run_uuid=key, key=name, value=value))
            for name, value in (("question", question), ("answer", "Answer: A" if right else "Answer: B"),
                                ("reason", "A expected"), ("choices", "Option of the question " * 4)):
                tags.append(dict(run_uuid=key, key=name, value=value))
            score = dict(run_uuid=key, key="choice", value=float(right), timestamp=position, step=0, is_nan=False)
            metrics.append(score)
            latest.append(score)
        tables = (SqlRun, runs), (SqlParam, params), (SqlTag, tags), (SqlMetric, metrics), (SqlLatestMetric, latest)
        for model, values in tables:
            session.bulk_insert_mappings(model, values)
print(experiment)
"""


def installed() -> bool:
    """Whether MLflow can be had here."""
    python = VENV / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    there = subprocess.run([python, "-c", "import mlflow.server"], capture_output=True, check=False)
    if there.returncode:
        asked_for = [str(python), "-m", "pip", "install", "--quiet", "mlflow"]
        return subprocess.run(asked_for, capture_output=True, check=False).returncode == 0
    return True


@contextmanager
def tracking_server(folder: Path) -> Iterator[tuple[Process, str]]:
    """MLflow with one worker, and the experiment that holds the results."""
    address, artifacts = f"sqlite:///{folder}/mlflow.db", str(folder / "artifacts")
    filled = subprocess.run(
        [VENV / "bin" / "python", "-c", FILL, address, artifacts, str(RESULTS)], capture_output=True, check=True
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    words = ("server", "--backend-store-uri", address, "--artifacts-destination", artifacts, "--workers", "1")
    with (folder / "mlflow.log").open("wb") as log:
        process = subprocess.Popen(
            [VENV / "bin" / "mlflow", *words, "--port", port], stdout=log, stderr=log, start_new_session=True
        )
    try:
        _wait_for(f"http://127.0.0.1:{port}/health")
        yield (
            Process(process.pid, f"http://127.0.0.1:{port}/api/2.0/mlflow"),
            filled.stdout.split()[-1].decode(),
        )
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def _wait_for(address: str) -> None:
    until = time.monotonic() + 180
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.3)
    raise SystemExit(f"{address} does not answer")


def _used(session: int) -> dict[int, int]:
    """What each process of a session has used of the CPU."""
    used: dict[int, int] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = place.read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[3]) == session:
                used[int(place.parent.name)] = int(fields[11]) + int(fields[12])
    return used


def answering(server: Process, ask: Ask) -> Process:
    """Of a server of several processes, the one that answers: the others are not held against it."""
    before = _used(server.pid)
    asyncio.run(load(server, ask, 3.0))
    after = _used(server.pid)
    return Process(max(after, key=lambda pid: after[pid] - before.get(pid, 0)), server.base)


def mlflow_pages(experiment: str) -> Ask:
    """The list of what there is, then a few pages of 50 results, and again."""

    async def ask(session: ClientSession, number: int) -> AsyncIterator[float]:
        while True:
            async with asked(session, "experiments/search", json={"max_results": 20}) as (seconds, _, _):
                yield seconds
            wanted = {"experiment_ids": [experiment], "max_results": 50}
            for _ in range(3):
                async with asked(session, "runs/search", json=wanted) as (seconds, found, _):
                    yield seconds
                wanted["page_token"] = found["next_page_token"] if found else ""

    return ask


async def pressed(process: Process, ask: Ask) -> Took:
    await load(process, ask, 3.0)
    return await load(process, ask, SECONDS)


def main() -> None:
    with TemporaryDirectory() as folder:
        place = Path(folder)
        runs = asyncio.run(fill(str(place / "ours.db"), (RESULTS,)))
        with service(place, str(place / "ours.db")) as process:
            ours = asyncio.run(pressed(process, listing_and_paging(runs, lambda _: 1)))
        print(f"{RESULTS:,} results, pages of 50, nothing else")
        print(f"  Howsure           {ours}")
        if not installed():
            print("  MLflow          is not measured: it cannot be installed here")
            return
        with tracking_server(place) as (server, experiment):
            ask = mlflow_pages(experiment)
            theirs = asyncio.run(load(answering(server, ask), ask, SECONDS))
        print(f"  MLflow          {theirs}")
        print(f"  ours / theirs   p50 {ours.p50 / theirs.p50:.2f}   p99 {ours.p99 / theirs.p99:.2f}", end="")
        print(f"   CPU {ours.cpu / len(ours.times) / (theirs.cpu / len(theirs.times)):.2f}")


if __name__ == "__main__":
    main()
