"""1,000 scenarios of six turns with a bot that takes 100 ms for each, 200 at a time: from the file to the store,
users played by program, every conversation checked, graded and kept. The ideal is what the bot's own time comes to; a
bare aiohttp loop, which sends the same number of messages and keeps nothing, is measured in the same run.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from bench.calling import Answering, serve, wait_for
from bench.live import Took, ran
from howsure.model.run_request import RunRequest

CASES = 1_000
AT_ONCE = 200
LATENCY = 0.1
ROUNDS = 3
MOST = 1.3
IDEAL = LATENCY * 6 * CASES / AT_ONCE
SAID = (
    "Hi, I would like to plan week {number} of my course.",
    "In week {number} there are six hours for it, and I prefer the evenings.",
    "Please leave the Friday of week {number} free.",
    "I would like to start week {number} with the fundamentals.",
    "Two short sessions are better than a long one in week {number}.",
    "Practice questions should end week {number}.",
)
"""What the user says, otherwise in each conversation: nothing that was worked out for one serves another."""
ANSWERS = (
    "Good morning. Planning a week is what this service was made for.",
    "Noted: six hours, spread over the evenings.",
    "Friday stays empty.",
    "Fundamentals come first, on Monday.",
    "Sessions of forty-five minutes, then.",
    "Practice closes the plan on Sunday.",
)


def main() -> None:
    print(
        f"{CASES:,} scenarios of {len(SAID)} turns at {1000 * LATENCY:.0f} ms, {AT_ONCE} at a time, from file to store"
    )
    with serving() as url, tempfile.TemporaryDirectory() as name:
        dataset = Path(name) / "week.json"
        dataset.write_text(json.dumps(test_set(CASES)), encoding="utf-8")
        for number in range(1, ROUNDS + 1):
            loop, ours = bare(url), run(url, dataset)
            share = ours.wall / IDEAL
            print(
                f"  {number}. bare loop {shown(loop)}; Howsure {shown(ours)} = {share:.2f} x the ideal {IDEAL:g} s,",
                end="",
            )
            print(f" wanted <= {MOST}: {'held' if share <= MOST else 'MISSED'}")


def shown(took: Took) -> str:
    return f"{took.wall:.2f} s of wall time ({took.cpu:.2f} s of CPU)"


def test_set(cases: int) -> dict[str, Any]:
    return {"name": "week", "items": [scenario(number) for number in range(cases)]}


def scenario(number: int) -> dict[str, Any]:
    """What the user says is known beforehand; what is checked takes no judge."""
    return {
        "item_id": f"week-{number}",
        "type": "scenario",
        "inputs": {
            "persona": "A learner who works full time and writes in short sentences.",
            "initial_message": SAID[0].format(number=number),
            "conversation_plan": [{"say": text.format(number=number)} for text in SAID[1:]],
            "goal": "A plan for the week.",
            "max_turns": len(SAID),
        },
        "expected": {"should_not_use_tools": ["transfer_to_human"]},
    }


def run(url: str, dataset: Path) -> Took:
    with tempfile.TemporaryDirectory() as name:
        options = RunRequest(datasets=(str(dataset),), target=f"http:{url}", concurrency=AT_ONCE)
        cpu, wall = time.process_time(), time.monotonic()
        summary = ran(Path(name), options)
        took = Took(time.process_time() - cpu, time.monotonic() - wall)
    passed = {grader.name: grader.passed for grader in summary.graders}
    assert passed == {"tools_used": CASES, "simulator_fidelity": CASES}, f"{passed}"
    return took


def bare(url: str) -> Took:
    cpu, wall = time.process_time(), time.monotonic()
    asyncio.run(_bare(url))
    return Took(time.process_time() - cpu, time.monotonic() - wall)


async def _bare(url: str) -> None:
    """The same messages and their answers; nothing else."""
    left = iter(range(CASES))
    headers = {"Content-Type": "application/json"}
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(
        connector=connector, headers=headers, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:

        async def worker() -> None:
            for number in left:
                for turn, text in enumerate(SAID, 1):
                    body = {"message": text.format(number=number), "session_id": str(number), "turn": turn}
                    async with session.post(url, data=msgspec.json.encode(body)) as reply:
                        assert msgspec.json.decode(await reply.read())["answer"] == ANSWERS[turn - 1]

        await asyncio.gather(*(worker() for _ in range(AT_ONCE)))


@contextmanager
def serving() -> Iterator[str]:
    """The bot, in a process of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-m", "bench.conversing", str(port)])
    try:
        wait_for(port)
        yield f"http://127.0.0.1:{port}/chat"
    finally:
        process.kill()
        process.wait()


WRITTEN = tuple(msgspec.json.encode({"answer": text}) for text in ANSWERS)
RESPONSES = tuple(
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    for body in WRITTEN
)


class Connection(Answering):
    """Answers by the number of the turn, after the latency."""

    def answered(self, head: bytes, body: bytes) -> tuple[float, bytes]:
        turn = int(body.partition(b'"turn":')[2].partition(b",")[0].strip(b" }"))
        return LATENCY, RESPONSES[turn - 1]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(serve(int(sys.argv[1]), Connection))
    else:
        main()
