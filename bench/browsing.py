"""The pages: how much CPU time the service takes for each on a store with the demo, and on one with 1,000 runs and
200,000 results, and how large they are. Each page is asked of many runs, nothing remembered, then of the one run that
has 20,000 results. `HOWSURE_BENCH_STORE` names a folder where the large store is kept from one time to the next;
`HOWSURE_BENCH_PAGES` the beginning of the names of those to be asked."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bench.browsing_stock import RULES, TESTS, big, demo, grow, workplace
from howsure.main import GC_THRESHOLD
from howsure.services.workspace import Host, Workspace
from howsure.store.store import Store
from howsure.web.app import create_pages
from howsure.web.routes import ResultCache

ASKED = 100
ASKED_OF_BIG = 10
MOST_SECONDS, MOST_TIMES, MOST_BYTES = 0.150, 3.0, 300_000


class Place(Struct, frozen=True):
    """A run, a case in it, a run to compare it with, its agent; and a run that people labelled."""

    run: str
    position: int
    other: str
    agent: str
    case: str
    labelled: str


PAGES: dict[str, Callable[[Place], str]] = {
    "runs": lambda place: "/",
    "runs of an agent": lambda place: f"/?agent_id={place.agent}",
    "runs, searched": lambda place: "/?q=t",
    "run": lambda place: f"/runs/{place.run}",
    "run, all": lambda place: f"/runs/{place.run}?verdict=all",
    "run, a grader": lambda place: f"/runs/{place.run}?verdict=all&grader=criteria",
    "run, a tag": lambda place: f"/runs/{place.run}?verdict=all&tag=orders",
    "run, slowest": lambda place: f"/runs/{place.run}?verdict=all&order=slowest",
    "run, searched": lambda place: f"/runs/{place.run}?verdict=all&q=refund",
    "run, not found": lambda place: f"/runs/{place.run}?verdict=all&q=xylophone",
    "charts": lambda place: f"/runs/{place.run}/charts",
    "triage": lambda place: f"/runs/{place.run}/triage",
    "grade again": lambda place: f"/runs/{place.run}/regrade",
    "case": lambda place: f"/runs/{place.run}/cases/{place.position}",
    "case, of a tag": lambda place: f"/runs/{place.run}/cases/{place.position}?verdict=all&tag=orders",
    "case, of a search": lambda place: f"/runs/{place.run}/cases/{place.position}?verdict=all&q=refund",
    "case, raw": lambda place: f"/runs/{place.run}/cases/{place.position}/raw",
    "compare": lambda place: f"/compare?run={place.run}&run={place.other}",
    "compare case": lambda place: f"/compare/case?run={place.run}&run={place.other}&case={place.case}",
    "agents": lambda place: "/agents",
    "agent": lambda place: f"/agent?id={place.agent}",
    "test sets": lambda place: "/library/test-sets",
    "rubrics": lambda place: "/library/rubrics",
    "test set": lambda place: f"/library/test-sets/{TESTS}",
    "rubric": lambda place: f"/library/rubrics/{RULES}",
    "test set, edited": lambda place: f"/library/test-sets/{TESTS}/edit",
    "rubric, edited": lambda place: f"/library/rubrics/{RULES}/edit",
    "test set, versions": lambda place: f"/library/test-sets/{TESTS}/difference?from=1&to=2",
    "rubric, versions": lambda place: f"/library/rubrics/{RULES}/difference?from=1&to=2",
    "test set, as golden": lambda place: f"/library/test-sets/{TESTS}/export?to=golden",
    "new rubric": lambda place: "/library/rubrics/new",
    "start": lambda place: "/start",
    "labelling": lambda place: "/label",
    "label": lambda place: f"/label/{place.labelled}",
    "agreement": lambda place: f"/label/{place.labelled}/agreement",
    "judges": lambda place: "/judges",
    "settings": lambda place: "/settings",
}


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
    assert sent[0]["status"] == 200, (path, sent[0]["status"], sent[1]["body"][:2000])
    return taken, sum(len(message.get("body", b"")) for message in sent)


Figure = tuple[float, int]


def wanted() -> list[str]:
    begins = tuple(filter(None, os.environ.get("HOWSURE_BENCH_PAGES", "").split(",")))
    return [name for name in PAGES if not begins or name.startswith(begins)]


class Side(Struct, frozen=True):
    """A service, and what is asked of it."""

    app: Any
    places: Sequence[Place]


async def side(work: Workspace, store: Store, places: Sequence[Place]) -> Side:
    app: Any = create_pages(Host(work, store), keys_needed=False)
    app.state.results = ResultCache(max_entries=0)
    return Side(app, places)


async def timed(page: Callable[[Place], str], sides: Sequence[Side]) -> list[Figure]:
    """For each side the 95th percentile of its time, and the largest size. They are asked in turn, so that whatever
    else the machine does is shared among them."""
    for each in sides:
        # What a process does once, when it is first asked for such a page, is not the page's time.
        await asked(each.app, page(each.places[0]))
    taken: list[list[Figure]] = [[] for _ in sides]
    for turn in range(ASKED):
        for number, each in enumerate(sides):
            taken[number].append(await asked(each.app, page(each.places[turn % len(each.places)])))
    return [(summed([time for time, _ in one]), max(size for _, size in one)) for one in taken]


def summed(times: Sequence[float]) -> float:
    return quantiles(times, n=20)[-1]


async def places_of(folder: Path, number: int) -> list[Place]:
    """Runs that have cases in common, chosen by chance, always the same."""
    chance = random.Random(1)
    async with await workplace(folder).store() as store:
        runs = [run for run in await store.runs(limit=5000) if run.pins.rubric and run.id != big()]
        done = await store.labels.counts([run.id for run in runs])
        labelled = sorted({each.run_id for each in done})
        found = []
        for _ in range(number):
            run, other = chance.sample(runs, 2)
            position = chance.randrange(min(run.counts.total, other.counts.total))
            (case,) = await store.browse.results_at(run.id, [position])
            agent, marked = run.pins.agent_key, chance.choice(labelled)
            found.append(Place(run.id, position, other.id, agent, case.case.id, marked))
    return found


async def of_the_big_one(folder: Path) -> list[Place]:
    async with await workplace(folder).store() as store:
        agent = (await store.run(big())).pins.agent_key
    return [
        replace(place, run=big(), agent=agent, labelled=big(), position=1500 * number + 7)
        for number, place in enumerate(await places_of(folder, ASKED_OF_BIG))
    ]


async def measure(small: Path, large: Path) -> None:
    print(
        f"{'page':<22}{'demo p95':>10}{'large p95':>11}{'times':>7}{'20,000 in one run':>19}{'times':>7}{'largest':>10}"
    )
    work, other = workplace(small), workplace(large)
    async with await work.store() as little, await other.store() as much:
        sides = [
            await side(work, little, await places_of(small, ASKED)),
            await side(other, much, await places_of(large, ASKED)),
            await side(other, much, await of_the_big_one(large)),
        ]
        for name in wanted():
            tell(name, *await timed(PAGES[name], sides))


def tell(name: str, ours: Figure, theirs: Figure, one: Figure) -> None:
    """A mark stands where a page takes longer, or more times as long as on the demo, than it may."""
    slow, size = max(theirs[0], one[0]), max(ours[1], theirs[1], one[1])
    wrong = max(ours[0], slow) > MOST_SECONDS or slow > MOST_TIMES * ours[0] or size > MOST_BYTES
    print(f"{name:<22}{ours[0] * 1e3:>7.1f} ms{theirs[0] * 1e3:>8.1f} ms{theirs[0] / ours[0]:>7.1f}", end="")
    print(f"{one[0] * 1e3:>16.1f} ms{one[0] / ours[0]:>7.1f}{size / 1000:>7.0f} KB{' !' if wrong else ''}")


async def build_and_measure(small: Path, large: Path) -> None:
    run, results = await demo(small)
    if not (large / "howsure.db").exists():
        await grow(large, run, results)
    await measure(small, large)


def main() -> None:
    # As the program itself has it.
    gc.set_threshold(*GC_THRESHOLD)
    with TemporaryDirectory() as folder:
        kept = os.environ.get("HOWSURE_BENCH_STORE", "")
        asyncio.run(build_and_measure(Path(folder) / "small", Path(kept) if kept else Path(folder) / "large"))


if __name__ == "__main__":
    main()
