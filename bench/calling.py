"""What a call to a model costs through the whole client (cache on, limits, retries, provider, prices), beside a bare
aiohttp loop in the same run, against a server that costs next to nothing; and how near it comes to the ideal time.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import msgspec

from howsure.llm.base import ModelRequest
from howsure.llm.client import ClientOptions, ModelClient
from howsure.llm.messages import CallSettings, ChatMessage
from howsure.model.transcript import Role

CALLS = 5_000
AT_ONCE = (8, 64, 200)
ROUNDS = 5
MOST = 1.6
LATENCY = 0.2
SLOW_CALLS = 10_000
SLOW_AT_ONCE = 200
SLOW_MOST = 1.15
PROMPT = "Which of these options is right, and why? " * 16
MODEL = "answer-a"
ANSWER = msgspec.json.encode(
    {
        "model": MODEL,
        "choices": [{"message": {"role": "assistant", "content": "Answer: A"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 120, "completion_tokens": 8},
    }
)

VERDICT = ANSWER.replace(b"Answer: A", rb"{\"reason\": \"matches\", \"score\": 1, \"pass\": true}")

One = Callable[[int], Awaitable[None]]


def main() -> None:
    with serving() as (url, kind):
        print(f"one call to a model at zero latency, against {kind} (CPU, best of {ROUNDS})")
        for at_once in AT_ONCE:
            both = [(asyncio.run(bare(url, at_once)), asyncio.run(by_client(url, at_once))) for _ in range(ROUNDS)]
            loop, client = (min(cost) for cost in zip(*both, strict=True))
            print(
                f"  {at_once:>3} in flight: bare aiohttp loop {1000 * loop:.3f} ms, our client {1000 * client:.3f} ms",
                end="",
            )
            print(f" = {client / loop:.2f} x, wanted <= {MOST}: {_verdict(client / loop <= MOST)}")
        asyncio.run(control(url, latency=LATENCY))
        took = asyncio.run(slow(url))
        ideal = SLOW_CALLS / SLOW_AT_ONCE * LATENCY
        print(
            f"  {SLOW_CALLS:,} calls at {LATENCY * 1000:.0f} ms, {SLOW_AT_ONCE} in flight: {took:.2f} s of wall time,",
            end="",
        )
        print(f" ideal {ideal:.0f}: {took / ideal:.2f} x, wanted <= {SLOW_MOST}: {_verdict(took / ideal <= SLOW_MOST)}")


def _verdict(held: bool) -> str:
    return "held" if held else "MISSED"


async def bare(url: str, at_once: int) -> float:
    """CPU seconds a call: a session, bytes out, bytes in, the answer found in them. Nothing else."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def one(number: int) -> None:
            asked = {
                "model": MODEL,
                "messages": [{"role": "user", "content": f"{number} {PROMPT}"}],
                "temperature": 0.0,
            }
            headers = {"Authorization": "Bearer none", "Content-Type": "application/json"}
            async with session.post(
                f"{url}/chat/completions", data=msgspec.json.encode(asked), headers=headers
            ) as reply:
                assert msgspec.json.decode(await reply.read())["choices"][0]["message"]["content"]

        return await cpu_of(one, at_once)


async def by_client(url: str, at_once: int) -> float:
    async with ModelClient({"VLLM_API_KEY": "none"}, ClientOptions(concurrency=at_once)) as client:
        model = client.model(f"vllm:{MODEL}@{url}", CallSettings(temperature=0.0))

        async def one(number: int) -> None:
            assert (await model.complete(ModelRequest(messages=(ChatMessage(Role.USER, f"{number} {PROMPT}"),)))).text

        return await cpu_of(one, at_once)


async def slow(url: str) -> float:
    """Wall seconds for many calls that each take a while."""
    async with ModelClient({}, ClientOptions(concurrency=SLOW_AT_ONCE)) as client:
        model = client.model(f"vllm:{MODEL}@{url}")

        async def one(number: int) -> None:
            await model.complete(ModelRequest(messages=(ChatMessage(Role.USER, str(number)),)))

        began = time.monotonic()
        await spread(one, range(SLOW_CALLS), SLOW_AT_ONCE)
        return time.monotonic() - began


async def cpu_of(one: One, at_once: int) -> float:
    """CPU seconds of one, many being in flight, once connections are open."""
    await spread(one, range(-2 * at_once, 0), at_once)
    began = time.process_time()
    await spread(one, range(CALLS), at_once)
    return (time.process_time() - began) / CALLS


async def spread(one: One, numbers: range, at_once: int) -> None:
    left = iter(numbers)

    async def worker() -> None:
        for number in left:
            await one(number)

    await asyncio.gather(*(worker() for _ in range(at_once)))


async def control(url: str, latency: float) -> None:
    async with aiohttp.ClientSession() as session:
        await session.post(f"{url.removesuffix('/v1')}/ctl?latency_us={latency * 1e6:.0f}")


@contextmanager
def serving() -> Iterator[tuple[str, str]]:
    """The C server where it can be built, else one in Python, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        command, kind = built(Path(folder), port) or (
            [sys.executable, "-m", "bench.calling", str(port)],
            "a Python server",
        )
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            wait_for(port)
            yield f"http://127.0.0.1:{port}/v1", kind
        finally:
            process.kill()
            process.wait()


def built(folder: Path, port: int) -> tuple[list[str], str] | None:
    source = Path(os.environ.get("HOWSURE_SHARED", Path(__file__).parents[2] / "shared")) / "tools" / "mock-llm"
    if not shutil.which("gcc") or not (source / "mock.c").exists():
        return None
    program = folder / "mock"
    subprocess.run(["gcc", "-O2", "-w", "-o", program, source / "mock.c"], check=True)
    return [str(program), str(port), str(source / "responses")], "a C server"


def wait_for(port: int) -> None:
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("the server did not start")


class Answering(asyncio.Protocol):
    """A connection that gives every request an answer, some time later. Nothing more: it must cost little."""

    def answered(self, head: bytes, body: bytes) -> tuple[float, bytes]:
        """Seconds to wait, and the whole response."""
        raise NotImplementedError

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        if not end or len(body) < int(length or 0):
            return
        self._received = b""
        latency, answer = self.answered(head, body)
        asyncio.get_running_loop().call_later(latency, self._transport.write, answer)


class Connection(Answering):
    """Answers every model with one body and every judge with another, after a latency that `/ctl?latency_us=N` sets."""

    latency = 0.0

    def answered(self, head: bytes, body: bytes) -> tuple[float, bytes]:
        if b"/ctl?latency_us=" in head:
            Connection.latency = int(head.partition(b"latency_us=")[2].split()[0]) / 1e6
        said = VERDICT if b'"model":"judge-' in body else ANSWER
        return Connection.latency, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(said), said)


async def serve(port: int, kind: type[Answering] = Connection) -> None:
    server = await asyncio.get_running_loop().create_server(kind, "127.0.0.1", port, backlog=4096)
    await server.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(serve(int(sys.argv[1])))
    else:
        main()
