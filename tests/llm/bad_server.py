"""A server as cheap as one can be, on loopback, in this process: answers after a while, refuses, breaks and hangs."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import msgspec
from msgspec import Struct

ANSWER = msgspec.json.encode(
    {
        "model": "m",
        "choices": [{"message": {"role": "assistant", "content": '{"score": 1}'}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 5},
    }
)
ERROR = b'{"error": {"message": "not now"}}'


class Faults(Struct, frozen=True, kw_only=True):
    """Shares of all requests, and the seconds that an answer takes."""

    latency: float = 0.2
    s429: float = 0.0
    s500: float = 0.0
    hang: float = 0.0
    garbage: bool = False


class BadServer:
    def __init__(self, faults: Faults, seed: int) -> None:
        self.faults = faults
        self.chance = Random(seed).random
        self.fates: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.flying = 0
        self.most = 0
        self.connections = 0
        self.url = ""

    def fate(self) -> str:
        drawn, faults = self.chance(), self.faults
        for name, share in (("429", faults.s429), ("500", faults.s500), ("hang", faults.hang)):
            if drawn < share:
                return name
            drawn -= share
        return "garbage" if faults.garbage else "200"


def response(status: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Connection(asyncio.Protocol):
    def __init__(self, server: BadServer) -> None:
        self._server = server
        self._received = b""
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._server.connections += 1

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) >= length:
            self._received = b""
            self._meet(body)

    def _meet(self, body: bytes) -> None:
        server = self._server
        fate = server.fate()
        server.fates[fate] += 1
        server.flying += 1
        server.most = max(server.most, server.flying)
        if fate == "hang":
            server.flying -= 1
            return
        asyncio.get_running_loop().call_later(server.faults.latency, self._answer, fate, body)

    def _answer(self, fate: str, body: bytes) -> None:
        self._server.flying -= 1
        if fate == "200":
            self._server.answered[msgspec.json.decode(body)["messages"][0]["content"]] += 1
            self._transport.write(response("200", ANSWER))
        elif fate == "garbage":
            self._transport.write(response("200", b"<p>It works!</p>"))
        else:
            self._transport.write(response(fate, ERROR))


@asynccontextmanager
async def bad_server(faults: Faults, seed: int = 3) -> AsyncIterator[BadServer]:
    server = BadServer(faults, seed)
    listening = await asyncio.get_running_loop().create_server(lambda: Connection(server), "127.0.0.1", 0, backlog=4096)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    try:
        yield server
    finally:
        listening.close()
