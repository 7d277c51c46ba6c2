"""What the benchmarks of live runs share: datasets of any size, whole runs from file to store, and beside them a bare
aiohttp loop that sends the bodies that Howsure sent (its trace tells), decodes the replies, and keeps nothing.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
from msgspec.structs import replace

from howsure.main import GC_THRESHOLD
from howsure.model.result import Result
from howsure.model.run_request import RunRequest
from howsure.model.summary import Summary
from howsure.services.run.execute import Progress, RunHandle
from howsure.services.run.start import start
from howsure.services.workspace import Workspace

AT_ONCE = 64
LONGER = 3
"""How many times the cases of a run the bare loop is given."""
PLACE = 4242
"""The number of the case whose requests become the bare loop's; every case has its own there instead."""
CONTEXT = "The seller runs a shop on the internet and delivered the goods to the buyer's home. " * 4

Row = dict[str, Any]
Asking = Callable[[Path, Sequence[int]], RunRequest]
"""The options of a run over the cases of these numbers, with their files written into a folder."""


def choice(number: int) -> Row:
    """A question with options. The mock's answer, A, is right for three in four."""
    return {
        "schema_version": "legal_eval_v1",
        "id": f"mcq:{number}",
        "dataset": "bench",
        "task_type": "mcq",
        "prompt": f"Within how many days may the buyer in case {number} withdraw from the contract?",
        "context": CONTEXT,
        "choices": [
            {"id": "A", "text": "Within fourteen days of receiving the goods."},
            {"id": "B", "text": "Within thirty days of the order."},
            {"id": "C", "text": "Within seven days of the confirmation."},
            {"id": "D", "text": "Not at all, once the parcel was opened."},
        ],
        "correct_choice_ids": ["A" if number % 4 else "B"],
    }


def reference(number: int) -> Row:
    """A question with a reference answer, which takes a judge."""
    return {
        "schema_version": "legal_eval_v1",
        "id": f"q:{number}",
        "dataset": "bench",
        "task_type": "reference_qa",
        "prompt": f"Within how many days may the buyer in case {number} withdraw from the contract?",
        "reference_answers": ["Within fourteen days of receiving the goods."],
    }


def answer(number: int) -> Row:
    return {"case_id": f"q:{number}", "response_text": f"In {number} days."}


def written(path: Path, rows: Iterable[Row]) -> tuple[str, ...]:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return (str(path),)


def quietly(_: RunHandle) -> Progress:
    def ignore(results: Sequence[Result]) -> None:
        return None

    return ignore


class Took(msgspec.Struct, frozen=True):
    """What a run took, from reading its files to its summary; both in seconds."""

    cpu: float
    wall: float


def run(asking: Asking, cases: int) -> Took:
    """A run in a workplace of its own, its store and its cache of replies new."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = asking(folder, range(cases))
        cpu, wall = time.process_time(), time.monotonic()
        summary = ran(folder, options)
        took = Took(time.process_time() - cpu, time.monotonic() - wall)
    scored = sum(grader.scored for grader in summary.graders)
    assert scored == cases, f"{scored} of {cases} cases were scored"
    return took


def ran(folder: Path, options: RunRequest) -> Summary:
    here = Workspace.here(database=str(folder / "howsure.db"))
    return asyncio.run(start(Workspace(here.settings, here.kit, folder), options, quietly))


class Compared(msgspec.Struct, frozen=True):
    """CPU seconds a case, of the bare loop and of Howsure, round by round."""

    loop: list[float]
    ours: list[float]

    @property
    def ratio(self) -> float:
        """Best against best: what else the machine does can only add."""
        return min(self.ours) / min(self.loop)

    def shown(self, most: float) -> str:
        """Both, how many times the loop Howsure is, and between which bounds that lay in single rounds."""
        ratios = sorted(ours / loop for ours, loop in zip(self.ours, self.loop, strict=True))
        return (
            f"bare loop {1000 * min(self.loop):.3f} ms, Howsure {1000 * min(self.ours):.3f} ms = {self.ratio:.2f} x"
            f" ({ratios[0]:.2f} to {ratios[-1]:.2f} in {len(ratios)} rounds), {kept(self.ratio <= most, most)}"
        )


def compared(url: str, asking: Asking, cases: int, rounds: int) -> Compared:
    """In turn, so that what else the machine does meets both; and for about as long, so that a quiet moment helps both
    alike."""
    bodies = traced(asking)
    with on_one_core():
        both = [
            (bare(url, bodies, LONGER * cases) / (LONGER * cases), run(asking, cases).cpu / cases)
            for _ in range(rounds)
        ]
    return Compared([loop for loop, _ in both], [ours for _, ours in both])


@contextmanager
def on_one_core() -> Iterator[None]:
    """This process alone, loop and threads: what a core can do is asked, and moving between cores is noise."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def kept(held: bool, most: float) -> str:
    return f"wanted <= {most:g}: {'held' if held else 'MISSED'}"


def peaks(module: str, url: str, few: int = 2_000, many: int = 20_000, growth: int = 20) -> str:
    """What runs of few and of many cases need at most, each in a process of its own."""
    command = [sys.executable, "-m", module, url]
    small, large = (
        float(subprocess.run([*command, str(cases)], check=True, capture_output=True, text=True).stdout)
        for cases in (few, many)
    )
    more = large - small
    needed = f"memory at most: {small:.0f} MB for {few:,} cases, {large:.0f} MB for {many:,}"
    return f"{needed}: {more:.0f} MB more, {kept(more <= growth, growth)}"


def peak(asking: Asking, cases: int) -> None:
    """Print the megabytes that this process needed at most for so many cases."""
    gc.set_threshold(*GC_THRESHOLD)
    run(asking, cases)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def traced(asking: Asking) -> list[Row]:
    """The bodies of the requests that Howsure sends for one case, in their order."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ran(folder, replace(asking(folder, [PLACE]), trace=folder / "trace.jsonl"))
        return [json.loads(line)["request"] for line in (folder / "trace.jsonl").read_text("utf-8").splitlines()]


def bare(url: str, bodies: Sequence[Row], cases: int) -> float:
    """CPU seconds of a loop that asks the same for so many cases. Nothing is read from a file, and nothing kept."""
    before = time.process_time()
    asyncio.run(_bare(f"{url}/chat/completions", bodies, cases))
    return time.process_time() - before


async def _bare(url: str, bodies: Sequence[Row], cases: int) -> None:
    left = iter(range(cases))
    headers = {"Content-Type": "application/json"}
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(
        connector=connector, headers=headers, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:

        async def worker() -> None:
            for number in left:
                for body in bodies:
                    async with session.post(url, data=msgspec.json.encode(numbered(body, number))) as reply:
                        assert msgspec.json.decode(await reply.read())["choices"][0]["message"]["content"]

        await asyncio.gather(*(worker() for _ in range(AT_ONCE)))


def numbered(body: Row, number: int) -> Row:
    """The body for the case of this number."""
    *earlier, last = body["messages"]
    said = last["content"].replace(str(PLACE), str(number))
    return {**body, "messages": [*earlier, {"role": last["role"], "content": said}]}
