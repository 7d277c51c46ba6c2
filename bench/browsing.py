"""The pages: how much CPU time the service takes for each on a store with the demo, and on one with 1,000 runs and
200,000 results (one run has 20,000 of them), and how large they are. Each page is asked of many runs, each for the
first time. `ASSAY_BENCH_STORE` names a folder where the large store is kept from one time to the next."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from assay.config import Settings
from assay.kit.builtins import builtin_kit
from assay.model.result import Result
from assay.model.run import Counts, Run, RunState
from assay.policies.profiles import builtin_profiles
from assay.services.demo import DEMOS, options
from assay.services.hosting.host import Host
from assay.services.runs import start
from assay.services.workplace import Workplace
from assay.store.store import Store
from assay.web.app import create_pages
from assay.web.remembering import Remembered

RUNS = 1000
RESULTS = 200_000
LARGE = 20_000
AGENTS = 20
ASKED = 40
BATCH = 500
DAY = datetime(2026, 1, 1, tzinfo=UTC)


class Place(Struct, frozen=True):
    """A run, a case in it, a run to compare it with, and its agent."""

    run: str
    position: int
    other: str
    agent: str
    case: str


PAGES: dict[str, Callable[[Place], str]] = {
    "runs": lambda place: "/",
    "runs of an agent": lambda place: f"/?agent_id={place.agent}",
    "run": lambda place: f"/runs/{place.run}",
    "run, all": lambda place: f"/runs/{place.run}?verdict=all",
    "run, a grader": lambda place: f"/runs/{place.run}?verdict=all&grader=criteria",
    "run, a tag": lambda place: f"/runs/{place.run}?verdict=all&tag=orders",
    "run, searched": lambda place: f"/runs/{place.run}?verdict=all&q=refund",
    "charts": lambda place: f"/runs/{place.run}/charts",
    "triage": lambda place: f"/runs/{place.run}/triage",
    "case": lambda place: f"/runs/{place.run}/cases/{place.position}",
    "compare": lambda place: f"/compare?run={place.run}&run={place.other}",
    "compare case": lambda place: f"/compare/case?run={place.run}&run={place.other}&case={place.case}",
    "agents": lambda place: "/agents",
    "agent": lambda place: f"/agent?id={place.agent}",
}


def workplace(folder: Path) -> Workplace:
    settings = Settings(database=str(folder / "assay.db"))
    return Workplace(settings, builtin_kit(builtin_profiles()), folder)


async def demo(folder: Path) -> tuple[Run, list[Result]]:
    """The demo, its test set twice; and the run and the results that a large store is made of."""
    work = workplace(folder)
    for each in DEMOS:
        await start(work, options(each), lambda _: lambda _: None)
    (tests,) = [each for each in DEMOS if each.dialect == "test-set"]
    run = (await start(work, options(tests), lambda _: lambda _: None)).run
    async with await work.store() as store:
        return run, await store.results(run.id)


async def grow(store: Store, run: Run, results: Sequence[Result]) -> None:
    """Runs by the hundred, over the cases of the demo under other ids."""
    sizes = [LARGE, *[(RESULTS - LARGE) // (RUNS - 1)] * (RUNS - 1)]
    for number, size in enumerate(sizes):
        at = DAY + timedelta(hours=number)
        id = str(UUID(int=number + 1, version=4))
        agent = run.pins.agent and replace(run.pins.agent, id=f"agent-{number % AGENTS}")
        made = replace(run, id=id, name=f"nightly {number}", created_at=at, started_at=at, completed_at=at)
        made = replace(made, pins=replace(made.pins, agent=agent), counts=Counts(total=size), state=RunState.RUNNING)
        await store.create_run(made)
        for start_at in range(0, size, BATCH):
            places = range(start_at, min(start_at + BATCH, size))
            await store.save(id, [_another(results[place % len(results)], place) for place in places])
        await store.set_state(id, RunState.COMPLETED, completed_at=at)


def _another(result: Result, place: int) -> Result:
    return replace(result, case=replace(result.case, id=f"case-{place:05}"), position=place)


async def asked(app: Any, path: str) -> tuple[float, int]:
    """Seconds and bytes of one page."""
    parts = path.partition("?")
    scope = {"type": "http", "http_version": "1.1", "method": "GET", "path": parts[0], "raw_path": parts[0].encode()}
    scope |= {"query_string": parts[2].encode(), "headers": [(b"host", b"localhost")], "scheme": "http"}
    scope |= {"server": ("localhost", 80), "client": ("localhost", 1), "root_path": ""}
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    began = time.process_time()
    await app(scope, receive, send)
    taken = time.process_time() - began
    assert sent[0]["status"] == 200, (path, sent[0]["status"])
    return taken, sum(len(message.get("body", b"")) for message in sent)


async def timed(folder: Path, places: Sequence[Place]) -> dict[str, tuple[float, int]]:
    """For each page the 95th percentile of its time, and its largest size."""
    work = workplace(folder)
    found = {}
    async with await work.store() as store:
        app: Any = create_pages(Host(work, store), keys_needed=False)
        app.state.remembered = Remembered(most=0)
        for name, page in PAGES.items():
            # What a process does once, when it is first asked for such a page, is not the page's time.
            await asked(app, page(places[0]))
            taken = [await asked(app, page(place)) for place in places]
            found[name] = (quantiles([each for each, _ in taken], n=20)[-1], max(size for _, size in taken))
    return found


async def places_of(folder: Path, number: int) -> list[Place]:
    """Runs that have cases in common, chosen by chance, always the same."""
    chance = random.Random(1)
    async with await workplace(folder).store() as store:
        runs = [run for run in await store.runs(limit=5000) if run.pins.rubric]
        found = []
        for _ in range(number):
            run, other = chance.sample(runs, 2)
            position = chance.randrange(min(run.counts.total, other.counts.total))
            (case,) = await store.browsing.at(run.id, [position])
            found.append(Place(run.id, position, other.id, run.pins.agent_key, case.case.id))
    return found


async def measure(small: Path, large: Path) -> None:
    run, results = await demo(small)
    if not (large / "assay.db").exists():
        large.mkdir(parents=True, exist_ok=True)
        async with await workplace(large).store() as store:
            await grow(store, run, results)
    before, after = (
        await timed(small, await places_of(small, ASKED)),
        await timed(large, await places_of(large, ASKED)),
    )
    big = await timed(large, [replace(place, run=str(UUID(int=1, version=4))) for place in await places_of(large, 5)])
    print(f"{'page':<18}{'demo p95':>10}{'large p95':>11}{'times':>7}{'largest':>11}{'20,000 in one run':>20}")
    for name in PAGES:
        ours, theirs = before[name], after[name]
        print(f"{name:<18}{ours[0] * 1e3:>7.1f} ms{theirs[0] * 1e3:>8.1f} ms{theirs[0] / ours[0]:>7.1f}", end="")
        print(f"{max(ours[1], theirs[1]) / 1000:>8.0f} KB{big[name][0] * 1e3:>17.1f} ms")


def main() -> None:
    with TemporaryDirectory() as folder:
        kept = os.environ.get("ASSAY_BENCH_STORE", "")
        asyncio.run(measure(Path(folder) / "small", Path(kept) if kept else Path(folder) / "large"))


if __name__ == "__main__":
    main()
